-- What programs hold of a response and of a WebSocket: tables of functions, called with a dot.

local native = ...
local error = native.error
local web, check, lift, at_least = native.http, native.check, native.language.lift, native.os.atLeast

--- A response as programs use it: like a file open for reading, with its status and headers.
native.language.keep("wrap_response", function(response)
  local status, reason, headers, body = web.response(response)
  local at, open = 1, true
  local handle = {}

  local function check_open()
    if not open then error("attempt to use a closed file") end
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

  for name, method in pairs(handle) do handle[name] = lift(method) end
  return handle
end)

--- A socket as programs use it: a table of functions, called with a dot.
native.language.keep("wrap_socket", function(socket)
  local url = web.socketURL(socket)
  local handle = {}

  handle.send = lift(function(message, binary) return web.socketSend(socket, native.text_of(message), binary) end)

  handle.close = lift(function() return web.socketClose(socket) end)

  function handle.receive(timeout)
    check(1, timeout, "number", true)
    if not web.socketIsOpen(socket) then error("attempt to use a closed file") end
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
