--- The bridge's address: what is accepted as one, and its parts.

local find, format, gsub, lower = string.find, string.format, string.gsub, string.lower
local match, sub = string.match, string.sub
local tonumber = tonumber

local url = {}

local DEFAULT_PORTS = { ws = 80, wss = 443 }
local LAST_PORT = 65535

local function split_authority(authority)
  local host, port = match(authority, "^(%[[%x:.]+%])(.*)$")
  if not host then host, port = match(authority, "^([^:]*)(.*)$") end
  return host, port
end

--- Reads a WebSocket address.
-- @tparam string address
-- @treturn table|nil `{scheme, host, port, base}`: `host` without brackets, `base` the address without a fragment.
-- @treturn string|nil What is wrong with it, and how it should look.
function url.parse(address)
  if find(address, "[%s%c]") then return nil, "The URL has a blank in it: " .. address end
  local scheme, rest = match(address, "^(%a[%w+.-]*)://(.*)$")
  if not scheme then
    return nil, address .. " is no command; a URL begins with ws:// - did you mean ws://"
      .. match(address, "^/*(.*)$") .. " ?"
  end
  scheme = lower(scheme)
  if not DEFAULT_PORTS[scheme] then
    return nil, "The URL must begin with ws:// or wss://, not " .. scheme .. "://"
  end
  local authority, path = match(rest, "^([^/?#]*)([^#]*)")
  if find(authority, "@", 1, true) then return nil, "The URL must not hold a user name or password." end
  local host, port_text = split_authority(authority)
  if host == "" then return nil, "The URL names no host: " .. address end
  local port = DEFAULT_PORTS[scheme]
  if port_text ~= "" then
    port = find(port_text, "^:%d+$") and #port_text <= 6 and tonumber(sub(port_text, 2))
    if not port or port < 1 or port > LAST_PORT then
      return nil, "The URL's port must be a number from 1 to 65535: " .. address
    end
  end
  if sub(path, 1, 1) ~= "/" then path = "/" .. path end
  return {
    scheme = scheme,
    host = (gsub(host, "[%[%]]", "")),
    port = port,
    base = scheme .. "://" .. authority .. path,
  }
end

--- The address of a page that the bridge serves over plain HTTP.
-- @tparam table address From @{url.parse}.
-- @tparam string path
-- @treturn string
function url.page(address, path)
  local host = find(address.host, ":", 1, true) and "[" .. address.host .. "]" or address.host
  return format("%s://%s:%d%s", address.scheme == "wss" and "https" or "http", host, address.port, path)
end

return url
