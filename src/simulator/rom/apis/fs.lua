-- fs: the files of the computer.
-- luacheck: globals fs

local native = ...
local disk, check, lift, at_least = native.fs, native.check, native.language.lift, native.os.atLeast
local text_of = native.text_of

fs = {}

for _, name in ipairs {
  "list", "exists", "isDir", "isReadOnly", "getSize", "getFreeSpace", "getCapacity", "getDrive", "attributes",
  "makeDir", "delete", "copy", "move",
} do
  fs[name] = disk[name]
end

--- Joins parts to a path without `.` and `..`; unlike the others it may lead out of the disk.
function fs.combine(path, ...)
  check(1, path, "string")
  local joined = { path }
  for n = 1, select("#", ...) do
    local part = select(n, ...)
    check(n + 1, part, "string")
    if part ~= "" then joined[#joined + 1] = part end
  end
  local parts = {}
  for part in table.concat(joined, "/"):gsub("\\", "/"):gmatch("[^/]+") do
    part = part:gsub('[":<>|%z\1-\31]', ""):match("^%s*(.-)%s*$")
    if part == ".." and #parts > 0 and parts[#parts] ~= ".." then
      parts[#parts] = nil
    elseif part ~= "." and part ~= "" then
      parts[#parts + 1] = part
    end
  end
  return table.concat(parts, "/")
end

function fs.getName(path)
  check(1, path, "string")
  local clean = fs.combine(path)
  return clean == "" and "root" or clean:match("[^/]+$")
end

function fs.getDir(path)
  check(1, path, "string")
  local clean = fs.combine(path)
  if clean == "" then return ".." end
  return clean:match("^(.*)/[^/]+$") or ""
end

function fs.isDriveRoot(path)
  check(1, path, "string")
  local clean = fs.combine(path)
  return clean == "" or clean == "rom" or disk.hasFloppy() and clean == "disk"
end

function fs.find(pattern)
  check(1, pattern, "string")
  local clean = fs.combine(pattern)
  local question = at_least(1, 106)
  local matcher = "^" .. clean:gsub("[%^%$%(%)%%%.%[%]%*%+%-%?]", function(letter)
    if letter == "*" then return "[^/]*" end
    if letter == "?" and question then return "[^/]" end
    return "%" .. letter
  end) .. "$"
  local found = {}
  for _, path in ipairs(disk.paths()) do
    if path:find(matcher) then found[#found + 1] = path end
  end
  return found
end

--- A handle as programs use it: a table of functions, called with a dot.
local function wrap(handle, binary, readable, writable)
  local file = {}
  local raw = at_least(1, 109)
  if readable then
    function file.read(count)
      check(1, count, "number", true)
      if binary and count == nil then return disk.handleReadByte(handle) end
      return disk.handleRead(handle, count or 1)
    end
    function file.readAll() return disk.handleReadAll(handle) end
    function file.readLine(keep)
      check(1, keep, "boolean", true)
      return disk.handleReadLine(handle, keep or false)
    end
  end
  if writable then
    function file.write(text)
      if type(text) == "number" and binary then
        return disk.handleWrite(handle, string.char(text % 256))
      end
      return disk.handleWrite(handle, text_of(text))
    end
    function file.flush() return disk.handleFlush(handle) end
    if not binary or raw then
      function file.writeLine(text) return disk.handleWrite(handle, text_of(text) .. "\n") end
    end
  end
  if binary or raw then
    function file.seek(whence, offset)
      check(1, whence, "string", true)
      check(2, offset, "number", true)
      return disk.handleSeek(handle, whence, offset)
    end
  end
  function file.close() return disk.handleClose(handle) end
  for name, method in pairs(file) do file[name] = lift(method) end
  return file
end

function fs.open(path, mode)
  check(1, path, "string")
  check(2, mode, "string")
  local handle, binary, readable, writable = disk.open(path, mode)
  if not handle then return nil, binary end
  return wrap(handle, binary, readable, writable)
end

function fs.complete(partial, location, include_files, include_folders)
  check(1, partial, "string")
  check(2, location, "string")
  if type(include_files) == "table" then
    include_folders, include_files = include_files.include_dirs, include_files.include_files
  end
  include_files, include_folders = include_files ~= false, include_folders ~= false
  local folder = location
  local name = partial
  local before, after = partial:match("^(.*/)([^/]*)$")
  if before then
    folder = before:sub(1, 1) == "/" and before or fs.combine(location, before)
    name = after
  end
  local found = {}
  if not fs.isDir(folder) then return found end
  for _, entry in ipairs(fs.list(folder)) do
    if entry:sub(1, #name) == name then
      local rest = entry:sub(#name + 1)
      if fs.isDir(fs.combine(folder, entry)) then
        found[#found + 1] = rest .. "/"
        if include_folders and rest ~= "" then found[#found + 1] = rest end
      elseif include_files and rest ~= "" then
        found[#found + 1] = rest
      end
    end
  end
  return found
end

for name, f in pairs(fs) do
  if f ~= disk[name] then fs[name] = lift(f) end
end
