--- What a person does at a screen, done by a bridge: keys, the mouse, pasted text, and waiting for what comes of it.

local json = require("mcp-computer.json")
local screens = require("mcp-computer.screens")
local view = require("mcp-computer.view")

local lower = string.lower
local max, min = math.max, math.min
local next, pcall, rawequal, type = next, pcall, rawequal, type
local unpack = table.unpack or unpack
local concat, remove = table.concat, table.remove
local all_keys = keys

local acts = {}

-- How many events are given at a time, before the program has a tick to take them: its queue has room for 256.
local AT_ONCE = 48
-- How long a program that takes nothing is waited for.
local FULL_SECONDS = 10

-- The keys' numbers, which are others before Minecraft 1.13, by their names in lower case. The game's own table is read
-- when it is needed: it is the same for all, and programs don't change it.
local codes

local function code_of(name)
  if not codes then
    codes = {}
    for key, code in next, all_keys do
      if type(code) == "number" then codes[lower(key)] = code end
    end
  end
  return codes[name]
end

-- Waits; returns false if that was too long for the whole.
local function pause(self, seconds)
  local now = self.clock()
  local due = now + seconds
  if due > self.deadline then return false, "the time for all steps is up" end
  self.wait_until(due)
  self.given = 0
  return true
end

-- The screen, which may have gone.
local function look(self)
  local screen, reason = screens.find(self.target)
  self.screen = screen
  return screen, reason
end

-- Gives an event to the program. Returns whether that went well, else why not.
local function press(self, ...)
  if self.given >= AT_ONCE then
    local ok, why = pause(self, view.TICK_SECONDS)
    if not ok then return false, why end
  end
  local patience = self.clock() + FULL_SECONDS
  while true do
    local screen, reason = look(self)
    if not screen then return false, reason end
    local taken, why = screen.press(...)
    if taken ~= false then break end
    if self.clock() >= patience then return false, why or "the program takes no more input" end
    local ok, late = pause(self, view.TICK_SECONDS)
    if not ok then return false, late end
  end
  self.given = self.given + 1
  return true
end

local function press_down(self, name)
  return press(self, "key", code_of(name), false)
end

-- A program that has ended by the key that it got needs not be told that it was let go.
local function let_go(self, name)
  local ok, why = press(self, "key_up", code_of(name))
  return ok or not self.screen, why
end

-- The same of a key that the step itself lets go, whatever happens.
local function hold_down(self, name)
  self.held[#self.held + 1] = name
  return press_down(self, name)
end

local function release(self)
  local name = remove(self.held)
  return let_go(self, name)
end

-- Does the same with each key in turn, until that fails.
local function each(self, names, act)
  for i = 1, #names do
    local ok, why = act(self, names[i])
    if not ok then return false, why end
  end
  return true
end

-- Keeps keys down, of which the last repeats as a keyboard's does.
local function keep_down(self, name, ms)
  local due = self.clock() + ms / 1000
  while self.clock() < due do
    local ok, why = pause(self, min(view.TICK_SECONDS, max(0, due - self.clock())))
    if ok and self.clock() < due then ok, why = press(self, "key", code_of(name), true) end
    if not ok then return false, why end
  end
  return true
end

-- Waits until something is so of the screen, for so long at most. Returns whether it was; else why not, if the waiting
-- ended otherwise.
local function wait_for(self, ms, is_so)
  local due = self.clock() + ms / 1000
  while true do
    local screen, reason = look(self)
    if not screen then return false, reason end
    if is_so(screen) then return true end
    local left = due - self.clock()
    if left <= 0 then return false end
    local ok, why = pause(self, min(view.TICK_SECONDS, left))
    if not ok then return false, why end
  end
end

local by_name = {}

function by_name.step(self, number, is_input)
  self.step = number
  if not is_input then return true end
  local screen, reason = look(self)
  if not screen then return false, reason end
  self.version = view.version(screen)
  return true
end

by_name["type"] = function(self, character, key, with_shift)
  if type(key) ~= "string" then return press(self, "char", character) end
  local ok, why = true, nil
  if with_shift then ok, why = hold_down(self, "leftshift") end
  if ok then ok, why = hold_down(self, key) end
  if ok then ok, why = press(self, "char", character) end
  while ok and #self.held > 0 do ok, why = release(self) end
  return ok, why
end

function by_name.chord(self, names, character, ms)
  local ok, why = each(self, names, hold_down)
  if ok and type(character) == "string" then ok, why = press(self, "char", character) end
  if ok and ms > 0 then ok, why = keep_down(self, names[#names], ms) end
  while ok and #self.held > 0 do ok, why = release(self) end
  return ok, why
end

function by_name.down(self, names)
  return each(self, names, press_down)
end

function by_name.up(self, names)
  return each(self, names, let_go)
end

function by_name.event(self, name, arguments)
  local given = {}
  for i = 1, #arguments do
    if not rawequal(arguments[i], json.null) then given[i] = arguments[i] end
  end
  return press(self, name, unpack(given, 1, #arguments))
end

function by_name.touch(self, x, y)
  return press(self, "monitor_touch", self.target, x, y)
end

function by_name.pause(self, ms)
  return pause(self, ms / 1000)
end

function by_name.text(self, text, ms)
  local ok, why = wait_for(self, ms, function(screen) return view.shows(screen, text) end)
  return ok, why or "the text was not on the screen within " .. ms .. " ms"
end

function by_name.change(self, ms)
  local ok, why = wait_for(self, ms, function(screen)
    local version = view.version(screen)
    if version == self.version then return false end
    self.version = version
    return true
  end)
  return ok, why or "the screen did not change within " .. ms .. " ms"
end

function by_name.quiet(self, for_ms, ms, is_last)
  local version, since
  local ok, why = wait_for(self, ms, function(screen)
    local now, seen = self.clock(), view.version(screen)
    if seen ~= version then version, since = seen, now end
    return now - since >= for_ms / 1000
  end)
  -- The last one lets the program show what came of it. A screen that never rests, or has gone, is no failure then.
  return ok or is_last, why or "the screen did not come to rest within " .. ms .. " ms"
end

-- A key of an act that this game does not have.
local function unknown_key(act)
  local kind, names = act[1], act[2]
  if kind == "type" then
    return type(act[3]) == "string" and not code_of(act[3]) and act[3] or nil
  end
  if kind ~= "chord" and kind ~= "down" and kind ~= "up" then return nil end
  for i = 1, #names do
    if not code_of(names[i]) then return names[i] end
  end
  return nil
end

local function refusal(message, hint)
  return { ok = false, kind = "refused", message = message, hint = hint }
end

-- Does all in turn. Returns why it stopped before the end, if it did.
local function work(self, list)
  for i = 1, #list do
    local act = list[i]
    local done, why = by_name[act[1]](self, unpack(act, 2, #act))
    if not done then return why end
  end
  return nil
end

--- Lets go of keys that are still held. Never waits.
-- @tparam acts self
function acts.stop(self)
  local screen = screens.find(self.target)
  while screen and #self.held > 0 do
    pcall(screen.press, "key_up", code_of(remove(self.held)))
  end
end

-- Acts that do nothing to the program.
local IDLE = { step = true, pause = true, text = true, change = true, quiet = true }

local function words_of(act)
  local kind, what = act[1], act[2]
  if kind == "event" then return what .. " " .. json.encode(act[3], json.RAW) end
  if kind == "touch" then return "touch " .. what .. "," .. act[3] end
  return (kind == "chord" and "press" or kind) .. " " .. concat(what, "+")
end

--- What is to be done, for a person who is to allow it.
-- @tparam table params See @{acts.new}.
-- @treturn string
-- @throws If something in there is not as it is to be.
function acts.words(params)
  local said, typed = {}, nil
  local function end_typing()
    if typed then said[#said + 1] = "type \"" .. typed .. "\"" end
    typed = nil
  end
  for i = 1, #params.acts do
    local act = params.acts[i]
    if act[1] == "type" then
      typed = (typed or "") .. act[2]
    elseif not IDLE[act[1]] then
      end_typing()
      said[#said + 1] = words_of(act)
    end
  end
  end_typing()
  return "On " .. params.target .. ": " .. concat(said, "; ")
end

--- Makes ready what a bridge asks for.
-- @tparam table params `target`; `acts`: what is to be done, in turn (src/wire/PROTOCOL.md, "Screens"); `limitMs`: how
--   long all may take.
-- @treturn acts
function acts.new(params)
  return { params = params, target = params.target, held = {}, given = 0, step = 0 }
end

--- Does it, and answers what the screen shows then.
-- @tparam acts self
-- @tparam function clock Seconds.
-- @tparam function wait_until Waits until a time, in seconds.
-- @treturn table An outcome.
function acts.run(self, clock, wait_until)
  local list, limit_ms = self.params.acts, self.params.limitMs
  if type(list) ~= "table" or type(limit_ms) ~= "number" then return refusal("params.acts must be a list") end
  for i = 1, #list do
    local act = list[i]
    if type(act) ~= "table" or not by_name[act[1]] then return refusal("params.acts has an act of no known kind") end
    local key = unknown_key(act)
    if key then
      return refusal("this game has no key that is called " .. key, "Its keys are called as in the table `keys` there.")
    end
  end
  local screen, reason = look(self)
  if not screen then return view.none(reason) end
  self.clock, self.wait_until, self.deadline = clock, wait_until, clock() + limit_ms / 1000
  self.version = view.version(screen)
  local problem = work(self, list)
  acts.stop(self)
  screen, reason = look(self)
  return { ok = true, result = {
    step = self.step, problem = problem, screen = screen and view.tell(screen), gone = not screen and reason or nil,
  } }
end

return acts
