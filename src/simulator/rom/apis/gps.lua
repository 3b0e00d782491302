-- gps: where the computer is, from how far away computers are that know where they are.
-- luacheck: globals gps

local native = ...
local expect = native.expect

gps = { CHANNEL_GPS = 65534 }

local abs, floor, sqrt = math.abs, math.floor, math.sqrt

local function round(v) return vector.new(floor(v.x + 0.5), floor(v.y + 0.5), floor(v.z + 0.5)) end

--- Where three spheres meet: two places, of which both may be one; nil where their middles lie on a line.
local function meeting(a, b, c)
  local ab, ac = b.at - a.at, c.at - a.at
  local d = ab:length()
  local x_axis = ab:normalize()
  local i = x_axis:dot(ac)
  local across = ac - x_axis * i
  if d < 0.01 or across:length() < 0.01 then return nil end
  local y_axis = across:normalize()
  local j = y_axis:dot(ac)
  local z_axis = x_axis:cross(y_axis)
  local x = (a.far ^ 2 - b.far ^ 2 + d ^ 2) / (2 * d)
  local y = (a.far ^ 2 - c.far ^ 2 + i ^ 2 + j ^ 2) / (2 * j) - i / j * x
  local z = sqrt(math.max(a.far ^ 2 - x ^ 2 - y ^ 2, 0))
  local base = a.at + x_axis * x + y_axis * y
  return base + z_axis * z, base - z_axis * z
end

--- The place that all are as far from as they say; nil if two are, or none.
local function place_of(fixes)
  for n = 3, #fixes do
    for second = 2, n - 1 do
      local one, other = meeting(fixes[1], fixes[second], fixes[n])
      if one then
        local fitting = {}
        for _, place in ipairs { round(one), round(other) } do
          local fits = true
          for _, fix in ipairs(fixes) do fits = fits and abs((place - fix.at):length() - fix.far) < 0.05 end
          local same = fitting[1] and (fitting[1] - place):length() < 0.5
          if fits and not same then fitting[#fitting + 1] = place end
        end
        if #fitting == 1 then return fitting[1] end
      end
    end
  end
end

local function wireless_modem()
  for _, name in ipairs(peripheral.getNames()) do
    if peripheral.getType(name) == "modem" and peripheral.call(name, "isWireless") then return name end
  end
end

function gps.locate(timeout, debugging)
  expect(1, timeout, "number", "nil")
  expect(2, debugging, "boolean", "nil")
  local modem = wireless_modem()
  if not modem then
    if debugging then print("No wireless modem attached") end
    return nil
  end
  if debugging then print("Finding position...") end
  local was_open = peripheral.call(modem, "isOpen", gps.CHANNEL_GPS)
  if not was_open then peripheral.call(modem, "open", gps.CHANNEL_GPS) end
  peripheral.call(modem, "transmit", gps.CHANNEL_GPS, gps.CHANNEL_GPS, "PING")
  local timer, fixes, place = os.startTimer(timeout or 2), {}, nil
  while not place do
    local event, first, channel, reply, message, far = os.pullEvent()
    if event == "timer" and first == timer then break end
    if event == "modem_message" and first == modem and channel == gps.CHANNEL_GPS and reply == gps.CHANNEL_GPS
      and type(message) == "table" and tonumber(message[1]) and tonumber(message[2]) and tonumber(message[3]) then
      local fix = { at = vector.new(tonumber(message[1]), tonumber(message[2]), tonumber(message[3])), far = far }
      if far == 0 then
        place = fix.at
      else
        fixes[#fixes + 1] = fix
        place = place_of(fixes)
      end
    end
  end
  os.cancelTimer(timer)
  if not was_open then peripheral.call(modem, "close", gps.CHANNEL_GPS) end
  if not place then
    if debugging then print("Could not determine position") end
    return nil
  end
  if debugging then print("Position is " .. place.x .. "," .. place.y .. "," .. place.z) end
  return place.x, place.y, place.z
end
