-- What a call says that is to be done, read: steps such as `dig up` or `repeat 3: (forward; dig)`.

local place = require("parts.place")
local steps = require("parts.steps")

local format = string.format

-- How many steps a call has, once those that repeat others are written out.
local MOST = 10000

-- How many words and numbers follow a step's name, and whether it has a side.
local TAKES = {
  forward = { 0, 1 }, back = { 0, 1 }, up = { 0, 1 }, down = { 0, 1 }, left = { 0, 1 }, right = { 0, 1 },
  dig = { math.huge, 0, true }, attack = { 0, 1, true }, inspect = { 0, 0, true }, place = { 1, 1, true },
  select = { 1, 1 }, drop = { 1, 1, true }, suck = { 0, 1, true }, refuel = { 1, 1 }, craft = { math.huge, 1 },
  equip = { 1, 0 }, face = { 1, 0 }, ["goto"] = { 0, 3 }, home = { 0, 0 },
}

--- Why a step is none, as far as can be told before it is done; nil if it is one.
local function unfit(step)
  local name, takes = step.name, TAKES[step.name]
  if name == "face" and not place.heading_of(step.word) then return "say which way: face north, east, south or west" end
  if name == "goto" and #step.numbers < 3 then return "say where: goto X Y Z" end
  if name == "select" and not (step.word or step.number) then return "say what: select 3, or select coal" end
  if name == "equip" and step.word and step.word ~= "left" and step.word ~= "right" then
    return "select the item first, then say equip left or equip right"
  end
  local extra = step.words[takes[1] + 1] or step.numbers[takes[2] + 1]
  if (name == "place" or name == "select") and step.word then extra = extra or step.number end
  if step.side ~= "front" and not takes[3] then extra = extra or step.side end
  if extra then
    return format("%s takes no %s there%s", name, tostring(extra),
      tonumber(extra) and takes[2] == 0 and ": to repeat it, say repeat N: " .. name or "")
  end
end

local OTHER_NAMES = { turnleft = "left", turnright = "right" }

--- Reads a step: `digUp`, `place 2 up`, `drop coal 5`, `suck?`.
local function parse(text)
  local step = { side = "front", numbers = {}, words = {}, text = text:match("^%s*(.-)%s*$") }
  local sure = step.text:match("^(.-)%s*%?$")
  step.may_fail, text = sure ~= nil, sure or text
  for word in text:gmatch("%S+") do
    local lower = word:lower()
    if not step.name then
      local name, way = lower:match("^(%l+)(up)$")
      if not name then name, way = lower:match("^(%l+)(down)$") end
      if name and steps[name] and not steps[lower] then
        step.name, step.side = name, way
      else
        step.name = OTHER_NAMES[lower] or lower
      end
    elseif tonumber(word) then
      step.numbers[#step.numbers + 1] = tonumber(word)
      step.number = step.number or tonumber(word)
    elseif lower == "up" or lower == "down" then
      step.side = lower
    elseif lower ~= "front" and lower ~= "forward" then
      step.word = lower
      step.words[#step.words + 1] = lower
    end
  end
  if not steps[step.name] then
    return nil, "there is no such step; there are attack, back, craft, dig, down, drop, equip, face, forward, goto, "
      .. "home, inspect, left, place, refuel, repeat N: ..., right, select, suck, up"
  end
  for _, number in ipairs(step.numbers) do
    if number % 1 ~= 0 or (step.name ~= "goto" and (number < 0 or number > 10000)) then
      return nil, "numbers are whole, and at most 10000"
    end
  end
  local why = unfit(step)
  if why then return nil, why end
  return step
end

--- Adds to a list what a text says is to be done: steps with `;` between. `repeat 3: dig; forward` repeats all that
-- follows it, or what is in brackets: `repeat 3: (repeat 2: forward); dig up`.
local function read(text, list)
  local rest = text:match("^%s*(.-)%s*$")
  repeat
    local count, body = rest:match("^[Rr]epeat%s+(%d+)%s*:%s*(.*)$")
    local group, after = rest:match("^(%b())%s*;?%s*(.*)$")
    if count or group then
      local rounds, some = tonumber(count or 1), {}
      local ok, why = read(body or group:sub(2, -2), some)
      if not ok then return nil, why end
      if #list + rounds * #some > MOST then
        return nil, format("with it there are more than %d steps", MOST)
      end
      for round = 1, rounds do
        for _, one in ipairs(some) do
          local label = count and format(" in round %d of %d", round, rounds) or ""
          list[#list + 1] = { step = one.step, round = one.round .. label }
        end
      end
      rest = count and "" or after
    else
      local first
      first, rest = rest:match("^([^;]*);?%s*(.*)$")
      local step, why = parse(first)
      if not step then return nil, why end
      list[#list + 1] = { step = step, round = "" }
    end
  until rest == ""
  return true
end

return read
