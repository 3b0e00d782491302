--- What one job prints and draws on: its output, and a terminal that the whole computer takes for the present one while
-- the job runs.
--
-- What is printed is output as it is, not wrapped. The terminal is a window that nobody sees (@{console.JOB}) or the
-- agent's own, where the player sees it. What is drawn there becomes output too where it is part of a line that is
-- printed, as the cells of a table are that the game writes one by one before it prints the line's end.

local paper = require("mcp-computer.paper")
local present = require("mcp-computer.present")
local window = require("mcp-computer.window")

local byte, find, gsub = string.byte, string.find, string.gsub
local match, rep, sub = string.match, string.rep, string.sub
local error, next, pcall, rawequal = error, next, pcall, rawequal
local setmetatable, tostring, type = setmetatable, tostring, type
local max, min = math.max, math.min
local term_current, term_native = term.current, term.native
local game_write = write
local getinfo = debug and debug.getinfo

local console = {}
console.__index = console

--- Where a job's terminal is: a window of its own, whose last state goes with the answer, or the agent's, which then
-- also shows what the job prints. Without either it is the agent's, and shows only what is drawn.
console.JOB, console.SCREEN = "job", "screen"

local NEWLINE = byte("\n")
-- Bytes of a line that is drawn piece by piece which may become output.
local LINE_LIMIT = 1024
-- The stack levels, as `is_printing` sees them, at which the game's `write` may stand when it calls the terminal.
local FIRST_LEVEL, LAST_LEVEL = 3, 6

-- Whether the present terminal is this one, or a copy with some methods of its own: the game's pager is one.
local function is_present(self)
  local terminal = term_current()
  return rawequal(terminal, self.terminal) or rawequal(terminal.write, self.terminal.write)
end

--- Whether what is printed now belongs into the output: the job's code has not put another terminal in the place of
-- its own.
-- @treturn boolean
function console:is_present()
  return is_present(self)
end

-- Whether it is the game's own `write` that draws, which a module took for itself before the job began. (Anyone who
-- looks up `write` while the job runs gets another; see `printing`.)
local function is_printing(self)
  if not getinfo or not is_present(self) then return false end
  for level = FIRST_LEVEL, LAST_LEVEL do
    local info = getinfo(level, "f")
    if not info then return false end
    if info.func == game_write then return true end
  end
  return false
end

-- Puts text into the output. Returns whether much was since this last was so.
local function emit(self, text)
  self.is_line_start = byte(text, -1) == NEWLINE
  if self.tail then self.tail:add(text) end
  return self.output:write(text)
end

-- Takes note of where on the terminal the output's end is.
local function note_end(self)
  self.end_x, self.end_y = self.target.getCursorPos()
end

-- Draws what was printed as the game's `write` does, and returns how many lines that went down.
local function draw(self, text)
  local before = present.set(self.target)
  local ok, result = pcall(game_write, text)
  present.set(before)
  if not ok then error(result, 0) end
  note_end(self)
  return result
end

-- The same, in red.
local function draw_error(self, text)
  local target = self.target
  if not target.isColour() then return draw(self, text) end
  local before = target.getTextColour()
  target.setTextColour(colours.red)
  local lines = draw(self, text)
  target.setTextColour(before)
  return lines
end

-- The terminal that is drawn on, with all on it that was printed.
local function reach(self)
  if not self.target then
    self.paper = paper.new(self.parent, self.width, self.height)
    self.target = self.paper.window
    self.undrawn = paper.new_tail(self.width, self.height)
    self.undrawn:add(self.tail:text())
  end
  local undrawn = self.undrawn
  if undrawn and undrawn.count > 0 then
    local text = undrawn:text()
    undrawn:clear()
    draw(self, text)
  end
  self.is_touched = true
  return self.target
end

-- Takes note of text that was drawn at a place: a line of the output may come of it.
local function note_drawn(self, x, y, text)
  local line = self.line
  if not line or line.y ~= y then
    local from = 1
    if self.end_y then
      self.line = nil
      if y ~= self.end_y and y ~= self.end_y + 1 then return end
      if y == self.end_y then from = self.end_x end
    elseif not self.is_line_start then
      from = x
    end
    line = { y = y, from = from, text = "" }
    self.line = line
  end
  local covered = line.from - x
  if covered > 0 then -- what stands there is output already
    text = sub(text, covered + 1)
    x = line.from
  end
  local before = x - line.from
  text = sub(text, 1, max(0, LINE_LIMIT - before))
  if text == "" then return end
  local old = line.text
  line.text = sub(old .. rep(" ", before - #old), 1, before) .. text .. sub(old, before + #text + 1)
end

-- Before text is printed after the terminal was touched: the output gets what was drawn of the line it belongs to, and
-- where the cursor was moved on instead, the blanks or the line's end that it skipped. Returns how many of the first
-- bytes of the text are output already: a text that appears slowly may be written again and again, each time with more.
local function catch_up(self, text)
  local x, y = self.target.getCursorPos()
  local line, end_y, last = self.line, self.end_y, self.last
  if last and x == last.x and y == last.y and not line and sub(text, 1, #last.text) == last.text then
    return #last.text
  end
  local is_end = byte(text, 1) == NEWLINE
  self.line = nil
  if line and line.y == y then
    if end_y and y ~= end_y and not self.is_line_start then emit(self, "\n") end
    local drawn = line.text
    if is_end then
      drawn = match(drawn, "^(.-)%s*$")
    else
      local width = min(max(x - line.from, 0), LINE_LIMIT)
      drawn = sub(drawn .. rep(" ", width - #drawn), 1, width)
    end
    if drawn ~= "" then emit(self, drawn) end
    return 0
  end
  if not end_y or x == self.end_x and y == end_y then return 0 end
  local from = 1
  if y == end_y and x >= self.end_x then
    from = self.end_x
  elseif not self.is_line_start then
    emit(self, "\n")
  end
  local is_near = y == end_y or y == end_y + 1
  local width = min(x - from, LINE_LIMIT)
  if is_near and not is_end and width > 0 then emit(self, rep(" ", width)) end
  return 0
end

local function line_breaks(text)
  if not find(text, "\n", 1, true) then return 0 end
  local _, count = gsub(text, "\n", "")
  return count
end

--- Prints text, while @{console:is_present}.
-- @tparam string text
-- @tparam[opt] boolean is_error Whether it is in red, where it is seen.
-- @treturn number How many lines down that went: as wrapped, if the code looks at its terminal; else as the output has
--   them.
-- @treturn boolean Whether much was printed since this last was so.
function console:print(text, is_error)
  if text == "" then return 0, false end
  local was_touched = self.is_touched
  self.is_touched = false
  local known, is_much = was_touched and catch_up(self, text) or 0, false
  if known < #text then is_much = emit(self, known > 0 and sub(text, known + 1) or text) end
  if self.shows_print or was_touched and self.paper then
    local x = self.target.getCursorPos()
    local lines = (is_error and draw_error or draw)(self, text)
    self.last = #text <= LINE_LIMIT and { x = x, y = self.end_y - lines, text = text } or nil
    return lines, is_much
  end
  if self.undrawn then
    self.undrawn:add(text)
  elseif was_touched then
    local x, y = self.target.getCursorPos()
    self.last = #text <= LINE_LIMIT and { x = x, y = y, text = text } or nil
  end
  return line_breaks(text), is_much
end

-- The game's own `write` draws a piece of text, or goes to the next line.
local function printed(self, text)
  local known = catch_up(self, text)
  self.last = nil
  if known < #text and emit(self, sub(text, known + 1)) then self.on_much() end
end

-- The methods that do more than the terminal's own.
local function install_drawing(self, terminal)
  function terminal.write(text)
    local target = reach(self)
    if is_printing(self) then
      text = tostring(text)
      if text ~= "" then printed(self, text) end
      target.write(text)
      note_end(self)
      return
    end
    local x, y = target.getCursorPos()
    target.write(text)
    note_drawn(self, x, y, tostring(text))
  end

  function terminal.blit(text, ...)
    local target = reach(self)
    local x, y = target.getCursorPos()
    target.blit(text, ...)
    note_drawn(self, x, y, text)
  end

  function terminal.setCursorPos(x, y)
    local target = reach(self)
    if not is_printing(self) then return target.setCursorPos(x, y) end
    printed(self, "\n")
    target.setCursorPos(x, y)
    note_end(self)
  end

  function terminal.scroll(count)
    local target = reach(self)
    target.scroll(count)
    if is_printing(self) then return end
    if self.end_y then self.end_y = self.end_y - count end
    self.last = nil
    if self.line then self.line.y = self.line.y - count end
  end

  function terminal.clear()
    reach(self).clear()
    self.line, self.last = nil, nil
    -- The output's end is no longer on it.
    if self.end_y then self.end_x, self.end_y = 1, 0 end
  end

  function terminal.clearLine()
    local target = reach(self)
    target.clearLine()
    local _, y = target.getCursorPos()
    if self.line and self.line.y == y then self.line.text = "" end
  end
end

-- What `term.current()` gives to the job's code: each method that the game's own terminal has. CraftOS-PC's has some
-- that windows lack, such as `getGraphicsMode`; its `term.redirect` lends them the native ones, and its windows call
-- them.
local function new_terminal(self)
  local terminal = {}
  for name, method in next, term_native() do
    if type(name) == "string" and type(method) == "function" then
      terminal[name] = function(...) return (reach(self)[name] or method)(...) end
    end
  end
  install_drawing(self, terminal)
  if self.tail then
    function terminal.getSize() return self.width, self.height end
  end
  return terminal
end

--- Makes a job's console.
-- @tparam table options `output`: where what it prints goes; `on_much()`: called where `output:write` returns true and
--   nobody else sees it; `where`: @{console.JOB}, @{console.SCREEN} or nil; `width`, `height`: those of a window of its
--   own, or nil: those of the agent's terminal.
-- @treturn console Its `terminal` is what the job is to be resumed with.
function console.new(options)
  local parent = term_current()
  local self = setmetatable({
    output = options.output,
    on_much = options.on_much,
    parent = parent,
    -- target = nil: the terminal that is drawn on, once something is
    is_touched = false,    -- whether the code has used it since it last printed
    shows_print = options.where == console.SCREEN,
    is_line_start = true,  -- whether the output's last line has ended
    -- end_x = nil: where on the target the output ends, if it is shown there
    -- end_y = nil
    -- line = nil: what was drawn right after that: {y, from, text}
    -- last = nil: what was printed last, and where it began: {x, y, text}
    -- Of a window of its own:
    -- width = nil
    -- height = nil
    -- tail = nil: the end of the output
    -- undrawn = nil: what of it is not on the target yet
    -- paper = nil
    -- view = nil: what others read of it
  }, console)
  if options.where == console.JOB then
    local width, height = parent.getSize()
    self.width, self.height = options.width or width, options.height or height
    self.tail = paper.new_tail(self.width, self.height)
  else
    self.target = parent
    if self.shows_print then note_end(self) end
  end
  self.terminal = new_terminal(self)
  return self
end

--- What the job's own window shows.
-- @treturn string|nil Its lines; nil if there is none, if it shows nothing, or if its text is the end of the output.
function console:screen()
  if not self.paper then return nil end
  reach(self)
  local shown = self.paper:text()
  if not find(shown, "%S") then return nil end
  -- Printed alone, the output would look like this.
  local plain = paper.new(self.parent, self.width, self.height)
  local printed_only = setmetatable({ target = plain.window }, console)
  draw(printed_only, self.tail:text())
  local expected = "\n" .. plain:text()
  local block = "\n" .. match(shown, "^\n*(.*)$")
  if sub(expected, -#block) == block then return nil end
  return shown
end

-- The window of its own, with all on it that was printed; the code does not notice.
local function up_to_date(self)
  local was_touched = self.is_touched
  reach(self)
  self.is_touched = was_touched
  return window.screen(self.target)
end

--- The job's own window, for others to read at any time.
-- @treturn table|nil See @{screens.find}; it has no `press` yet. Nil if the job has none.
function console:shown()
  if not self.tail then return nil end
  self.view = self.view or setmetatable({}, {
    __index = function(_, name) return up_to_date(self)[name] end,
  })
  return self.view
end

return console
