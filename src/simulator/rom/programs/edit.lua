-- edit: a text editor with a menu on its last line, used by keys and by the mouse as the game's is.

local arguments = { ... }
if #arguments == 0 then
  print("Usage: " .. (arg and arg[0] or "edit") .. " <path>")
  return
end

local path = shell.resolve(arguments[1])
if fs.isDir(path) then
  print("Cannot edit a directory.")
  return
end
if not fs.exists(path) and not path:find(".", 1, true) then
  local ending = settings.get("edit.default_extension")
  if type(ending) == "string" and ending ~= "" then path = path .. "." .. ending end
end

-- Programs run in a better way from 1.95.3 on; what went wrong is told in red from 1.103 on.
local minor, patch = _HOST:match("ComputerCraft 1%.(%d+)%.?(%d*)")
minor, patch = tonumber(minor), tonumber(patch) or 0
local runs_well = minor > 95 or minor == 95 and patch >= 3

local is_colour = term.isColour()
local function of(colour) return is_colour and colour or colours.white end

local width, height = term.getSize()
local is_read_only = fs.isReadOnly(path)
local lines = {}
local x, y, left, top = 1, 1, 0, 0          -- the cursor, and how far the text is moved out of sight
local menu, chosen                          -- the entries, if the menu is open, and which of them
local completions, completion               -- what the word before the cursor may become, and which is shown
local status, is_bad = "", false
local is_running = true

---------------------------------------------------------------- drawing

local KEYWORDS = {}
for word in ("and break do else elseif end false for function goto if in local nil not or repeat return then true "
  .. "until while"):gmatch("%a+") do
  KEYWORDS[word] = true
end

local PIECES = {
  { "^%-%-.*", colours.green }, { '^"[^"]*"?', colours.red }, { "^'[^']*'?", colours.red },
  { "^%[%[.-%]%]", colours.red }, { "^[%a_][%w_]*" }, { "^[^%w_]" }, { "^%w+" },
}

local function draw_line(row)
  local line = lines[row]
  term.setCursorPos(1 - left, row - top)
  term.clearLine()
  if not line then return end
  local at = 1
  while at <= #line do
    for _, piece in ipairs(PIECES) do
      local text = line:match(piece[1], at)
      if text then
        term.setTextColour(of(piece[2] or KEYWORDS[text] and colours.yellow or colours.white))
        term.write(text)
        at = at + #text
        break
      end
    end
  end
  if row == y and completion then
    term.setTextColour(is_colour and colours.grey or colours.lightGrey)
    term.setBackgroundColour(is_colour and colours.black or colours.grey)
    term.write(completions[completion])
    term.setBackgroundColour(colours.black)
  end
  term.setTextColour(colours.white)
end

local function draw_text()
  for row = top + 1, top + height - 1 do draw_line(row) end
end

local function draw_bottom()
  term.setCursorPos(1, height)
  term.clearLine()
  if menu then
    for n, entry in ipairs(menu) do
      term.setTextColour(of(colours.yellow))
      term.write(n == chosen and "[" or " ")
      term.setTextColour(colours.white)
      term.write(entry)
      term.setTextColour(of(colours.yellow))
      term.write(n == chosen and "]" or " ")
    end
  else
    term.setTextColour(of(is_bad and minor >= 103 and colours.red or colours.yellow))
    term.write(status)
  end
  term.setCursorPos(width - #("Ln " .. y) + 1, height)
  term.setTextColour(of(colours.yellow))
  term.write("Ln ")
  term.setTextColour(colours.white)
  term.write(tostring(y))
end

local function place_cursor()
  term.setCursorPos(x - left, y - top)
  term.setCursorBlink(not menu)
end

local function say(text, bad)
  status, is_bad = text, bad == true
end

local function draw()
  draw_text()
  draw_bottom()
  place_cursor()
end

--- Looks for what the word before the cursor may become, and moves the text until the cursor is in sight.
local function settle()
  completions, completion = nil, nil
  local word = x == #lines[y] + 1 and not is_read_only and settings.get("edit.autocomplete")
    and lines[y]:match("[%a_][%w_%.:]*$")
  if word then
    local found = textutils.complete(word, _ENV)
    if found[1] then completions, completion = found, 1 end
  end
  if x - left < 1 then left = x - 1 elseif x - left > width then left = x - width end
  if y - top < 1 then top = y - 1 elseif y - top > height - 1 then top = y - height + 1 end
  draw()
end

---------------------------------------------------------------- the file

local function load_file()
  local file = fs.exists(path) and fs.open(path, "r")
  if file then
    for line in file.readLine do lines[#lines + 1] = line end
    file.close()
  end
  if #lines == 0 then lines[1] = "" end
end

--- Writes something to a file; what went wrong, if anything did.
local function write_file(to, write)
  local folder = fs.getDir(to)
  local file, problem
  local ok, failure = pcall(function()
    if not fs.exists(folder) then fs.makeDir(folder) end
    file, problem = fs.open(to, "w")
    if file then write(file) end
  end)
  if file then pcall(file.close) end
  if not ok then return tostring(failure):gsub("^.-:%d+: ", "") end
  return not file and (problem or to) or nil
end

local function write_lines(file)
  for _, line in ipairs(lines) do file.writeLine(line) end
end

-- What a tab runs that shows a program of the editor, and how it ended, until a key is pressed.
local RUN = [[
local title, name, text = %q, %q, %q
multishell.setTitle(multishell.getCurrent(), title)
local terminal = term.current()
local code, problem = load(text, name, "t", _ENV)
local ok = code ~= nil
if ok then ok, problem = pcall(code) end
term.redirect(terminal)
term.setTextColour(colours.white)
term.setBackgroundColour(colours.black)
term.setCursorBlink(false)
if not ok and problem and problem ~= "" then printError(problem) end
local _, y = term.getCursorPos()
local _, height = term.getSize()
if y >= height then term.scroll(y - height + 1) end
term.setCursorPos(1, height)
write("Press any key to continue.")
os.pullEvent("key")
-- What the key writes is not meant for the editor.
os.queueEvent("edit_end")
repeat until os.pullEvent() == "edit_end"
]]

local function run()
  local name = fs.getName(path)
  local temporary = is_read_only and ".temp" or fs.combine(fs.getDir(path), ".temp")
  local problem = write_file(temporary, function(file)
    if runs_well then
      file.write(RUN:format((name:gsub("%.lua$", "")), "@/" .. path, table.concat(lines, "\n")))
    else
      write_lines(file)
    end
  end)
  if problem then return say("Error saving to " .. temporary, true) end
  local tab = shell.openTab("/" .. temporary)
  if tab then shell.switchTab(tab) else say("Error starting Task", true) end
  fs.delete(temporary)
end

---------------------------------------------------------------- the menu

local ENTRIES = {
  Save = function()
    if is_read_only then return say("Access denied", true) end
    local problem = write_file(path, write_lines)
    if not problem then return say("Saved to " .. path) end
    say((minor >= 101 and "Error saving: " or "Error saving to ") .. problem, true)
  end,
  Run = run,
  Exit = function() is_running = false end,
}

local function open_menu()
  menu, chosen = {}, 1
  if not is_read_only then menu[1] = "Save" end
  if shell.openTab then menu[#menu + 1] = "Run" end
  menu[#menu + 1] = "Exit"
  completions, completion = nil, nil
  draw()
end

local function close_menu()
  menu = nil
  settle()
end

local function choose(n)
  local act = ENTRIES[menu[n]]
  menu = nil
  act()
  if is_running then settle() end
end

local function menu_key(key)
  if key == keys.left or key == keys.right then
    chosen = (chosen - 1 + (key == keys.left and -1 or 1)) % #menu + 1
    draw_bottom()
    place_cursor()
  elseif key == keys.enter or key == keys.numPadEnter then
    choose(chosen)
  elseif key == keys.leftCtrl or key == keys.rightCtrl then
    close_menu()
  end
end

local function menu_char(letter)
  for n, entry in ipairs(menu) do
    if entry:sub(1, 1):lower() == letter:lower() then return choose(n) end
  end
end

local function menu_click(column, row)
  if row ~= height then return close_menu() end
  local first = 1
  for n, entry in ipairs(menu) do
    if column >= first and column <= first + #entry + 1 then return choose(n) end
    first = first + #entry + 2
  end
  close_menu()
end

---------------------------------------------------------------- the text

local function insert(text)
  if is_read_only then return end
  lines[y] = lines[y]:sub(1, x - 1) .. text .. lines[y]:sub(x)
  x = x + #text
end

--- Puts the line below at the end of one.
local function join(row)
  lines[row] = lines[row] .. table.remove(lines, row + 1)
end

local function go(to_x, to_y)
  y = math.max(1, math.min(to_y, #lines))
  x = math.max(1, math.min(to_x, #lines[y] + 1))
end

local function accept_completion()
  insert(completions[completion])
end

--- The next completion is shown, or the one before.
local function turn(step)
  completion = (completion - 1 + step) % #completions + 1
  draw()
end

local KEYS = {
  [keys.up] = function() go(x, y - 1) end,
  [keys.down] = function() go(x, y + 1) end,
  [keys.left] = function()
    if x > 1 then x = x - 1 elseif y > 1 then go(math.huge, y - 1) end
  end,
  [keys.right] = function()
    if completion then return accept_completion() end
    if x <= #lines[y] then x = x + 1 elseif y < #lines then go(1, y + 1) end
  end,
  [keys.home] = function() x = 1 end,
  [keys["end"]] = function() x = #lines[y] + 1 end,
  [keys.pageUp] = function() go(x, y - (height - 1)) end,
  [keys.pageDown] = function() go(x, y + (height - 1)) end,
  [keys.tab] = function()
    if completion then accept_completion() else insert("    ") end
  end,
  [keys.enter] = function()
    if is_read_only then return end
    local line = lines[y]
    local indent = line:match("^ *")
    lines[y] = line:sub(1, x - 1)
    table.insert(lines, y + 1, indent .. line:sub(x))
    x, y = #indent + 1, y + 1
  end,
  [keys.backspace] = function()
    if is_read_only then return end
    if x > 1 then
      local count = lines[y]:sub(1, x - 1):match("    $") and 4 or 1
      lines[y] = lines[y]:sub(1, x - 1 - count) .. lines[y]:sub(x)
      x = x - count
    elseif y > 1 then
      x, y = #lines[y - 1] + 1, y - 1
      join(y)
    end
  end,
  [keys.delete] = function()
    if is_read_only then return end
    if x <= #lines[y] then
      lines[y] = lines[y]:sub(1, x - 1) .. lines[y]:sub(x + 1)
    elseif y < #lines then
      join(y)
    end
  end,
}
KEYS[keys.numPadEnter] = KEYS[keys.enter]

local function text_key(key)
  if key == keys.leftCtrl or key == keys.rightCtrl then return open_menu() end
  if completion and key == keys.up then return turn(-1) end
  if completion and key == keys.down then return turn(1) end
  local act = KEYS[key]
  if act then
    act()
    settle()
  end
end

local function text_click(button, column, row)
  if button ~= 1 then return end
  if row >= height then return open_menu() end
  go(left + column, top + row)
  settle()
end

---------------------------------------------------------------- the events

load_file()
if is_read_only and minor >= 105 then
  say("File is read only", true)
else
  local hint = is_colour and "Press Ctrl or click here to access menu" or "Press Ctrl to access menu"
  say(#hint <= width - 5 and hint or "Press Ctrl for menu")
end
term.setBackgroundColour(colours.black)
term.clear()
settle()

while is_running do
  local event, first, second, third = os.pullEvent()
  if event == "key" then
    if menu then menu_key(first) else text_key(first) end
  elseif event == "char" then
    if menu then
      menu_char(first)
    else
      insert(first)
      settle()
    end
  elseif event == "paste" and not is_read_only then
    menu = nil
    insert(first)
    settle()
  elseif event == "mouse_click" then
    if menu then menu_click(second, third) else text_click(first, second, third) end
  elseif event == "mouse_scroll" then
    top = math.max(0, math.min(top + first, #lines - (height - 1)))
    draw()
  elseif event == "term_resize" then
    width, height = term.getSize()
    settle()
  end
end

term.clear()
term.setCursorBlink(false)
term.setCursorPos(1, 1)
