--- The game's own multishell, within the hosted screen: its tabs have windows of ours, so that they can be read.
--
-- It finds `window` and `os.run` in its environment: there stand ours, for it alone.

local errors = require("mcp-computer.errors")
local window = require("mcp-computer.window")

local remove = table.remove
local running, status = coroutine.running, coroutine.status
local setmetatable, type = setmetatable, type
local globals = _G

local tabs = {}
tabs.__index = tabs

local PROGRAM = "/rom/programs/advanced/multishell.lua"

--- @treturn tabs None so far.
function tabs.new()
  return setmetatable({
    entries = {},  -- of all tabs, in the order of multishell's: {window, thread}
    -- api = nil: multishell's own
  }, tabs)
end

--- Runs multishell until its last tab is closed.
-- @tparam table shell The shell whose settings the first tab takes over.
-- @tparam function prepare What is to be done with the environment of that tab's shell.
function tabs:run(shell, prepare)
  local env = { shell = shell }
  env.window = setmetatable({
    create = function(...)
      local made = window.create(...)
      self.entries[#self.entries + 1] = { window = made, thread = nil }
      return made
    end,
  }, { __index = function(_, name) return globals.window[name] end })
  env.os = setmetatable({
    -- The first that a tab's coroutine does.
    run = function(of_program, path, ...)
      local newest = self.entries[#self.entries]
      if newest and not newest.thread then newest.thread = running() end
      if type(of_program) == "table" and type(path) == "string" then
        errors.watch(path, of_program)
        if not self.api then
          self.api = of_program.multishell
          prepare(of_program)
        end
      end
      return globals.os.run(of_program, path, ...)
    end,
  }, { __index = function(_, name) return globals.os[name] end })
  return globals.os.run(env, PROGRAM)
end

--- @treturn {table,...} The tabs that there are.
function tabs:list()
  local count = self.api and self.api.getCount() or 0
  for i = #self.entries, 1, -1 do
    local thread = self.entries[i].thread
    if #self.entries > count and thread and status(thread) == "dead" then remove(self.entries, i) end
  end
  return self.entries
end

--- @treturn number|nil The tab in front.
function tabs:focus()
  return self.api and self.api.getFocus()
end

--- Which number a tab has now.
-- @tparam table entry One of @{tabs:list}.
-- @treturn number|nil Nil: it was closed.
function tabs:number_of(entry)
  local list = self:list()
  for i = 1, #list do
    if list[i] == entry then return i end
  end
  return nil
end

-- What a program that runs outside does to tabs is meant for these, not for the one that all of it runs in.
local LENT = { "launch", "getFocus", "setFocus", "getCount" }

--- Lends these tabs to programs that have the outer multishell.
-- @tparam table outer Its functions.
-- @treturn function Takes them back.
function tabs:lend(outer)
  local kept = {}
  for i = 1, #LENT do
    local name = LENT[i]
    kept[name] = outer[name]
    outer[name] = function(...) return (self.api or kept)[name](...) end
  end
  return function()
    for i = 1, #LENT do outer[LENT[i]] = kept[LENT[i]] end
  end
end

return tabs
