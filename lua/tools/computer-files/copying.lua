-- Copies files from one computer to others, by way of the bridge: whoever asks for it sees none of what is in them.

local own_files = require("shared.own_files")
local words = require("shared.words")

local format = string.format

-- How many files one call copies, and bytes of them all: two disks of the game.
local FILES, BYTES = 200, 2000000
-- Milliseconds that a computer may take for one file.
local TIME = 60000
-- The longest answer of a tool that reads, in characters: a file that large is whole in it.
local WHOLE = 8000000
-- Characters of an error of one computer, and how many errors, and paths of a kind, are named.
local ERROR, NAMED = 300, 10

-- What else is a computer's own: the settings, which hold the key by which a bridge knows it, and another with the same
-- would be taken for it; where a turtle is.
local OWN = { ["/.settings"] = true, ["/.mcp-turtle"] = true }

local function is_own(path) return own_files[path] or OWN[path] or path:find("/.trash/", 1, true) == 1 end

-- A path as the game has it; or nil and why it is not taken: the game would drop something of it, and so mean another
-- file.
local function absolute(path, may_be_glob)
  local sign = path:match(may_be_glob and '[%z\1-\31":<>|]' or '[%z\1-\31"*:<>?|]')
  if sign then
    return nil, format("%s has %s in it, which the game drops, so another file would be meant. Nothing was copied; %s.",
      path, sign:byte() < 32 and "a control character" or sign,
      sign:find("[*?]") and "globs are only for `path`, here name a folder" or "choose a name without")
  end
  local names = {}
  for name in path:gsub("\\", "/"):gmatch("[^/]+") do
    name = name:match("^%s*(.-)%s*$")
    if name:find("^%.%.%.+$") then
      return nil, format("%s has a name of dots alone, which the game drops, so another file would be meant. " ..
        "Nothing was copied; name it without.", path)
    elseif name == ".." and #names > 0 and names[#names] ~= ".." then
      names[#names] = nil
    elseif name ~= "" and name ~= "." then
      names[#names + 1] = name
    end
  end
  return "/" .. table.concat(names, "/")
end

-- What a tool answers for a computer; or nil and why not, in words for one who asked of several.
local function asked(id, tool, arguments)
  local done, text = pcall(computers.call, id, tool, arguments, { timeoutMs = TIME })
  if done then return text end
  text = tostring(text):gsub("\nstack traceback:.*$", ""):gsub("on this computer", "on computer " .. tostring(id))
  return nil, text
end

-- The files that are meant: a list of {path, size}, and the folder that their paths are told from; or nil and why not.
local function files_of(from, path)
  local lines = {}
  -- A listing comes in pages.
  local offset = 0
  local glob = path
  repeat
    local text, problem = asked(from, "list-files", { path = glob, offset = offset })
    if not text then return nil, problem end
    local heading = text:match("^[^\n]*")
    if offset == 0 and not path:find("[*?]") and heading:find("^%d+ in ") then
      -- A folder: all that is in it.
      glob = (path == "/" and "" or path) .. "/**"
      text, problem = asked(from, "list-files", { path = glob, offset = 0 })
      if not text then return nil, problem end
      heading = text:match("^[^\n]*")
    end
    for line in text:gmatch("[^\n]+") do
      local file, size = line:match("^(/.*[^/]) (%d+)$")
      if not file then file, size = line:match("^(/.*[^/]) (%d+);") end
      if file then lines[#lines + 1] = { path = file, size = tonumber(size) } end
    end
    offset = tonumber(heading:match("go on with offset (%d+)"))
  until not offset or #lines > FILES
  local folder = path
  if path:find("[*?]") then folder = path:match("^(.-)/[^/]*[*?]") or "" end
  if glob == path and not path:find("[*?]") then folder = nil end
  return lines, folder
end

-- Where a file goes: beneath the target if a folder or several are copied, else to it.
local function target_of(file, folder, to_path)
  if not to_path then return file end
  if not folder then return to_path end
  local inside = folder == "/" and file or file:sub(#folder + 1)
  return (to_path == "/" and "" or to_path) .. inside
end

-- What failed on one computer, each reason once, as it is for the first of the files.
local function add_failure(failed, target, why)
  why = tostring(why):gsub("\nstack traceback:.*$", "")
  local first, last = why:find(target, 1, true)
  local kind = first and why:sub(1, first - 1) .. why:sub(last + 1) or why
  if not failed[kind] then
    failed[kind] = { target = target, why = why:sub(1, ERROR), count = 0 }
    failed[#failed + 1] = failed[kind]
  end
  failed[kind].count = failed[kind].count + 1
end

-- What came of it all, in lines, and whether nothing was copied.
local function told(heading, to, count, outcomes)
  local lines, failures, is_none = { heading }, {}, true
  for _, id in ipairs(to) do
    local outcome = outcomes[id]
    is_none = is_none and outcome.whole == 0
    lines[#lines + 1] = format("Computer %s: %s.", tostring(id),
      outcome.whole == count and "all whole, by their hashes" or format("%d of %d", outcome.whole, count))
    if #outcome.over > 0 then
      lines[#lines] = format("%s Written over what was there: %s.", lines[#lines], words.some(outcome.over, NAMED))
    end
    for _, failed in ipairs(outcome.failed) do
      failures[#failures + 1] = format("Computer %s, %s%s: %s", tostring(id), failed.target,
        failed.count > 1 and format(" and %d more", failed.count - 1) or "", failed.why)
    end
  end
  for n = 1, math.min(#failures, NAMED) do lines[#lines + 1] = failures[n] end
  if #failures > NAMED then lines[#lines + 1] = format("%d more reasons.", #failures - NAMED) end
  return table.concat(lines, "\n"), is_none
end

-- The files that are copied, and those that are left out; or nil and why nothing is.
local function chosen(from, path, to_path)
  local found, folder = files_of(from, path)
  if not found then return nil, folder end
  local files, left_out, bytes = { folder = folder }, {}, 0
  for _, file in ipairs(found) do
    if is_own(file.path) or is_own(target_of(file.path, folder, to_path)) then
      left_out[#left_out + 1] = file.path
    else
      files[#files + 1], bytes = file, bytes + file.size
    end
  end
  files.bytes = bytes
  if #files == 0 and #left_out > 0 then
    return nil, format("Nothing was copied: %s to %s is a computer's own, by which it is known or linked.", left_out[1],
      target_of(left_out[1], folder, to_path))
  elseif #files == 0 then
    return nil, format("There is no file %s on computer %d.", path, from)
  elseif #files > FILES or bytes > BYTES then
    return nil, format("%s has more than the %d files or %d bytes that one call copies: name a part of it.", path,
      FILES, BYTES)
  end
  return files, left_out
end

local function copy(arguments)
  local from, to = arguments.from, arguments.to
  local path, problem = absolute(arguments.path, true)
  if not path then return nil, problem end
  local to_path
  if arguments.toPath then
    to_path, problem = absolute(arguments.toPath)
    if not to_path then return nil, problem end
  end
  local outcomes = {}
  for _, id in ipairs(to) do
    if id == from and not to_path then return nil, "Say by toPath where on the same computer it goes." end
    outcomes[id] = { whole = 0, over = {}, failed = {} }
  end
  local files, left_out = chosen(from, path, to_path)
  if not files then return nil, left_out end
  for n, file in ipairs(files) do
    progress(file.path, n - 1, #files)
    local text
    text, problem = asked(from, "read-file", { path = file.path, base64 = true, maxChars = WHOLE })
    if not text then return nil, format("%s\n%d of %d files were copied before.", problem, n - 1, #files) end
    local heading, content = text:match("^([^\n]*)\n(.*)$")
    heading = heading or text
    local hash = heading:match("hash (%x+)")
    local target = target_of(file.path, files.folder, to_path)
    local answers = computers.call(to, "write-file", { path = target, content = content or "", base64 = true },
      { timeoutMs = TIME })
    for _, id in ipairs(to) do
      local answer, outcome = answers[id], outcomes[id]
      local written = answer.ok and tostring(answer.returns[1]) or ""
      if written:find("hash " .. hash, 1, true) then
        outcome.whole = outcome.whole + 1
        if written:find("%(%d+ before%)") then table.insert(outcome.over, target) end
      else
        add_failure(outcome.failed, target,
          answer.ok and "it is another there, written by something else meanwhile" or answer.error)
      end
    end
  end
  local heading = format("%s, %d bytes, of computer %d.", words.count(#files, "file"), files.bytes, from)
  if #left_out > 0 then
    heading = format("%s Left out, as a computer's own: %s.", heading, words.some(left_out, NAMED))
  end
  local text, is_none = told(heading, to, #files, outcomes)
  if is_none then return nil, text end
  return text
end

return { copy = copy }
