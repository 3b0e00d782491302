-- get_weather: made-up weather, the same every day.

local WEATHER = {
  Paris = { 18, "Partly Cloudy", 72 },
  ["New York"] = { 22, "Sunny", 55 },
  Tokyo = { 25, "Rainy", 85 },
  London = { 14, "Overcast", 80 },
  Batumi = { 24, "Humid", 88 },
}
local ELSEWHERE = { 20, "Clear", 60 }

local function call(arguments)
  local temperature, sky, humidity = table.unpack(WEATHER[arguments.location] or ELSEWHERE)
  return string.format("Weather in %s: %d°C, %s, Humidity: %d%%", arguments.location, temperature, sky, humidity)
end

return { call = call }
