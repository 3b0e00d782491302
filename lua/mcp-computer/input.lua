--- What a player types, clicks and pastes: it is for the player's programs, and what a job makes up of it for that job.
--
-- A job may queue such events itself, to press a key in a program that it runs. Under their own names they would reach
-- the player's programs too, and could not be told from a player's. So they travel through the game's queue, in order
-- with all else, under a name of the agent's, and with the job they are for.

local error, format, rawequal, rawget, rawset = error, string.format, rawequal, rawget, rawset
local select, type = select, type
local unpack = table.unpack or unpack
local library = os

local input = {}

--- The event that carries one: the job's key, then the event as it was queued.
input.EVENT = "mcp_computer_input"

local NAMES = {
  char = true, file_transfer = true, key = true, key_up = true, mouse_click = true, mouse_drag = true,
  mouse_move = true, mouse_scroll = true, mouse_up = true, paste = true, terminate = true,
}

--- The player wants nothing to be run of what they are asked about, and has pressed Ctrl+T.
input.NO = "mcp_computer_no"

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

-- The last argument of input that a program has queued, while that is marked.
local MARK = "mcp_computer_queued"
-- What stood in the place of `os.queueEvent` before, and what stands there now, while it is marked.
local unmarked, marking

--- Marks from now on all input that programs queue, so that it can be told from a player's. Whoever kept the game's
-- `os.queueEvent` from before queues without a mark.
function input.mark()
  if marking then return end
  unmarked = rawget(library, "queueEvent")
  local before = unmarked
  marking = function(name, ...)
    if not NAMES[name] then return before(name, ...) end
    local arguments = { ... }
    local count = select("#", ...) + 1
    arguments[count] = MARK
    return before(name, unpack(arguments, 1, count))
  end
  rawset(library, "queueEvent", marking)
end

--- Input is no longer marked: all is as it was, if nobody has changed it since.
function input.unmark()
  if marking and rawequal(rawget(library, "queueEvent"), marking) then rawset(library, "queueEvent", unmarked) end
  marking = nil
end

--- Whether a program has queued this input.
-- @tparam table event Packed, with its length in `n`.
-- @treturn boolean
function input.is_queued(event)
  return event[event.n] == MARK
end

return input
