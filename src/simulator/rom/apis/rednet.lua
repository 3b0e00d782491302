-- rednet: messages between computers, by their numbers, over all modems that are open.
-- luacheck: globals rednet

local native = ...
local expect, at_least = native.expect, native.os.atLeast

rednet = { CHANNEL_BROADCAST = 65535, CHANNEL_REPEAT = 65533, MAX_ID_CHANNELS = 65500 }

-- Numbers of messages that came, and until when they are remembered: by radio one may come twice.
local KEPT_SECONDS = 9.5
local seen = {}

-- What this computer is known as, by protocol.
local hosted = {}

local LOOKUP_SECONDS = 2

--- The channel of a computer's number, or of this one's.
local function channel_of(id) return (id or os.getComputerID()) % rednet.MAX_ID_CHANNELS end

local function is_modem(name) return (peripheral.getType(name)) == "modem" end

local function need_modem(name)
  if not is_modem(name) then error("No such modem: " .. name, 3) end
end

local function modems()
  local found = {}
  for _, name in ipairs(peripheral.getNames()) do
    if is_modem(name) then found[#found + 1] = name end
  end
  return found
end

function rednet.open(modem)
  expect(1, modem, "string")
  need_modem(modem)
  peripheral.call(modem, "open", channel_of())
  peripheral.call(modem, "open", rednet.CHANNEL_BROADCAST)
end

function rednet.close(modem)
  expect(1, modem, "string", "nil")
  if modem then need_modem(modem) end
  for _, name in ipairs(modem and { modem } or modems()) do
    peripheral.call(name, "close", channel_of())
    peripheral.call(name, "close", rednet.CHANNEL_BROADCAST)
  end
end

function rednet.isOpen(modem)
  expect(1, modem, "string", "nil")
  for _, name in ipairs(modem and { modem } or modems()) do
    if is_modem(name) and peripheral.call(name, "isOpen", channel_of())
      and peripheral.call(name, "isOpen", rednet.CHANNEL_BROADCAST) then
      return true
    end
  end
  return false
end

function rednet.send(recipient, message, protocol)
  expect(1, recipient, "number")
  expect(3, protocol, "string", "nil")
  local number = math.random(1, 2147483647)
  seen[number] = os.clock() + KEPT_SECONDS
  if recipient == os.getComputerID() then
    os.queueEvent("rednet_message", recipient, message, protocol)
    return true
  end
  local letter = {
    nMessageID = number, nRecipient = recipient, nSender = os.getComputerID(), message = message, sProtocol = protocol,
  }
  local channel = recipient
  if recipient ~= rednet.CHANNEL_BROADCAST then channel = channel_of(recipient) end
  local sent = false
  for _, name in ipairs(modems()) do
    if rednet.isOpen(name) then
      peripheral.call(name, "transmit", channel, channel_of(), letter)
      peripheral.call(name, "transmit", rednet.CHANNEL_REPEAT, channel_of(), letter)
      sent = true
    end
  end
  if not at_least(1, 80) then return nil end
  return sent
end

function rednet.broadcast(message, protocol)
  expect(2, protocol, "string", "nil")
  rednet.send(rednet.CHANNEL_BROADCAST, message, protocol)
end

function rednet.receive(protocol, timeout)
  if type(protocol) == "number" and timeout == nil then protocol, timeout = nil, protocol end
  expect(1, protocol, "string", "nil")
  expect(2, timeout, "number", "nil")
  local timer = timeout and os.startTimer(timeout)
  while true do
    local event, first, message, of = os.pullEvent()
    if event == "timer" and first == timer then return nil end
    if event == "rednet_message" and (protocol == nil or of == protocol) then
      if timer then os.cancelTimer(timer) end
      return first, message, of
    end
  end
end

function rednet.host(protocol, name)
  expect(1, protocol, "string")
  expect(2, name, "string")
  if name == "localhost" then error("Reserved hostname", 2) end
  if hosted[protocol] ~= name then
    if rednet.lookup(protocol, name) then error("Hostname in use", 2) end
    hosted[protocol] = name
  end
end

function rednet.unhost(protocol)
  expect(1, protocol, "string")
  hosted[protocol] = nil
end

function rednet.lookup(protocol, name)
  expect(1, protocol, "string")
  expect(2, name, "string", "nil")
  local found = {}
  if hosted[protocol] and (name == nil or name == "localhost" or hosted[protocol] == name) then
    if name then return os.getComputerID() end
    found[1] = os.getComputerID()
  end
  if not rednet.isOpen() then
    if name then return nil end
    return table.unpack(found)
  end
  rednet.broadcast({ sType = "lookup", sProtocol = protocol, sHostname = name }, "dns")
  local timer = os.startTimer(LOOKUP_SECONDS)
  while true do
    local event, first, message, of = os.pullEvent()
    if event == "rednet_message" and of == "dns" and type(message) == "table" and message.sType == "lookup response"
      and message.sProtocol == protocol then
      if name == nil then
        found[#found + 1] = first
      elseif message.sHostname == name then
        return first
      end
    elseif event == "timer" and first == timer then
      if name then return nil end
      return table.unpack(found)
    end
  end
end

local function forget_old()
  local now = os.clock()
  for number, until_then in pairs(seen) do
    if until_then <= now then seen[number] = nil end
  end
end

--- A letter that came over a modem.
local function deliver(channel, reply, letter)
  if channel ~= channel_of() and channel ~= rednet.CHANNEL_BROADCAST then return end
  if type(letter) ~= "table" or type(letter.nMessageID) ~= "number" or seen[letter.nMessageID] then return end
  if letter.nRecipient and letter.nRecipient ~= os.getComputerID()
    and letter.nRecipient ~= rednet.CHANNEL_BROADCAST then
    return
  end
  seen[letter.nMessageID] = os.clock() + KEPT_SECONDS
  os.queueEvent("rednet_message", letter.nSender or reply, letter.message, letter.sProtocol)
end

--- Somebody asks who has a name.
local function answer(sender, question)
  local name = hosted[question.sProtocol]
  if name and (question.sHostname == nil or question.sHostname == name) then
    rednet.send(sender, { sType = "lookup response", sHostname = name, sProtocol = question.sProtocol }, "dns")
  end
end

function rednet.run()
  while true do
    local event = table.pack(os.pullEventRaw())
    if event[1] == "modem_message" then
      deliver(event[3], event[4], event[5])
      forget_old()
    elseif event[1] == "rednet_message" and event[4] == "dns" and type(event[3]) == "table"
      and event[3].sType == "lookup" then
      answer(event[2], event[3])
    end
  end
end
