-- Bytes as base64.

local breathe = require("shared.breathe")

local byte, char, find, gsub = string.byte, string.char, string.find, string.gsub
local match, sub = string.match, string.sub
local concat, floor = table.concat, math.floor

local base64 = {}

local DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

--- Bytes in it.
function base64.encode(bytes)
  local out = {}
  for at = 1, #bytes, 3 do
    local one, two, three = byte(bytes, at, at + 2)
    local all = one * 65536 + (two or 0) * 256 + (three or 0)
    local four = { floor(all / 262144), floor(all / 4096) % 64, floor(all / 64) % 64, all % 64 }
    for i = 1, 4 do four[i] = sub(DIGITS, four[i] + 1, four[i] + 1) end
    if not two then four[3] = "=" end
    if not three then four[4] = "=" end
    out[#out + 1] = concat(four)
    if #out % 4096 == 0 then breathe() end
  end
  return concat(out)
end

--- Its bytes; nil if it is none.
function base64.decode(text)
  text = gsub(text, "%s", "")
  if #text % 4 ~= 0 or not find(text, "^[A-Za-z0-9+/]*=?=?$") then return nil end
  local values = {}
  for value = 0, 63 do values[byte(DIGITS, value + 1)] = value end
  local padding = #match(text, "=*$")
  text = gsub(text, "=", "A")
  local out = {}
  for at = 1, #text, 4 do
    local a, b, c, d = byte(text, at, at + 3)
    local all = values[a] * 262144 + values[b] * 4096 + values[c] * 64 + values[d]
    out[#out + 1] = char(floor(all / 65536), floor(all / 256) % 256, all % 256)
    if #out % 4096 == 0 then breathe() end
  end
  return sub(concat(out), 1, #text / 4 * 3 - padding)
end

return base64
