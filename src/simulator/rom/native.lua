-- Makes Lua's own library what the game's is. Runs before everything else.
-- Functions of this chunk stand for native ones: tracebacks leave them out.
-- luacheck: globals coroutine string table math debug

local native = ...

local type, select, tostring = type, select, tostring
local rawget, setmetatable, unpack = rawget, setmetatable, table.unpack

local language = native.language
local at_least = native.os.atLeast
local describe, place = language.describe, language.place

-- Lua's own: `raise` for an error that is under way already, which gets no position again.
local raise, plain_pcall = error, pcall

do
  local lift_with = language.lift
  function language.lift(f) return lift_with(f, plain_pcall) end
end

local lift = language.lift

---------------------------------------------------------------- errors, with the position of what a program sees

-- For this chunk and its like; programs have Lua's own.
local function error(message) raise(place() .. message, 0) end

native.error = error

--- Checks an argument of a function that stands for a native one.
function native.check(index, value, wanted, optional)
  if type(value) ~= wanted and not (optional and value == nil) then
    error(("bad argument #%d (%s expected, got %s)"):format(index, wanted, type(value)))
  end
end

local function need(...)
  if select("#", ...) == 0 then error("bad argument #1 (value expected)") end
end

---------------------------------------------------------------- errors of the host become strings, or pass

local OUT_OF_MEMORY = "vm error: java.lang.OutOfMemoryError: Java heap space"
local FAILED_HANDLER = "error in error handling"

-- Whether an error is under way that `coroutine.wrap` has handed on: no program runs before something catches it.
local is_out_of_coroutine = false

--- What the game says where Lua has words of its own.
local function in_game_words(text)
  if text == "not enough memory" then return OUT_OF_MEMORY end
  -- A level that fell on one of the functions here.
  return (text:gsub("^%[native%]:%d+: ", ""):gsub("C stack overflow$", "stack overflow"))
end

--- The results of a protected call: an error of the host becomes its text; one that ends the machine goes on.
local function settle(ok, ...)
  if ok then return true, ... end
  is_out_of_coroutine = false
  local problem = ...
  if type(problem) == "userdata" then
    local halts, text = describe(problem)
    if halts then raise(problem, 0) end
    if text then return false, in_game_words(text) end
  elseif type(problem) == "string" then
    return false, in_game_words(problem)
  end
  return false, ...
end

do
  local pcall = pcall
  function _G.pcall(...)
    need(...)
    return settle(pcall(...))
  end
end

local guarded_xpcall = xpcall

do
  local xpcall = xpcall
  --- A handler that sees texts where the host raised an error, and nothing of one that ends the machine, nor of what
  --- the game doesn't tell it.
  local function guard(handler)
    return function(problem)
      if type(problem) == "userdata" then
        local halts, text = describe(problem)
        if halts then return problem end
        if text then problem = text end
      end
      if type(problem) == "string" then problem = in_game_words(problem) end
      if is_out_of_coroutine and not at_least(1, 104) then return problem end
      -- There is no room to call it.
      if not at_least(1, 109, 4) and type(problem) == "string" and problem:find("stack overflow$") then
        return FAILED_HANDLER
      end
      return handler(problem)
    end
  end

  --- Tells the handler where Lua itself doesn't: of a memory that is full, which is less so by now.
  local function settle_told(handler, ok, ...)
    if ok or (...) ~= "not enough memory" then return settle(ok, ...) end
    local handled, result = plain_pcall(handler, OUT_OF_MEMORY)
    return false, handled and result or FAILED_HANDLER
  end

  function _G.xpcall(...)
    need(...)
    if select("#", ...) < 2 then error("bad argument #2 (value expected)") end
    local f, handler = ...
    handler = guard(handler)
    if not at_least(1, 109) then return settle_told(handler, xpcall(f, handler)) end
    return settle_told(handler, xpcall(f, handler, select(3, ...)))
  end
end

---------------------------------------------------------------- coroutines

-- Where a coroutine that died of an error was then, for debug.traceback.
local last_words = setmetatable({}, { __mode = "k" })

do
  local create, resume, running = coroutine.create, coroutine.resume, coroutine.running
  local traceback = language.traceback

  local function note_death(problem)
    -- After a stack overflow there is no room to look around.
    if not (type(problem) == "string" and problem:find("stack overflow", 1, true)) then
      last_words[running()] = traceback(1)
    end
    return problem
  end

  local function finish(ok, ...)
    if ok then return ... end
    raise((...), 0)
  end

  function coroutine.create(f)
    if type(f) ~= "function" then
      error("bad argument (function expected, got " .. type(f) .. ")")
    end
    return create(function(...) return finish(guarded_xpcall(f, note_death, ...)) end)
  end

  function coroutine.resume(thread, ...)
    if type(thread) ~= "thread" then
      error("bad argument (thread expected, got " .. type(thread) .. ")")
    end
    return settle(resume(thread, ...))
  end

  coroutine.create = lift(coroutine.create)

  if not at_least(1, 109) then
    -- As in Lua 5.1: nothing about the main coroutine, in which no program ever runs.
    function coroutine.running() return (running()) end
  end

  function coroutine.isyieldable() return select(2, running()) == false end

  local function pass_on(ok, ...)
    if ok then return ... end
    is_out_of_coroutine = true
    raise((...), 0)
  end

  function coroutine.wrap(f)
    local thread = coroutine.create(f)
    return function(...) return pass_on(coroutine.resume(thread, ...)) end
  end
end

---------------------------------------------------------------- source only, never bytecode

do
  local load = load

  function _G.load(chunk, name, mode, ...)
    if type(chunk) == "number" then chunk = tostring(chunk) end
    if type(chunk) ~= "string" and type(chunk) ~= "function" then
      error("bad argument #1 (function expected, got " .. type(chunk) .. ")")
    end
    if mode ~= nil and at_least(1, 109) and not tostring(mode):find("t", 1, true) then
      return nil, "attempt to load a text chunk (mode is '" .. tostring(mode) .. "')"
    end
    if type(chunk) == "string" and chunk:sub(1, 1) == "\27" then
      return nil, "attempt to load a binary chunk (mode is 't')"
    end
    if name == nil and type(chunk) == "string" then name = chunk end
    if select("#", ...) == 0 then return load(chunk, name, "t") end
    return load(chunk, name, "t", (...))
  end

  function _G.loadstring(text, name)
    if type(text) ~= "string" then
      error("bad argument #1 (string expected, got " .. type(text) .. ")")
    end
    return _G.load(text, name)
  end
end

---------------------------------------------------------------- environments and the debug library

do
  local getinfo, function_at = language.getinfo, language["function"]
  local function target(f, default)
    if f == nil then f = default end
    if type(f) == "number" then
      if f == 0 then return nil end
      return function_at(f) or error("bad argument #1 (invalid level)")
    end
    if type(f) ~= "function" then error("bad argument #1 (number expected, got " .. type(f) .. ")") end
    return f
  end

  function _G.getfenv(f)
    local found = target(f, 1)
    return found and language.getfenv(found) or _G
  end

  function _G.setfenv(f, environment)
    if type(environment) ~= "table" then
      error("bad argument #2 (table expected, got " .. type(environment) .. ")")
    end
    local found = target(f, 1)
    if found then language.setfenv(found, environment) end
    return found
  end

  -- Which letter of its second argument asks `getinfo` for what.
  local info_fields = {
    S = "source short_src what linedefined lastlinedefined", l = "currentline", n = "name namewhat", f = "func",
    t = "istailcall", u = "nups nparams isvararg",
  }

  local debug = { getfenv = getfenv, setfenv = setfenv }

  function debug.traceback(...)
    local thread, message, level = ...
    if type(thread) ~= "thread" then
      thread, message, level = nil, ...
    end
    if message ~= nil and type(message) ~= "string" and type(message) ~= "number" then return message end
    local trace
    if thread and thread ~= coroutine.running() then
      trace = last_words[thread] or "stack traceback:"
      if coroutine.status(thread) == "suspended" then
        trace = trace .. "\n\t(the simulated computer can't look into a suspended coroutine yet)"
      end
    else
      trace = language.traceback(level or 1)
    end
    return message and message .. "\n" .. trace or trace
  end

  function debug.getinfo(...)
    local thread, f, what = ...
    if type(thread) ~= "thread" then
      thread, f, what = nil, ...
    end
    if what ~= nil and type(what) ~= "string" then
      error("bad argument #2 (string expected, got " .. type(what) .. ")")
    end
    if thread and thread ~= coroutine.running() then return nil end
    local info = { what = "C", short_src = "[C]", source = "=[C]", currentline = -1 }
    if f ~= 0 then info = getinfo(f) end
    if info and what then
      for letter, fields in pairs(info_fields) do
        if not what:find(letter, 1, true) then
          for field in fields:gmatch("%S+") do info[field] = nil end
        end
      end
    end
    return info
  end

  _G.debug = debug
end

---------------------------------------------------------------- what the game's Lua has, and what it has not

_G.collectgarbage, _G.dofile, _G.loadfile, _G.print, _G.module = nil, nil, nil, nil, nil
string.dump = lift(function() error("unable to dump given function") end)
string.gfind = string.gmatch
math.mod = math.fmod
function table.getn(t) return #t end
function table.foreach(t, f)
  for key, value in pairs(t) do
    local result = f(key, value)
    if result ~= nil then return result end
  end
end
function table.foreachi(t, f)
  for n, value in ipairs(t) do
    local result = f(n, value)
    if result ~= nil then return result end
  end
end
_G.bit = {
  band = bit32.band, bor = bit32.bor, bxor = bit32.bxor, bnot = bit32.bnot,
  blshift = bit32.lshift, brshift = bit32.arshift, blogic_rshift = bit32.rshift,
}
_G.unpack = _G.unpack or unpack
math.random, math.randomseed = native.random.random, native.random.randomseed
math.log10 = math.log10 or function(x) return math.log(x, 10) end
math.pow = math.pow or function(x, y) return x ^ y end
table.maxn = table.maxn or function(t)
  local highest = 0
  for key in pairs(t) do
    if type(key) == "number" and key > highest then highest = key end
  end
  return highest
end

do
  -- The game writes every whole number in full, where C's Lua goes over to an exponent. `%d` is too small for that
  -- where a C `long` is, as on Windows.
  local floor, abs, format = math.floor, math.abs, string.format

  function _G.tostring(...)
    local value = ...
    if type(value) == "number" then
      if value ~= value then return "nan" end
      if value == 0 then return "0" end
      if abs(value) >= 1e14 and abs(value) < 2 ^ 63 and floor(value) == value then return format("%.0f", value) end
    end
    need(...)
    return tostring(value)
  end
end

if at_least(1, 91) then
  string.pack, string.unpack, string.packsize = native.pack.pack, native.pack.unpack, native.pack.packsize
end

if at_least(1, 109) then
  function table.move(from, first, last, start, to)
    to = to or from
    if start > first and start <= last and from == to then
      for i = last - first, 0, -1 do to[start + i] = from[first + i] end
    else
      for i = 0, last - first do to[start + i] = from[first + i] end
    end
    return to
  end
else
  _G._VERSION = "Lua 5.1"
end

--- A value that is written to a file, a socket or the screen, as text. Before 1.105 Java wrote the numbers.
function native.text_of(value)
  if type(value) == "number" and not at_least(1, 105) and math.floor(value) == value and math.abs(value) < 1e7 then
    return ("%.1f"):format(value)
  end
  return tostring(value)
end

--- A function of the game's that the simulated computer lacks: it is there, as feature tests expect, and says so.
function native.missing(api, table_, names)
  for name in names:gmatch("%S+") do
    if rawget(table_, name) == nil then
      table_[name] = lift(function()
        error("the simulated computer has no '" .. api .. "." .. name .. "' yet")
      end)
    end
  end
end

native.missing("debug", _G.debug, "sethook gethook getlocal setlocal getupvalue setupvalue upvalueid upvaluejoin"
  .. " getregistry getmetatable setmetatable debug")
