--- Asks the player whether what a bridge wants may run, one question at a time.
--
-- The answer is typed, and ended with Enter, so that a key that was meant for something else is none. What a program
-- queues never counts (@{input.mark}).

local input = require("mcp-computer.input")

local max, min = math.max, math.min
local find, format, gsub, lower, sub = string.find, string.format, string.gsub, string.lower, string.sub
local remove = table.remove
local pcall, setmetatable = pcall, setmetatable
local print, write = print, write
local term = term
local keys = keys

local consent = {}
consent.__index = consent

--- Questions that may wait, the one that is asked among them.
consent.LIMIT = 16
-- How long the player has to answer, from the last page that they turned to on.
local ANSWER_SECONDS = 60
-- Rows of the screen that show what is to run, at least and at most, and those that the rest of a question takes.
local LEAST_ROWS, MOST_ROWS, OTHER_ROWS = 3, 12, 5
-- Characters of an answer, and of what a bridge calls what it asks for; more are not taken, or shown.
local TYPED_LIMIT, HEADING_LIMIT = 8, 60

local ANSWERS = { y = true, yes = true, n = false, no = false }

local BEHIND = "its player was still asked about another, which list-jobs shows. Call again once that is answered"
local HINT = "Ask a person at that computer, and then ask again."

local function refusal(message, hint)
  return { ok = false, kind = "refused", message = message, hint = hint, not_begun = true }
end

--- What is answered where there is no room for a question.
-- @treturn table An outcome.
function consent.too_many()
  return refusal("its player is already asked about " .. consent.LIMIT .. " others (--policy ask)",
    "Wait until those are answered: list-jobs shows them.")
end

--- @tparam function clock Seconds.
-- @tparam table|nil host Of the player's shell, on whose screen room is made for questions: see @{hosting:handle}.
-- @treturn consent
function consent.new(clock, host)
  return setmetatable({
    clock = clock,
    host = host,
    waiting = {},  -- questions, see `consent:ask`; the first is asked, once it has `due`
    typed = "",    -- the answer so far
    -- wake_at = nil: when something is to be done, in seconds
  }, consent)
end

-- Output must not be able to fail: the player's terminal may be anything by now.
local function say(line)
  pcall(print, line)
end

-- Shows a text from a byte on, as far as the screen has room for it. Returns where the rest begins.
local function show_rows(text, at)
  local ok, width, height = pcall(term.getSize)
  if not ok then width, height = 51, 19 end
  local rows = max(LEAST_ROWS, min(MOST_ROWS, height - OTHER_ROWS))
  while rows > 0 and at <= #text do
    local stop = find(text, "\n", at, true) or #text + 1
    local after = min(stop, at + width)
    local row = sub(text, at, after - 1)
    if find(row, "%S") then
      say(row)
      rows = rows - 1
    end
    at = after == stop and after + 1 or after
  end
  return at
end

-- Shows a page of the first question, if there is such a one: 0 is what is to run in short, the others are all of it.
local function turn_to(self, question, page)
  local text, starts = page == 0 and question.brief or question.text, question.starts
  if not starts[page] or page > 0 and starts[page] > #text then return end
  if self.typed ~= "" then say("") end
  question.page, question.due, self.typed = page, self.clock() + ANSWER_SECONDS, ""
  local after = show_rows(text, starts[page])
  local left = #text - after + 1
  if page == 0 and question.brief ~= question.text then after = 1 end
  starts[page + 1] = after
  if after <= #question.text then
    say("... " .. (left > 0 and "and " .. left .. " more bytes" or "all of it") .. ": press down")
  end
  say(format("Type yes or no, and Enter, within %d s:", ANSWER_SECONDS))
end

-- Characters that would move the cursor, or show nothing, could hide what follows.
local function plain(text)
  return (gsub(gsub(text, "\r\n?", "\n"), "[^\n\32-\126]", "?"))
end

-- Shows the first question to the player.
local function show(self, question)
  if self.host then self.host.open_dialog() end
  question.on_shown()
  say("A bridge wants to run here, by " .. gsub(sub(question.heading, 1, HEADING_LIMIT), "[^\32-\126]", "?") .. ":")
  question.text = plain(question.text)
  question.brief, question.starts = question.brief and plain(question.brief) or question.text, { [0] = 1 }
  turn_to(self, question, 0)
end

-- Takes out a question, and says how it ended.
local function settle(self, index, word)
  local question = remove(self.waiting, index)
  if question.due then
    say(word)
    if self.host then self.host.close_dialog() end
  end
  return question
end

--- Puts a question to the player, once those before it are answered.
-- @tparam table question `key`: tells it from all others; `heading`: what the bridge calls it; `text`: what is to run;
--   `brief`: the same in short, if it is not;
--   `is_late()`: whether it may not begin any more; `on_late()`: called if that was so before the player saw it;
--   `on_shown()`: called when the player sees it; `on_yes()`; `on_no(outcome)`: called with how it ended without a yes.
-- @treturn boolean Whether there was room for it.
function consent:ask(question)
  if #self.waiting >= consent.LIMIT then return false end
  self.waiting[#self.waiting + 1] = question
  return true
end

-- The index of a question.
local function index_of(self, key)
  for i = 1, #self.waiting do
    if self.waiting[i].key == key then return i end
  end
  return nil
end

--- @tparam string key
-- @treturn boolean Whether there is such a question.
function consent:has(key)
  return index_of(self, key) ~= nil
end

--- @treturn boolean Whether no question waits.
function consent:is_idle()
  return #self.waiting == 0
end

--- Takes back a question.
-- @tparam string key
-- @tparam[opt] string why
-- @treturn boolean Whether there was one.
function consent:cancel(key, why)
  local index = index_of(self, key)
  if not index then return false end
  local question = settle(self, index, "It was taken back.")
  if question.due then
    question.on_no(refusal("it was cancelled before the player had allowed it" .. (why and ": " .. why or "")))
  else
    why = why or index > 1 and BEHIND or "cancelled"
    question.on_no({ ok = false, kind = "cancelled", message = why, not_begun = true })
  end
  return true
end

--- The player says no to what they are asked, if they are.
function consent:refuse()
  local question = self.waiting[1]
  if question and question.due then
    settle(self, 1, "It is not run.").on_no(refusal("the player at that computer said no", HINT))
  end
end

-- The player has ended a line.
local function answered(self)
  local answer = ANSWERS[lower(self.typed)]
  self.typed = ""
  say("")
  if answer then
    settle(self, 1, "It begins.").on_yes()
  elseif answer == false then
    self:refuse()
  else
    say("Please type yes or no, and Enter:")
  end
end

local function take_back_letter(self)
  if self.typed == "" then return end
  self.typed = sub(self.typed, 1, -2)
  pcall(function()
    local x, y = term.getCursorPos()
    term.setCursorPos(x - 1, y)
    term.write(" ")
    term.setCursorPos(x - 1, y)
  end)
end

--- Takes the player's input, if a question is asked.
-- @tparam table event Packed, with its length in `n`.
function consent:input(event)
  local question = self.waiting[1]
  if not question or not question.due or input.is_queued(event) then return end
  local name, value = event[1], event[2]
  if name == "char" and #self.typed < TYPED_LIMIT then
    self.typed = self.typed .. value
    pcall(write, value)
  elseif name == "key" and (value == keys.enter or value == keys.numPadEnter) then
    answered(self)
  elseif name == "key" and value == keys.backspace then
    take_back_letter(self)
  elseif name == "key" and (value == keys.down or value == keys.pageDown) then
    turn_to(self, question, question.page + 1)
  elseif name == "key" and (value == keys.up or value == keys.pageUp) then
    turn_to(self, question, question.page - 1)
  end
end

--- Does what is due by now.
function consent:tick()
  self.wake_at = nil
  while self.waiting[1] do
    local question = self.waiting[1]
    if not question.due and not question.is_late() then show(self, question) end
    if question.due and self.clock() < question.due then
      self.wake_at = question.due
      return
    end
    settle(self, 1, "No answer came: it is not run.")
    if question.due then
      question.on_no(refusal("the player at that computer did not answer within " .. ANSWER_SECONDS .. " s", HINT))
    else
      question.on_late()
    end
  end
end

return consent
