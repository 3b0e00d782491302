-- The hash by which a file's contents are compared: two remainders of the bytes as one large number, and the length. It
-- tells a change, not a forgery. A sync has the same on the host.

local breathe = require("shared.breathe")

local byte, format = string.byte, string.format
local floor = math.floor

--- The hash of some bytes, as 16 digits.
return function(text)
  local a, b = 1, 2
  for at = 1, #text, 4 do
    local one, two, three, four = byte(text, at, at + 3)
    local word = one + (two or 0) * 256 + (three or 0) * 65536 + (four or 0) * 16777216
    a, b = (a * 65599 + word) % 4294967291, (b * 31337 + word) % 4294967279
    if at % 65536 == 1 then breathe() end
  end
  a, b = (a * 65599 + #text) % 4294967291, (b * 31337 + #text) % 4294967279
  return format("%04x%04x%04x%04x", floor(a / 65536), a % 65536, floor(b / 65536), b % 65536)
end
