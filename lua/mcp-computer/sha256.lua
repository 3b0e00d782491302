--- SHA-256, by which a source is known for what it is.

local bit32 = bit32
local byte, char, format, rep = string.byte, string.char, string.format, string.rep
local floor = math.floor

local sha256 = {}

local K = {
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}
local START = {
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
}

-- A number as eight bytes.
local function as_bytes(n)
  local bytes = ""
  for _ = 1, 8 do
    bytes = char(n % 256) .. bytes
    n = floor(n / 256)
  end
  return bytes
end

--- @tparam string text
-- @treturn string|nil Its hash, in hexadecimal digits; nil in a game that can't tell.
function sha256.hex(text)
  if not bit32 then return nil end
  local band, bnot, bxor, rrotate, rshift = bit32.band, bit32.bnot, bit32.bxor, bit32.rrotate, bit32.rshift
  local state = { START[1], START[2], START[3], START[4], START[5], START[6], START[7], START[8] }
  text = text .. "\128" .. rep("\0", (55 - #text) % 64) .. as_bytes(#text * 8)
  local w = {}
  for at = 1, #text, 64 do
    for i = 1, 16 do
      local p, q, r, s = byte(text, at + 4 * i - 4, at + 4 * i - 1)
      w[i] = ((p * 256 + q) * 256 + r) * 256 + s
    end
    for i = 17, 64 do
      local x, y = w[i - 15], w[i - 2]
      local s0 = bxor(rrotate(x, 7), rrotate(x, 18), rshift(x, 3))
      local s1 = bxor(rrotate(y, 17), rrotate(y, 19), rshift(y, 10))
      w[i] = (w[i - 16] + s0 + w[i - 7] + s1) % 4294967296
    end
    local a, b, c, d, e, f, g, h = state[1], state[2], state[3], state[4], state[5], state[6], state[7], state[8]
    for i = 1, 64 do
      local s1 = bxor(rrotate(e, 6), rrotate(e, 11), rrotate(e, 25))
      local t1 = h + s1 + bxor(band(e, f), band(bnot(e), g)) + K[i] + w[i]
      local s0 = bxor(rrotate(a, 2), rrotate(a, 13), rrotate(a, 22))
      local t2 = s0 + bxor(band(a, b), band(a, c), band(b, c))
      h, g, f, e, d, c, b, a = g, f, e, (d + t1) % 4294967296, c, b, a, (t1 + t2) % 4294967296
    end
    local worked = { a, b, c, d, e, f, g, h }
    for i = 1, 8 do state[i] = (state[i] + worked[i]) % 4294967296 end
  end
  local digits = ""
  -- `%x` may be narrower than 32 bits.
  for i = 1, 8 do
    digits = digits .. format("%04x%04x", floor(state[i] / 65536), state[i] % 65536)
  end
  return digits
end

return sha256
