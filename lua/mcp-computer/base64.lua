--- Base64 (RFC 4648, section 4): how bytes travel in parts.

local byte, char, find, gsub, sub = string.byte, string.char, string.find, string.gsub, string.sub
local concat = table.concat

local base64 = {}

local ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
-- Bytes and characters that are worked on in one step of the loops.
local STEP, STEP_CHARS = 12, 16
-- Steps after which there may be a pause.
local STEPS_WITHOUT_PAUSE = 512

local code_of, value_of = {}, {}
for value = 0, 63 do
  code_of[value] = byte(ALPHABET, value + 1)
  value_of[code_of[value]] = value
end

local function no_pause() end

-- The codes of the four characters for three bytes.
local function four(a, b, c)
  local low_a, low_b, low_c = a % 4, b % 16, c % 64
  return code_of[(a - low_a) / 4], code_of[low_a * 16 + (b - low_b) / 16], code_of[low_b * 4 + (c - low_c) / 64],
    code_of[low_c]
end

-- The characters for the last one or two bytes.
local function encode_rest(rest)
  local a, b, c = byte(rest, 1, 3)
  local first, second, third = four(a, b or 0, c or 0)
  if not b then return char(first, second) .. "==" end
  return char(first, second, third) .. "="
end

--- @tparam string s Any bytes.
-- @tparam[opt] function pause Called now and then.
-- @treturn string
function base64.encode(s, pause)
  pause = pause or no_pause
  s = concat({ s }) -- CraftOS-PC copies a part of a string whenever it is looked at; now it is one of its own
  local out, count = {}, 0
  local whole = #s - #s % STEP
  -- Four times `four`, written out: calls would take longer than the arithmetic.
  for at = 1, whole, STEP do
    local a, b, c, d, e, f, g, h, i, j, k, l = byte(s, at, at + STEP - 1)
    local low_a, low_b, low_c, low_d, low_e, low_f = a % 4, b % 16, c % 64, d % 4, e % 16, f % 64
    local low_g, low_h, low_i, low_j, low_k, low_l = g % 4, h % 16, i % 64, j % 4, k % 16, l % 64
    count = count + 1
    out[count] = char(
      code_of[(a - low_a) / 4], code_of[low_a * 16 + (b - low_b) / 16], code_of[low_b * 4 + (c - low_c) / 64],
      code_of[low_c],
      code_of[(d - low_d) / 4], code_of[low_d * 16 + (e - low_e) / 16], code_of[low_e * 4 + (f - low_f) / 64],
      code_of[low_f],
      code_of[(g - low_g) / 4], code_of[low_g * 16 + (h - low_h) / 16], code_of[low_h * 4 + (i - low_i) / 64],
      code_of[low_i],
      code_of[(j - low_j) / 4], code_of[low_j * 16 + (k - low_k) / 16], code_of[low_k * 4 + (l - low_l) / 64],
      code_of[low_l])
    if count % STEPS_WITHOUT_PAUSE == 0 then pause() end
  end
  for at = whole + 1, #s - 2, 3 do
    out[#out + 1] = char(four(byte(s, at, at + 2)))
  end
  if #s % 3 > 0 then out[#out + 1] = encode_rest(sub(s, #s - #s % 3 + 1)) end
  return concat(out)
end

-- Three bytes for the values of four characters.
local function three(a, b, c, d)
  local low_b, low_c = b % 16, c % 4
  return a * 4 + (b - low_b) / 16, low_b * 16 + (c - low_c) / 4, low_c * 64 + d
end

--- @tparam string s
-- @tparam[opt] function pause Called now and then.
-- @treturn string|nil Nil if it isn't base64, with its padding.
function base64.decode(s, pause)
  pause = pause or no_pause
  if #s % 4 ~= 0 or not find(s, "^[A-Za-z0-9+/]*=?=?$") then return nil end
  local _, padding = gsub(sub(s, -2), "=", "")
  s = concat({ s })
  local out, count = {}, 0
  local whole = #s - (padding > 0 and 4 or 0)
  local stepped = whole - whole % STEP_CHARS
  -- Four times `three`, written out.
  for at = 1, stepped, STEP_CHARS do
    local a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p = byte(s, at, at + STEP_CHARS - 1)
    b, c, f, g, j, k, n, o = value_of[b], value_of[c], value_of[f], value_of[g],
      value_of[j], value_of[k], value_of[n], value_of[o]
    local low_b, low_c, low_f, low_g = b % 16, c % 4, f % 16, g % 4
    local low_j, low_k, low_n, low_o = j % 16, k % 4, n % 16, o % 4
    count = count + 1
    out[count] = char(
      value_of[a] * 4 + (b - low_b) / 16, low_b * 16 + (c - low_c) / 4, low_c * 64 + value_of[d],
      value_of[e] * 4 + (f - low_f) / 16, low_f * 16 + (g - low_g) / 4, low_g * 64 + value_of[h],
      value_of[i] * 4 + (j - low_j) / 16, low_j * 16 + (k - low_k) / 4, low_k * 64 + value_of[l],
      value_of[m] * 4 + (n - low_n) / 16, low_n * 16 + (o - low_o) / 4, low_o * 64 + value_of[p])
    if count % STEPS_WITHOUT_PAUSE == 0 then pause() end
  end
  for at = stepped + 1, whole, 4 do
    local a, b, c, d = byte(s, at, at + 3)
    out[#out + 1] = char(three(value_of[a], value_of[b], value_of[c], value_of[d]))
  end
  if padding > 0 then
    local a, b, c = byte(s, whole + 1, whole + 3)
    local first, second = three(value_of[a], value_of[b], padding == 1 and value_of[c] or 0, 0)
    out[#out + 1] = padding == 1 and char(first, second) or char(first)
  end
  return concat(out)
end

return base64
