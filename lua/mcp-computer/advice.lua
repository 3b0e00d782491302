--- What a failure means, in plain words, and which line of which file mends it.

local game = require("mcp-computer.game")

local find, format = string.find, string.format

local advice = {}

-- Since this version of the mod a rule may name a port.
local FIRST_WITH_PORT_RULES = 93

-- The lines that say which file to edit.
local function place(this)
  local file, where = game.config_file(this)
  local opening = this.family == game.CRAFTOS_PC and "With CraftOS-PC closed, edit"
    or "With the game stopped, edit on the world's machine"
  return opening .. "\n" .. file .. (where and "\n" .. where or "")
end

-- Whether a host is the machine that runs the world itself.
local function is_loopback(host)
  return host == "localhost" or host == "::1" or find(host, "^127%.") ~= nil
end

-- The lines that let computers connect to a host.
local function permission_lines(address, this)
  local host = address.host
  local loopback = is_loopback(host) and host ~= "::1"
  if this.family == game.CRAFTOS_PC then
    return {
      format("Take what matches %s out of \"http_blacklist\", and let \"http_whitelist\" hold", host),
      format("  [\"*\"]   or   [\"%s\"]", host),
    }
  end
  if this.family == game.CFG then
    return {
      format("Delete what matches %s from the list blocked_domains:", host),
      loopback and "  127.0.0.0/8" or "  (such as 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16)",
    }
  end
  if this.family == game.COMMON_TOML then
    return {
      format("Delete what matches %s from the list blacklist:", host),
      loopback and "  \"127.0.0.0/8\"" or "  (such as \"10.0.0.0/8\", \"172.16.0.0/12\" or \"192.168.0.0/16\")",
    }
  end
  local lines = {
    "Put ABOVE the rule with host = \"$private\":",
    "[[http.rules]]",
    format(" host = \"%s\"", loopback and "127.0.0.0/8" or host),
  }
  if not this.mod or this.mod >= FIRST_WITH_PORT_RULES then
    lines[#lines + 1] = format(" port = %d", address.port)
  end
  lines[#lines + 1] = " action = \"allow\""
  return lines
end

local function not_permitted(address, this)
  local lines = {
    format("Domain not permitted: the game forbids computers to connect to %s.", address.host),
    place(this),
  }
  local permission = permission_lines(address, this)
  for i = 1, #permission do lines[#lines + 1] = permission[i] end
  return lines
end

local function http_off(_, this)
  local setting = this.family == game.CRAFTOS_PC and "Set \"http_enable\" to true."
    or this.family == game.CFG and "Set enabled=true in the section http."
    or "Set enabled = true under [http]."
  return { "The HTTP API is off, so this computer can't connect.", place(this), setting }
end

local function websockets_off(_, this)
  local setting = this.family == game.CRAFTOS_PC and "Set \"http_websocket_enabled\" to true."
    or this.family == game.CFG and "Set websocket_enabled=true in the section http."
    or "Set websocket_enabled = true under [http]."
  return { "Websockets are off, so this computer can't connect.", place(this), setting }
end

local function no_bridge(address)
  local lines = {
    format("Nothing answers at %s, port %d.", address.host, address.port),
    "Is mcp-bridge running there (or the MCP client that starts it)? Is the address right? Does a firewall block it?",
  }
  if is_loopback(address.host) then
    lines[#lines + 1] = format("%s here is the machine that runs the world, not the player's.", address.host)
  end
  return lines
end

local function unknown_host(address)
  return {
    format("The world's machine knows no host %s.", address.host),
    "Check the name, or use the IP address that mcp-bridge shows.",
  }
end

local function unauthorized()
  return {
    "The bridge wants a token (HTTP 401).",
    "Set the bridge's CC_LINK_TOKEN here too: set mcp_computer.token <token>",
  }
end

local function forbidden(address)
  return {
    "The bridge refuses this address (HTTP 403).",
    format("It takes links by IP address or localhost, not through a tunnel or a name it doesn't know; this one "
      .. "is %s. Its log says why.", address.host),
  }
end

local function wrong_server(address)
  return {
    format("What answers at %s, port %d is not mcp-bridge.", address.host, address.port),
    "Check the port: the bridge's link port is 3001 by default.",
  }
end

local function too_many()
  return {
    "This computer has too many websockets open.",
    "Close other programs that use them, or reboot it.",
  }
end

local function bad_url(address)
  return { "The game can't read the URL " .. address.base, "It should look like ws://192.168.1.20:3001" }
end

-- Substrings of what the game says, in every version (CraftOS-PC's among them), and what each means. A fatal failure is
-- one that no later attempt can mend. The first that matches counts.
local MEANINGS = {
  { "Domain not permitted", not_permitted },
  { "Websocket connections are disabled", websockets_off, fatal = true },
  { "Too many websockets", too_many },
  { "URL malformed", bad_url, fatal = true },
  { "Invalid scheme", bad_url, fatal = true },
  { "Unknown host", unknown_host },
  { "Host not found", unknown_host },
  { "401", unauthorized },
  { "Not authorized", unauthorized },
  { "403", forbidden },
  { "Forbidden", forbidden },
  { "Invalid handshake", wrong_server },
  { "WebSocket Exception", wrong_server },
  { "Could not connect", no_bridge },
  { "Connection refused", no_bridge },
  { "onnection timed out", no_bridge },
  { "Timed out", no_bridge },
  { "Timeout", no_bridge },
}

--- Explains why an attempt to connect failed.
-- @tparam string reason What the game said.
-- @tparam table address See @{url.parse}.
-- @tparam[opt] string host `_HOST`, the present game's by default.
-- @treturn table `lines` to show; `fatal`: no later attempt can succeed.
function advice.explain(reason, address, host)
  local this = game.read(host)
  for i = 1, #MEANINGS do
    local meaning = MEANINGS[i]
    if find(reason, meaning[1], 1, true) then
      return { lines = meaning[2](address, this), fatal = meaning.fatal or false }
    end
  end
  return { lines = { "The connection failed: " .. reason }, fatal = false }
end

-- What the game says of a connection that is gone, in every version, and its handle's own error once it is.
local GONE = { "Connection closed", "Websocket is inactive", "closed file" }

--- Says why a link that stood has ended.
-- @tparam string reason What the game said, or the bridge.
-- @treturn string
function advice.lost(reason)
  for i = 1, #GONE do
    if find(reason, GONE[i], 1, true) then
      return "the connection broke off. mcp-bridge has ended (as it does with its MCP client), or the network failed."
    end
  end
  return reason
end

--- Explains that the computer has no HTTP API.
-- @tparam[opt] string host
-- @treturn {string,...}
function advice.http_off(host)
  return http_off(nil, game.read(host))
end

--- Explains that the computer has no websockets.
-- @tparam[opt] string host
-- @treturn {string,...}
function advice.websockets_off(host)
  return websockets_off(nil, game.read(host))
end

return advice
