-- paintutils: pictures of coloured cells, and lines and boxes of them.
-- luacheck: globals paintutils

local native = ...
local expect, at_least = native.expect, native.os.atLeast

paintutils = {}

local function pixel(x, y)
  term.setCursorPos(x, y)
  term.write(" ")
end

local function choose(colour)
  if colour then term.setBackgroundColour(colour) end
end

--- Two corners and a colour, checked: the corner that is left and above first.
local function corners(x1, y1, x2, y2, colour)
  for n, value in ipairs { x1 or false, y1 or false, x2 or false, y2 or false } do
    expect(n, value or nil, "number")
  end
  expect(5, colour, "number", "nil")
  x1, y1, x2, y2 = math.floor(x1), math.floor(y1), math.floor(x2), math.floor(y2)
  return math.min(x1, x2), math.min(y1, y2), math.max(x1, x2), math.max(y1, y2), x1, y1, x2, y2
end

--- A picture: for each line a table of colours, 0 where there is none.
function paintutils.parseImage(text)
  expect(1, text, "string")
  local image = {}
  for line in (text .. "\n"):gmatch("(.-)\n") do
    local row = {}
    for n = 1, #line do
      local digit = tonumber(line:sub(n, n):match("[0-9a-f]") or "", 16)
      row[n] = digit and 2 ^ digit or 0
    end
    image[#image + 1] = row
  end
  return image
end

function paintutils.loadImage(path)
  expect(1, path, "string")
  local file = fs.exists(path) and not fs.isDir(path) and fs.open(path, "r")
  if not file then return nil end
  local text = file.readAll()
  file.close()
  return paintutils.parseImage(text or "")
end

function paintutils.drawPixel(x, y, colour)
  expect(1, x, "number")
  expect(2, y, "number")
  expect(3, colour, "number", "nil")
  choose(colour)
  pixel(x, y)
end

function paintutils.drawLine(...)
  local _, _, _, _, x1, y1, x2, y2 = corners(...)
  choose((select(5, ...)))
  if x1 > x2 then x1, y1, x2, y2 = x2, y2, x1, y1 end
  local across, down = x2 - x1, y2 - y1
  local last = math.max(across, math.abs(down))
  local steps = math.max(last, 1)
  for step = 0, last do
    pixel(math.floor(x1 + across * step / steps + 0.5), math.floor(y1 + down * step / steps + 0.5))
  end
end

--- A piece of a line, at once where the game does so.
local function stretch(left, right, y)
  if not at_least(1, 94) then
    for x = left, right do pixel(x, y) end
    return
  end
  local digit = colours.toBlit(term.getBackgroundColour())
  term.setCursorPos(left, y)
  term.blit((" "):rep(right - left + 1), digit:rep(right - left + 1), digit:rep(right - left + 1))
end

function paintutils.drawBox(...)
  local left, top, right, bottom = corners(...)
  choose((select(5, ...)))
  for y = top, bottom do
    if y == top or y == bottom then
      stretch(left, right, y)
    else
      stretch(left, left, y)
      stretch(right, right, y)
    end
  end
end

function paintutils.drawFilledBox(...)
  local left, top, right, bottom = corners(...)
  choose((select(5, ...)))
  for y = top, bottom do stretch(left, right, y) end
end

function paintutils.drawImage(image, x, y)
  expect(1, image, "table")
  expect(2, x, "number")
  expect(3, y, "number")
  for down, row in ipairs(image) do
    for across, colour in ipairs(row) do
      if colour > 0 then
        term.setBackgroundColour(colour)
        pixel(x + across - 1, y + down - 1)
      end
    end
  end
end
