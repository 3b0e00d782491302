-- Tells where the computer is, or tells others where they are.

local action, x, y, z = ...

if action == "locate" then
  gps.locate(2, true)
elseif action == "host" then
  x, y, z = tonumber(x), tonumber(y), tonumber(z)
  if not (x and y and z) then
    print("Usage: gps host <x> <y> <z>")
    return
  end
  local modem
  for _, name in ipairs(peripheral.getNames()) do
    if peripheral.getType(name) == "modem" and peripheral.call(name, "isWireless") then modem = modem or name end
  end
  if not modem then
    printError("No wireless modem attached")
    return
  end
  peripheral.call(modem, "open", gps.CHANNEL_GPS)
  print("Serving GPS requests")
  while true do
    local _, side, channel, reply, message = os.pullEvent("modem_message")
    if side == modem and channel == gps.CHANNEL_GPS and message == "PING" then
      peripheral.call(modem, "transmit", reply, gps.CHANNEL_GPS, { x, y, z })
    end
  end
else
  print("Usage: gps locate | host <x> <y> <z>")
end
