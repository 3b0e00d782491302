--- The game's ways of printing, while a job runs: what any code prints then is the job's output.
--
-- They are swapped for the time of each resume, as the terminal is: `print`, `write` and `printError` in `_G`, what
-- `io.stdout` writes with, and the default files of `io`. While the player's own code runs, all of them are the game's.
-- Code may take the swapped ones along and call them when no job runs, or on a terminal that is not the job's: then
-- they do what the game's do.

local format = string.format
local concat = table.concat
local error, next, pcall, rawequal, rawget, rawset, select = error, next, pcall, rawequal, rawget, rawset, select
local tostring, type = tostring, type
local globals = _G
local game = { print = print, write = write, printError = printError }
local io = io

local printing = {}

-- The console of the job that runs now.
local present = nil
-- What stood in `_G`, by name, before it was resumed.
local outer = {}
-- The default files of `io` before that, by the function that gets and sets them.
local outer_files = {}
-- What `io.stdout` wrote with.
local outer_stdout_write = nil

-- The functions that get and set the default files, and what these are at a job's start.
local FILES = {}
if io and io.stdout and io.output then FILES[io.output] = io.stdout end
if io and io.stdin and io.input then FILES[io.input] = io.stdin end

-- What `io.stdout` holds its `write` in, which it took when the game started. Before 1.80 there is none: `io` calls the
-- global one then.
local stdout_handle = io and type(io.stdout) == "table" and rawget(io.stdout, "_handle")
if type(stdout_handle) ~= "table" or type(rawget(stdout_handle, "write")) ~= "function" then stdout_handle = nil end

-- The console that is to be written on, if it is not the game's affair.
local function console_to_write_on()
  if present and present:is_present() then return present end
  return nil
end

local write_text

-- The same for `print`: the game's calls whatever `write` is there, which may be another one by now.
local function console_to_print_on()
  if rawequal(rawget(globals, "write"), write_text) then return console_to_write_on() end
  return nil
end

-- What `print` shows of several arguments, or of one that is no string.
local function joined(count, ...)
  local parts = {}
  for i = 1, count do parts[i] = tostring((select(i, ...))) end
  return concat(parts, "\t")
end

-- As the game's own, `print` and `write` return how many lines they went down.
local function print_line(...)
  local console = console_to_print_on()
  if not console then return game.print(...) end
  local line, count = (...), select("#", ...)
  if count ~= 1 or type(line) ~= "string" then line = joined(count, ...) end
  local lines, is_much = console:print(line .. "\n")
  if is_much then console.on_much() end
  return lines
end

local function print_error(...)
  local console = console_to_print_on()
  if not console then return game.printError(...) end
  local _, is_much = console:print(joined(select("#", ...), ...) .. "\n", true)
  if is_much then console.on_much() end
end

function write_text(value)
  local console = console_to_write_on()
  if not console then return game.write(value) end
  local kind = type(value)
  if kind ~= "string" and kind ~= "number" then
    error(format("bad argument #1 (expected string or number, got %s)", kind), 2)
  end
  local lines, is_much = console:print(tostring(value))
  if is_much then console.on_much() end
  return lines
end

local SWAPPED = { print = print_line, write = write_text, printError = print_error }

--- Makes what a job finds at its start, and keeps from then on: it may replace some of it.
-- @tparam console console
-- @treturn table To be given to @{printing.enter}.
function printing.new(console)
  local functions, files = {}, {}
  for name, value in next, SWAPPED do functions[name] = value end
  for default, file in next, FILES do files[default] = file end
  return { console = console, functions = functions, files = files }
end

--- A job is about to be resumed.
-- @tparam table own From @{printing.new}.
function printing.enter(own)
  present = own.console
  for name in next, SWAPPED do
    outer[name] = rawget(globals, name)
    rawset(globals, name, own.functions[name])
  end
  for default in next, FILES do
    local file = default()
    outer_files[default] = file
    if not rawequal(file, own.files[default]) then pcall(default, own.files[default]) end
  end
  if stdout_handle then
    outer_stdout_write = rawget(stdout_handle, "write")
    rawset(stdout_handle, "write", write_text)
  end
end

--- The job has yielded, or ended.
-- @tparam table own
function printing.leave(own)
  present = nil
  if stdout_handle then rawset(stdout_handle, "write", outer_stdout_write) end
  for default in next, FILES do
    local file = default()
    own.files[default] = file
    if not rawequal(file, outer_files[default]) then pcall(default, outer_files[default]) end
  end
  for name in next, SWAPPED do
    own.functions[name] = rawget(globals, name)
    rawset(globals, name, outer[name])
  end
end

return printing
