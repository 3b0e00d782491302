--- What a player says to the agent that runs on this computer, from another program: `mcp-computer stop` and its like.

local presence = require("mcp-computer.presence")
local setting = require("mcp-computer.setting")

local format = string.format
local error, type = error, type
local pull, queue, start_timer = os.pullEventRaw, os.queueEvent, os.startTimer

local control = {}

--- The event that says it: by whom, what, and what comes with it.
control.EVENT = "mcp_computer_control"
-- The event that answers: to whom, whether it was done, and what is to be said of it.
local ANSWER = "mcp_computer_controlled"
-- An agent answers at once, but for a job that doesn't yield; one of a version that knows nothing of this doesn't.
local ANSWER_SECONDS = 10

--- The setting that holds whether nothing new begins here.
control.PAUSED_SETTING = "mcp_computer.paused"

--- What an agent that has ended, but still hosts a shell, is told to begin again; and the line above that shell.
control.START, control.STATUS_LINE = "start", "status-line"

local NONE = "No mcp-computer runs on this computer."
local NO_LINE = "The agent that runs here hosts no shell, so there is no status line: start it with --shell."

--- Whether the player has paused this computer, before this start of the agent too.
-- @treturn boolean
function control.is_paused()
  return setting.get(control.PAUSED_SETTING) == true
end

local function set_paused(powers, is_paused)
  powers.set_paused(is_paused)
  local is_kept = setting.keep(control.PAUSED_SETTING, is_paused or nil)
  if not is_paused then return "Whatever is asked begins again." end
  return "Nothing new begins on this computer until `mcp-computer resume`. What runs goes on."
    .. (is_kept and "" or " A reboot forgets this: it can't be saved.")
end

-- By what is said: does it, and returns what is to be said of it; or nil and why it isn't done.
local OBEYED = {
  stop = function(powers)
    powers.stop()
    return powers.hosts and "mcp-computer has ended. This shell stays." or "mcp-computer has ended."
  end,
  pause = function(powers) return set_paused(powers, true) end,
  resume = function(powers) return set_paused(powers, false) end,
  [control.STATUS_LINE] = function(powers, argument)
    if not powers.set_line then return nil, NO_LINE end
    powers.set_line(argument ~= "off")
    return argument ~= "off" and "The status line is shown." or "The status line is hidden."
  end,
}

--- @tparam string name What a player calls the program with.
-- @treturn boolean Whether it is something to be said to the agent that runs.
function control.is_said(name)
  return OBEYED[name] ~= nil
end

--- Answers who said something.
-- @param name Who did.
-- @tparam boolean is_done
-- @tparam string text
function control.answer(name, is_done, text)
  queue(ANSWER, name, is_done, text)
end

--- Does what was said.
-- @tparam table event Packed.
-- @tparam table powers `stop()`, `set_paused(is_paused)`; `hosts`: whether a shell is hosted, by `set_line(is_shown)`.
function control.obey(event, powers)
  local name, said = event[2], event[3]
  local act = OBEYED[said]
  if not act then return control.answer(name, false, "This version of mcp-computer doesn't know that.") end
  local text, problem = act(powers, event[4])
  control.answer(name, text ~= nil, text or problem)
end

local function wait_for_answer(name)
  local timer = start_timer(ANSWER_SECONDS)
  while true do
    local event, first, is_done, text = pull()
    if event == "terminate" then
      error("Terminated", 0)
    elseif event == ANSWER and first == name then
      return is_done, text
    elseif event == "timer" and first == timer then
      return false, "The agent that runs here did not answer. An older version is ended by Ctrl+T where it runs."
    end
  end
end

--- Says something to the agent that runs here, and waits for its answer.
-- @tparam string name Who says it: another one each time.
-- @tparam string said
-- @param[opt] argument
-- @treturn string What is to be shown of it.
-- @throws Why it was not done.
function control.say(name, said, argument)
  local other, ended = presence.ask(name)
  if not other and not (ended and said == control.STATUS_LINE) then
    if ended then error(format("%s Its shell is still hosted; it ended: %s", NONE, ended.stopped), 0) end
    error(NONE, 0)
  end
  queue(control.EVENT, name, said, argument)
  local is_done, text = wait_for_answer(name)
  text = type(text) == "string" and text or "It was not done."
  if not is_done then error(text, 0) end
  return text
end

--- Begins the agent again that has ended in the shell's host.
-- @tparam string name Who says it.
-- @tparam {string,...} arguments What the program was called with.
-- @treturn boolean Whether it does.
-- @treturn string|nil What is to be said of it.
function control.start(name, arguments)
  queue(control.EVENT, name, control.START, arguments)
  return wait_for_answer(name)
end

return control
