--- What a tool's handler has beside the computer's own globals: `json`, `log` and `progress`, which mean what they mean
-- to handlers on the host.

local json = require("mcp-computer.json")
local number = require("mcp-computer.number")

local concat = table.concat
local error, next, rawequal, select = error, next, rawequal, select
local setmetatable, tostring, type = setmetatable, tostring, type

local helpers = {}

-- Bytes that a value may take as JSON, about.
local JSON_LIMIT = 4 * 1024 * 1024

local TOO_DEEP = "the value holds tables inside more than " .. json.MAX_DEPTH .. " others, or a cycle"
local TOO_LARGE = "the value takes more than " .. number.format(JSON_LIMIT)
  .. " bytes as JSON, which is as much as it may"

-- An argument has to be of one of these types. The error is the caller's caller's.
local function check(value, what, ...)
  for i = 1, select("#", ...) do
    if type(value) == select(i, ...) then return end
  end
  error("bad argument " .. what .. " (a " .. concat({ ... }, " or a ") .. " is wanted, not a " .. type(value) .. ")", 3)
end

-- What is left of so many bytes after a value was written; or nil, and why it can't be.
local function left_after(value, left, depth)
  if type(value) == "string" then
    left = left - #value
  elseif type(value) == "table" and not rawequal(value, json.null) then
    if depth >= json.MAX_DEPTH then return nil, TOO_DEEP end
    for key, item in next, value do
      if type(key) == "string" then left = left - #key end
      local problem
      left, problem = left_after(item, left, depth + 1)
      if not left then return nil, problem end
    end
  end
  left = left - 2
  if left < 0 then return nil, TOO_LARGE end
  return left
end

-- A value as JSON; or nil, and why it can't be.
local function encoded(value, pause)
  local left, problem = left_after(value, JSON_LIMIT, 0)
  if not left then return nil, problem end
  return json.encode(value, json.RAW, pause)
end

local function new_json(pause)
  local library = { null = json.null }

  function library.encode(value)
    local text, problem = encoded(value, pause)
    if not text then error("json.encode: " .. problem, 2) end
    return text
  end

  function library.decode(text)
    check(text, "#1 to 'json.decode'", "string", "number")
    local value, problem = json.decode(tostring(text), json.PLAIN, pause)
    if value == nil then error("json.decode: " .. problem, 2) end
    return value
  end

  function library.array(list)
    check(list, "#1 to 'json.array'", "table", "nil")
    return json.array(list or {})
  end

  return library
end

local function new_logger(told, pause, level)
  return function(...)
    if told:is_full() then return end
    local parts = {}
    for i = 1, select("#", ...) do
      local part = select(i, ...)
      parts[i] = type(part) == "table" and encoded(part, pause) or tostring(part)
    end
    told:log(level, concat(parts, " "))
    pause()
  end
end

local function new_log(told, pause)
  local library = {
    debug = new_logger(told, pause, "debug"),
    info = new_logger(told, pause, "info"),
    warn = new_logger(told, pause, "warning"),
    error = new_logger(told, pause, "error"),
  }
  return setmetatable(library, { __call = function(self, ...) self.info(...) end })
end

--- Puts them into a handler's globals.
-- @tparam table env
-- @tparam told told What the handler tells by them.
-- @tparam function pause Called now and then, and whenever it tells something.
function helpers.install(env, told, pause)
  env.json = new_json(pause)
  env.log = new_log(told, pause)

  function env.progress(text, done, total)
    check(done, "#2 to 'progress'", "number", "nil")
    check(total, "#3 to 'progress'", "number", "nil")
    told:progress(tostring(text), done, total)
    pause()
  end
end

return helpers
