-- Texts in files: what is one, in which signs, and where its lines begin.

local breathe = require("shared.breathe")

local byte, char, find, gsub = string.byte, string.char, string.find, string.gsub
local floor = math.floor

local texts = {}

-- What signs of three and four bytes are in UTF-8.
local SIGNS = {
  "^[\225-\236\238\239][\128-\191][\128-\191]", "^\224[\160-\191][\128-\191]", "^\237[\128-\159][\128-\191]",
  "^[\241-\243][\128-\191][\128-\191][\128-\191]", "^\240[\144-\191][\128-\191][\128-\191]",
  "^\244[\128-\143][\128-\191][\128-\191]",
}

function texts.is_utf8(text)
  local at = 1
  while true do
    at = find(text, "[\128-\255]", at)
    if not at then return true end
    local _, last = find(text, "^[\194-\223][\128-\191]", at)
    for i = 1, last and 0 or #SIGNS do
      _, last = find(text, SIGNS[i], at)
      if last then break end
    end
    if not last then return false end
    at = last + 1
  end
end

--- The game's own signs, which are those of Latin-1, as UTF-8.
function texts.from_latin(text)
  return (gsub(text, "[\128-\255]", function(sign)
    local code = byte(sign)
    return char(192 + floor(code / 64), 128 + code % 64)
  end))
end

--- A text as UTF-8, and whether it was in the game's own signs.
function texts.shown(text)
  if texts.is_utf8(text) then return text, false end
  return texts.from_latin(text), true
end

--- Whether there are signs in it that no text has.
function texts.is_binary(text)
  return find(text, "[%z\1-\8\11\14-\26\28-\31]") ~= nil
end

--- Where each line begins, and after the last.
function texts.lines_of(text)
  local starts, at = {}, 1
  while at <= #text do
    starts[#starts + 1] = at
    at = (find(text, "\n", at, true) or #text) + 1
    if #starts % 4096 == 0 then breathe() end
  end
  starts[#starts + 1] = #text + 1
  return starts
end

return texts
