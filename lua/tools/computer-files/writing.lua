-- Writes files of a computer: whole, at their end, or in places.

local errors = require("shared.errors")

local byte, find, format, gsub = string.byte, string.find, string.format, string.gsub
local gmatch, match, sub = string.gmatch, string.match, string.sub
local concat, floor = table.concat, math.floor

-- Bytes of a diff that are shown.
local DIFF = 20000
-- Bytes of a line of it.
local LINE = 300
-- Lines around a change.
local AROUND = 2
-- What `expectedHash` says of a file that must not be there.
local NONE = "none"

-- The game stops code that runs for 7 s; and others want to run too.
local begun = os.clock()
local function breathe()
  if os.clock() - begun < 0.3 then return end
  sleep(0)
  begun = os.clock()
end

local function absolute(path)
  return "/" .. fs.combine("/", path)
end

-- What the game drops from paths.
local DROPPED = '[%z\1-\31"*:<>?|]'

-- Why a path is not taken: the game would drop something of it, and so mean another file. Nil if it would not.
-- `managing.lua` and `reading.lua` have the same.
local function misread(path)
  local sign = match(path, DROPPED)
  local kept, has_dots = {}, false
  for name in gmatch(gsub(gsub(path, "\\", "/"), DROPPED, ""), "[^/]+") do
    if find(name, "^%s*%.%.%.+%s*$") then has_dots = true else kept[#kept + 1] = name end
  end
  local meant = absolute(concat(kept, "/"))
  if sign == "*" or sign == "?" then
    return format("%s is no glob here: the game drops its %s, so %s would be meant. Nothing was done; name each " ..
      "file: list-files {\"path\": %q} shows them.", path, sign, meant, path)
  elseif sign then
    return format("%s has %s in it, which the game drops, so %s would be meant. Nothing was done; choose a name " ..
      "without.", path, byte(sign) < 32 and "a control character" or sign, meant)
  elseif has_dots then
    return format("%s has a name of dots alone, which the game drops, so %s would be meant. Nothing was done; name " ..
      "it without.", path, meant)
  end
end

-- The file that is where a folder of this path would have to be; nil if there is none.
local function file_above(path)
  while path ~= "/" do
    path = absolute(fs.getDir(path))
    if fs.exists(path) and not fs.isDir(path) then return path end
  end
end

-- See `reading.lua`, which has the same.
local function hash_of(text)
  local a, b = 1, 2
  for at = 1, #text, 4 do
    local one, two, three, four = byte(text, at, at + 3)
    local word = one + (two or 0) * 256 + (three or 0) * 65536 + (four or 0) * 16777216
    a, b = (a * 65599 + word) % 4294967291, (b * 31337 + word) % 4294967279
    if at % 65536 == 1 then breathe() end
  end
  a, b = (a * 65599 + #text) % 4294967291, (b * 31337 + #text) % 4294967279
  return format("%04x%04x%04x%04x", floor(a / 65536), a % 65536, floor(b / 65536), b % 65536)
end

local DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
local VALUES = {}
for value = 0, 63 do VALUES[byte(DIGITS, value + 1)] = value end

-- The bytes of base64; nil if it is none.
local function from_base64(text)
  text = gsub(text, "%s", "")
  if #text % 4 ~= 0 or not find(text, "^[A-Za-z0-9+/]*=?=?$") then return nil end
  local padding = #match(text, "=*$")
  text = gsub(text, "=", "A")
  local out = {}
  for at = 1, #text, 4 do
    local a, b, c, d = byte(text, at, at + 3)
    local all = VALUES[a] * 262144 + VALUES[b] * 4096 + VALUES[c] * 64 + VALUES[d]
    out[#out + 1] = string.char(floor(all / 65536), floor(all / 256) % 256, all % 256)
    if #out % 4096 == 0 then breathe() end
  end
  return sub(concat(out), 1, #text / 4 * 3 - padding)
end

-- What is in a file; nil if there is none, and why it can't be read if there is.
local function contents_of(path)
  if not fs.exists(path) then return nil end
  if fs.isDir(path) then return nil, format("%s is a folder, not a file.", path) end
  local file, problem = fs.open(path, "rb")
  if not file then return nil, format("%s can't be read: %s.", path, errors.reason(problem)) end
  local text = file.readAll() or ""
  file.close()
  return text
end

-- Writes bytes to a path, in this mode. Out of space is told by any of the three.
local function put(path, mode, bytes)
  local file, problem = fs.open(path, mode)
  if not file then return nil, errors.reason(problem) end
  local ok, thrown = pcall(file.write, bytes)
  local closed, then_thrown = pcall(file.close)
  if ok and closed then return true end
  return nil, errors.reason(ok and then_thrown or thrown)
end

local function free_in(path)
  local ok, free = pcall(fs.getFreeSpace, path)
  return ok and type(free) == "number" and format("%.0f bytes are free there.", free) or ""
end

local function unwritten(path, problem)
  if find(problem, "Out of space", 1, true) then
    return format("%s was not written, since there is no space for it: %s", path, free_in(fs.getDir(path)))
  end
  local is_denied = find(problem, "Access denied", 1, true) and find(path .. "/", "/rom/", 1, true) == 1
  return format("%s was not written: %s.%s", path, problem, is_denied and " What is in /rom can't be changed." or "")
end

-- Replaces a file by way of one beside it, so that whatever happens one of the two is whole. Where there is no room for
-- both, it is written over, and put back if that fails.
local function replace(path, bytes, before)
  local beside = path .. ".new"
  local count = 1
  while fs.exists(beside) do
    count = count + 1
    beside = path .. ".new" .. count
  end
  local made, problem = put(beside, "wb", bytes)
  if made then
    local moved, thrown = pcall(function()
      if before then fs.delete(path) end
      fs.move(beside, path)
    end)
    if moved then return true end
    problem = errors.reason(thrown)
    if before and not fs.exists(path) then put(path, "wb", before) end
  end
  pcall(fs.delete, beside)
  if before and find(problem, "Out of space", 1, true) then
    made, problem = put(path, "wb", bytes)
    if made then return true end
    put(path, "wb", before)
  end
  return nil, unwritten(path, problem)
end

-- Whether a file is what the caller takes it for; or nil and what it is.
local function as_expected(path, before, expected)
  if not expected or expected == (before and hash_of(before) or NONE) then return true end
  if not before then return nil, format("There is no %s any more, and nothing was written.", path) end
  if expected == NONE then
    return nil, format("%s is there already, with %d bytes and hash %s, and nothing was written.", path, #before,
      hash_of(before))
  end
  return nil, format("%s has changed: its hash is %s now, not %s. Nothing was written; read it again with read-file.",
    path, hash_of(before), expected)
end

local function is_own_folder(path)
  return path == "/" or fs.isDir(path)
end

--- `write-file`.
local function write(arguments)
  local problem = misread(arguments.path)
  if problem then return nil, problem end
  local path = absolute(arguments.path)
  if is_own_folder(path) then return nil, format("%s is a folder: name a file in it.", path) end
  local above = file_above(path)
  if above then
    return nil, format("%s was not written: %s is a file, and nothing can be in it. Choose another path, or move %s " ..
      "with manage-files.", path, above, above)
  end
  local bytes = arguments.content
  if arguments.base64 then
    bytes = from_base64(bytes)
    if not bytes then return nil, "The content is no base64, and nothing was written." end
  end
  local before, unreadable = contents_of(path)
  if unreadable then return nil, unreadable end
  local expected
  expected, problem = as_expected(path, before, arguments.expectedHash)
  if not expected then return nil, problem end

  local done
  if arguments.append and before then
    done, problem = put(path, "ab", bytes)
    if not done then
      put(path, "wb", before)
      return nil, unwritten(path, problem)
    end
    bytes = before .. bytes
  else
    done, problem = replace(path, bytes, before)
    if not done then return nil, problem end
  end
  local was = before and format("%d before", #before) or "it is new"
  return format("%s has %d bytes now (%s), hash %s.", path, #bytes, was, hash_of(bytes))
end

---------------------------------------------------------------- edits

local function line_of(text, at)
  local _, count = gsub(sub(text, 1, at - 1), "\n", "")
  return count + 1
end

local function with_crlf(text)
  return (gsub(gsub(text, "\r\n", "\n"), "\n", "\r\n"))
end

-- UTF-8 in the game's own signs, those of Latin-1; nil if there are others in it.
local function to_latin(text)
  local is_latin = true
  local result = gsub(text, "[\192-\255][\128-\191]*", function(sign)
    local first, second, third = byte(sign, 1, 3)
    if not second or third or first > 195 then is_latin = false return sign end
    return string.char((first - 192) * 64 + second - 128)
  end)
  return is_latin and result or nil
end

-- Where a text stands in another, {first, last} of each time.
local function places_of(text, wanted)
  local places, at = {}, 1
  while true do
    local first, last = find(text, wanted, at, true)
    if not first then return places end
    places[#places + 1] = { first, last }
    at = last + 1
    breathe()
  end
end

-- Why a text is not there, as far as can be seen.
local function hint_for(text, wanted)
  local words = gsub(gsub(wanted, "^%s+", ""), "%s+$", "")
  local first = match(words, "[^\r\n]+")
  if first then
    local at = find(text, first, 1, true)
    if at then
      return format(" Its first line stands in line %d: look at the blanks and at what follows.", line_of(text, at))
    end
    at = find(text:lower(), first:lower(), 1, true)
    if at then return format(" In line %d it stands in other letters, capital or small.", line_of(text, at)) end
  end
  return " Read the file with read-file."
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

-- What becomes of the lines around one place, as a diff shows it.
local function add_hunk(diff, text, first, last, by)
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
  diff[#diff + 1] = format("@@ line %d @@", line_of(text, from))
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

-- A text with one edit made; or nil and why not.
local function edited(text, edit, number, diff, is_latin)
  local wanted, by = edit.find, edit.replace
  if is_latin then
    wanted, by = to_latin(wanted), to_latin(by)
    if not wanted or not by then
      return nil, format("edit %d has letters that the file can't hold, which is in Latin-1.", number)
    end
  end
  if find(text, "\r\n", 1, true) and not find(text, "[^\r]\n") then wanted, by = with_crlf(wanted), with_crlf(by) end
  local places = places_of(text, wanted)
  if #places == 0 then return nil, format("the text of edit %d is not there.%s", number, hint_for(text, wanted)) end
  if #places > 1 and not edit.all then
    local at = {}
    for i = 1, math.min(#places, 10) do at[i] = line_of(text, places[i][1]) end
    return nil, format("the text of edit %d is there %d times, in lines %s%s: add what stands around it, or say all.",
      number, #places, concat(at, ", "), #places > 10 and " and so on" or "")
  end
  local parts, from = {}, 1
  for _, place in ipairs(places) do
    parts[#parts + 1] = sub(text, from, place[1] - 1) .. by
    from = place[2] + 1
    if (diff.length or 0) <= DIFF then
      local count = #diff
      add_hunk(diff, text, place[1], place[2], by)
      for i = count + 1, #diff do diff.length = (diff.length or 0) + #diff[i] + 1 end
    end
    breathe()
  end
  parts[#parts + 1] = sub(text, from)
  return concat(parts), #places
end

local function is_utf8(text)
  local rest = gsub(gsub(text, "[%z\1-\127]+", ""), "[\194-\223][\128-\191]", "")
  rest = gsub(gsub(rest, "[\224-\239][\128-\191][\128-\191]", ""), "[\240-\244][\128-\191][\128-\191][\128-\191]", "")
  return rest == ""
end

--- `edit-file`.
local function edit(arguments)
  local problem = misread(arguments.path)
  if problem then return nil, problem end
  local path = absolute(arguments.path)
  local before, unreadable = contents_of(path)
  if unreadable then return nil, unreadable end
  if not before then return nil, format("There is no %s to edit: write-file makes files.", path) end
  if find(before, "[%z\1-\8\11\14-\26\28-\31]") then
    return nil, format("%s is no text: read-file and write-file take it as base64.", path)
  end
  local expected
  expected, problem = as_expected(path, before, arguments.expectedHash)
  if not expected then return nil, problem end

  local is_latin = not is_utf8(before)
  local text, diff, count = before, {}, 0
  for number, one in ipairs(arguments.edits) do
    local after, made = edited(text, one, number, diff, is_latin)
    if not after then return nil, format("Nothing was changed in %s: %s", path, made) end
    text, count = after, count + made
  end
  if text == before then return format("%s stays as it is: what stands there is replaced by the same.", path) end
  local done
  done, problem = replace(path, text, before)
  if not done then return nil, problem end

  local shown, length = {}, 0
  for _, line in ipairs(diff) do
    length = length + #line + 1
    if length > DIFF then
      shown[#shown + 1] = "[the diff goes on: read-file shows the file as it is now]"
      break
    end
    shown[#shown + 1] = line
  end
  local answer = format("%s: %d %s replaced, %d bytes now, hash %s.\n%s", path, count,
    count == 1 and "place" or "places", #text, hash_of(text), concat(shown, "\n"))
  if is_latin then
    answer = gsub(answer, "[\128-\255]", function(sign)
      local code = byte(sign)
      return string.char(192 + floor(code / 64), 128 + code % 64)
    end)
  end
  return answer
end

return { write = errors.kept_short(write), edit = errors.kept_short(edit) }
