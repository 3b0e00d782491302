-- window: a rectangle of another terminal, with a buffer of its own that can be read back.
-- luacheck: globals window

local native = ...
local expect, at_least = native.expect, native.os.atLeast

window = {}

local blit_of = {}
for n = 0, 15 do blit_of[2 ^ n] = ("%x"):format(n) end

--- The one of the sixteen colours that a number stands for: its highest bit.
local function checked(colour)
  if type(colour) ~= "number" then
    error("bad argument #1 (number expected, got " .. type(colour) .. ")", 3)
  end
  local place = colour >= 1 and select(2, math.frexp(colour)) - 1 or -1
  if place < 0 or place > 15 then error("Colour out of range", 3) end
  return 2 ^ place
end

function window.create(parent, left, top, width, height, visible)
  expect(1, parent, "table")
  expect(2, left, "number")
  expect(3, top, "number")
  expect(4, width, "number")
  expect(5, height, "number")
  expect(6, visible, "boolean", "nil")
  if parent == term then
    error("term is not a recommended window parent, try term.current() instead", 2)
  end
  visible = visible ~= false

  local lines, palette = {}, {}
  local x, y, blink = 1, 1, false
  local text_colour, back_colour = colours.white, colours.black
  local self = {}

  for n = 0, 15 do palette[2 ^ n] = { parent.getPaletteColour(2 ^ n) } end

  local function blank()
    return {
      (" "):rep(width), blit_of[text_colour]:rep(width), blit_of[back_colour]:rep(width),
    }
  end

  for row = 1, height do lines[row] = blank() end

  local function draw_row(row)
    local line = lines[row]
    parent.setCursorPos(left, top + row - 1)
    parent.blit(line[1], line[2], line[3])
  end

  local function draw_cursor()
    if x >= 1 and y >= 1 and x <= width and y <= height then
      parent.setCursorPos(left + x - 1, top + y - 1)
    else
      parent.setCursorPos(0, 0)
    end
    parent.setCursorBlink(blink)
    parent.setTextColour(text_colour)
  end

  --- Puts a piece of text with its colours at the cursor, cut to the window.
  local function put(text, foreground, background)
    local from, to = x, x + #text - 1
    if y >= 1 and y <= height and from <= width and to >= 1 and #text > 0 then
      local first, last = math.max(from, 1), math.min(to, width)
      local line = lines[y]
      for n, piece in ipairs { text, foreground, background } do
        local part = piece:sub(first - from + 1, last - from + 1)
        line[n] = line[n]:sub(1, first - 1) .. part .. line[n]:sub(last + 1)
      end
      if visible then draw_row(y) end
    end
    x = to + 1
    if visible then draw_cursor() end
  end

  function self.write(text)
    if type(text) ~= "string" and type(text) ~= "number" then
      error("bad argument (string expected, got " .. type(text) .. ")", 1)
    end
    text = tostring(text)
    put(text, blit_of[text_colour]:rep(#text), blit_of[back_colour]:rep(#text))
  end

  function self.blit(text, foreground, background)
    expect(1, text, "string")
    expect(2, foreground, "string")
    expect(3, background, "string")
    if #text ~= #foreground or #text ~= #background then error("Arguments must be the same length", 2) end
    put(text, foreground:lower():gsub("[^0-9a-f]", "0"), background:lower():gsub("[^0-9a-f]", "f"))
  end

  function self.clear()
    for row = 1, height do lines[row] = blank() end
    if visible then
      self.redraw()
    end
  end

  function self.clearLine()
    if y >= 1 and y <= height then
      lines[y] = blank()
      if visible then
        draw_row(y)
        draw_cursor()
      end
    end
  end

  function self.getCursorPos() return x, y end

  function self.setCursorPos(new_x, new_y)
    expect(1, new_x, "number")
    expect(2, new_y, "number")
    x, y = math.floor(new_x), math.floor(new_y)
    if visible then draw_cursor() end
  end

  function self.setCursorBlink(new)
    expect(1, new, "boolean")
    blink = new
    if visible then parent.setCursorBlink(blink) end
  end

  function self.getCursorBlink() return blink end

  function self.isColour() return parent.isColour() end

  function self.setTextColour(colour)
    colour = checked(colour)
    text_colour = colour
    if visible then parent.setTextColour(colour) end
  end

  function self.setBackgroundColour(colour)
    back_colour = checked(colour)
  end

  function self.getTextColour() return text_colour end

  function self.getBackgroundColour() return back_colour end

  function self.setPaletteColour(colour, r, g, b)
    colour = checked(colour)
    if g == nil and b == nil then
      expect(2, r, "number")
      palette[colour] = { colours.unpackRGB(r) }
    else
      expect(2, r, "number")
      expect(3, g, "number")
      expect(4, b, "number")
      palette[colour] = { r, g, b }
    end
    if visible then parent.setPaletteColour(colour, table.unpack(palette[colour])) end
  end

  function self.getPaletteColour(colour)
    colour = checked(colour)
    return table.unpack(palette[colour])
  end

  for _, name in ipairs {
    "isColour", "setTextColour", "setBackgroundColour", "getTextColour", "getBackgroundColour", "setPaletteColour",
    "getPaletteColour",
  } do
    self[(name:gsub("Colour", "Color"))] = self[name]
  end

  function self.getSize() return width, height end

  function self.scroll(count)
    expect(1, count, "number")
    if count == 0 then return end
    local moved = {}
    for row = 1, height do moved[row] = lines[row + count] or blank() end
    lines = moved
    if visible then self.redraw() end
  end

  if at_least(1, 84) then
    function self.getLine(row)
      expect(1, row, "number")
      local line = lines[row] or error("Line is out of range.", 2)
      return line[1], line[2], line[3]
    end
  end

  function self.setVisible(new)
    expect(1, new, "boolean")
    if visible ~= new then
      visible = new
      if visible then self.redraw() end
    end
  end

  if at_least(1, 94) then
    function self.isVisible() return visible end
  end

  function self.redraw()
    if not visible then return end
    for row = 1, height do draw_row(row) end
    for colour, rgb in pairs(palette) do parent.setPaletteColour(colour, rgb[1], rgb[2], rgb[3]) end
    draw_cursor()
  end

  function self.restoreCursor()
    if visible then draw_cursor() end
  end

  function self.getPosition() return left, top end

  function self.reposition(new_left, new_top, new_width, new_height, new_parent)
    expect(1, new_left, "number")
    expect(2, new_top, "number")
    expect(3, new_width, "number", "nil")
    expect(4, new_height, "number", "nil")
    expect(5, new_parent, "table", "nil")
    left, top, parent = new_left, new_top, new_parent or parent
    if new_width and new_height then
      local old = lines
      local old_width = width
      width, height = new_width, new_height
      lines = {}
      for row = 1, height do
        local fresh, line = blank(), old[row]
        if line then
          for n = 1, 3 do fresh[n] = (line[n] .. fresh[n]:sub(old_width + 1)):sub(1, width) end
        end
        lines[row] = fresh
      end
    end
    if visible then self.redraw() end
  end

  if visible then self.redraw() end
  return self
end
