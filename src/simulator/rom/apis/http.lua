-- http: requests and WebSockets, each answered by an event.
-- luacheck: globals http

local native = ...
local web, expect, at_least = native.http, native.expect, native.os.atLeast
local field = native.embedded("modules/main/cc/expect.lua").field

if not web.enabled then return end

http = {}

---------------------------------------------------------------- handles

--- A response as programs use it: like a file open for reading, with its status and headers.
native.language.keep("wrap_response", function(response)
  local status, reason, headers, body = web.response(response)
  local at, open = 1, true
  local handle = {}

  local function check_open()
    if not open then error("attempt to use a closed file", 3) end
  end

  function handle.getResponseCode() return status, reason end

  function handle.getResponseHeaders() return headers end

  function handle.readAll()
    check_open()
    local rest = body:sub(at)
    at = #body + 1
    return rest
  end

  function handle.readLine(keep)
    check_open()
    if at > #body then return nil end
    local line, ending = body:match("^([^\n]*)(\n?)", at)
    at = at + #line + #ending
    if keep then return line .. ending end
    return (line:gsub("\r$", ""))
  end

  function handle.read(count)
    check_open()
    if at > #body then return nil end
    local part = body:sub(at, at + (count or 1) - 1)
    at = at + #part
    return part
  end

  function handle.seek(whence, offset)
    check_open()
    local base = ({ set = 0, cur = at - 1, ["end"] = #body })[whence or "cur"]
    local place = base + (offset or 0)
    if place < 0 then return nil, "Position is negative" end
    at = place + 1
    return place
  end

  function handle.close()
    check_open()
    open = false
  end

  return handle
end)

--- A socket as programs use it: a table of functions, called with a dot.
native.language.keep("wrap_socket", function(socket)
  local url = web.socketURL(socket)
  local handle = {}

  function handle.send(message, binary)
    return web.socketSend(socket, message, binary)
  end

  function handle.close()
    return web.socketClose(socket)
  end

  function handle.receive(timeout)
    expect(1, timeout, "number", "nil")
    if not web.socketIsOpen(socket) then error("attempt to use a closed file", 2) end
    local timer = timeout and os.startTimer(timeout)
    while true do
      local event, first, second, third = coroutine.yield()
      if event == "terminate" then error("Terminated", 0) end
      if event == "websocket_message" and first == url then
        if timer and at_least(1, 114) then os.cancelTimer(timer) end
        return second, third
      elseif event == "websocket_closed" and first == url and not web.socketIsOpen(socket) then
        return nil
      elseif event == "timer" and first == timer and timer then
        return nil
      end
    end
  end

  if at_least(1, 117) then
    function handle.getResponseHeaders() return web.socketHeaders(socket) end
  end

  return handle
end)

---------------------------------------------------------------- requests

local function checked_options(options, body_allowed)
  field(options, "url", "string")
  field(options, "body", "string", body_allowed and "nil" or "nil")
  field(options, "headers", "table", "nil")
  field(options, "method", "string", "nil")
  field(options, "redirect", "boolean", "nil")
  field(options, "timeout", "number", "nil")
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
  if type(url) == "table" and at_least(1, 105) then
    field(url, "url", "string")
    field(url, "headers", "table", "nil")
    field(url, "timeout", "number", "nil")
    return url.url, url.headers, url.timeout
  end
  expect(1, url, "string")
  expect(2, headers, "table", "nil")
  return url, headers
end

function http.websocketAsync(url, headers)
  local to, with, timeout = arguments(url, headers)
  local began, problem = web.websocket(to, with, timeout)
  if not began then os.queueEvent("websocket_failure", to, problem) end
  return began, problem
end

function http.websocket(url, headers)
  local to, with, timeout = arguments(url, headers)
  local began, problem = web.websocket(to, with, timeout)
  if not began then return false, problem end
  while true do
    local event, of, result = os.pullEvent()
    if event == "websocket_success" and of == to then return result end
    if event == "websocket_failure" and of == to then return false, result end
  end
end
