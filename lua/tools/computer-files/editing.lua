-- Edits files of a computer in places, and shows what that changed.

local breathe = require("shared.breathe")
local errors = require("shared.errors")
local hash_of = require("shared.hash")
local misread = require("shared.misread")
local paths = require("shared.paths")
local texts = require("shared.texts")
local diffs = require("parts.diffs")
local replacing = require("parts.replacing")

local byte, find, format, gsub = string.byte, string.find, string.format, string.gsub
local match, sub = string.match, string.sub
local concat = table.concat

-- Bytes of a diff that are shown.
local DIFF = 20000

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
      return format(" Its first line stands in line %d: look at the blanks and at what follows.",
        diffs.line_of(text, at))
    end
    at = find(text:lower(), first:lower(), 1, true)
    if at then return format(" In line %d it stands in other letters, capital or small.", diffs.line_of(text, at)) end
  end
  return " Read the file with read-file."
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
    for i = 1, math.min(#places, 10) do at[i] = diffs.line_of(text, places[i][1]) end
    return nil, format("the text of edit %d is there %d times, in lines %s%s: add what stands around it, or say all.",
      number, #places, concat(at, ", "), #places > 10 and " and so on" or "")
  end
  local parts, from = {}, 1
  for _, place in ipairs(places) do
    parts[#parts + 1] = sub(text, from, place[1] - 1) .. by
    from = place[2] + 1
    if (diff.length or 0) <= DIFF then
      local count = #diff
      diffs.add_hunk(diff, text, place[1], place[2], by)
      for i = count + 1, #diff do diff.length = (diff.length or 0) + #diff[i] + 1 end
    end
    breathe()
  end
  parts[#parts + 1] = sub(text, from)
  return concat(parts), #places
end

--- `edit-file`.
local function edit(arguments)
  local problem = misread(arguments.path)
  if problem then return nil, problem end
  local path = paths.absolute(arguments.path)
  local before, unreadable = replacing.contents_of(path)
  if unreadable then return nil, unreadable end
  if not before then return nil, format("There is no %s to edit: write-file makes files.", path) end
  if texts.is_binary(before) then
    return nil, format("%s is no text: read-file and write-file take it as base64.", path)
  end
  local expected
  expected, problem = replacing.as_expected(path, before, arguments.expectedHash)
  if not expected then return nil, problem end

  local is_latin = not texts.is_utf8(before)
  local text, diff, count = before, {}, 0
  for number, one in ipairs(arguments.edits) do
    local after, made = edited(text, one, number, diff, is_latin)
    if not after then return nil, format("Nothing was changed in %s: %s", path, made) end
    text, count = after, count + made
  end
  if text == before then return format("%s stays as it is: what stands there is replaced by the same.", path) end
  local done
  done, problem = replacing.replace(path, text, before)
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
    answer = texts.from_latin(answer)
  end
  return answer
end

return { edit = errors.kept_short(edit) }
