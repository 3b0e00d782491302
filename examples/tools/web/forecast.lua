-- forecast: the weather of a real place, from OpenWeather, with a key of your own.

local function encoded(text)
  return (text:gsub("[^%w%-_.~]", function(byte) return string.format("%%%02X", byte:byte()) end))
end

local function forecast(arguments)
  local url = string.format("https://api.openweathermap.org/data/2.5/weather?units=metric&q=%s&appid=%s",
    encoded(arguments.place), encoded(secrets.OPENWEATHER_KEY))
  local answer = http.get(url)
  if answer.status == 404 then return nil, "OpenWeather knows no place " .. arguments.place .. "." end
  if answer.status == 401 then return nil, "OpenWeather refuses the key OPENWEATHER_KEY in secrets.toml." end
  if answer.status ~= 200 then return nil, "OpenWeather answers with status " .. answer.status .. "." end

  local weather = json.decode(answer.body)
  return string.format("%s: %.0f °C, %s, wind %.0f m/s", weather.name, weather.main.temp,
    weather.weather[1].description, weather.wind.speed)
end

return { forecast = forecast }
