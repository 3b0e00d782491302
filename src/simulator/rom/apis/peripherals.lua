-- peripheral, rednet, disk, gps: nothing is attached to a simulated computer.
-- luacheck: globals peripheral rednet disk gps

local native = ...
local expect, at_least = native.expect, native.os.atLeast

peripheral = {}

function peripheral.getNames() return {} end

function peripheral.isPresent(name)
  expect(1, name, "string")
  return false
end

function peripheral.getType(subject)
  expect(1, subject, "string", "table")
  if type(subject) == "table" then error("bad argument #1 (table is not a peripheral)", 2) end
  return nil
end

if at_least(1, 99) then
  function peripheral.hasType(subject, kind)
    expect(1, subject, "string", "table")
    expect(2, kind, "string")
    return nil
  end
end

function peripheral.getMethods(name)
  expect(1, name, "string")
  return nil
end

function peripheral.getName(wrapped)
  expect(1, wrapped, "table")
  error("bad argument #1 (table is not a peripheral)", 2)
end

function peripheral.call(name, method)
  expect(1, name, "string")
  expect(2, method, "string")
  return nil
end

function peripheral.wrap(name)
  expect(1, name, "string")
  return nil
end

function peripheral.find(kind, filter)
  expect(1, kind, "string")
  expect(2, filter, "function", "nil")
end

---------------------------------------------------------------- rednet: no modem, so nothing is open

rednet = { CHANNEL_BROADCAST = 65535, CHANNEL_REPEAT = 65533, MAX_ID_CHANNELS = 65500 }

function rednet.open(modem)
  expect(1, modem, "string")
  error("No such modem: " .. modem, 2)
end

function rednet.close(modem)
  expect(1, modem, "string", "nil")
  if modem then error("No such modem: " .. modem, 2) end
end

function rednet.isOpen(modem)
  expect(1, modem, "string", "nil")
  return false
end

function rednet.send(recipient)
  expect(1, recipient, "number")
  return false
end

function rednet.broadcast() end

function rednet.receive(protocol, timeout)
  if type(protocol) == "number" and timeout == nil then protocol, timeout = nil, protocol end
  expect(1, protocol, "string", "nil")
  expect(2, timeout, "number", "nil")
  local timer = timeout and os.startTimer(timeout)
  while true do
    local event, first, message, of = os.pullEvent()
    if event == "timer" and first == timer then return nil end
    if event == "rednet_message" and (protocol == nil or of == protocol) then return first, message, of end
  end
end

function rednet.host(protocol, name)
  expect(1, protocol, "string")
  expect(2, name, "string")
end

function rednet.unhost(protocol) expect(1, protocol, "string") end

function rednet.lookup(protocol)
  expect(1, protocol, "string")
end

function rednet.run()
  while true do os.pullEventRaw("modem_message") end
end

---------------------------------------------------------------- disk drives, satellites

disk = {}
for name, answer in pairs { isPresent = false, hasData = false, hasAudio = false } do
  disk[name] = function(side)
    expect(1, side, "string")
    return answer
  end
end
for _, name in ipairs {
  "getLabel", "setLabel", "getMountPath", "getAudioTitle", "playAudio", "stopAudio", "eject", "getID",
} do
  disk[name] = function(side)
    expect(1, side, "string", name == "stopAudio" and "nil" or nil)
    return nil
  end
end

gps = { CHANNEL_GPS = 65534 }

function gps.locate(timeout, debugging)
  expect(1, timeout, "number", "nil")
  expect(2, debugging, "boolean", "nil")
  if debugging then print("No wireless modem attached") end
  return nil
end
