-- term: everything drawn goes to the present target, which programs may redirect.
-- luacheck: globals term

local native = ...
local screen, expect = native.term, native.expect

local target = screen

term = {}

function term.redirect(new)
  expect(1, new, "table")
  if new == term or new == _G.term then
    error("term is not a recommended redirect target, try term.current() instead", 2)
  end
  for name, method in pairs(screen) do
    if type(method) == "function" and type(new[name]) ~= "function" then
      new[name] = function()
        error("Redirect object is missing method " .. name .. ".", 2)
      end
    end
  end
  local old = target
  target = new
  return old
end

function term.current() return target end

function term.native() return screen end

local native_colour = screen.nativePaletteColour
screen.nativePaletteColour, screen.nativePaletteColor = nil, nil

for name, method in pairs(screen) do
  if type(method) == "function" and term[name] == nil then
    term[name] = function(...) return target[name](...) end
  end
end

term.nativePaletteColour, term.nativePaletteColor = native_colour, native_colour
