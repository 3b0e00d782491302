--- What a handler's namespace has on the host: `store`, `secrets`, `http`, and the files of Lua that `require` finds.

local ask_bridge, null, encode = ...

local error, next, rawset, select, setmetatable = error, next, rawset, select, setmetatable
local concat, sub, tostring, type = table.concat, string.sub, tostring, type

-- What the bridge answers; what it refuses is the error of whoever called the function that asks.
local function ask(name, question, level)
  question.of = "own"
  local done, answer = ask_bridge(question)
  if not done then error(name .. ": " .. answer, level or 3) end
  return answer
end

local function check(value, name, ...)
  for i = 1, select("#", ...) do
    if type(value) == select(i, ...) then return end
  end
  error("bad argument " .. name .. ": it must be a " .. (...) .. ", not a " .. type(value), 3)
end

local store = {}

--- A value that was put there, also by an earlier call.
-- @tparam string key Its name.
-- @return The value; nil if there is none.
function store.get(key)
  check(key, "#1 to 'store.get'", "string")
  local value = ask("store.get", { need = "get", key = key }).value
  if value == null then return nil end
  return value
end

--- Puts a value, which later calls find.
-- @tparam string key Its name.
-- @param value What JSON can hold.
function store.set(key, value)
  check(key, "#1 to 'store.set'", "string")
  if value == nil then error("bad argument #2 to 'store.set': there is no value; store.delete takes one out", 2) end
  local kind = type(value)
  if kind == "function" or kind == "thread" then error("store.set: a " .. kind .. " can't be kept", 2) end
  ask("store.set", { need = "set", key = key, value = value })
end

--- Takes a value out.
-- @tparam string key Its name.
-- @treturn boolean Whether there was one.
function store.delete(key)
  check(key, "#1 to 'store.delete'", "string")
  local was_there = ask("store.delete", { need = "delete", key = key })
  return was_there
end

--- The names of the values there are, in order.
-- @tparam[opt] string prefix What they begin with.
-- @treturn {string,...}
function store.list(prefix)
  check(prefix, "#1 to 'store.list'", "string", "nil")
  local keys = ask("store.list", { need = "list", prefix = prefix or "" })
  return keys
end

-- Each secret is asked for once.
local secrets = setmetatable({}, {
  __index = function(self, name)
    if type(name) ~= "string" then return nil end
    local done, value = ask_bridge({ of = "own", need = "secret", name = name })
    if not done then error("secrets." .. sub(name, 1, 64) .. ": " .. value, 2) end
    rawset(self, name, value)
    return value
  end,
  __newindex = function() error("secrets can't be set by a handler", 2) end,
})

local resources = {}

--- Tells clients that follow a resource of the user's own that it is another now.
-- @tparam string uri Its URI.
function resources.changed(uri)
  check(uri, "#1 to 'resources.changed'", "string")
  ask("resources.changed", { need = "changed", uri = uri })
end

local http = {}

-- The headers of what is sent as JSON, unless its handler says otherwise.
local function with_type(headers)
  local all = { ["content-type"] = "application/json" }
  for key, value in next, headers or {} do
    if type(key) == "string" and key:lower() == "content-type" then all["content-type"] = nil end
    all[key] = value
  end
  return all
end

local function make(name, request)
  if type(request.body) == "table" then
    local done, text = encode(request.body)
    if not done then error(name .. ": " .. text, 3) end
    request.body, request.headers = text, with_type(request.headers)
  end
  local headers
  for key, value in next, request.headers or {} do
    if type(key) ~= "string" or type(value) ~= "string" and type(value) ~= "number" then
      error(name .. ": headers are texts by their names", 3)
    end
    headers = headers or {}
    headers[key] = tostring(value)
  end
  local answer = ask(name, {
    need = "http", url = request.url, method = request.method, headers = headers, body = request.body,
    timeoutMs = request.timeoutMs,
  }, 4)
  return answer
end

-- The options of a request, which are known, and of these types.
local KNOWN = { headers = "table", timeoutMs = "number", method = "string", url = "string" }

local function checked(name, options, ...)
  local request = {}
  for key, value in next, options or {} do
    local is_known = false
    for i = 1, select("#", ...) do is_known = is_known or key == select(i, ...) end
    if not is_known then
      error(name .. ": there is no option '" .. tostring(key) .. "'; there are " .. concat({ ... }, ", "), 3)
    end
    local kind = KNOWN[key]
    if key == "body" then kind = type(value) == "table" and "table" or "string" end
    if type(value) ~= kind then
      error(name .. ": " .. key .. " must be a " .. kind .. ", not a " .. type(value), 3)
    end
    request[key] = value
  end
  return request
end

--- Reads from a host that the manifest names.
-- @tparam string url
-- @tparam[opt] table options `headers`, `timeoutMs` (10000).
-- @treturn table `status`, `headers` by their names in small letters, `body`, and the `url` that it came from at last.
--   Throws if there is no answer.
function http.get(url, options)
  check(url, "#1 to 'http.get'", "string")
  check(options, "#2 to 'http.get'", "table", "nil")
  local request = checked("http.get", options, "headers", "timeoutMs")
  request.url = url
  local answer = make("http.get", request)
  return answer
end

--- Sends to a host that the manifest names.
-- @tparam string url
-- @tparam string|table body A text; a table is sent as JSON.
-- @tparam[opt] table options `headers`, `timeoutMs` (10000).
-- @treturn table As `http.get`.
function http.post(url, body, options)
  check(url, "#1 to 'http.post'", "string")
  check(body, "#2 to 'http.post'", "string", "table")
  check(options, "#3 to 'http.post'", "table", "nil")
  local request = checked("http.post", options, "headers", "timeoutMs")
  request.url, request.method = url, "POST"
  request.body = body
  local answer = make("http.post", request)
  return answer
end

--- Makes any request to a host that the manifest names.
-- @tparam table request `url`, `method` (GET), `headers`, `body`, `timeoutMs` (10000).
-- @treturn table As `http.get`.
function http.request(request)
  check(request, "#1 to 'http.request'", "table")
  request = checked("http.request", request, "url", "method", "headers", "body", "timeoutMs")
  if not request.url then error("http.request: there is no url", 2) end
  local answer = make("http.request", request)
  return answer
end

return { store = store, secrets = secrets, http = http, resources = resources }, function(name)
  local done, module = ask_bridge({ of = "own", need = "module", name = name })
  if not done then return nil, module end
  return module
end
