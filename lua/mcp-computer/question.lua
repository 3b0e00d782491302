--- A question to the player, answered by one key.

local error, print, write = error, print, write
local pull, start_timer, cancel_timer = os.pullEventRaw, os.startTimer, os.cancelTimer
local keys = keys
local lower = string.lower

local question = {}

-- Nobody may be there: a program can run the one that asks.
local ANSWER_SECONDS = 60

--- Asks, and waits for y, n or Enter.
-- @tparam string text
-- @tparam boolean default What Enter means.
-- @treturn boolean|nil The answer; nil: none came within a minute.
-- @throws `Terminated`, if the player stops it.
function question.ask(text, default)
  write(text .. (default and " [Y/n] " or " [y/N] "))
  local timer, answer = start_timer(ANSWER_SECONDS), nil
  while answer == nil do
    local event, value, is_held = pull()
    if event == "terminate" then
      print()
      error("Terminated", 0)
    elseif event == "char" and (lower(value) == "y" or lower(value) == "n") then
      answer = lower(value) == "y"
    elseif event == "key" and (value == keys.enter or value == keys.numPadEnter) and not is_held then
      answer = default
    elseif event == "timer" and value == timer then
      print("(no answer)")
      return nil
    end
  end
  cancel_timer(timer)
  print(answer and "yes" or "no")
  return answer
end

--- Waits for Enter, or a minute.
-- @tparam string text
-- @throws `Terminated`, if the player stops it.
function question.wait(text)
  write(text)
  local timer = start_timer(ANSWER_SECONDS)
  repeat
    local event, value, is_held = pull()
    if event == "terminate" then error("Terminated", 0) end
    local is_enter = event == "key" and value == keys.enter and not is_held
  until is_enter or event == "timer" and value == timer
  print()
end

return question
