-- A panel with buttons, a submenu and a text field: `panel` on the screen, `panel SIDE` on a monitor, where the text is
-- typed at the computer. It ends with what was done by it.

local side = ...
local screen = side and peripheral.wrap(side) or term.current()
if side then screen.setTextScale(0.5) end

local page, focused, name, lamp, done = "main", false, "", false, {}

local function note(text) done[#done + 1] = text end

local pages = {
  main = {
    { x = 2, y = 3, text = "Lamp", act = function()
      lamp = not lamp
      note(lamp and "lamp on" or "lamp off")
    end },
    { x = 12, y = 3, text = "Doors...", act = function() page = "doors" end },
    { x = 2, y = 5, text = "Quit", act = function() page = nil end },
  },
  doors = {
    { x = 2, y = 3, text = "Open all", act = function() note("doors open") end },
    { x = 2, y = 5, text = "Back", act = function() page = "main" end },
  },
}

local field = { x = 8, y = 7, width = 12 }

local function write_at(x, y, text, colour, behind)
  term.setCursorPos(x, y)
  term.setTextColour(colour)
  term.setBackgroundColour(behind)
  term.write(text)
end

local function draw()
  local before = term.redirect(screen)
  local width = term.getSize()
  term.setBackgroundColour(colours.blue)
  term.clear()
  paintutils.drawLine(1, 1, width, 1, colours.lightBlue)
  write_at(2, 1, "Panel: " .. page, colours.black, colours.lightBlue)
  for _, button in ipairs(pages[page]) do
    local behind = button.text == "Lamp" and lamp and colours.lime or colours.grey
    paintutils.drawFilledBox(button.x, button.y, button.x + #button.text + 1, button.y, behind)
    write_at(button.x + 1, button.y, button.text, colours.white, behind)
  end
  write_at(2, field.y, "Name:", colours.white, colours.blue)
  local behind = focused and colours.white or colours.lightGrey
  paintutils.drawBox(field.x, field.y, field.x + field.width - 1, field.y, behind)
  write_at(field.x, field.y, name, colours.black, behind)
  write_at(2, 9, done[#done] or "nothing done", colours.yellow, colours.blue)
  term.redirect(before)
end

local function click(x, y)
  focused = y == field.y and x >= field.x and x < field.x + field.width
  for _, button in ipairs(pages[page]) do
    if y == button.y and x >= button.x and x <= button.x + #button.text + 1 then return button.act() end
  end
end

while page do
  draw()
  local event, first, x, y = os.pullEvent()
  if event == (side and "monitor_touch" or "mouse_click") then
    click(x, y)
  elseif focused and event == "char" then
    name = name .. first
  elseif focused and event == "key" and first == keys.backspace then
    name = name:sub(1, -2)
  elseif focused and event == "key" and first == keys.enter then
    focused = false
    note("name " .. name)
  end
end

term.setTextColour(colours.white)
term.setBackgroundColour(colours.black)
term.clear()
term.setCursorPos(1, 1)
print("Done: " .. table.concat(done, ", "))
