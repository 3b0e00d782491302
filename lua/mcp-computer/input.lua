--- What a player types, clicks and pastes: it is for the player's programs, and what a job makes up of it for that job.
--
-- A job may queue such events itself, to press a key in a program that it runs. Under their own names they would reach
-- the player's programs too, and could not be told from a player's. So they travel through the game's queue, in order
-- with all else, under a name of the agent's, and with the job they are for.

local error, format, rawget, rawset, type = error, string.format, rawget, rawset, type
local library = os

local input = {}

--- The event that carries one: the job's key, then the event as it was queued.
input.EVENT = "mcp_computer_input"

local NAMES = {
  char = true, file_transfer = true, key = true, key_up = true, mouse_click = true, mouse_drag = true,
  mouse_move = true, mouse_scroll = true, mouse_up = true, paste = true, terminate = true,
}

local game_queue = os.queueEvent
-- The key of the job that runs, if one does.
local running

--- @tparam string name An event's.
-- @treturn boolean Whether it is a player's input.
function input.is_input(name)
  return NAMES[name] ~= nil
end

--- `os.queueEvent` for jobs. While none runs it is the game's.
function input.queue(name, ...)
  if type(name) ~= "string" then error(format("bad argument #1 (string expected, got %s)", type(name)), 2) end
  if running and NAMES[name] then return game_queue(input.EVENT, running, name, ...) end
  return game_queue(name, ...)
end

--- A job is about to run: programs that it starts queue for it too.
-- @tparam string key The job's.
function input.enter(key)
  running = key
  local before = rawget(library, "queueEvent")
  if before == input.queue then return end
  game_queue = before
  rawset(library, "queueEvent", input.queue)
end

--- The job has stopped running: all is as it was, but for what the job itself has changed.
function input.leave()
  running = nil
  if rawget(library, "queueEvent") == input.queue then rawset(library, "queueEvent", game_queue) end
end

return input
