-- What is on a computer's disk: lists, contents, and where a text stands. Nothing here changes anything.

local byte, find, format, gsub = string.byte, string.find, string.format, string.gsub
local match, sub = string.match, string.sub
local concat, floor = table.concat, math.floor

-- Characters of an answer: clients cut or refuse longer ones.
local LONGEST = 40000
-- Characters that a heading and a note take.
local HEADING = 500
-- Entries of a listing, and places that a search shows, in one answer.
local ENTRIES, PLACES = 500, 200
-- Files and folders that a glob goes through. A disk of the game holds 2000.
local WALKED = 20000
-- Characters of a line that a search shows.
local LINE = 300

-- The game stops code that runs for 7 s; and others want to run too.
local begun = os.clock()
local function breathe()
  if os.clock() - begun < 0.3 then return end
  sleep(0)
  begun = os.clock()
end

-- What a function throws, without the place in our code.
local function reason(problem)
  return (gsub(tostring(problem), "^[%w_%-%./]+:%d+: ", ""))
end

local function absolute(path)
  return "/" .. fs.combine("/", path or "")
end

local function name_in(folder, name)
  return (folder == "/" and "" or folder) .. "/" .. name
end

local function count_text(count, singular)
  return format("%d %s%s", count, singular, count == 1 and "" or "s")
end

local function call_for(tool, key, value)
  return format("%s {%q: %q}", tool, key, value)
end

local function no_such(path)
  return format("There is no %s on this computer: %s shows what there is.", path,
    call_for("list-files", "path", absolute(fs.getDir(path))))
end

local function free_in(path)
  local free = fs.getFreeSpace(path)
  local capacity = fs.getCapacity and fs.getCapacity(path)
  if type(free) ~= "number" then return "any number of bytes are free" end
  return format("%.0f%s bytes are free", free, type(capacity) == "number" and format(" of %.0f", capacity) or "")
end

---------------------------------------------------------------- globs

local function is_glob(path)
  return find(path, "[*?]") ~= nil
end

-- A glob as a pattern of Lua: `**/` is any folders or none, `*` and `?` stay within a name.
local function pattern_of(glob)
  local escaped = gsub(glob, "[%^%$%(%)%%%.%[%]%+%-]", "%%%0")
  escaped = gsub(escaped, "%*%*/?", "\1")
  escaped = gsub(escaped, "%*", "[^/]*")
  return "^" .. gsub(gsub(escaped, "%?", "[^/]"), "\1", ".-") .. "$"
end

-- Calls `visit(path, is_folder)` for all in a folder, by name; it says whether to go into a folder.
local function walk(folder, visit, budget)
  local names = fs.list(folder)
  table.sort(names)
  for _, name in ipairs(names) do
    local path = name_in(folder, name)
    local is_folder = fs.isDir(path)
    budget.left = budget.left - 1
    if budget.left < 0 then return end
    breathe()
    if visit(path, is_folder) and is_folder then walk(path, visit, budget) end
  end
end

-- What fits a glob: a list of {path, is_folder}, and whether it is all. The game's own files in /rom only if they are
-- asked for.
local function globbed(glob)
  glob = gsub(glob, "^/*", "/")
  local folder = absolute(match(glob, "^(.-)/[^/]*[*?]"))
  local deep = find(glob, "**", 1, true) ~= nil
  local _, depth = gsub(glob, "/", "")
  local pattern = pattern_of(glob)
  local found, budget = {}, { left = WALKED }
  if not fs.isDir(folder) then return found, true end
  walk(folder, function(path, is_folder)
    if path == "/rom" and not find(glob, "^/rom") then return false end
    if find(path, pattern) then found[#found + 1] = { path, is_folder } end
    local _, at = gsub(path, "/", "")
    return deep or at < depth
  end, budget)
  return found, budget.left >= 0
end

---------------------------------------------------------------- texts

-- What signs of three and four bytes are in UTF-8.
local SIGNS = {
  "^[\225-\236\238\239][\128-\191][\128-\191]", "^\224[\160-\191][\128-\191]", "^\237[\128-\159][\128-\191]",
  "^[\241-\243][\128-\191][\128-\191][\128-\191]", "^\240[\144-\191][\128-\191][\128-\191]",
  "^\244[\128-\143][\128-\191][\128-\191]",
}

local function is_utf8(text)
  local at = 1
  while true do
    at = find(text, "[\128-\255]", at)
    if not at then return true end
    local _, last = find(text, "^[\194-\223][\128-\191]", at)
    for i = 1, last and 0 or #SIGNS do
      _, last = find(text, SIGNS[i], at)
      if last then break end
    end
    if not last then return false end
    at = last + 1
  end
end

-- A text as UTF-8: if it is none, it is in the game's own signs, which are those of Latin-1.
local function shown(text)
  if is_utf8(text) then return text, false end
  return gsub(text, "[\128-\255]", function(sign)
    local code = byte(sign)
    return string.char(192 + floor(code / 64), 128 + code % 64)
  end), true
end

-- Signs that no text has.
local function is_binary(text)
  return find(text, "[%z\1-\8\11\14-\26\28-\31]") ~= nil
end

-- Two remainders of the bytes as one large number, and the length. It tells a change, not a forgery. `writing.lua` has
-- the same.
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

local function base64(bytes)
  local out = {}
  for at = 1, #bytes, 3 do
    local one, two, three = byte(bytes, at, at + 2)
    local all = one * 65536 + (two or 0) * 256 + (three or 0)
    local four = { floor(all / 262144), floor(all / 4096) % 64, floor(all / 64) % 64, all % 64 }
    for i = 1, 4 do four[i] = sub(DIGITS, four[i] + 1, four[i] + 1) end
    if not two then four[3] = "=" end
    if not three then four[4] = "=" end
    out[#out + 1] = concat(four)
    if #out % 4096 == 0 then breathe() end
  end
  return concat(out)
end

-- A file's bytes; or nil and why not.
local function contents_of(path)
  if not fs.exists(path) then return nil, no_such(path) end
  if fs.isDir(path) then
    return nil, format("%s is a folder: %s shows what is in it.", path, call_for("list-files", "path", path))
  end
  local file, problem = fs.open(path, "rb")
  if not file then return nil, format("%s can't be read: %s.", path, reason(problem)) end
  local text = file.readAll() or ""
  file.close()
  return text
end

-- Where each line begins, and after the last.
local function lines_of(text)
  local starts, at = {}, 1
  while at <= #text do
    starts[#starts + 1] = at
    at = (find(text, "\n", at, true) or #text) + 1
    if #starts % 4096 == 0 then breathe() end
  end
  starts[#starts + 1] = #text + 1
  return starts
end

---------------------------------------------------------------- the tools

local function described(path, is_folder)
  if not is_folder then return format("%s %.0f", path, fs.getSize(path)) end
  local notes = {}
  if fs.isReadOnly(path) then notes[1] = "read-only" end
  -- `isDriveRoot` came late; a drive that is another than that of its folder begins here.
  local drive = fs.getDrive(path)
  if drive ~= fs.getDrive(fs.getDir(path)) then
    notes[#notes + 1] = "drive " .. tostring(drive)
    if not notes[2] then notes[2] = free_in(path) end
  end
  return path .. (path == "/" and "" or "/") .. (notes[1] and " (" .. concat(notes, ", ") .. ")" or "")
end

--- `list-files`.
local function list(arguments)
  local path = arguments.path or "/"
  local found, is_all = {}, true
  if is_glob(path) then
    found, is_all = globbed(path)
    path = gsub(path, "^/*", "/")
  else
    path = absolute(path)
    if not fs.exists(path) then return nil, no_such(path) end
    if not fs.isDir(path) then return format("%s; %s.", described(path, false), free_in(path)) end
    walk(path, function(entry, is_folder) found[#found + 1] = { entry, is_folder } end, { left = WALKED })
  end

  local skipped = arguments.offset or 0
  if skipped > 0 and skipped >= #found then
    return nil, format("There are only %d, so none is left after %d.", #found, skipped)
  end
  local lines, length, last = {}, HEADING, skipped
  for i = skipped + 1, math.min(#found, skipped + ENTRIES) do
    local line = shown(described(found[i][1], found[i][2]))
    length = length + #line + 1
    if length > LONGEST then break end
    lines[#lines + 1], last = line, i
    breathe()
  end
  local folder = is_glob(path) and "/" or path
  local verb = is_glob(path) and (#found == 1 and "fits" or "fit") or "in"
  local heading = format("%d %s %s; %s.", #found, verb, path, free_in(folder))
  if not is_all then
    heading = heading .. format(" Only %d files and folders were looked at: begin the glob with a folder.", WALKED)
  end
  if skipped > 0 or last < #found then
    heading = heading .. format(" Here are %d to %d%s.", skipped + 1, last,
      last < #found and format("; go on with offset %d", last) or "")
  end
  if #found == 0 and is_glob(path) and not find(path, "^/rom") then
    heading = heading .. " Globs pass over /rom unless they begin with it."
  end
  table.insert(lines, 1, heading)
  return concat(lines, "\n")
end

local function as_base64(path, text, from, room)
  local last = math.min(#text, from - 1 + floor(room / 4) * 3)
  local heading = format("%s: bytes %d to %d of %d, hash %s, as base64%s", path, from, last, #text, hash_of(text),
    last < #text and format("; go on with from %d", last + 1) or "")
  return heading .. "\n" .. base64(sub(text, from, last))
end

-- Bytes of a file that a resource shows at once.
local AT_ONCE = 262144

-- What a resource shows of a folder, from an entry on: each with its size, or true for a folder.
local function raw_folder(path, from)
  local names, entries = fs.list(path), {}
  table.sort(names)
  for i = from, math.min(#names, from + ENTRIES - 1) do
    local entry = name_in(path, names[i])
    entries[#entries + 1] = { names[i], fs.isDir(entry) or fs.getSize(entry) }
    breathe()
  end
  local free = fs.getFreeSpace(path)
  return { entries = entries, size = #names, free = type(free) == "number" and free or nil }
end

-- What a resource shows of a file, from a byte on: text as UTF-8, anything else as base64.
local function raw_file(path, from)
  local text, problem = contents_of(path)
  if not text then return nil, problem end
  if from > #text + 1 then
    return nil, format("%s has %d bytes, so there is none to begin with from %d.", path, #text, from)
  end
  local last = math.min(#text, from - 1 + AT_ONCE)
  if is_binary(text) then return { size = #text, last = last, base64 = base64(sub(text, from, last)) } end
  for _ = 1, 3 do
    if last < #text and find(text, "^[\128-\191]", last + 1) then last = last - 1 end
  end
  local part, is_latin = shown(sub(text, from, last))
  return { size = #text, last = last, text = part, latin = is_latin }
end

-- What is another one when a file or folder has changed.
local function stamp_of(path)
  if not fs.exists(path) then return "none" end
  if fs.isDir(path) then
    local names, parts = fs.list(path), {}
    table.sort(names)
    for i = 1, #names do
      local entry = name_in(path, names[i])
      parts[i] = names[i] .. "\n" .. tostring(fs.isDir(entry) or fs.getSize(entry))
      breathe()
    end
    return hash_of(concat(parts, "\n"))
  end
  -- `attributes` came late, and its field changed its name.
  local attributes = fs.attributes and fs.attributes(path) or {}
  local modified = attributes.modified or attributes.modification
  if modified then return format("%.0f %.0f", fs.getSize(path), modified) end
  return hash_of(contents_of(path) or "")
end

-- The same of whatever has this path.
local function raw(path, from)
  if from == "stamp" then return { stamp = stamp_of(path) } end
  if not fs.exists(path) then return { missing = true } end
  if fs.isDir(path) then return raw_folder(path, from) end
  return raw_file(path, from)
end

--- `read-file`; with `raw`, which no client can give, what a resource shows.
local function read(arguments)
  local path = absolute(arguments.path)
  if arguments.raw then return raw(path, arguments.from or 1) end
  local text, problem = contents_of(path)
  if not text then return nil, problem end
  local from, room = arguments.from or 1, (arguments.maxChars or LONGEST) - 300 - #path
  room = math.max(room, 100)
  if #text == 0 then return format("%s is empty, hash %s", path, hash_of(text)) end
  local in_bytes = arguments.base64 or is_binary(text)
  local starts = in_bytes and { n = #text } or lines_of(text)
  local count = in_bytes and #text or #starts - 1
  if from > count then
    return nil, format("%s has %d %s, so there is none to begin with from %d.", path, count,
      in_bytes and "bytes" or "lines", from)
  end
  if in_bytes then return as_base64(path, text, from, room) end

  local is_latin = not is_utf8(text)
  -- What is no UTF-8 takes twice as much.
  if is_latin then room = floor(room / 2) end
  local last = from - 1
  while last < count and starts[last + 2] - starts[from] <= room do last = last + 1 end
  local heading = format("%s: %s, %d bytes, hash %s", path,
    from == 1 and last == count and count .. (count == 1 and " line" or " lines")
      or format("lines %d to %d of %d", from, math.max(last, from), count),
    #text, hash_of(text))
  if is_latin then heading = heading .. ", Latin-1, shown as UTF-8" end
  local stop = starts[last + 1] - 1
  if last < from then
    -- One line that is too long by itself.
    last = from
    stop = starts[from] - 1 + room
    while stop > starts[from] and find(sub(text, stop + 1, stop + 1), "[\128-\191]") do stop = stop - 1 end
    heading = heading .. format("; only the beginning of this line is here, the rest with base64 and from %d", stop + 1)
  end
  if last < count then heading = heading .. format("; go on with from %d", last + 1) end
  return heading .. "\n" .. shown(sub(text, starts[from], stop))
end

-- The files that a search goes through.
local function searched(path)
  if path and not is_glob(path) then
    path = absolute(path)
    if not fs.exists(path) then return nil, no_such(path) end
    if not fs.isDir(path) then return { path }, true end
    path = name_in(path, "**")
  end
  local found, is_all = globbed(path or "/**")
  local files = {}
  for _, entry in ipairs(found) do
    if not entry[2] then files[#files + 1] = entry[1] end
  end
  return files, is_all
end

-- A line of a file as a search shows it.
local function shown_line(text, starts, at)
  local line = shown((gsub(sub(text, starts[at], starts[at + 1] - 1), "\r?\n$", "")))
  return #line <= LINE and line or sub(line, 1, LINE) .. format("... (%d bytes)", #line)
end

-- The lines of a text that hold what is looked for.
local function matches_in(text, starts, query, is_plain)
  local matches = {}
  for i = 1, #starts - 1 do
    local line = gsub(sub(text, starts[i], starts[i + 1] - 1), "\r?\n$", "")
    if find(line, query, 1, is_plain) then matches[#matches + 1] = i end
    if i % 256 == 0 then breathe() end
  end
  return matches
end

--- `search-files`.
local function search(arguments)
  local query, around, is_plain = arguments.query, arguments.context or 0, not arguments.pattern
  local ok, problem = pcall(find, "", query, 1, is_plain)
  if not ok then return nil, format("The pattern is none of Lua: %s.", reason(problem)) end
  local files, is_all = searched(arguments.path)
  if not files then return nil, is_all end

  local skipped = arguments.offset or 0
  local blocks, length, is_full = {}, HEADING, false
  local places, fitting, binary = 0, 0, 0
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
    local text = contents_of(path)
    breathe()
    if text and is_binary(text) then
      binary = binary + 1
    elseif text and not (is_plain and not find(text, query, 1, true)) then
      local starts, after = lines_of(text), 0
      local matches = matches_in(text, starts, query, is_plain)
      for which = 1, #matches do
        places = places + 1
        if places > skipped and not is_full then after = show(path, text, starts, matches, which, after) end
      end
      if #matches > 0 then fitting = fitting + 1 end
    end
  end

  local heading = format("%s in %d of %s", count_text(places, "line"), fitting, count_text(#files, "file"))
  if binary == 1 then
    heading = heading .. " (1 is no text, and was passed over)"
  elseif binary > 1 then
    heading = heading .. format(" (%d are no text, and were passed over)", binary)
  end
  if skipped > 0 or is_full then
    heading = heading .. format("; here are %d to %d%s", skipped + 1, skipped + #blocks,
      is_full and format(", go on with offset %d", skipped + #blocks) or "")
  end
  if not is_all then heading = heading .. format("; only the first %d files and folders were looked at", WALKED) end
  if places == 0 and is_plain then heading = heading .. "; capital letters count" end
  table.insert(blocks, 1, heading .. ".")
  return concat(blocks, "\n")
end

-- Bytes of an error: what the caller said stands in it, of any length.
local ERROR = 4000

-- A tool, whose errors are no longer than that.
local function with_short_errors(tool)
  return function(arguments)
    local answer, problem = tool(arguments)
    if answer == nil and #problem > ERROR then problem = problem:sub(1, ERROR) .. "..." end
    return answer, problem
  end
end

return { list = with_short_errors(list), read = with_short_errors(read), search = with_short_errors(search) }
