--- Whether an agent runs on this computer already: two would take its number from each other.
--
-- Whoever starts asks by an event, which every program of the computer sees, and an agent that runs answers by another.
-- Nothing is kept for it anywhere, so an agent that has ended is never taken for one that runs, however it ended.

local error, setmetatable, type = error, setmetatable, type
local pull, queue = os.pullEventRaw, os.queueEvent
local start_timer, cancel_timer = os.startTimer, os.cancelTimer

local presence = {}
presence.__index = presence

--- The event that asks: who does, which time.
presence.ASK = "mcp_computer_ask"
-- The event that answers: to whom, and what @{presence.answer} is given.
local HERE = "mcp_computer_here"

-- An event comes after all that were queued before it. So an answer to the first question has come before whoever asks
-- has seen its third; the other one is for an agent among the jobs of the one that answers.
local QUESTIONS = 4
-- A question that has not come back by then was lost in a full event queue.
local LOST_SECONDS = 0.25

--- Answers whoever asks.
-- @param name Who asked.
-- @tparam table about `version`; `tab`: its number, or nil; `path`: of the agent's file, or nil; `link`: its `address`,
--   for how many `linked_seconds` it stands, or how many `left_seconds` ago it ended and by which `trouble`; `hosts`:
--   whether it hosts the player's shell; `stopped`: why it has ended, while its shell is still hosted.
function presence.answer(name, about)
  queue(HERE, name, about)
end

local function ask_again(self)
  queue(presence.ASK, self.name, self.questions)
  if self.timer then cancel_timer(self.timer) end
  self.timer = start_timer(LOST_SECONDS)
end

-- Of two agents that start together the one whose question came first is answered nothing, and answers the other.
local function heard(self, name, questions)
  if name == self.name then
    if questions ~= self.questions then return end
    self.questions = questions + 1
    if self.questions <= QUESTIONS then ask_again(self) end
  elseif self.questions == 1 then
    self.is_earlier[name] = true
  elseif questions == 1 and self.about and not self.is_earlier[name] then
    presence.answer(name, self.about)
  end
end

--- Asks whether an agent runs, and waits for the answer: a few turns of the event queue.
-- @tparam string name Who asks: another one each time.
-- @tparam[opt] table about What to answer others that ask meanwhile; nil: who asks is no agent.
-- @treturn table|nil What the one that runs says of itself, as given to @{presence.answer}.
-- @treturn table|nil What one says that has ended, but still hosts the player's shell.
-- @throws `Terminated`, if the player stops it.
function presence.ask(name, about)
  local self = setmetatable({
    name = name, about = about,
    questions = 1,   -- how many were asked, that which is under way among them
    is_earlier = {}, -- names of others whose question came before the first of this one
    -- timer = nil: until the present question is taken for lost
    -- ended = nil: what one says that has ended
  }, presence)
  ask_again(self)
  while self.questions <= QUESTIONS do
    local event, first, second = pull()
    if event == "terminate" then
      error("Terminated", 0)
    elseif event == HERE and first == name then
      local other = type(second) == "table" and second or {}
      if not other.stopped then
        cancel_timer(self.timer)
        return other
      end
      self.ended = other
    elseif event == presence.ASK then
      heard(self, first, second)
    elseif event == "timer" and first == self.timer then
      ask_again(self)
    end
  end
  cancel_timer(self.timer)
  return nil, self.ended
end

--- What is said to the player about the one that runs.
-- @tparam table other From @{presence.ask}; empty: an agent of a version that does not answer.
-- @treturn string
function presence.words(other)
  local version = type(other.version) == "string" and " v" .. other.version or ""
  local tab = type(other.tab) == "number" and (", in tab %d"):format(other.tab) or ""
  local how = other.hosts and "`mcp-computer stop`" or "Ctrl+T where it runs"
  local advice = ("To start it anew, end that one first: %s, or a reboot."):format(how)
  return ("mcp-computer%s runs on this computer already%s.\n%s"):format(version, tab, advice)
end

return presence
