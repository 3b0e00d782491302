--- What a player enters beside the agent itself: `mcp-computer install`, `uninstall`, `update` and `status`.

local autostart = require("mcp-computer.autostart")
local control = require("mcp-computer.control")
local disk = require("mcp-computer.disk")
local identity = require("mcp-computer.identity")
local installation = require("mcp-computer.installation")
local presence = require("mcp-computer.presence")
local question = require("mcp-computer.question")
local setting = require("mcp-computer.setting")

local error, floor, format, ipairs, print = error, math.floor, string.format, ipairs, print
local tostring, type = tostring, type
local fs = fs

local manage = {}

local function needs_address(given)
  if given.address then return given.address end
  error("The bridge's address is missing. Give it once: mcp-computer install ws://HOST:3001", 0)
end

--- Makes this computer's own agent of the one that was called: its file, its address, what starts it.
-- @tparam table given What all these commands are given: `address`: the bridge's, or nil; `version`; `own_file`: the
--   program's, or nil; `shell`; `startup`: what the player says of that, or nil; `is_sure`: whether they
--   need not be asked; `policy`.
-- @throws Why it can't be.
function manage.install(given)
  local address = needs_address(given)
  local name = identity.draw_boot()
  local running = presence.ask(name)
  local path, another, is_packaged = installation.find()
  local program = path
  if not path then
    -- It runs from somewhere else: from a disk, or from the web.
    local source = given.own_file and disk.read(given.own_file) or installation.fetch(address)
    program = installation.put({ source = source, name = name, address = address, is_new = true })
  else
    setting.keep(setting.URL, address)
    print("Installed is " .. program)
  end
  if another then
    fs.delete(another)
    print("Deleted the other one: " .. another)
    -- What started that one starts this one.
    if autostart.is_own(autostart.find()) then given.startup = true end
  end
  installation.finish({ program = program, address = address, startup = given.startup })
  if is_packaged then print("It is updated by: ccpm update, then ccpm upgrade") end
  if not running then installation.start(program, given.shell) end
end

--- Takes away all that there is of the agent on this computer.
-- @tparam table given See @{manage.install}.
-- @throws Why it can't be.
function manage.uninstall(given)
  local asked = "Remove mcp-computer, its settings, and what starts it?"
  if not given.is_sure and not question.ask(asked, false) then
    print("Nothing was changed.")
    return
  end
  local name = identity.draw_boot()
  if presence.ask(name) then print(control.say(name, "stop")) end
  autostart.remove()
  setting.forget()
  local path, another, is_packaged = installation.find()
  for _, file in ipairs({ another or "", is_packaged and "" or path or "", given.own_file or "" }) do
    local is_of_package = is_packaged and file == path
    if file ~= "" and not is_of_package and fs.exists(file) and not fs.isReadOnly(file) then
      fs.delete(file)
      print("Deleted " .. file)
    end
  end
  if is_packaged then
    print("TrapOS's package manager installed it. To remove the program too: ccpm uninstall mcp-computer")
  else
    print("mcp-computer is gone from this computer.")
  end
end

--- Fetches the bridge's version: the agent that runs takes it over, and goes back if it does not link.
-- @tparam table given See @{manage.install}.
-- @throws Why it can't be.
function manage.update(given)
  local name = identity.draw_boot()
  local running = presence.ask(name)
  local told = running and running.link
  local address = type(told) == "table" and told.address or needs_address(given)
  local path = not installation.find() and given.own_file or nil
  installation.put({
    source = installation.fetch(address), running = running, name = name, address = address, path = path,
  })
  if running and not running.path then print("One runs here already, of the former version: start it anew.") end
end

-- A time in its largest unit.
local function ago(seconds)
  if seconds < 60 then return format("%d s", floor(seconds)) end
  if seconds < 3600 then return format("%d min", floor(seconds / 60)) end
  return format("%d h", floor(seconds / 3600))
end

-- How the agent is that runs.
local function state_of(running, ended)
  if ended then
    local why = tostring(ended.stopped)
    return format("It has ended (%s), and its shell is here. Start it with: mcp-computer --shell", why)
  end
  if not running then return "It does not run. Start it with: mcp-computer --shell" end
  local told = type(running.link) == "table" and running.link or {}
  local tab = type(running.tab) == "number" and format(", in tab %d", running.tab) or ""
  if running.hosts then tab = " beside this computer's shell" end
  if type(told.linked_seconds) == "number" then
    return format("It runs%s, and is linked for %s.", tab, ago(told.linked_seconds))
  end
  local since = type(told.left_seconds) == "number" and " for " .. ago(told.left_seconds) or ""
  local why = type(told.trouble) == "string" and ": " .. told.trouble or "."
  return format("It runs%s, but is not linked%s%s", tab, since, why)
end

--- Says how things are.
--
-- An agent that runs may have more to say: lines in `says` of what it answers (see @{presence.answer}).
-- @tparam table given See @{manage.install}.
function manage.status(given)
  local running, ended = presence.ask(identity.draw_boot())
  local told = running and running.link
  local version = running and type(running.version) == "string" and running.version or given.version
  local path, another, is_packaged = installation.find()
  print(format("mcp-computer v%s: %s%s", version, path or running and running.path or given.own_file or "not installed",
    is_packaged and " (by ccpm)" or ""))
  if another then print(format("It is here twice: %s too. To keep the first: mcp-computer install", another)) end
  print("Bridge: " .. (type(told) == "table" and told.address or given.address or "no address is set"))
  print(state_of(running, ended))
  if control.is_paused() then print("It is paused: nothing new begins until `mcp-computer resume`.") end
  for _, line in ipairs(running and type(running.says) == "table" and running.says or {}) do print(line) end
  local own = autostart.find()
  print(own and "It starts with this computer: " .. own or "It does not start with this computer.")
  local policy = running and running.policy or given.policy
  print("Policy: " .. policy .. (policy == given.policy and ""
    or format(", as it was started. The settings say %s, from its next start on.", given.policy)))
end

return manage
