-- Finds the lines of files that hold a text, or a pattern.

local breathe = require("shared.breathe")
local errors = require("shared.errors")
local misread = require("shared.misread")
local paths = require("shared.paths")
local texts = require("shared.texts")
local words = require("shared.words")
local disk = require("parts.disk")
local globs = require("parts.globs")
local patterns = require("parts.patterns")

local find, format, gsub, sub = string.find, string.format, string.gsub, string.sub
local concat = table.concat

-- Characters of an answer: clients cut or refuse longer ones. Of them a heading and a note take some.
local LONGEST, HEADING = 40000, 500
-- Places that one answer shows.
local PLACES = 200
-- Characters of a line that is shown.
local LINE = 300

-- The files that a search goes through.
local function searched(path)
  local problem = path and misread(path, true)
  if problem then return nil, problem end
  if path and not globs.is_glob(path) then
    path = paths.absolute(path)
    if not fs.exists(path) then return nil, disk.no_such(path) end
    if not fs.isDir(path) then return { path }, true end
    path = paths.inside(path, "**")
  end
  local found, is_all = globs.found(path or "/**")
  if not found then return nil, is_all end
  local files = {}
  for _, entry in ipairs(found) do
    if not entry[2] then files[#files + 1] = entry[1] end
  end
  return files, is_all
end

-- A line of a file as a search shows it.
local function shown_line(text, starts, at)
  local line = texts.shown((gsub(sub(text, starts[at], starts[at + 1] - 1), "\r?\n$", "")))
  return #line <= LINE and line or sub(line, 1, LINE) .. format("... (%d bytes)", #line)
end

-- The lines of a text that hold what is looked for, a text or a pattern; or nil and an error. With it, those that were
-- not looked at whole.
local function matches_in(text, starts, query, pattern)
  local matches, cut = {}, {}
  for i = 1, #starts - 1 do
    local line = gsub(sub(text, starts[i], starts[i + 1] - 1), "\r?\n$", "")
    if not pattern then
      if find(line, query, 1, true) then matches[#matches + 1] = i end
    else
      local fits, is_cut = patterns.has(line, pattern)
      if fits == nil then return nil, is_cut end
      if fits then matches[#matches + 1] = i end
      if is_cut then cut[#cut + 1] = i end
    end
    if pattern or i % 256 == 0 then breathe() end
  end
  return matches, cut
end

local function no_pattern(problem)
  return format("The pattern is none of Lua: %s. Without `pattern` the query is looked for as it stands.", problem)
end

--- `search-files`.
local function search(arguments)
  local query, around = arguments.query, arguments.context or 0
  local pattern, problem
  if arguments.pattern then
    pattern, problem = patterns.compiled(query)
    if not pattern then return nil, no_pattern(problem) end
  end
  local files, is_all = searched(arguments.path)
  if not files then return nil, is_all end

  local skipped = arguments.offset or 0
  local blocks, length, is_full = {}, HEADING, false
  local places, fitting, binary, cut, first_cut = 0, 0, 0, 0, nil
  -- One place with the lines around it, but for those that are there already or will be.
  local function show(path, text, starts, matches, which, after)
    local at, following = matches[which], matches[which + 1] or math.huge
    local lines = {}
    for i = math.max(at - around, after + 1), math.min(at + around, #starts - 1, following - 1) do
      local mark = i == at and ":" or "-"
      lines[#lines + 1] = path .. mark .. i .. mark .. " " .. shown_line(text, starts, i)
      after = i
    end
    local block = concat(lines, "\n")
    if #blocks >= PLACES or length + #block + 4 > LONGEST then
      is_full = true
    else
      if around > 0 and #blocks > 0 then block = "--\n" .. block end
      blocks[#blocks + 1], length = block, length + #block + 1
    end
    return after
  end

  for _, path in ipairs(files) do
    local text = disk.contents_of(path)
    breathe()
    if text and texts.is_binary(text) then
      binary = binary + 1
    elseif text and (pattern or find(text, query, 1, true)) then
      local starts, after = texts.lines_of(text), 0
      local matches, cut_here = matches_in(text, starts, query, pattern)
      if not matches then return nil, no_pattern(cut_here) end
      if cut_here[1] then
        cut, first_cut = cut + #cut_here, first_cut or path .. ":" .. cut_here[1]
      end
      for which = 1, #matches do
        places = places + 1
        if places > skipped and not is_full then after = show(path, text, starts, matches, which, after) end
      end
      if #matches > 0 then fitting = fitting + 1 end
    end
  end

  if skipped > 0 and skipped >= places then
    return nil, format("There are only %s, so none is left after %d.", words.count(places, "line"), skipped)
  end
  local heading = format("%s in %d of %s", words.count(places, "line"), fitting, words.count(#files, "file"))
  if binary == 1 then
    heading = heading .. " (1 is no text, and was passed over)"
  elseif binary > 1 then
    heading = heading .. format(" (%d are no text, and were passed over)", binary)
  end
  if skipped > 0 or is_full then
    heading = heading .. format("; here are %d to %d%s", skipped + 1, skipped + #blocks,
      is_full and format(", go on with offset %d", skipped + #blocks) or "")
  end
  if not is_all then
    heading = heading .. format("; only the first %d files and folders were looked at", globs.WALKED)
  end
  if cut > 0 then
    local looked_at = pattern.sees_end and "not looked at"
      or format("looked at only in the first %d characters", pattern.safe)
    heading = heading .. format("; %s %s too long for a pattern that repeats so much, first %s, and %s: try fewer " ..
      "of * + -", words.count(cut, "line"), cut == 1 and "is" or "are", first_cut, looked_at)
  end
  if places == 0 and not pattern then heading = heading .. "; capital letters count" end
  table.insert(blocks, 1, heading .. ".")
  return concat(blocks, "\n")
end

return { search = errors.kept_short(search) }
