--- A question to the player, answered by a word and Enter.

local error, print, write = error, print, write
local pull, start_timer, cancel_timer = os.pullEventRaw, os.startTimer, os.cancelTimer
local keys = keys
local lower = string.lower

local question = {}

-- Nobody may be there: a program can run the one that asks.
local ANSWER_SECONDS = 60

local ANSWERS = { y = true, yes = true, n = false, no = false }
local TYPED_LIMIT = 8

--- Asks, and waits for a line: one key would leave the rest of a word to whatever asks next.
-- @tparam string text
-- @tparam boolean default What Enter alone means.
-- @treturn boolean|nil The answer; nil: none came within a minute.
-- @throws `Terminated`, if the player stops it.
function question.ask(text, default)
  write(text .. (default and " [Y/n] " or " [y/N] "))
  local timer, typed = start_timer(ANSWER_SECONDS), ""
  while true do
    local event, value, is_held = pull()
    if event == "terminate" then
      print()
      error("Terminated", 0)
    elseif event == "char" and #typed < TYPED_LIMIT then
      typed = typed .. lower(value)
      write(value)
    elseif event == "key" and (value == keys.enter or value == keys.numPadEnter) and not is_held then
      local answer = ANSWERS[typed]
      if typed == "" then
        answer = default
        write(default and "yes" or "no")
      end
      print()
      if answer ~= nil then
        cancel_timer(timer)
        return answer
      end
      typed = ""
      write("Please type y or n, and Enter: ")
    elseif event == "timer" and value == timer then
      print("(no answer)")
      return nil
    end
  end
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
