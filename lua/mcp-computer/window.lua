--- Windows: rectangles of a terminal that remember what is drawn on them, as the game's do in its newest version, and
-- can be read by others, by what @{window.screen} gives.
--
-- On a terminal of the game a piece is drawn as the piece that it is, and what changes all of the screen at once; a
-- window on a window of ours hands its line to that one's memory and to the terminal beneath in one go.

local floor = math.floor
local find, format, gsub, lower = string.find, string.format, string.gsub, string.lower
local rep, sub = string.rep, string.sub
local error, rawequal, setmetatable, tostring, type = error, rawequal, setmetatable, tostring, type
local native, present = term.native(), term

local window = {}

-- The letter of a colour in `blit`, its number from 0, and the colour of a letter.
local LETTERS, NUMBERS, COLOURS = {}, {}, {}
for n = 0, 15 do
  local letter = format("%x", n)
  LETTERS[2 ^ n], NUMBERS[2 ^ n], COLOURS[letter] = letter, n, 2 ^ n
end

local WHITE, BLACK = 1, 32768

-- Of terminals that are windows of ours: what windows on them use, and what others read.
local inner = setmetatable({}, { __mode = "k" })
local recorded = setmetatable({}, { __mode = "k" })

local function wrong(n, wanted, value)
  error(format("bad argument #%d (%s expected, got %s)", n, wanted, type(value)), 3)
end

-- The one of the sixteen colours that a number stands for: its highest bit.
local function colour_of(value)
  if LETTERS[value] then return value end
  if type(value) ~= "number" then error(format("bad argument #1 (number expected, got %s)", type(value)), 3) end
  if not (value >= 1 and value < 65536) then error("Colour out of range", 3) end
  local colour = 1
  while colour * 2 <= value do colour = colour * 2 end
  return colour
end

-- Colours of `blit` that were seen to be as they are kept: programs draw many lines alike.
local known_good = ""

-- Colours of `blit` as they are kept.
local function letters_of(text, default)
  if text == known_good then return text end
  if find(text, "[^0-9a-f]") then return (gsub(lower(text), "[^0-9a-f]", default)) end
  known_good = text
  return text
end

local function part_of(value)
  return floor((value < 0 and 0 or value > 1 and 1 or value) * 255 + 0.5)
end

--- Makes a window.
-- @tparam table parent The terminal it is drawn on.
-- @tparam number left
-- @tparam number top
-- @tparam number width
-- @tparam number height
-- @tparam[opt=true] boolean visible Whether it is drawn.
-- @treturn table The window, with the game's methods.
function window.create(parent, left, top, width, height, visible)
  if type(parent) ~= "table" then wrong(1, "table", parent) end
  if type(left) ~= "number" then wrong(2, "number", left) end
  if type(top) ~= "number" then wrong(3, "number", top) end
  if type(width) ~= "number" then wrong(4, "number", width) end
  if type(height) ~= "number" then wrong(5, "number", height) end
  if visible ~= nil and type(visible) ~= "boolean" then wrong(6, "boolean", visible) end
  if rawequal(parent, present) then
    error("term is not a recommended window parent, try term.current() instead", 2)
  end
  visible = visible ~= false

  local x, y, blink = 1, 1, false
  local text_colour, back_colour = WHITE, BLACK
  local texts, fores, backs = {}, {}, {}   -- the lines
  local palette = {}
  local blanks, solids                     -- a line of blanks, and of each colour by its letter
  local beneath                            -- what `inner` has of the parent
  local covers_native                      -- whether it is all there is on the native terminal
  local recording = { version = 0, colour = parent.isColour() == true }
  local self, own = {}, {}

  for n = 0, 15 do
    local r, g, b = parent.getPaletteColour(2 ^ n)
    palette[2 ^ n] = { r, g, b }
  end

  local function measure()
    blanks, solids = rep(" ", width), {}
    for n = 0, 15 do
      local letter = LETTERS[2 ^ n]
      solids[letter] = rep(letter, width)
    end
  end

  local function adopt_parent()
    beneath = inner[parent]
    covers_native = false
    if rawequal(parent, native) and left == 1 and top == 1 then
      local parent_width, parent_height = parent.getSize()
      covers_native = parent_width == width and parent_height == height
    end
  end

  local function changed()
    recording.version = recording.version + 1
  end

  local function blank(row, fore, back)
    texts[row], fores[row], backs[row] = blanks, solids[fore], solids[back]
  end

  -- What `inner` has of the parent, unless somebody has put another method in the place of ours.
  local function drawn_within()
    return beneath and rawequal(parent.blit, beneath.blit) and beneath or nil
  end

  local function draw(row)
    local within = drawn_within()
    if within then return within.put(left, top + row - 1, texts[row], fores[row], backs[row]) end
    parent.setCursorPos(left, top + row - 1)
    parent.blit(texts[row], fores[row], backs[row])
  end

  local function draw_all()
    for row = 1, height do draw(row) end
  end

  local function draw_position()
    if covers_native or x >= 1 and y >= 1 and x <= width and y <= height then
      parent.setCursorPos(left + x - 1, top + y - 1)
    else
      parent.setCursorPos(0, 0)
    end
  end

  local function draw_cursor()
    parent.setCursorBlink(blink)
    parent.setTextColour(text_colour)
    draw_position()
  end

  local function draw_palette()
    for n = 0, 15 do
      local parts = palette[2 ^ n]
      parent.setPaletteColour(2 ^ n, parts[1], parts[2], parts[3])
    end
  end

  local function redraw()
    draw_all()
    draw_palette()
    draw_cursor()
  end

  -- Puts a piece into the memory, and draws it.
  local function put(column, row, text, fore, back)
    local last = column + #text - 1
    if row < 1 or row > height or column > width or last < 1 or last < column then return end
    if column < 1 then
      local from = 2 - column
      text, fore, back = sub(text, from), sub(fore, from), sub(back, from)
      column = 1
    end
    if last > width then
      local to = width - column + 1
      text, fore, back = sub(text, 1, to), sub(fore, 1, to), sub(back, 1, to)
      last = width
    end
    if column == 1 and last == width then
      texts[row], fores[row], backs[row] = text, fore, back
    else
      local before, after = column - 1, last + 1
      texts[row] = sub(texts[row], 1, before) .. text .. sub(texts[row], after)
      fores[row] = sub(fores[row], 1, before) .. fore .. sub(fores[row], after)
      backs[row] = sub(backs[row], 1, before) .. back .. sub(backs[row], after)
    end
    changed()
    if not visible then return end
    local within = drawn_within()
    -- The game draws the whole line, over what somebody else may have drawn there.
    if within then return within.put(left, top + row - 1, texts[row], fores[row], backs[row]) end
    parent.setCursorPos(left + column - 1, top + row - 1)
    parent.blit(text, fore, back)
  end

  local function put_at_cursor(text, fore, back)
    put(x, y, text, fore, back)
    if text ~= "" then changed() end
    x = x + #text
    if visible then draw_position() end
  end

  local function fill(row, fore, back)
    if row < 1 or row > height then return end
    blank(row, fore, back)
    changed()
    if visible then draw(row) end
  end

  -- What changes all of the native terminal at once fills with its present colours.
  local function on_native(fore, back, change, count)
    parent.setTextColour(COLOURS[fore])
    parent.setBackgroundColour(COLOURS[back])
    change(count)
    parent.setTextColour(text_colour)
  end

  local function fill_all(fore, back)
    for row = 1, height do blank(row, fore, back) end
    changed()
    if not visible then return end
    local within = drawn_within()
    if within and within.is_covered(left, top, width, height) then
      within.fill_all(fore, back)
    elseif covers_native then
      on_native(fore, back, parent.clear)
    else
      draw_all()
    end
  end

  local function scroll(count, fore, back)
    local old_texts, old_fores, old_backs = texts, fores, backs
    texts, fores, backs = {}, {}, {}
    for row = 1, height do
      local from = row + count
      if from >= 1 and from <= height then
        texts[row], fores[row], backs[row] = old_texts[from], old_fores[from], old_backs[from]
      else
        blank(row, fore, back)
      end
    end
    changed()
    if not visible then return end
    local within = drawn_within()
    if within and within.is_covered(left, top, width, height) then
      within.scroll(count, fore, back)
    elseif covers_native then
      on_native(fore, back, parent.scroll, count)
    else
      draw_all()
    end
  end

  own.put, own.fill_all, own.scroll = put, fill_all, scroll

  function own.is_covered(from_x, from_y, of_width, of_height)
    return from_x == 1 and from_y == 1 and of_width == width and of_height == height
  end

  function self.write(text)
    text = tostring(text)
    local length = #text
    put_at_cursor(text, rep(LETTERS[text_colour], length), rep(LETTERS[back_colour], length))
  end

  function self.blit(text, fore, back)
    if type(text) ~= "string" then wrong(1, "string", text) end
    if type(fore) ~= "string" then wrong(2, "string", fore) end
    if type(back) ~= "string" then wrong(3, "string", back) end
    if #fore ~= #text or #back ~= #text then error("Arguments must be the same length", 2) end
    put_at_cursor(text, letters_of(fore, "0"), letters_of(back, "f"))
  end
  own.blit = self.blit

  function self.clear()
    fill_all(LETTERS[text_colour], LETTERS[back_colour])
    if visible then draw_position() end
  end

  function self.clearLine()
    fill(y, LETTERS[text_colour], LETTERS[back_colour])
    if visible then draw_position() end
  end

  function self.scroll(count)
    if type(count) ~= "number" then wrong(1, "number", count) end
    count = floor(count)
    if count == 0 then return end
    scroll(count, LETTERS[text_colour], LETTERS[back_colour])
    if visible then draw_position() end
  end

  function self.getCursorPos() return x, y end

  function self.setCursorPos(new_x, new_y)
    if type(new_x) ~= "number" then wrong(1, "number", new_x) end
    if type(new_y) ~= "number" then wrong(2, "number", new_y) end
    new_x, new_y = floor(new_x), floor(new_y)
    if new_x ~= x or new_y ~= y then changed() end
    x, y = new_x, new_y
    if visible then draw_position() end
  end

  function self.getCursorBlink() return blink end

  function self.setCursorBlink(new)
    if type(new) ~= "boolean" then wrong(1, "boolean", new) end
    if blink ~= new then changed() end
    blink = new
    if visible then parent.setCursorBlink(blink) end
  end

  function self.isColour() return parent.isColour() end

  function self.getTextColour() return text_colour end

  function self.setTextColour(colour)
    text_colour = colour_of(colour)
    if visible then parent.setTextColour(text_colour) end
  end

  function self.getBackgroundColour() return back_colour end

  function self.setBackgroundColour(colour)
    back_colour = colour_of(colour)
  end

  function self.getPaletteColour(colour)
    local parts = palette[colour_of(colour)]
    return parts[1], parts[2], parts[3]
  end

  function self.setPaletteColour(colour, r, g, b)
    colour = colour_of(colour)
    if type(r) ~= "number" then wrong(2, "number", r) end
    if g == nil and b == nil then
      r, g, b = floor(r / 65536) % 256 / 255, floor(r / 256) % 256 / 255, floor(r) % 256 / 255
    else
      if type(g) ~= "number" then wrong(3, "number", g) end
      if type(b) ~= "number" then wrong(4, "number", b) end
    end
    palette[colour] = { r, g, b }
    changed()
    if visible then parent.setPaletteColour(colour, r, g, b) end
  end

  self.isColor, self.getTextColor, self.setTextColor = self.isColour, self.getTextColour, self.setTextColour
  self.getBackgroundColor, self.setBackgroundColor = self.getBackgroundColour, self.setBackgroundColour
  self.getPaletteColor, self.setPaletteColor = self.getPaletteColour, self.setPaletteColour

  function self.getSize() return width, height end

  function self.getLine(row)
    if type(row) ~= "number" then wrong(1, "number", row) end
    if not texts[row] then error("Line is out of range.", 2) end
    return texts[row], fores[row], backs[row]
  end

  function self.isVisible() return visible end

  function self.setVisible(new)
    if type(new) ~= "boolean" then wrong(1, "boolean", new) end
    if visible == new then return end
    visible = new
    if visible then redraw() end
  end

  function self.redraw()
    if visible then redraw() end
  end

  function self.restoreCursor()
    if visible then draw_cursor() end
  end

  function self.getPosition() return left, top end

  local function resize(new_width, new_height)
    local old_texts, old_fores, old_backs, old_width = texts, fores, backs, width
    width, height = new_width, new_height
    measure()
    texts, fores, backs = {}, {}, {}
    for row = 1, height do
      blank(row, LETTERS[text_colour], LETTERS[back_colour])
      if old_texts[row] then
        texts[row] = sub(old_texts[row] .. sub(texts[row], old_width + 1), 1, width)
        fores[row] = sub(old_fores[row] .. sub(fores[row], old_width + 1), 1, width)
        backs[row] = sub(old_backs[row] .. sub(backs[row], old_width + 1), 1, width)
      end
    end
  end

  function self.reposition(new_left, new_top, new_width, new_height, new_parent)
    if type(new_left) ~= "number" then wrong(1, "number", new_left) end
    if type(new_top) ~= "number" then wrong(2, "number", new_top) end
    if new_width ~= nil or new_height ~= nil then
      if type(new_width) ~= "number" then wrong(3, "number", new_width) end
      if type(new_height) ~= "number" then wrong(4, "number", new_height) end
    end
    if new_parent ~= nil and type(new_parent) ~= "table" then wrong(5, "table", new_parent) end
    left, top, parent = new_left, new_top, new_parent or parent
    if new_width then resize(new_width, new_height) end
    adopt_parent()
    changed()
    if visible then redraw() end
  end

  --- What others read; nothing of it changes the window.
  function recording.size() return width, height end

  function recording.line(row) return texts[row], fores[row], backs[row] end

  function recording.cursor() return x, y, blink, NUMBERS[text_colour] end

  function recording.palette()
    local colours = {}
    for n = 0, 15 do
      local parts = palette[2 ^ n]
      colours[n + 1] = part_of(parts[1]) * 65536 + part_of(parts[2]) * 256 + part_of(parts[3])
    end
    return colours
  end

  measure()
  for row = 1, height do blank(row, LETTERS[WHITE], LETTERS[BLACK]) end
  adopt_parent()
  inner[self], recorded[self] = own, recording
  if visible then redraw() end
  return self
end

--- Takes a terminal for a window of ours: one that has some of its methods, which windows on it are to use as if they
-- were on the window itself.
-- @tparam table terminal
-- @tparam table of From @{window.create}.
function window.stand_for(terminal, of)
  inner[terminal], recorded[terminal] = inner[of], recorded[of]
end

--- What is on a window, for others to read.
-- @tparam table terminal A terminal.
-- @treturn table|nil See @{screens.find}; nil if it is no window of ours.
function window.screen(terminal)
  return recorded[terminal]
end

return window
