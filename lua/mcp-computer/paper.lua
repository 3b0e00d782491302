--- A window that nobody sees, as text; and the end of a text, as much of it as fits on one.

local create = require("mcp-computer.window").create

local concat = table.concat
local find, gmatch, match, sub = string.find, string.gmatch, string.match, string.sub
local setmetatable = setmetatable

local paper = {}
paper.__index = paper

local tail = {}
tail.__index = tail

-- Wrapped at words, a text fills at least half of each line but one.
local BYTES_FOR_A_CELL = 4

-- How a blank cell is shown whose background is not the usual one of what is drawn: as the game's grey pattern.
local COLOURED = "\127"

--- @tparam table parent A terminal, for what colours there are.
-- @tparam number width
-- @tparam number height
-- @treturn paper Its `window` is drawn on as any other.
function paper.new(parent, width, height)
  return setmetatable({
    height = height,
    window = create(parent, 1, 1, width, height, false),
  }, paper)
end

-- The background that most cells have.
local function usual_background(backgrounds)
  local counts, usual = {}, nil
  for row = 1, #backgrounds do
    for colour in gmatch(backgrounds[row], ".") do
      counts[colour] = (counts[colour] or 0) + 1
      if not usual or counts[colour] > counts[usual] then usual = colour end
    end
  end
  return usual
end

-- A line's text, with a mark where only the background shows something.
local function marked(text, background, usual)
  if not find(background, "[^" .. usual .. "]") then return text end
  local cells = {}
  for x = 1, #text do
    local cell = sub(text, x, x)
    if cell == " " and sub(background, x, x) ~= usual then cell = COLOURED end
    cells[x] = cell
  end
  return concat(cells)
end

--- @treturn string What is on it, without blanks at the ends of lines and empty lines at the end.
function paper:text()
  local texts, backgrounds = {}, {}
  for row = 1, self.height do
    local text, _, background = self.window.getLine(row)
    texts[row], backgrounds[row] = text, background
  end
  local usual = usual_background(backgrounds)
  local lines, last = {}, 0
  for row = 1, self.height do
    lines[row] = match(marked(texts[row], backgrounds[row], usual), "^(.-) *$")
    if lines[row] ~= "" then last = row end
  end
  return concat(lines, "\n", 1, last)
end

--- @tparam number width The paper's.
-- @tparam number height The paper's.
-- @treturn tail Of an empty text.
function paper.new_tail(width, height)
  return setmetatable({ pieces = {}, count = 0, bytes = 0, limit = width * height * BYTES_FOR_A_CELL }, tail)
end

--- Adds to the text.
-- @tparam string piece
function tail:add(piece)
  if #piece > self.limit then piece = sub(piece, -self.limit) end
  local count = self.count + 1
  self.count = count
  self.pieces[count] = piece
  self.bytes = self.bytes + #piece
  if self.bytes >= 2 * self.limit then
    local kept = self:text()
    self.pieces, self.count, self.bytes = { kept }, 1, #kept
  end
end

--- @treturn string The end of the text.
function tail:text()
  return sub(concat(self.pieces, "", 1, self.count), -self.limit)
end

--- Begins with an empty text again.
function tail:clear()
  self.pieces, self.count, self.bytes = {}, 0, 0
end

return paper
