-- Messages between computers of the game.

local reason = require("shared.errors").reason

local game = rednet
local format = string.format

-- Milliseconds to wait if it isn't said.
local WAIT = 20000
-- Bytes of a message as JSON that are shown: quotes and the like take twice as much in the answer.
local LONGEST = 16000

-- Opens the modems if none is open; nil and why not.
local function open()
  if game.isOpen() then return true end
  local opened = 0
  for _, name in ipairs(peripheral.getNames()) do
    if peripheral.getType(name) == "modem" then
      game.open(name)
      opened = opened + 1
    end
  end
  if opened > 0 then return true end
  return nil, "This computer has no modem: rednet needs one, on a side of it, wireless or with a cable."
end

local function shown(message)
  local ok, text = pcall(json.encode, message)
  if not ok then return format("(a message that can't be shown: %s)", tostring(text):sub(1, 200)) end
  if #text > LONGEST then return text:sub(1, LONGEST) .. format("... (%d bytes)", #text) end
  return message
end

local ACTIONS = {}

function ACTIONS.send(arguments)
  if not arguments.to then return nil, "Say which computer, by `to`." end
  if arguments.message == nil then return nil, "Say what to send, by `message`." end
  game.send(arguments.to, arguments.message, arguments.protocol)
  return format("Sent to computer %d. Whether it listens is not known: rednet tells no sender.", arguments.to)
end

function ACTIONS.broadcast(arguments)
  if arguments.message == nil then return nil, "Say what to send, by `message`." end
  game.broadcast(arguments.message, arguments.protocol)
  return "Sent to all computers in reach."
end

function ACTIONS.receive(arguments)
  local seconds = (arguments.timeoutMs or WAIT) / 1000
  local sender, message, protocol = game.receive(arguments.protocol, seconds)
  if not sender then
    return nil, format("No message%s came within %s. Call again to wait on; what comes between two calls is "
      .. "missed.", arguments.protocol and " of the protocol " .. arguments.protocol or "",
      seconds == 1 and "1 second" or format("%g seconds", seconds))
  end
  return { from = sender, message = shown(message), protocol = protocol }
end

function ACTIONS.lookup(arguments)
  if not arguments.protocol then return nil, "Say which `protocol` to look up." end
  local found = { game.lookup(arguments.protocol, arguments.hostname) }
  return { computers = json.array(found) }
end

function ACTIONS.host(arguments)
  if not arguments.protocol or not arguments.hostname then return nil, "Say which `protocol`, and the `hostname`." end
  game.host(arguments.protocol, arguments.hostname)
  return format("This computer hosts %s as %s, until it reboots.", arguments.protocol, arguments.hostname)
end

--- `rednet`.
local function act(arguments)
  local is_open, problem = open()
  if not is_open then return nil, problem end
  local ok, answer, why = pcall(ACTIONS[arguments.action], arguments)
  if not ok then return nil, reason(answer) end
  return answer, why
end

return { rednet = act }
