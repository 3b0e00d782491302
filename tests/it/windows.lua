-- Does the same by chance to a window of the game and to ours, and compares them and what they are drawn on.
-- luacheck: std +lua53

local ours = dofile("/mcp-computer-window.lua")
local seed = tonumber((...))
math.randomseed(seed)

local WIDTH, HEIGHT = 12, 5

local base = term.current()
local game_parent = window.create(base, 1, 1, WIDTH + 2, HEIGHT + 2, false)
local our_parent = window.create(base, 1, 1, WIDTH + 2, HEIGHT + 2, false)
local our_base = window.create(base, 1, 1, WIDTH + 2, HEIGHT + 2, false)
local our_root = ours.create(our_base, 1, 1, WIDTH + 2, HEIGHT + 2, true)

-- A window of the game, ours on a terminal of the game, and ours on one of ours.
local windows = {
  window.create(game_parent, 2, 2, WIDTH, HEIGHT, true),
  ours.create(our_parent, 2, 2, WIDTH, HEIGHT, true),
  ours.create(our_root, 2, 2, WIDTH, HEIGHT, true),
}

local function text(length)
  local letters = {}
  for n = 1, length do letters[n] = string.char(math.random(32, 255)) end
  return table.concat(letters)
end

local function letters_of(length)
  local letters = {}
  for n = 1, length do letters[n] = ("%x"):format(math.random(0, 15)) end
  return table.concat(letters)
end

local function colour() return 2 ^ math.random(0, 15) end

local actions = {
  function()
    local written = text(math.random(0, WIDTH + 4))
    return "write", written
  end,
  function()
    local length = math.random(0, WIDTH + 4)
    return "blit", text(length), letters_of(length), letters_of(length)
  end,
  function() return "setCursorPos", math.random(-3, WIDTH + 3), math.random(-1, HEIGHT + 2) end,
  function() return "setCursorPos", 1, math.random(1, HEIGHT) end,
  function() return "setTextColour", colour() end,
  function() return "setBackgroundColor", colour() end,
  function() return "clear" end,
  function() return "clearLine" end,
  function() return "scroll", math.random(-HEIGHT - 1, HEIGHT + 1) end,
  function() return "setCursorBlink", math.random() < 0.5 end,
  function() return "setPaletteColour", colour(), math.random(), math.random(), math.random() end,
  function() return "setPaletteColour", colour(), math.random(0, 0xffffff) end,
  function() return "setVisible", math.random() < 0.7 end,
  function() return "redraw" end,
  function() return "restoreCursor" end,
  function()
    if math.random() < 0.5 then return "reposition", math.random(0, 3), math.random(0, 3) end
    return "reposition", math.random(0, 3), math.random(0, 3), math.random(1, WIDTH), math.random(1, HEIGHT)
  end,
}

local function lines_of(terminal)
  local lines = {}
  local _, height = terminal.getSize()
  for row = 1, height do lines[row] = table.concat({ terminal.getLine(row) }, "|") end
  return table.concat(lines, "\n")
end

local function state(terminal)
  local parts = { lines_of(terminal), tostring(terminal.getCursorBlink and terminal.getCursorBlink()) }
  for n = 0, 15 do
    for _, value in ipairs { terminal.getPaletteColour(2 ^ n) } do parts[#parts + 1] = ("%.4f"):format(value) end
  end
  local x, y = terminal.getCursorPos()
  local width, height = terminal.getSize()
  parts[#parts + 1] = ("%d %d of %d %d"):format(x, y, width, height)
  return table.concat(parts, " ")
end

local function own_state(terminal)
  local left, top = terminal.getPosition()
  local colours_now = ("%d on %d"):format(terminal.getTextColour(), terminal.getBackgroundColor())
  return ("%s at %d %d, %s"):format(state(terminal), left, top, colours_now)
end

-- What is read of ours from outside is what the window says of itself.
local function check_screen(terminal)
  local screen = ours.screen(terminal)
  local width, height = screen.size()
  local own_width, own_height = terminal.getSize()
  assert(width == own_width and height == own_height, "its size")
  for row = 1, height do
    local line, own_line = { screen.line(row) }, { terminal.getLine(row) }
    for n = 1, 3 do assert(line[n] == own_line[n] and #line[n] == width, "line " .. row) end
  end
  local x, y, blinks, number = screen.cursor()
  local own_x, own_y = terminal.getCursorPos()
  assert(x == own_x and y == own_y and 2 ^ number == terminal.getTextColour(), "its cursor")
  assert(blinks == (terminal.getCursorBlink and terminal.getCursorBlink()), "whether it blinks")
  assert(screen.colour == terminal.isColour(), "whether it has colours")
  for n, rgb in ipairs(screen.palette()) do
    local r, g, b = terminal.getPaletteColour(2 ^ (n - 1))
    local function near(value, shift)
      return math.abs(math.floor(rgb / shift) % 256 - value * 255) <= 0.5
    end
    assert(near(r, 65536) and near(g, 256) and near(b, 1), "colour " .. n)
  end
  return screen.version
end

for step = 1, 600 do
  if step % 20 == 0 then
    os.queueEvent("go on")
    os.pullEvent("go on")
  end
  local action = table.pack(actions[math.random(#actions)]())
  local before, version = own_state(windows[2]), ours.screen(windows[2]).version
  for n = 1, 3 do windows[n][action[1]](table.unpack(action, 2, action.n)) end
  local where = ("seed %d, step %d: %s"):format(seed, step, action[1])
  local wanted, wanted_parent = own_state(windows[1]), state(game_parent)
  for n = 2, 3 do
    assert(own_state(windows[n]) == wanted, where .. ": window " .. n)
  end
  assert(state(our_parent) == wanted_parent, where .. ": beneath ours")
  assert(lines_of(our_root) == lines_of(game_parent), where .. ": ours beneath ours")
  assert(lines_of(our_base) == lines_of(game_parent), where .. ": beneath both of ours")
  local version_after = check_screen(windows[2])
  check_screen(our_root)
  assert(version_after >= version, where .. ": the version shrank")
  local is_seen = action[1] ~= "setVisible" and action[1] ~= "setTextColour" and action[1] ~= "setBackgroundColor"
  local has_changed = own_state(windows[2]) ~= before
  assert(not has_changed or not is_seen or version_after > version, where .. ": the version stayed")
end

local taken = {}
for name in pairs(windows[1]) do taken[name] = true end
for name in pairs(taken) do assert(windows[2][name], "no " .. name) end
print("all alike")
