-- multishell: several programs at once, each in a tab with a window of its own. The player's input goes to one of
-- them, everything else to all.

local expect = dofile("/rom/modules/main/cc/expect.lua").expect

local parent = term.current()
local width, height = parent.getSize()

local tabs = {}
local focus, previous_focus, running
local bar_shown = false

-- From 1.104, and in 1.101.3, a tab's program gets what the native terminal can do, and no getLine.
local minor, patch = _HOST:match("ComputerCraft 1%.(%d+)%.(%d+)")
minor, patch = tonumber(minor), tonumber(patch)
local hides_window = minor >= 104 or minor == 101 and patch >= 3

-- What only the tab in front gets.
local player_input = {
  char = true, key = true, key_up = true, paste = true, terminate = true, file_transfer = true,
  mouse_click = true, mouse_up = true, mouse_drag = true, mouse_scroll = true,
}

local function choose(n)
  if focus then tabs[focus].window.setVisible(false) end
  previous_focus, focus = focus, n
  if focus then
    tabs[focus].window.setVisible(true)
    tabs[focus].unseen = false
  end
end

local function resume(n, event, ...)
  local tab = tabs[n]
  if tab.filter ~= nil and tab.filter ~= event and event ~= "terminate" then return end
  local outer_running, outer_target = running, term.redirect(tab.target)
  running = n
  local ok, result = coroutine.resume(tab.thread, event, ...)
  tab.target = term.redirect(outer_target)
  running = outer_running
  if ok then
    tab.filter = result
  else
    local target = term.redirect(tab.target)
    printError(result)
    term.redirect(target)
  end
end

local multishell_api = {}

local function launch(focused, environment, path, ...)
  local arguments = table.pack(...)
  local n = #tabs + 1
  local tab = { title = fs.getName(path) }
  tab.window = window.create(parent, 1, bar_shown and 2 or 1, width, bar_shown and height - 1 or height, false)
  tab.target = tab.window
  if hides_window then
    tab.target = {}
    for name in pairs(term.native()) do tab.target[name] = tab.window[name] end
  end
  environment.multishell = multishell_api
  tab.thread = coroutine.create(function()
    os.run(environment, path, table.unpack(arguments, 1, arguments.n))
    if not tab.interacted then
      term.setCursorBlink(false)
      print("Press any key to continue")
      os.pullEvent("char")
    end
  end)
  tabs[n] = tab
  if focused then choose(n) end
  resume(n)
  return n
end

local function draw_bar()
  if not bar_shown then return end
  parent.setCursorPos(1, 1)
  parent.setTextColour(colours.black)
  parent.setBackgroundColour(colours.grey)
  parent.clearLine()
  for n, tab in ipairs(tabs) do
    parent.setTextColour(n == focus and colours.yellow or colours.black)
    parent.setBackgroundColour(n == focus and colours.black or colours.grey)
    parent.write(" " .. tab.title .. " ")
  end
  parent.setTextColour(colours.white)
  parent.setBackgroundColour(colours.black)
  tabs[focus].window.restoreCursor()
end

local function fit_windows()
  for n, tab in ipairs(tabs) do
    tab.window.reposition(1, bar_shown and 2 or 1, width, bar_shown and height - 1 or height)
    resume(n, "term_resize")
  end
  draw_bar()
end

--- Removes tabs whose programs have ended, and shows the bar while there are several.
local function tidy()
  local removed = false
  for n = #tabs, 1, -1 do
    if coroutine.status(tabs[n].thread) == "dead" then
      if focus == n then choose(nil) end
      table.remove(tabs, n)
      if focus and focus > n then focus = focus - 1 end
      if previous_focus == n then
        previous_focus = nil
      elseif previous_focus and previous_focus > n then
        previous_focus = previous_focus - 1
      end
      removed = true
    end
  end
  if #tabs == 0 then return end
  if not focus then choose(previous_focus and tabs[previous_focus] and previous_focus or #tabs) end
  if bar_shown ~= (#tabs > 1) then
    bar_shown = #tabs > 1
    fit_windows()
  elseif removed then
    draw_bar()
  end
end

function multishell_api.getFocus() return focus end

function multishell_api.setFocus(n)
  expect(1, n, "number")
  if not tabs[n] then return false end
  choose(n)
  draw_bar()
  return true
end

function multishell_api.getTitle(n)
  expect(1, n, "number")
  return tabs[n] and tabs[n].title
end

function multishell_api.setTitle(n, title)
  expect(1, n, "number")
  expect(2, title, "string")
  if tabs[n] then
    tabs[n].title = title
    draw_bar()
  end
end

function multishell_api.getCurrent() return running end

function multishell_api.launch(environment, path, ...)
  expect(1, environment, "table")
  expect(2, path, "string")
  local n = launch(false, environment, path, ...)
  os.queueEvent("multishell_changed")
  return n
end

function multishell_api.getCount() return #tabs end

parent.clear()
launch(true, { shell = shell }, "rom/programs/shell.lua")
tidy()

while #tabs > 0 do
  local event = table.pack(os.pullEventRaw())
  local name = event[1]
  if name == "term_resize" then
    width, height = parent.getSize()
    fit_windows()
  elseif player_input[name] then
    local on_bar = bar_shown and name:sub(1, 6) == "mouse_" and event[4] == 1
    if name == "mouse_click" and on_bar then
      local x = 1
      for n, tab in ipairs(tabs) do
        x = x + #tab.title + 2
        if event[3] < x then
          choose(n)
          draw_bar()
          break
        end
      end
    elseif not on_bar then
      if bar_shown and name:sub(1, 6) == "mouse_" then event[4] = event[4] - 1 end
      if name == "char" or name == "key" or name == "paste" then tabs[focus].interacted = true end
      resume(focus, table.unpack(event, 1, event.n))
    end
  else
    for n = 1, #tabs do resume(n, table.unpack(event, 1, event.n)) end
  end
  tidy()
end

term.redirect(parent)
