-- What an edit does to a text, as a diff shows it.

local byte, find, format, gsub, sub = string.byte, string.find, string.format, string.gsub, string.sub

local diffs = {}

-- Bytes of a line that are shown.
local LINE = 300
-- Lines around a change.
local AROUND = 2

--- The line where a byte of a text stands.
function diffs.line_of(text, at)
  local _, count = gsub(sub(text, 1, at - 1), "\n", "")
  return count + 1
end

local function lines_in(text)
  local lines = {}
  for line in (text .. "\n"):gmatch("([^\n]*)\n") do lines[#lines + 1] = line end
  return lines
end

local function add_lines(diff, mark, lines, first, last)
  for i = first, last do
    local line = gsub(lines[i], "\r$", "")
    if #line > LINE then line = sub(line, 1, LINE) .. format("... (%d bytes)", #line) end
    diff[#diff + 1] = mark .. line
  end
end

-- The lines from the beginning of one that are the same in both lists, or from the end of both.
local function same_in(old, new, at_end)
  local count, most = 0, math.min(#old, #new)
  while count < most do
    local i, j = count + 1, count + 1
    if at_end then i, j = #old - count, #new - count end
    if old[i] ~= new[j] then break end
    count = count + 1
  end
  return count
end

--- What becomes of the lines around one place, as a diff shows it.
function diffs.add_hunk(diff, text, first, last, by)
  local from = first
  while from > 1 and byte(text, from - 1) ~= 10 and first - from < LINE do from = from - 1 end
  local is_line_end = byte(text, last) == 10
  local stop, new
  if is_line_end and (byte(by, #by) == 10 or by == "" and from == first) then
    -- The next line stays one of its own.
    stop = last
    new = by == "" and {} or lines_in(sub(text, from, first - 1) .. sub(by, 1, -2))
  else
    stop = find(text, "\n", is_line_end and last + 1 or last, true) or #text + 1
    stop = math.min(stop, last + LINE)
    new = lines_in(sub(text, from, first - 1) .. by .. sub(text, last + 1, stop - 1))
  end
  local old = lines_in(sub(text, from, stop - 1))

  local start = from
  for _ = 1, AROUND do
    if start > 1 then start = start - 1 end
    while start > 1 and byte(text, start - 1) ~= 10 and from - start < LINE * AROUND do start = start - 1 end
  end
  diff[#diff + 1] = format("@@ line %d @@", diffs.line_of(text, from))
  if start < from then
    local before = lines_in(sub(text, start, from - 2))
    add_lines(diff, " ", before, 1, #before)
  end
  local head = same_in(old, new, false)
  add_lines(diff, " ", old, 1, head)
  local tail = math.min(same_in(old, new, true), #old - head, #new - head)
  add_lines(diff, "-", old, head + 1, #old - tail)
  add_lines(diff, "+", new, head + 1, #new - tail)
  add_lines(diff, " ", old, #old - tail + 1, #old)
  if stop < #text then
    local after = lines_in(sub(text, stop + 1, stop + LINE * AROUND * 4))
    if after[#after] == "" then after[#after] = nil end
    add_lines(diff, " ", after, 1, math.min(AROUND, #after))
  end
end

return diffs
