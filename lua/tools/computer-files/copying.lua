-- Copies files from one computer to others, by way of the bridge: whoever asks for it sees none of what is in them.

local format = string.format

-- How many files one call copies, and bytes of them all: two disks of the game.
local FILES, BYTES = 200, 2000000
-- Milliseconds that a computer may take for one file.
local TIME = 60000
-- The longest answer of a tool that reads, in characters: a file that large is whole in it.
local WHOLE = 8000000
-- Characters of an error of one computer.
local ERROR = 300

local function count_text(count, singular) return format("%d %s%s", count, singular, count == 1 and "" or "s") end

local function absolute(path) return "/" .. path:gsub("^/+", ""):gsub("/+$", "") end

-- The files that are meant: a list of {path, size}, and the folder that their paths are told from.
local function files_of(from, path)
  local lines = {}
  -- A listing comes in pages.
  local offset = 0
  local glob = path
  repeat
    local text = computers.call(from, "list-files", { path = glob, offset = offset }, { timeoutMs = TIME })
    local heading = text:match("^[^\n]*")
    if offset == 0 and not path:find("[*?]") and heading:find("^%d+ in ") then
      -- A folder: all that is in it.
      glob = (path == "/" and "" or path) .. "/**"
      text = computers.call(from, "list-files", { path = glob, offset = 0 }, { timeoutMs = TIME })
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

local function copy(arguments)
  local from, path, to = arguments.from, absolute(arguments.path), arguments.to
  local to_path = arguments.toPath and absolute(arguments.toPath)
  local files, folder = files_of(from, path)
  if #files == 0 then return nil, format("There is no file %s on computer %d.", path, from) end
  local bytes = 0
  for _, file in ipairs(files) do bytes = bytes + file.size end
  if #files > FILES or bytes > BYTES then
    return nil, format("%s has more than the %d files or %d bytes that one call copies: name a part of it.", path,
      FILES, BYTES)
  end
  local whole, problems = {}, {}
  for _, id in ipairs(to) do
    if id == from and not to_path then return nil, "Say by toPath where on the same computer it goes." end
    whole[id] = 0
  end
  for n, file in ipairs(files) do
    progress(file.path, n - 1, #files)
    local text = computers.call(from, "read-file", { path = file.path, base64 = true, maxChars = WHOLE },
      { timeoutMs = TIME })
    local heading, content = text:match("^([^\n]*)\n(.*)$")
    heading = heading or text
    local hash = heading:match("hash (%x+)")
    local target = target_of(file.path, folder, to_path)
    local answers = computers.call(to, "write-file", { path = target, content = content or "", base64 = true },
      { timeoutMs = TIME })
    for _, id in ipairs(to) do
      local answer = answers[id]
      if answer.ok and tostring(answer.returns[1]):find("hash " .. hash, 1, true) then
        whole[id] = whole[id] + 1
      else
        local why = answer.ok and "it is another there, written by something else meanwhile" or answer.error
        problems[#problems + 1] = format("Computer %s, %s: %s", tostring(id), target, tostring(why):sub(1, ERROR))
      end
    end
  end
  local lines = { format("%s, %d bytes, of computer %d.", count_text(#files, "file"), bytes, from) }
  for _, id in ipairs(to) do
    lines[#lines + 1] = format("Computer %s: %s.", tostring(id),
      whole[id] == #files and "all whole, by their hashes" or format("%d of %d", whole[id], #files))
  end
  for n = 1, math.min(#problems, 10) do lines[#lines + 1] = problems[n] end
  if #problems > 10 then lines[#lines + 1] = format("%d more failed.", #problems - 10) end
  local told = table.concat(lines, "\n")
  if #problems == #files * #to then return nil, told end
  return told
end

return { copy = copy }
