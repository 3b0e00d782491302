--- Runs a command line as the shell does, with a shell of its own: what it does to that, nobody else sees, and where a
-- program throws is known.

local describe = require("mcp-computer.describe")
local guard = require("mcp-computer.guard")

local error, format, gmatch, load, next = error, string.format, string.gmatch, load, next
local pcall, rawget, select, setmetatable, type = pcall, rawget, select, setmetatable, type
local find, gsub, match, sub = string.find, string.gsub, string.match, string.sub
local unpack = table.unpack or unpack
local fs = fs
local globals = _G

local program = {}

-- How often a program's first line may name another that runs it.
local INTERPRETERS = 7

-- Where the game's own modules are.
local MODULES = ";/rom/modules/KIND/?;/rom/modules/KIND/?.lua;/rom/modules/KIND/?/init.lua"

local function pack(...)
  return { n = select("#", ...), ... }
end

--- The words of a command line; quotes keep blanks.
-- @tparam string line
-- @treturn {string,...}
function program.words(line)
  local words, is_quoted = {}, false
  for part in gmatch(line .. '"', '(.-)"') do
    if is_quoted then
      words[#words + 1] = part
    else
      for word in gmatch(part, "[^ \t]+") do words[#words + 1] = word end
    end
    is_quoted = not is_quoted
  end
  return words
end

-- What its code finds besides its own globals and the computer's: what catches errors does not catch the game's stop.
local function new_base()
  local base = {}
  guard.install(base)
  return setmetatable(base, { __index = globals })
end

-- What is told of a program that ended badly: `kind` if it is none of its errors that was thrown.
local function problem(message, trace, kind)
  return { message = message, trace = trace, kind = kind }
end

-- A file as a function; or nil and what is wrong with it.
local function loaded(path, env)
  local file, why = fs.open(path, "rb")
  if not file then return nil, why or "File not found" end
  local text = file.readAll() or ""
  file.close()
  local interpreter = match(text, "^#!([^\r\n]*)")
  if interpreter then return nil, nil, interpreter end
  -- As this version of the game calls it in errors.
  local name = find(rawget(globals, "_HOST") or "", "ComputerCraft 1%.[1-9]%d%d") and "@/" .. path
    or "@" .. fs.getName(path)
  return load(text, name, "t", env)
end

-- `require` and `package` for a program in a folder, as games have them that don't make them for others.
local function new_require(env, folder)
  local package = { loaded = {}, preload = {}, path = "?;?.lua;?/init.lua" }
  for _, kind in next, { "main", globals.turtle and "turtle", globals.commands and "command" } do
    if kind then package.path = package.path .. gsub(MODULES, "KIND", kind) end
  end
  local function require(name)
    if type(name) ~= "string" then error(format("bad argument #1 (expected string, got %s)", type(name)), 2) end
    if package.loaded[name] ~= nil then return package.loaded[name] end
    local code, why = package.preload[name], "module '" .. name .. "' not found"
    for pattern in gmatch(package.path, "[^;]+") do
      local path = gsub(pattern, "%?", (gsub(gsub(name, "%%", "%%%%"), "%.", "/")))
      if sub(path, 1, 1) ~= "/" then path = fs.combine(folder, path) end
      if code then break end
      if fs.exists(path) and not fs.isDir(path) then
        local wrong
        code, wrong = loaded(path, env)
        if not code then error(wrong, 2) end
      end
    end
    if not code then error(why, 2) end
    local result = code(name)
    if result == nil then result = true end
    package.loaded[name] = result
    return result
  end
  return require, package
end

-- Where strict globals are on, a program may only write its locals.
local function forbid_globals(env, base)
  setmetatable(env, { __index = base, __newindex = function(_, name)
    error("Attempt to create global " .. describe.error_text(name), 2)
  end })
end

-- A shell: `outer` with a folder, a row of running programs and an end of its own. What a program died of is in `last`.
local function new_shell(options)
  local outer, base = options.shell, new_base()
  local own, running, folder = {}, {}, outer.dir()
  local run_file
  local self = { last = nil, shell = own }
  for name, value in next, outer do own[name] = value end

  -- A function of the outer shell, as if that were in this one's folder.
  local function here(name)
    local inner = outer[name]
    if not inner then return end
    own[name] = function(...)
      local before = outer.dir()
      pcall(outer.setDir, folder)
      local results = pack(pcall(inner, ...))
      pcall(outer.setDir, before)
      if not results[1] then error(results[2], 2) end
      return unpack(results, 2, results.n)
    end
  end
  for _, name in next, { "resolve", "resolveProgram", "programs", "complete", "completeProgram" } do here(name) end

  function own.dir() return folder end

  function own.setDir(path)
    if type(path) ~= "string" then error(format("bad argument #1 (string expected, got %s)", type(path)), 2) end
    if not fs.isDir(path) then error("Not a directory", 2) end
    folder = fs.combine(path, "")
  end

  function own.getRunningProgram() return running[#running] end

  -- There is nothing that a program could leave but itself.
  function own.exit() end

  local function failed(what)
    self.last = what
    -- The outermost one's is told with the answer.
    if #running > 0 or options.shows_errors then globals.printError(what.message) end
    return false
  end

  local function new_env(path, command, arguments)
    local env = setmetatable({ shell = own, multishell = options.multishell }, { __index = base })
    local ok, maker = pcall(options.require or error, "cc.require")
    local make = ok and type(maker) == "table" and maker.make or new_require
    env.require, env.package = make(env, fs.getDir(path))
    env.arg = { [0] = command, unpack(arguments, 1, arguments.n) }
    local strict = globals.settings and globals.settings.get("bios.strict_globals")
    if strict then forbid_globals(env, base) end
    return env
  end

  function run_file(path, command, arguments, depth)
    local code, why, interpreter = loaded(path, new_env(path, command, arguments))
    if interpreter then
      local words = program.words(interpreter)
      local by = words[1] and own.resolveProgram(words[1])
      if not by or depth >= INTERPRETERS then return failed(problem("No such program: #!" .. interpreter)) end
      local given = pack(unpack(words, 2))
      for _, value in next, { path, unpack(arguments, 1, arguments.n) } do
        given.n = given.n + 1
        given[given.n] = value
      end
      return run_file(by, words[1], given, depth + 1)
    end
    if not code then return failed(problem(why, nil, "syntax")) end
    running[#running + 1] = path
    local results, thrown, trace = guard.run(fs.getName(path), function()
      return code(unpack(arguments, 1, arguments.n))
    end)
    running[#running] = nil
    if results[1] then return true end
    -- The game's stop ends all of it.
    if #running > 0 and guard.is_abort(thrown) then error(thrown, 0) end
    local message = describe.error_text(thrown)
    return failed(problem(message, trace))
  end

  function own.execute(command, ...)
    if type(command) ~= "string" then
      error(format("bad argument #1 (string expected, got %s)", type(command)), 2)
    end
    local path = own.resolveProgram(command)
    if not path then return failed(problem("No such program: " .. command)) end
    return run_file(path, command, pack(...), 0)
  end

  function own.run(...)
    local line = ""
    for i = 1, select("#", ...) do line = line .. (i > 1 and " " or "") .. (select(i, ...)) end
    local words = program.words(line)
    if not words[1] then return false end
    return own.execute(unpack(words))
  end

  return self
end

--- Runs a command line.
-- @tparam string line
-- @tparam table options `shell`, `multishell`, `require`: as the shell gives them to the agent; `shows_errors`: whether
--   what the program dies of is printed too.
-- @treturn table|nil Nil if it ended well; else `message`, `trace` or nil, and `kind` if nothing was thrown.
function program.run(line, options)
  local own = new_shell(options)
  if own.shell.run(line) then return nil end
  return own.last or problem("No program was named")
end

return program
