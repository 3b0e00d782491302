-- read: a line typed by the player.
-- luacheck: globals read

local native = ...
local expect = native.expect

function read(mask, history, complete, default)
  expect(1, mask, "string", "nil")
  expect(2, history, "table", "nil")
  expect(3, complete, "function", "nil")
  expect(4, default, "string", "nil")
  mask = mask and mask:sub(1, 1)

  local line = default or ""
  local cursor = #line
  local scroll = 0
  local chosen
  local left, row = term.getCursorPos()
  local width = term.getSize()

  local function draw(with)
    local space = width - left
    if cursor - scroll >= space then scroll = cursor - space end
    if cursor < scroll then scroll = cursor end
    term.setCursorPos(left, row)
    local shown = line:sub(scroll + 1)
    term.write(with and with:rep(#shown) or mask and mask:rep(#shown) or shown)
    term.setCursorPos(left + cursor - scroll, row)
  end

  local function change(to, at)
    draw(" ")
    line, cursor = to, at
    draw()
  end

  local function insert(text)
    change(line:sub(1, cursor) .. text .. line:sub(cursor + 1), cursor + #text)
  end

  local function recall(step)
    if not history or #history == 0 then return end
    local at = (chosen or #history + 1) + step
    chosen = at <= #history and math.max(at, 1) or nil
    local text = chosen and history[chosen] or ""
    change(text, #text)
  end

  local actions = {
    [keys.left] = function() change(line, math.max(cursor - 1, 0)) end,
    [keys.right] = function() change(line, math.min(cursor + 1, #line)) end,
    [keys.home] = function() change(line, 0) end,
    [keys["end"]] = function() change(line, #line) end,
    [keys.up] = function() recall(-1) end,
    [keys.down] = function() recall(1) end,
    [keys.delete] = function() change(line:sub(1, cursor) .. line:sub(cursor + 2), cursor) end,
    [keys.backspace] = function()
      if cursor > 0 then change(line:sub(1, cursor - 1) .. line:sub(cursor + 1), cursor - 1) end
    end,
  }

  term.setCursorBlink(true)
  draw()
  while true do
    local event, value = os.pullEvent()
    if event == "char" or event == "paste" then
      insert(value)
    elseif event == "key" then
      if value == keys.enter or value == keys.numPadEnter then break end
      if actions[value] then actions[value]() end
    elseif event == "term_resize" then
      width = term.getSize()
      draw()
    end
  end
  term.setCursorBlink(false)
  term.setCursorPos(width + 1, row)
  print()
  return line
end
