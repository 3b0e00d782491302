-- peripheral, rednet, disk, gps: nothing is attached to a simulated computer but a drive with a floppy, if one is asked
-- for.
-- luacheck: globals peripheral rednet disk gps

local native = ...
local expect, at_least = native.expect, native.os.atLeast

local side = native.fs.floppy

-- What the drive with the floppy can do, if there is one.
local drive = {
  isDiskPresent = function() return true end,
  hasData = function() return true end,
  getMountPath = function() return "disk" end,
  getDiskID = function() return 0 end,
  getDiskLabel = function() return nil end,
  setDiskLabel = function() end,
  hasAudio = function() return false end,
  getAudioTitle = function() return nil end,
  playAudio = function() end,
  stopAudio = function() end,
  ejectDisk = function() end,
}

local types = setmetatable({}, { __mode = "k" })

peripheral = {}

function peripheral.getNames() return { side } end

function peripheral.isPresent(name)
  expect(1, name, "string")
  return name == side
end

function peripheral.getType(subject)
  expect(1, subject, "string", "table")
  if type(subject) == "table" and not types[subject] then
    error("bad argument #1 (table is not a peripheral)", 2)
  end
  if subject == side or types[subject] then return "drive" end
  return nil
end

if at_least(1, 99) then
  function peripheral.hasType(subject, kind)
    expect(1, subject, "string", "table")
    expect(2, kind, "string")
    if subject == side or types[subject] then return kind == "drive" end
    return nil
  end
end

function peripheral.getMethods(name)
  expect(1, name, "string")
  if name ~= side then return nil end
  local names = {}
  for method in pairs(drive) do names[#names + 1] = method end
  return names
end

function peripheral.getName(wrapped)
  expect(1, wrapped, "table")
  return types[wrapped] or error("bad argument #1 (table is not a peripheral)", 2)
end

function peripheral.call(name, method, ...)
  expect(1, name, "string")
  expect(2, method, "string")
  if name ~= side then return nil end
  if not drive[method] then error("No such method " .. method, 2) end
  return drive[method](...)
end

function peripheral.wrap(name)
  expect(1, name, "string")
  if name ~= side then return nil end
  local wrapped = {}
  for method, f in pairs(drive) do wrapped[method] = f end
  types[wrapped] = name
  return wrapped
end

function peripheral.find(kind, filter)
  expect(1, kind, "string")
  expect(2, filter, "function", "nil")
  if kind ~= "drive" or not side then return end
  local wrapped = peripheral.wrap(side)
  if not filter or filter(side, wrapped) then return wrapped end
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
for name, method in pairs {
  isPresent = "isDiskPresent", hasData = "hasData", getMountPath = "getMountPath", getID = "getDiskID",
  getLabel = "getDiskLabel", setLabel = "setDiskLabel", hasAudio = "hasAudio", getAudioTitle = "getAudioTitle",
  playAudio = "playAudio", stopAudio = "stopAudio", eject = "ejectDisk",
} do
  local asks = name == "isPresent" or name == "hasData" or name == "hasAudio"
  disk[name] = function(where)
    expect(1, where, "string", name == "stopAudio" and "nil" or nil)
    if where == side and side then return drive[method]() end
    if asks then return false end
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
