-- http: requests and WebSockets, each answered by an event.
-- luacheck: globals http

local native = ...
local web, expect, at_least = native.http, native.expect, native.os.atLeast

if not web.enabled then return end

http = {}

---------------------------------------------------------------- requests

--- Checks a field of a table of options for the function that was called with it.
local function field(options, name, wanted, optional)
  local value = options[name]
  if type(value) ~= wanted and not (optional and value == nil) then
    error(("bad field '%s' (%s expected, got %s)"):format(name, wanted, type(value)), 4)
  end
end

local function checked_options(options)
  field(options, "url", "string")
  field(options, "body", "string", true)
  field(options, "headers", "table", true)
  field(options, "method", "string", true)
  field(options, "redirect", "boolean", true)
  field(options, "timeout", "number", true)
  return options
end

local function begin(options)
  local method = options.method or (options.body and "POST" or "GET")
  return web.request(options.url, method, options.headers, options.body, options.redirect ~= false, options.timeout)
end

local function wait(url, began, problem)
  if not began then return nil, problem end
  while true do
    local event, of, first, second = os.pullEvent()
    if event == "http_success" and of == url then return first end
    if event == "http_failure" and of == url then return nil, first, second end
  end
end

function http.get(url, headers, binary)
  if type(url) == "table" then
    local options = checked_options(url)
    return wait(options.url, begin(options))
  end
  expect(1, url, "string")
  expect(2, headers, "table", "nil")
  expect(3, binary, "boolean", "nil")
  return wait(url, begin { url = url, headers = headers })
end

function http.post(url, body, headers, binary)
  if type(url) == "table" then
    local options = checked_options(url)
    return wait(options.url, begin(options))
  end
  expect(1, url, "string")
  expect(2, body, "string")
  expect(3, headers, "table", "nil")
  expect(4, binary, "boolean", "nil")
  return wait(url, begin { url = url, body = body, headers = headers })
end

function http.request(url, body, headers, binary)
  local options = url
  if type(url) == "table" then
    checked_options(url)
  else
    expect(1, url, "string")
    expect(2, body, "string", "nil")
    expect(3, headers, "table", "nil")
    expect(4, binary, "boolean", "nil")
    options = { url = url, body = body, headers = headers }
  end
  local began, problem = begin(options)
  if not began then os.queueEvent("http_failure", options.url, problem) end
  return began, problem
end

function http.checkURLAsync(url)
  expect(1, url, "string")
  local began, problem = web.checkURL(url)
  if not began then os.queueEvent("http_check", url, false, problem) end
  return began, problem
end

function http.checkURL(url)
  expect(1, url, "string")
  local began, problem = web.checkURL(url)
  if not began then return false, problem end
  while true do
    local _, of, ok, why = os.pullEvent("http_check")
    if of == url then return ok, why end
  end
end

---------------------------------------------------------------- WebSockets

--- The URL, headers and timeout of either form of call.
local function arguments(url, headers)
  if type(url) ~= "table" then return url, headers end
  field(url, "url", "string")
  field(url, "headers", "table", true)
  field(url, "timeout", "number", true)
  return url.url, url.headers, url.timeout
end

local function is_table_form(url)
  return type(url) == "table" and at_least(1, 105)
end

function http.websocketAsync(url, headers)
  if not is_table_form(url) then
    expect(1, url, "string")
    expect(2, headers, "table", "nil")
  end
  local to, with, timeout = arguments(url, headers)
  local began, problem = web.websocket(to, with, timeout)
  if not began then os.queueEvent("websocket_failure", to, problem) end
  return began, problem
end

function http.websocket(url, headers)
  if not is_table_form(url) then
    expect(1, url, "string")
    expect(2, headers, "table", "nil")
  end
  local to, with, timeout = arguments(url, headers)
  local began, problem = web.websocket(to, with, timeout)
  if not began then return false, problem end
  while true do
    local event, of, result = os.pullEvent()
    if event == "websocket_success" and of == to then return result end
    if event == "websocket_failure" and of == to then return false, result end
  end
end
