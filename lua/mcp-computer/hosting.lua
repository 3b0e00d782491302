--- Hosts the player's shell: it and the agent run side by side, each as a coroutine, and the shell has the whole
-- screen, a window of ours, which can be read.
--
-- The shell must not be able to tell. So it gets each event before the agent does, but for those that are the agent's
-- own; all input is its own; the native terminal is the window while it runs. When the agent ends, the shell goes on.
-- An update of the agent runs in the agent's place, and finds the shell where it was.

local control = require("mcp-computer.control")
local errors = require("mcp-computer.errors")
local input = require("mcp-computer.input")
local monitors = require("mcp-computer.monitors")
local presence = require("mcp-computer.presence")
local present = require("mcp-computer.present")
local status_line = require("mcp-computer.status_line")
local tabs = require("mcp-computer.tabs")
local window = require("mcp-computer.window")

local create, resume, status = coroutine.create, coroutine.resume, coroutine.status
local remove, sub = table.remove, string.sub
local next, pcall, rawequal, rawget, rawset, select = next, pcall, rawequal, rawget, rawset, select
local setmetatable, tostring, type = setmetatable, tostring, type
local pull, queue, epoch = os.pullEventRaw, os.queueEvent, os.epoch
local term_library, term_current, term_native = term, term.current, term.native
local unpack = table.unpack or unpack
local globals = _G

local hosting = {}
hosting.__index = hosting

-- The game gives all coroutines 7 s for an event. If the shell has taken this much of them, the agent waits for the
-- next event; this is the one that it asks for.
local LONG_MS = 1000
local LATER_EVENT = "mcp_computer_later"
-- Events that may wait for the agent, and such as others have given to the shell.
local BACKLOG_LIMIT, PRESSED_LIMIT = 256, 256

local SHELL, SHUTDOWN = "/rom/programs/shell.lua", "/rom/programs/shutdown.lua"

local function pack(...)
  return { n = select("#", ...), ... }
end

-- The terminal that is the whole screen. Alone in its multishell, the shell takes the place of that one's windows.
local function outermost(multishell)
  local ok, count = pcall(function() return multishell.getCount() end)
  if ok and count == 1 then return term_native() end
  return term_current()
end

-- What programs see of the window: what the native terminal has.
local function new_terminal(root)
  local terminal = {}
  for name, method in next, term_native() do
    if type(name) == "string" and type(method) == "function" then terminal[name] = root[name] or method end
  end
  window.stand_for(terminal, root)
  return terminal
end

--- Takes the screen.
-- @tparam table options `program`: see @{environment.new}; `version`; `has_line`: whether there is a status line;
--   `greets`: whether the computer has just started.
-- @treturn hosting
function hosting.new(options)
  local parent = outermost(options.program.multishell)
  local width, height = parent.getSize()
  local top = options.has_line and 2 or 1
  local root = window.create(parent, 1, top, width, height - top + 1, true)
  local self = setmetatable({
    program = options.program,
    greets = options.greets,
    version = options.version,
    -- serve = nil: what the agent's coroutine runs
    parent = parent,
    is_outermost = rawequal(parent, term_native()),
    root = root,
    terminal = new_terminal(root),
    line = status_line.new(parent, options.has_line),
    tabs = options.program.multishell and tabs.new() or nil,
    -- shell = nil: of both coroutines: {thread, filter, terminal}
    -- agent = nil
    is_shell_over = false,
    -- problem = nil: what ended the shell, if it was an error
    -- owns = nil: tells which events are the agent's own
    -- why_ended = nil: what ended the agent, if it has ended
    backlog = {},      -- events that wait for the agent
    pressed = {},      -- events for the shell: {event, tab or nil}
    is_later = false,  -- whether an event was asked for, to go on
    -- native = nil: what the programs have as `term.native`
    -- dialog = nil: a window over all others, on which the agent asks the player something
  }, hosting)
  self.native = function() return self.terminal end
  return self
end

local function new_side(self, run)
  return { thread = create(run), filter = nil, terminal = self.terminal }
end

local function is_over(side)
  return status(side.thread) == "dead"
end

-- Lets a coroutine go on, on its terminal. Returns what ended it, if it was an error.
local function turn(self, side, ...)
  if is_over(side) then return nil end
  local name = (...)
  if side.filter ~= nil and side.filter ~= name and name ~= "terminate" then return nil end
  local outer_terminal, outer_native = term_current(), rawget(term_library, "native")
  rawset(term_library, "native", self.native)
  present.set(side.terminal)
  monitors.enter()
  local ok, result = resume(side.thread, ...)
  monitors.leave()
  side.terminal = term_current()
  present.set(outer_terminal)
  self.native = rawget(term_library, "native")
  rawset(term_library, "native", outer_native)
  if ok then
    side.filter = result
    return nil
  end
  return result
end

local function shell_turn(self, event)
  local problem = turn(self, self.shell, unpack(event, 1, event.n))
  if problem ~= nil then self.is_shell_over, self.problem = true, tostring(problem) end
end

local function is_at_line(self, event)
  return self.line.is_shown and sub(event[1], 1, 6) == "mouse_" and type(event[4]) == "number"
end

-- Gives the shell an event as it comes from the game, whose screen may have a line more.
local function give_shell(self, event)
  if is_at_line(self, event) then
    if event[4] <= 1 then return end
    event[4] = event[4] - 1
  end
  shell_turn(self, event)
end

-- Gives a tab an event of its own. Multishell gives input to the tab in front alone; so it is for that moment, unseen.
local function give_tab(self, entry, event)
  local own, before = self.tabs:number_of(entry), self.tabs:focus()
  if not own then return end
  local _, top = entry.window.getPosition()
  if sub(event[1], 1, 6) == "mouse_" and type(event[4]) == "number" then event[4] = event[4] + top - 1 end
  if own == before or not input.is_input(event[1]) then return shell_turn(self, event) end
  local front = self.tabs:list()[before]
  self.root.setVisible(false)
  pcall(self.tabs.api.setFocus, own)
  shell_turn(self, event)
  if not self.is_shell_over and self.tabs:focus() == self.tabs:number_of(entry) then
    local back = self.tabs:number_of(front)
    if back then pcall(self.tabs.api.setFocus, back) end
  end
  if not self.dialog then self.root.setVisible(true) end
end

local function is_late(started)
  return epoch("utc") - started >= LONG_MS
end

local function serve_pressed(self, started)
  while #self.pressed > 0 and not is_late(started) and not self.is_shell_over do
    local one = remove(self.pressed, 1)
    if one.tab then give_tab(self, one.tab, one.event) else shell_turn(self, one.event) end
  end
end

local function show(self, text)
  if self.line:show(text) then self.root.restoreCursor() end
end

local function serve_agent(self, started)
  while #self.backlog > 0 and not is_late(started) do
    local event = remove(self.backlog, 1)
    local problem = turn(self, self.agent, unpack(event, 1, event.n))
    if problem ~= nil then self.why_ended = tostring(problem) end
    if is_over(self.agent) then
      self.backlog, self.owns = {}, nil
      self:close_dialog()
      self.why_ended = self.why_ended or "it was stopped"
      show(self, "mcp-computer has ended: " .. self.why_ended)
    end
  end
end

-- The screen has another size.
local function fit(self)
  local width, height = self.parent.getSize()
  local top = self.line.is_shown and 2 or 1
  self.root.reposition(1, top, width, height - top + 1)
  self.line:draw()
  self.root.restoreCursor()
end

-- The agent has ended: its host answers in its place, and lets it begin again.
local function stand_in(self, event)
  if event[1] == presence.ASK then
    presence.answer(event[2], { version = self.version, hosts = true, stopped = self.why_ended })
  elseif event[1] == control.EVENT and event[3] == control.START then
    local arguments = event[4]
    self.why_ended = nil
    self.agent = new_side(self, function() self.serve(arguments) end)
    self.backlog = { { n = 0 } }
    control.answer(event[2], true, "mcp-computer runs again, beside this shell.")
  elseif event[1] == control.EVENT and event[3] == control.STATUS_LINE then
    control.obey(event, { set_line = function(is_shown) self:set_line(is_shown) end })
  end
end

local function hand_on(self, event)
  local started, name = epoch("utc"), event[1]
  if name == LATER_EVENT then
    self.is_later = false
  else
    local owned = false
    if self.owns then
      local ok, answer = pcall(self.owns, event)
      owned = ok and answer == true
    end
    local is_input = input.is_input(name)
    if is_input and input.is_queued(event) then
      -- A program of the shell has queued it, while such input is marked.
      event[event.n] = nil
      event.n = event.n - 1
    elseif is_input and self.dialog then
      is_input, owned = false, true
      if name == "terminate" then event = { n = 1, input.NO } end
    end
    if name == "term_resize" then fit(self) end
    monitors.handle(event)
    if is_over(self.agent) then
      stand_in(self, event)
    elseif not is_input and #self.backlog < BACKLOG_LIMIT then
      self.backlog[#self.backlog + 1] = event
    end
    if not owned then give_shell(self, event) end
  end
  if self.is_shell_over then return end
  serve_agent(self, started)
  serve_pressed(self, started)
  if (#self.backlog > 0 or #self.pressed > 0) and not self.is_later then
    self.is_later = true
    queue(LATER_EVENT)
  end
end

-- The computer's first shell shows the message of the day before its prompt. That was on the screen that is ours now.
local function greet(shell, env)
  function env.write(...)
    env.write = nil
    if globals.settings.get("motd.enable") then
      local colour = term_library.getTextColour()
      term_library.setTextColour(1)
      shell.run("motd")
      term_library.setTextColour(colour)
    end
    return globals.write(...)
  end
end

-- What the shell's coroutine runs.
local function run_shell(self)
  local shell = self.program.shell
  local function prepare(env)
    if self.greets then greet(shell, env) end
  end
  if self.tabs then
    self.tabs:run(shell, prepare)
  else
    local env = { shell = shell }
    errors.watch(SHELL, env)
    prepare(env)
    globals.os.run(env, SHELL)
  end
  self.is_shell_over = true
end

-- The shell was closed. That of the computer itself takes the computer with it.
local function close(self)
  if not is_over(self.agent) then turn(self, self.agent, "terminate") end
  if self.line.is_shown then self:set_line(false) end
  if self.is_outermost then
    present.set(self.terminal)
    if self.problem then
      -- As the game does where its first shell dies: a program may have left a terminal that nothing can be drawn on.
      globals.printError(self.problem)
      self.terminal.setCursorBlink(false)
      globals.print("Press any key to continue")
      local event
      repeat event = pull() until event == "key" or event == "terminate"
    else
      pcall(globals.os.run, {}, SHUTDOWN)
    end
    globals.os.shutdown()
  end
  local outer = self.program.shell
  if outer and outer.exit then outer.exit() end
end

--- Runs the shell and, beside it, the agent, until the shell is closed.
-- @tparam function serve What the agent's coroutine runs. It gets the arguments of the program, if that was called
--   again after the agent had ended.
function hosting:run(serve)
  self.serve = serve
  local take_back = self.tabs and self.is_outermost and self.tabs:lend(self.program.multishell)
  self.shell = new_side(self, function() run_shell(self) end)
  self.agent = new_side(self, serve)
  turn(self, self.shell)
  self.backlog[1] = { n = 0 }
  serve_agent(self, epoch("utc"))
  while not self.is_shell_over do hand_on(self, pack(pull())) end
  if take_back then take_back() end
  close(self)
end

--- Shows the status line, or hides it. The programs learn that their screen has another size.
-- @tparam boolean is_shown
function hosting:set_line(is_shown)
  if self.line.is_shown == is_shown then return end
  self.line.is_shown = is_shown
  fit(self)
  self:press(nil, "term_resize")
end

--- Makes room on the screen for a question of the agent's to the player, who then types for the agent. To be called in
-- its turn.
function hosting:open_dialog()
  if self.dialog then return end
  local width, height = self.parent.getSize()
  self.root.setVisible(false)
  self.dialog = window.create(self.parent, 1, 1, width, height, true)
  present.set(self.dialog)
end

--- All is as it was before @{hosting:open_dialog}.
function hosting:close_dialog()
  if not self.dialog then return end
  if rawequal(term_current(), self.dialog) then present.set(self.terminal) end
  self.dialog = nil
  self.root.setVisible(true)
  self.line:draw()
  self.root.restoreCursor()
end

--- Lets the shell have an event, after all that it has now.
-- @tparam table|nil tab A tab that it is for; nil: whichever is in front.
-- @tparam string name The event's.
-- @param ... And what comes with it.
-- @treturn boolean Whether there was room for it.
-- @treturn string|nil Why not.
function hosting:press(tab, name, ...)
  if type(name) ~= "string" then return false, "an event must have a name" end
  if #self.pressed >= PRESSED_LIMIT then return false, "too many events wait for it" end
  self.pressed[#self.pressed + 1] = { event = pack(name, ...), tab = tab }
  return true
end

local function screen_of(self, terminal, tab)
  local screen = window.screen(terminal)
  if not screen.press then
    function screen.press(...) return self:press(tab, ...) end
  end
  return screen
end

--- What the agent needs of its host. An update of the agent gets it from an older host, so it is made of plain
-- functions, and none is ever taken away or changed.
-- @treturn table `providers`: what @{screens.provide} takes, by kind; `set_owner(f)`: says which events are the agent's
--   own; `errors()`: see @{errors.list}; `has_line()`; `set_line(is_shown)`; `show(text)`: puts it into that line;
--   `open_dialog()`, `close_dialog()`.
function hosting:handle()
  local providers = {
    terminal = {
      find = function() return screen_of(self, self.root) end,
      names = function() return { "terminal" } end,
    },
    monitor = { find = monitors.find, names = monitors.names },
    tab = {
      find = function(number)
        local entry = self.tabs and self.tabs:list()[number]
        return entry and screen_of(self, entry.window, entry)
      end,
      names = function()
        local names = {}
        for number = 1, self.tabs and #self.tabs:list() or 0 do names[number] = number end
        return names
      end,
    },
  }
  return {
    providers = providers,
    set_owner = function(owns) self.owns = owns end,
    errors = errors.list,
    has_line = function() return self.line.is_shown end,
    set_line = function(is_shown) self:set_line(is_shown) end,
    show = function(text) show(self, text) end,
    open_dialog = function() self:open_dialog() end,
    close_dialog = function() self:close_dialog() end,
  }
end

return hosting
