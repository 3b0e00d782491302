-- What is on a computer's disk: lists, contents, and where a text stands. Nothing here changes anything.

local errors = require("shared.errors")

local byte, find, format, gsub = string.byte, string.find, string.format, string.gsub
local gmatch, match, sub = string.gmatch, string.match, string.sub
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

local function absolute(path)
  return "/" .. fs.combine("/", path or "")
end

-- What the game drops from paths, and from globs.
local DROPPED, DROPPED_FROM_GLOBS = '[%z\1-\31"*:<>?|]', '[%z\1-\31":<>|]'

-- Why a path is not taken: the game would drop something of it, and so mean another file. Nil if it would not.
-- `managing.lua` and `writing.lua` have the same, but for globs.
local function misread(path, may_be_glob)
  local dropped = may_be_glob and DROPPED_FROM_GLOBS or DROPPED
  local sign = match(path, dropped)
  local kept, has_dots = {}, false
  for name in gmatch(gsub(gsub(path, "\\", "/"), dropped, ""), "[^/]+") do
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

---------------------------------------------------------------- patterns

-- Steps that a search for a pattern in one line may cost. Nothing stops it once it has begun, and while it goes on
-- nothing else of the computer does.
local STEPS = 2e7

-- Where the class of signs that begins here ends; or nil and why it is none.
local function class_end(pattern, at)
  local sign = sub(pattern, at, at)
  if sign == "%" then
    if at == #pattern then return nil, "it ends with a %, which stands for itself as %%" end
    return at + 1
  end
  if sign ~= "[" then return at end
  at = at + 1
  if sub(pattern, at, at) == "^" then at = at + 1 end
  repeat
    if at > #pattern then return nil, "a [ has no ] behind it, and stands for itself as %[" end
    at = at + (sub(pattern, at, at) == "%" and 2 or 1)
  until sub(pattern, at, at) == "]"
  return at
end

-- At most so many steps does a search take in a text of this length, if what is repeated fits runs of these lengths:
-- as many as there are ways to choose where it begins, and where each run ends. The ends of the longest runs are
-- counted as places in the text that follow one another, those of the others by their lengths, whichever makes fewest.
local function steps(pattern, length, runs)
  table.sort(runs, function(a, b) return a > b end)
  local shorter = 1
  for _, run in ipairs(runs) do shorter = shorter * (run + 1) end
  local first = pattern.is_anchored and 0 or 1
  local ways = first == 1 and length + 1 or 1
  local least = ways * shorter
  for j, run in ipairs(runs) do
    shorter = shorter / (run + 1)
    ways = ways * (length + first + j) / (first + j)
    least = math.min(least, ways * shorter)
  end
  return least * pattern.weight
end

-- The longest runs there can be in any text of this length.
local function longest_runs(pattern, length)
  local runs = {}
  for i, repeated in ipairs(pattern) do runs[i] = repeated.is_once and math.min(1, length) or length end
  return runs
end

-- A pattern, with the classes in it that fit a number of signs; or nil and why it is none of Lua.
local function compiled(text)
  local pattern = { text = text, is_anchored = sub(text, 1, 1) == "^" }
  local at, singles, groups, open, problem = pattern.is_anchored and 2 or 1, 0, 0, 0, nil
  while at <= #text do
    local sign, two = sub(text, at, at), sub(text, at, at + 1)
    local stop = at
    if sign == "(" then
      groups, open = groups + 1, open + 1
    elseif sign == ")" then
      open = open - 1
      if open < 0 then return nil, "a ) has no ( before it, and stands for itself as %)" end
    elseif sign == "$" and at == #text then
      pattern.sees_end = true
    elseif two == "%b" then
      if at + 3 > #text then return nil, "%b needs two signs behind it, as in %b()" end
      pattern[#pattern + 1] = { class = "." }
      stop = at + 3
    elseif two == "%f" then
      if sub(text, at + 2, at + 2) ~= "[" then return nil, "%f needs a [set] behind it" end
      stop, problem = class_end(text, at + 2)
      pattern.sees_end = true
    elseif find(two, "^%%%d") then
      local number = tonumber(sub(two, 2))
      if number < 1 or number > groups then
        return nil, two .. " stands for a group, and there is none of that number before it"
      end
      pattern[#pattern + 1] = { class = "." }
      stop = at + 1
    else
      stop, problem = class_end(text, at)
      if stop and find(text, "^[*+?-]", stop + 1) then
        local class = sub(text, at, stop)
        local quantifier = sub(text, stop + 1, stop + 1)
        pattern[#pattern + 1] = { class = class == "^" and "%^" or class, is_once = quantifier == "?" }
        stop = stop + 1
      else
        singles = singles + 1
      end
    end
    if not stop then return nil, problem end
    at = stop + 1
  end
  if open > 0 then return nil, "a ( has no ) behind it, and stands for itself as %(" end
  local ok, thrown = pcall(find, "", text)
  if not ok then return nil, errors.reason(thrown) end
  pattern.weight = 1 + singles / 16
  -- The longest text that it may be looked for in, whatever stands there.
  local above = 1048576
  pattern.safe = 0
  while above - pattern.safe > 1 do
    local length = floor((pattern.safe + above) / 2)
    if steps(pattern, length, longest_runs(pattern, length)) <= STEPS then pattern.safe = length else above = length end
  end
  return pattern
end

local function longest_run(text, class)
  if class == "." then return #text end
  local longest = 0
  for run in gmatch(text, class .. "+") do longest = math.max(longest, #run) end
  return longest
end

-- Whether a text has a pattern; or nil and an error. With it, whether the text was too long to be looked at whole: then
-- only its beginning was, or nothing of it if the pattern asks for the end.
local function has(text, pattern)
  local is_cut = false
  if #text > pattern.safe then
    local runs = {}
    for i, repeated in ipairs(pattern) do
      runs[i] = repeated.is_once and 1 or longest_run(text, repeated.class)
    end
    if steps(pattern, #text, runs) > STEPS then
      is_cut = true
      if pattern.sees_end then return false, true end
      text = sub(text, 1, pattern.safe)
    end
  end
  local ok, at = pcall(find, text, pattern.text)
  if not ok then return nil, errors.reason(at) end
  return at ~= nil, is_cut
end

---------------------------------------------------------------- globs

local function is_glob(path)
  return find(path, "[*?]") ~= nil
end

-- A glob as a pattern of Lua: `**/` is any folders or none, `*` and `?` stay within a name.
local function pattern_of(glob)
  local escaped = gsub(glob, "[%^%$%(%)%%%.%[%]%+%-]", "%%%0")
  escaped = gsub(gsub(escaped, "%*%*/?", "\1"), "\1+", "\1")
  escaped = gsub(escaped, "%*+", "[^/]*")
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

-- What fits a glob: a list of {path, is_folder}, and whether it is all; or nil and why not. The game's own files in
-- /rom only if they are asked for.
local function globbed(glob)
  glob = gsub(glob, "^/*", "/")
  local folder = absolute(match(glob, "^(.-)/[^/]*[*?]"))
  local deep = find(glob, "**", 1, true) ~= nil
  local _, depth = gsub(glob, "/", "")
  local pattern, unfit = compiled(pattern_of(glob)), nil
  local found, budget = {}, { left = WALKED }
  if not fs.isDir(folder) then return found, true end
  walk(folder, function(path, is_folder)
    if path == "/rom" and not find(glob, "^/rom") then return false end
    local fits, is_cut = has(path, pattern)
    if is_cut then unfit = path end
    if fits then found[#found + 1] = { path, is_folder } end
    local _, at = gsub(path, "/", "")
    return deep or at < depth
  end, budget)
  if unfit then
    return nil, format("The glob %s has too many * for a path as long as %s: begin it with more of a folder.", glob,
      unfit)
  end
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
  if not file then return nil, format("%s can't be read: %s.", path, errors.reason(problem)) end
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
  local problem = misread(path, true)
  if problem then return nil, problem end
  local found, is_all = {}, true
  if is_glob(path) then
    found, is_all = globbed(path)
    if not found then return nil, is_all end
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
  local path, problem = absolute(arguments.path), misread(arguments.path)
  if arguments.raw and problem then return arguments.from == "stamp" and { stamp = "none" } or { missing = true } end
  if arguments.raw then return raw(path, arguments.from or 1) end
  if problem then return nil, problem end
  local text
  text, problem = contents_of(path)
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
  local problem = path and misread(path, true)
  if problem then return nil, problem end
  if path and not is_glob(path) then
    path = absolute(path)
    if not fs.exists(path) then return nil, no_such(path) end
    if not fs.isDir(path) then return { path }, true end
    path = name_in(path, "**")
  end
  local found, is_all = globbed(path or "/**")
  if not found then return nil, is_all end
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

-- The lines of a text that hold what is looked for, a text or a pattern; or nil and an error. With it, those that were
-- not looked at whole.
local function matches_in(text, starts, query, pattern)
  local matches, cut = {}, {}
  for i = 1, #starts - 1 do
    local line = gsub(sub(text, starts[i], starts[i + 1] - 1), "\r?\n$", "")
    if not pattern then
      if find(line, query, 1, true) then matches[#matches + 1] = i end
    else
      local fits, is_cut = has(line, pattern)
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
    pattern, problem = compiled(query)
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
    local text = contents_of(path)
    breathe()
    if text and is_binary(text) then
      binary = binary + 1
    elseif text and (pattern or find(text, query, 1, true)) then
      local starts, after = lines_of(text), 0
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
    return nil, format("There are only %s, so none is left after %d.", count_text(places, "line"), skipped)
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
  if cut > 0 then
    local looked_at = pattern.sees_end and "not looked at"
      or format("looked at only in the first %d characters", pattern.safe)
    heading = heading .. format("; %s %s too long for a pattern that repeats so much, first %s, and %s: try fewer " ..
      "of * + -", count_text(cut, "line"), cut == 1 and "is" or "are", first_cut, looked_at)
  end
  if places == 0 and not pattern then heading = heading .. "; capital letters count" end
  table.insert(blocks, 1, heading .. ".")
  return concat(blocks, "\n")
end

return { list = errors.kept_short(list), read = errors.kept_short(read), search = errors.kept_short(search) }
