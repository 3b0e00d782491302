-- io: Lua's own way to files, over fs.
-- luacheck: globals io

local native = ...
local expect = native.expect

io = {}

local methods = {}
local handle_meta = { __name = "FILE*", __index = methods, __tostring = function(self)
  return self._closed and "file (closed)" or "file (" .. tostring(self._handle):match("0x.*") .. ")"
end }

-- Programs that swap what a file writes with know these fields.
local function wrap(handle)
  return setmetatable({ _handle = handle }, handle_meta)
end

local function check_open(self, level)
  if type(self) ~= "table" or getmetatable(self) ~= handle_meta then
    error("bad argument #1 (FILE expected, got " .. type(self) .. ")", level + 1)
  end
  if self._closed then error("attempt to use a closed file", level + 1) end
end

local function read_one(file, format)
  if type(format) == "number" then
    if not file.read then return nil end
    return file.read(format)
  end
  format = tostring(format):gsub("^%*", ""):sub(1, 1)
  if format == "l" then return file.readLine and file.readLine() end
  if format == "L" then return file.readLine and file.readLine(true) end
  if format == "a" then return file.readAll and file.readAll() or "" end
  if format == "n" then return file.readLine and tonumber(file.readLine() or "") end
  error("bad argument #1 (invalid format)", 3)
end

function methods:close()
  check_open(self, 1)
  if not self._handle.close then return nil, "attempt to close standard stream" end
  self._closed = true
  self._handle.close()
  return true
end

function methods:flush()
  check_open(self, 1)
  if self._handle.flush then self._handle.flush() end
  return self
end

function methods:read(...)
  check_open(self, 1)
  if select("#", ...) == 0 then return read_one(self._handle, "l") end
  local results = {}
  for n = 1, select("#", ...) do
    results[n] = read_one(self._handle, (select(n, ...)))
    if results[n] == nil then break end
  end
  return table.unpack(results, 1, select("#", ...))
end

function methods:write(...)
  check_open(self, 1)
  if not self._handle.write then return nil, "file is not writable" end
  for n = 1, select("#", ...) do
    local value = select(n, ...)
    expect(n, value, "string", "number")
    self._handle.write(native.text_of(value))
  end
  return self
end

function methods:lines(...)
  check_open(self, 1)
  local formats = table.pack(...)
  return function()
    check_open(self, 1)
    return self:read(table.unpack(formats, 1, formats.n))
  end
end

function methods:seek(whence, offset)
  check_open(self, 1)
  if not self._handle.seek then return nil, "file is not seekable" end
  return self._handle.seek(whence, offset)
end

function methods:setvbuf()
  check_open(self, 1)
end

-- As in the game, `io.stdout` keeps the `write` of the start, and `io.stderr` looks it up each time.
io.stdin = wrap({ readLine = function() return read() end })
io.stdout = wrap({ write = write })
io.stderr = wrap({
  write = function(text)
    local before = term.isColour() and term.getTextColour()
    if before then term.setTextColour(colours.red) end
    write(text)
    if before then term.setTextColour(before) end
  end,
})

local input, output = io.stdin, io.stdout

function io.open(path, mode)
  expect(1, path, "string")
  expect(2, mode, "string", "nil")
  local file, problem = fs.open(path, (mode or "r"):gsub("b", "") .. "b")
  if not file then return nil, problem end
  return wrap(file)
end

function io.input(file)
  if type(file) == "string" then
    local opened, problem = io.open(file, "r")
    if not opened then error(problem, 2) end
    input = opened
  elseif file ~= nil then
    check_open(file, 1)
    input = file
  end
  return input
end

function io.output(file)
  if type(file) == "string" then
    local opened, problem = io.open(file, "w")
    if not opened then error(problem, 2) end
    output = opened
  elseif file ~= nil then
    check_open(file, 1)
    output = file
  end
  return output
end

function io.flush() return output:flush() end

function io.read(...) return input:read(...) end
function io.write(...) return output:write(...) end
function io.close(file) return (file or output):close() end

function io.lines(path, ...)
  if path == nil then return input:lines(...) end
  local file, problem = io.open(path, "r")
  if not file then error(problem, 2) end
  local formats = table.pack(...)
  return function()
    if file._closed then return nil end
    local line = file:read(table.unpack(formats, 1, formats.n))
    if line == nil then file:close() end
    return line
  end
end

function io.type(value)
  if type(value) == "table" and getmetatable(value) == handle_meta then
    return value._closed and "closed file" or "file"
  end
  return nil
end
