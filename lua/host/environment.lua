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
local concat, load, select, tostring, type = table.concat, load, select, tostring, type
local env = {}
for i = 1, #KEPT do env[KEPT[i]] = all[KEPT[i]] end
env._G = env
env.unpack = table.unpack
rawset(string, "dump", nil)

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

env.json = { array = native.json_array, decode = native.json_decode, encode = native.json_encode, null = native.null }

local function logger(level)
  return function(...)
    local parts = {}
    for i = 1, select("#", ...) do
      local part = select(i, ...)
      parts[i] = type(part) == "table" and native.json_encode(part) or tostring(part)
    end
    native.log(level, concat(parts, " "))
  end
end

env.log = setmetatable({
  debug = logger("debug"), info = logger("info"), warn = logger("warning"), error = logger("error"),
}, { __call = function(self, ...) self.info(...) end })

--- Tells the client how far the call has come.
function env.progress(message, done, total)
  native.progress(tostring(message), done, total)
end

env.computers = native.computers

local modules = { computers = env.computers, json = env.json, log = env.log, progress = env.progress }

function env.require(name)
  local module = modules[name]
  if module == nil then
    all.error("there is no module '" .. tostring(name) .. "'; there are computers, json, log and progress", 2)
  end
  return module
end

return env
