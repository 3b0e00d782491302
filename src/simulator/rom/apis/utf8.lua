-- utf8: Lua 5.3's library, which the game's Lua has since 1.87.
-- luacheck: globals utf8

local native = ...
local expect = native.expect

if not native.os.atLeast(1, 87) then return end

utf8 = { charpattern = "[%z\1-\127\194-\244][\128-\191]*" }

local function encode(point)
  if point < 0 or point > 0x7fffffff then error("value out of range", 3) end
  if point < 0x80 then return string.char(point) end
  local rest = {}
  local lead = 0x3f
  repeat
    table.insert(rest, 1, string.char(0x80 + point % 64))
    point = math.floor(point / 64)
    lead = math.floor(lead / 2)
  until point <= lead
  return string.char(0xff - (lead * 2 + 1) + point) .. table.concat(rest)
end

function utf8.char(...)
  local parts = {}
  for n = 1, select("#", ...) do
    local point = select(n, ...)
    expect(n, point, "number")
    parts[n] = encode(point)
  end
  return table.concat(parts)
end

--- The code point that starts at a place, and the place after it; nil if there is none.
local function decode(text, at)
  local lead = text:byte(at)
  if not lead then return nil end
  if lead < 0x80 then return lead, at + 1 end
  local length, least, point
  if lead >= 0xc2 and lead < 0xe0 then
    length, least, point = 1, 0x80, lead - 0xc0
  elseif lead >= 0xe0 and lead < 0xf0 then
    length, least, point = 2, 0x800, lead - 0xe0
  elseif lead >= 0xf0 and lead < 0xf5 then
    length, least, point = 3, 0x10000, lead - 0xf0
  else
    return nil
  end
  for n = 1, length do
    local byte = text:byte(at + n)
    if not byte or byte < 0x80 or byte > 0xbf then return nil end
    point = point * 64 + byte - 0x80
  end
  if point < least or point > 0x10ffff or point >= 0xd800 and point < 0xe000 then return nil end
  return point, at + length + 1
end

local function place(text, at, default)
  at = at or default
  return at < 0 and #text + at + 1 or at
end

function utf8.codepoint(text, first, last)
  expect(1, text, "string")
  first = place(text, first, 1)
  last = place(text, last, first)
  if first < 1 then error("bad argument #2 (out of range)", 2) end
  if last > #text then error("bad argument #3 (out of range)", 2) end
  local points = {}
  local at = first
  while at <= last do
    local point, following = decode(text, at)
    if not point then error("invalid UTF-8 code", 2) end
    points[#points + 1] = point
    at = following
  end
  return table.unpack(points)
end

function utf8.len(text, first, last)
  expect(1, text, "string")
  local at = place(text, first, 1)
  last = place(text, last, -1)
  if at < 1 or at > #text + 1 then error("bad argument #2 (initial position out of string)", 2) end
  if last > #text then error("bad argument #3 (final position out of string)", 2) end
  local count = 0
  while at <= last do
    local point, following = decode(text, at)
    if not point then return nil, at end
    count = count + 1
    at = following
  end
  return count
end

function utf8.codes(text)
  expect(1, text, "string")
  local following = 1
  return function()
    if following > #text then return nil end
    local at = following
    local point, after = decode(text, at)
    if not point then error("invalid UTF-8 code", 2) end
    following = after
    return at, point
  end
end

local function continues(text, at)
  local byte = text:byte(at)
  return byte ~= nil and byte >= 0x80 and byte < 0xc0
end

function utf8.offset(text, n, first)
  expect(1, text, "string")
  expect(2, n, "number")
  local at = place(text, first, n >= 0 and 1 or #text + 1)
  if at < 1 or at > #text + 1 then error("bad argument #3 (position out of range)", 2) end
  if n == 0 then
    while at > 1 and continues(text, at) do at = at - 1 end
    return at
  end
  if continues(text, at) then error("initial position is a continuation byte", 2) end
  while n < 0 and at > 1 do
    repeat at = at - 1 until at <= 1 or not continues(text, at)
    n = n + 1
  end
  while n > 1 and at <= #text do
    repeat at = at + 1 until not continues(text, at)
    n = n - 1
  end
  if n == 0 or n == 1 then return at end
  return nil
end
