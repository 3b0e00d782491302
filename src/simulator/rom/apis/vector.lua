-- vector: three numbers with arithmetic.
-- luacheck: globals vector

local native = ...
local expect = native.expect

vector = {}

local methods = {}
local meta = { __index = methods }

local function make(x, y, z) return setmetatable({ x = x, y = y, z = z }, meta) end

function methods.add(a, b) return make(a.x + b.x, a.y + b.y, a.z + b.z) end

function methods.sub(a, b) return make(a.x - b.x, a.y - b.y, a.z - b.z) end

function methods.mul(a, factor) return make(a.x * factor, a.y * factor, a.z * factor) end

function methods.div(a, factor) return make(a.x / factor, a.y / factor, a.z / factor) end

function methods.unm(a) return make(-a.x, -a.y, -a.z) end

function methods.dot(a, b) return a.x * b.x + a.y * b.y + a.z * b.z end

function methods.cross(a, b)
  return make(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
end

function methods.length(a) return math.sqrt(a:dot(a)) end

function methods.normalize(a) return a:mul(1 / a:length()) end

function methods.round(a, tolerance)
  tolerance = tolerance or 1
  local function near(value) return math.floor((value + tolerance * 0.5) / tolerance) * tolerance end
  return make(near(a.x), near(a.y), near(a.z))
end

function methods.tostring(a) return a.x .. "," .. a.y .. "," .. a.z end

function methods.equals(a, b) return a.x == b.x and a.y == b.y and a.z == b.z end

meta.__add, meta.__sub, meta.__unm, meta.__div = methods.add, methods.sub, methods.unm, methods.div
meta.__tostring, meta.__eq = methods.tostring, methods.equals

function meta.__mul(a, b)
  if type(a) == "number" then return methods.mul(b, a) end
  return methods.mul(a, b)
end

function vector.new(x, y, z)
  expect(1, x, "number", "string", "nil")
  return make(tonumber(x) or 0, tonumber(y) or 0, tonumber(z) or 0)
end
