--- What a handler on the host sees: Lua's own functions that reach nothing outside of Lua, and the bridge's modules.
--
-- It is built from nothing: what is not named here is not there. `native` is what the worker gives.

local native = ...

local KEPT = {
  "_VERSION", "assert", "error", "getmetatable", "ipairs", "next", "pairs", "pcall", "rawequal", "rawget", "rawlen",
  "rawset", "select", "setmetatable", "tonumber", "tostring", "type", "xpcall",
  "bit32", "coroutine", "math", "string", "table",
}

local all = _G
local concat, error, load, next, select = table.concat, error, load, next, select
local tostring, type = tostring, type
local env = {}
for i = 1, #KEPT do env[KEPT[i]] = all[KEPT[i]] end
env._G = env
env.unpack = table.unpack
rawset(string, "dump", nil)
math.randomseed(native.seed)

-- A value has to be of one of these types; `what` names it. The error is the caller's caller's.
local function check(value, what, ...)
  for i = 1, select("#", ...) do
    if type(value) == select(i, ...) then return end
  end
  error("bad argument " .. what .. " (a " .. concat({ ... }, " or a ") .. " is wanted, not a " .. type(value) .. ")", 3)
end

local started = os.clock()
env.os = {
  clock = function() return os.clock() - started end,
  date = os.date,
  difftime = os.difftime,
  epoch = native.epoch,
  time = os.time,
}

--- `load`, for text only: compiled Lua could do anything.
function env.load(chunk, name, _, given)
  if type(chunk) ~= "string" and type(chunk) ~= "function" then
    return nil, "load takes a string or a function, not a " .. type(chunk)
  end
  return load(chunk, name, "t", given == nil and env or given)
end

function env.loadstring(chunk, name)
  return env.load(chunk, name)
end

function env.print(...)
  local parts = {}
  for i = 1, select("#", ...) do parts[i] = tostring((select(i, ...))) end
  native.print(concat(parts, "\t") .. "\n")
end

function env.write(text)
  native.print(tostring(text))
end

env.json = { null = native.null }

function env.json.encode(value)
  local done, text = native.json_encode(value)
  if not done then error("json.encode: " .. text, 2) end
  return text
end

function env.json.decode(text)
  check(text, "#1 to 'json.decode'", "string", "number")
  local done, value = native.json_decode(tostring(text))
  if not done then error("json.decode: " .. value, 2) end
  return value
end

function env.json.array(list)
  check(list, "#1 to 'json.array'", "table", "nil")
  return (native.json_array(list))
end

local function logger(level)
  return function(...)
    local parts = {}
    for i = 1, select("#", ...) do
      local part = select(i, ...)
      local done, text
      if type(part) == "table" then done, text = native.json_encode(part) end
      parts[i] = done and text or tostring(part)
    end
    native.log(level, concat(parts, " "))
  end
end

env.log = setmetatable({
  debug = logger("debug"), info = logger("info"), warn = logger("warning"), error = logger("error"),
}, { __call = function(self, ...) self.info(...) end })

--- Tells the client how far the call has come.
function env.progress(message, done, total)
  check(done, "#2 to 'progress'", "number", "nil")
  check(total, "#3 to 'progress'", "number", "nil")
  native.progress(tostring(message), done, total)
end

--- Waits.
-- @tparam number seconds How long; the call's deadline ends it in any case.
function env.sleep(seconds)
  check(seconds, "#1 to 'sleep'", "number")
  if seconds ~= seconds or seconds < 0 then error("bad argument #1 to 'sleep' (it is no time)", 2) end
  native.sleep(seconds)
end

env.computers = native.computers
env.tools = native.tools
env.regex = native.regex

local modules = {
  computers = env.computers, json = env.json, log = env.log, progress = env.progress, regex = env.regex,
  tools = env.tools,
}

function env.require(name)
  local module = modules[name]
  if module == nil then
    error("there is no module '" .. tostring(name) .. "'; there are computers, json, log, progress, regex and tools", 2)
  end
  return module
end

-- What a file returned, and the name of each that is being loaded now.
local loaded, loading = {}, {}

--- Gives a handler of a manifest what its namespace has, beside what a script has.
local function at_home()
  for name, module in next, native.namespace do
    env[name], modules[name] = module, module
  end

  function env.require(name)
    check(name, "#1 to 'require'", "string")
    if modules[name] ~= nil then return modules[name] end
    if loaded[name] ~= nil then return loaded[name] end
    if loading[name] then error("the module '" .. name .. "' requires itself, by way of others or not", 2) end
    local module, problem = native.module(name)
    if not module then error("require: " .. problem, 2) end
    local chunk, wrong = load(module.source, "=" .. module.chunk, "t", env)
    if not chunk then error(wrong, 0) end
    loading[name] = true
    local value = chunk(name)
    loading[name] = nil
    if value == nil then value = true end
    loaded[name] = value
    return value
  end
end

return env, at_home
