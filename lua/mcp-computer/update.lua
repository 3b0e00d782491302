--- An update: a new version of the agent is tried, and gets the old one's file once it has linked.
--
-- It runs from memory at first, while the disk still has the old one: that is what starts if the computer is turned off
-- meanwhile. If it does not link in time, or can't be written, it is ended, and the old one goes on. The new one runs
-- within the old one's program, which hands it all events, since no other place on a computer is sure to be there.

local disk = require("mcp-computer.disk")

local create, resume, status = coroutine.create, coroutine.resume, coroutine.status
local find, format = string.find, string.format
local epoch, pull, queue, start_timer = os.epoch, os.pullEventRaw, os.queueEvent, os.startTimer
local error, load, next, pcall, select, setmetatable, tostring, type =
  error, load, next, pcall, select, setmetatable, tostring, type
local fs = fs
local unpack = table.unpack or unpack
local globals = _G

local update = {}

--- The event that asks an agent to update itself: by whom, and the new version's source.
update.EVENT = "mcp_computer_update"
-- The event that answers: to whom, and why not, or nil.
local ANSWER = "mcp_computer_updating"

-- A new version has this long to link.
local TRIAL_SECONDS = 30
-- An agent that runs answers at once, but for a job that doesn't yield.
local ANSWER_SECONDS = 10
-- What stands within the first bytes of the agent's file, as bridges serve it.
local MARK, MARK_WITHIN = "mcp-computer, all modules in one file", 100

--- Whether a file is an agent, as bridges serve it.
-- @tparam string path
-- @treturn boolean
function update.is_agent(path)
  local beginning = disk.read(path, MARK_WITHIN)
  return beginning ~= nil and find(beginning, MARK, 1, true) ~= nil
end

--- The file that the present program was started from, if it is the agent's: programs that start others have their own.
-- @tparam table|nil shell
-- @treturn string|nil An absolute path.
function update.own_file(shell)
  if not shell or not shell.getRunningProgram then return nil end
  local path = "/" .. shell.getRunningProgram()
  if fs.isReadOnly(path) then return nil end
  return update.is_agent(path) and path or nil
end

--- Says what speaks against an update.
-- @param source What is to be the new version.
-- @tparam string|nil path The agent's file.
-- @treturn string|nil
function update.refuse(source, path)
  if not path then return "it was not started from its file" end
  if type(source) ~= "string" then return "there is no new version" end
  local chunk, problem = load(source, "@" .. path, "t", {})
  if not chunk then return "the new version can't be read: " .. tostring(problem) end
  local has_room, lack = disk.has_room(path, #source)
  return not has_room and lack or nil
end

--- Answers who asked for an update.
-- @param name Who did.
-- @tparam string|nil problem From @{update.refuse}.
function update.answer(name, problem)
  queue(ANSWER, name, problem)
end

--- Asks the agent that runs on this computer to update itself.
-- @tparam string name Who asks.
-- @tparam string source The new version's.
-- @treturn boolean Whether it does.
-- @treturn string|nil Why not.
function update.ask(name, source)
  queue(update.EVENT, name, source)
  local timer = start_timer(ANSWER_SECONDS)
  while true do
    local event, first, problem = pull()
    if event == "terminate" then
      error("Terminated", 0)
    elseif event == ANSWER and first == name then
      return problem == nil, problem
    elseif event == "timer" and first == timer then
      return false, "it did not answer"
    end
  end
end

local function pack(...)
  return { n = select("#", ...), ... }
end

-- Whether an event is a bridge's welcome to an agent, of whatever version.
local function is_welcome(event)
  return event[1] == "websocket_message" and type(event[3]) == "string" and find(event[3], '"hello-ok"', 1, true) ~= nil
end

-- Lets the new version go on. Its first turn comes with what the program was called with.
local function turn(self, ...)
  local ok, result = resume(self.running, ...)
  if ok then self.filter = result else self.problem = tostring(result) end
end

-- Ends the new version, and the sockets it had opened, should it keep them.
local function stop(self)
  if status(self.running) ~= "dead" then resume(self.running, "terminate") end
  for _, socket in next, self.sockets do pcall(function() socket.close() end) end
end

-- Hands the new version an event. Returns whether it still runs.
local function hand_on(self, event)
  local name = event[1]
  if self.filter == nil or self.filter == name or name == "terminate" then turn(self, unpack(event, 1, event.n)) end
  return status(self.running) ~= "dead"
end

-- Waits until the new version has linked. Returns whether it has; else `problem` says why not, unless the player has
-- ended it.
local function try(self)
  local deadline = epoch("utc") + TRIAL_SECONDS * 1000
  -- The timer stands still while the world is paused, and may be lost.
  local timer = start_timer(TRIAL_SECONDS)
  while status(self.running) ~= "dead" do
    local event = pack(pull())
    if event[1] == "websocket_success" then self.sockets[event[2]] = event[3] end
    local goes_on = hand_on(self, event)
    if event[1] == "terminate" then
      self.problem = nil
      return false
    end
    if goes_on and is_welcome(event) then return true end
    if goes_on and (epoch("utc") >= deadline or event[1] == "timer" and event[2] == timer) then
      self.problem = format("it did not link within %d seconds", TRIAL_SECONDS)
      return false
    end
  end
  self.problem = self.problem or "it ended at once"
  return false
end

--- Runs a new version in the place of the present one, which has ended.
--
-- Returns once the new one is over: since it is not to stay, or since the player has ended it.
-- @tparam table options `source`; `path`: the agent's file; `arg`: how the program was called; `program`: see
--   @{environment.new}; `host`: of the player's shell, which stays where it is, or nil.
-- @treturn string|nil Why the old one is to go on; nil: it is not.
-- @throws What ended the new one, once it had linked.
function update.try(options)
  local env = { arg = options.arg, mcp_computer_host = options.host }
  for name, value in next, options.program do env[name] = value end
  local chunk, malformed = load(options.source, "@" .. options.path, "t", setmetatable(env, { __index = globals }))
  if not chunk then return tostring(malformed) end
  local self = {
    running = create(chunk),
    -- filter = nil: the event it waits for; nil: any
    -- problem = nil: why it is not to stay, or has ended
    sockets = {},  -- by their URLs: those that were opened meanwhile
  }
  turn(self, unpack(options.arg, 1, #options.arg))
  local is_written = false
  if try(self) then is_written, self.problem = disk.replace(options.path, options.source) end
  if not is_written then
    stop(self)
    return self.problem
  end
  options.source, self.sockets = nil, nil
  repeat until not hand_on(self, pack(pull()))
  if self.problem then error(self.problem, 0) end
  return nil
end

return update
