-- cc.strings: text wrapped, cut and split.

local expect = require("cc.expect").expect

local function wrap(text, width)
  expect(1, text, "string")
  expect(2, width, "number", "nil")
  width = width or term.getSize()
  local lines = {}
  for paragraph in (text .. "\n"):gmatch("(.-)\n") do
    local line = ""
    for spaces, word in paragraph:gmatch("([ \t]*)([^ \t]*)") do
      if line ~= "" and #line + #spaces + #word > width then
        lines[#lines + 1] = line
        line, spaces = "", ""
      end
      word = spaces .. word
      while #word > width do
        lines[#lines + 1] = word:sub(1, width)
        word = word:sub(width + 1)
      end
      line = line .. word
    end
    lines[#lines + 1] = line
  end
  return lines
end

local function ensure_width(text, width)
  expect(1, text, "string")
  expect(2, width, "number", "nil")
  width = width or term.getSize()
  return text:sub(1, width) .. (" "):rep(width - #text)
end

local function split(text, pattern, plain, limit)
  expect(1, text, "string")
  expect(2, pattern, "string")
  expect(3, plain, "boolean", "nil")
  expect(4, limit, "number", "nil")
  local parts, at = {}, 1
  while not limit or #parts + 1 < limit do
    local first, last = text:find(pattern, at, plain)
    if not first or last < first then break end
    parts[#parts + 1] = text:sub(at, first - 1)
    at = last + 1
  end
  parts[#parts + 1] = text:sub(at)
  return parts
end

return { wrap = wrap, ensure_width = ensure_width, split = split }
