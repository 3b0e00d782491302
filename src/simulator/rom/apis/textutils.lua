-- textutils: slow printing, tables on the screen, and values as text.
-- luacheck: globals textutils

local native = ...
local expect, at_least = native.expect, native.os.atLeast

textutils = {}

--- A module of the game's own, as programs get it by `require`.
local function game_module(name)
  local environment = setmetatable({}, { __index = _G })
  local make_require = loadfile("/rom/modules/main/cc/require.lua", nil, _G)
  environment.require = make_require(dofile("/rom/modules/main/cc/expect.lua")).make(environment, "")
  return environment.require(name)
end

function textutils.slowWrite(text, rate)
  expect(2, rate, "number", "nil")
  rate = rate or 20
  if rate < 0 then error("Rate must be positive", 2) end
  text = tostring(text)
  if at_least(1, 98) then
    local wrapped = table.concat(game_module("cc.strings").wrap(text, (term.getSize())), "\n")
    for n = 1, #wrapped do
      sleep(1 / rate)
      write(wrapped:sub(n, n))
    end
    return
  end
  -- Each time all that is there by now, in the same place.
  local x, y = term.getCursorPos()
  for n = 1, #text do
    term.setCursorPos(x, y)
    sleep(1 / rate)
    local lines = write(text:sub(1, n))
    local _, now = term.getCursorPos()
    y = now - lines
  end
end

function textutils.slowPrint(text, rate)
  textutils.slowWrite(text, rate)
  print()
end

function textutils.formatTime(time, full_day)
  expect(1, time, "number")
  expect(2, full_day, "boolean", "nil")
  local hour = math.floor(time)
  local minute = math.floor((time - hour) * 60)
  if full_day then return ("%d:%02d"):format(hour, minute) end
  local half = hour % 24 < 12 and "AM" or "PM"
  hour = hour % 12
  return ("%d:%02d %s"):format(hour == 0 and 12 or hour, minute, half)
end

--- Prints on a copy of the terminal that waits for a key before each line beyond the first few that scroll it.
function textutils.pagedPrint(text, free_lines)
  expect(2, free_lines, "number", "nil")
  local left = free_lines or 0
  local below = term.current()
  local pager = {}
  for name, method in pairs(below) do pager[name] = method end

  local function wait()
    local _, height = below.getSize()
    below.setCursorPos(1, height)
    below.write("Press any key to continue")
    os.pullEvent("key")
    below.clearLine()
    below.setCursorPos(1, height)
  end

  function pager.scroll(count)
    for _ = 1, count do
      below.scroll(1)
      if left > 0 then left = left - 1 else wait() end
    end
  end

  term.redirect(pager)
  local ok, lines = pcall(function()
    if text == nil then return print() end
    return print(text)
  end)
  term.redirect(below)
  if not ok then error(lines, 0) end
  return lines
end

-- Each cell is drawn in its place; only the ends of lines are printed.
local function tabulate(is_paged, ...)
  local rows = table.pack(...)
  local width, height = term.getSize()
  local cell_width = width / 8
  for n = 1, rows.n do
    expect(n, rows[n], "table", "number")
    if type(rows[n]) == "table" then
      for k, cell in pairs(rows[n]) do
        if type(cell) ~= "string" and (type(cell) ~= "number" or not at_least(1, 95)) then
          error(("bad argument #%d.%s (string expected, got %s)"):format(n, tostring(k), type(cell)), 3)
        end
        cell_width = math.max(cell_width, #tostring(cell) + 1)
      end
    end
  end
  local columns = math.floor(width / cell_width)
  local broken = 0

  local function break_line()
    if is_paged and broken >= height - 3 then textutils.pagedPrint() else print() end
    broken = broken + 1
  end

  local before = term.getTextColour()
  for _, row in ipairs(rows) do
    if type(row) == "number" then
      term.setTextColour(row)
    elseif #row > 0 then
      local column = 0
      for _, cell in ipairs(row) do
        if column >= columns and column > 0 then
          break_line()
          column = 0
        end
        local _, y = term.getCursorPos()
        term.setCursorPos(1 + column * cell_width, y)
        term.write(cell)
        column = column + 1
      end
      print()
    end
  end
  term.setTextColour(before)
end

function textutils.tabulate(...) return tabulate(false, ...) end

function textutils.pagedTabulate(...) return tabulate(true, ...) end

---------------------------------------------------------------- Lua values as Lua source

local reserved = {}
for word in ([[and break do else elseif end false for function if in local nil not or repeat return then true until
  while goto]]):gmatch("%a+") do
  reserved[word] = true
end

local function quoted(text)
  return ("%q"):format(text)
end

local function serialise(value, seen, indent, options, path)
  local kind = type(value)
  if kind == "string" then return quoted(value) end
  if kind == "number" then
    if value ~= value then return "0/0" end
    if value == math.huge then return "1/0" end
    if value == -math.huge then return "-1/0" end
    return tostring(value)
  end
  if kind == "boolean" or kind == "nil" then return tostring(value) end
  if kind ~= "table" then error("Cannot serialize type " .. kind, 0) end
  if seen[value] ~= nil then
    local open = seen[value]
    error("Cannot serialize table with " .. (open and "recursive" or "repeated") .. " entries", 0)
  end
  seen[value] = true
  local text
  if next(value) == nil then
    text = "{}"
  else
    local inner = indent .. "  "
    local open, close, gap = "{\n", ",\n", " = "
    if options.compact then open, close, gap, inner = "{", ",", "=", "" end
    local parts = { open }
    local listed = {}
    for n, item in ipairs(value) do
      listed[n] = true
      parts[#parts + 1] = inner .. serialise(item, seen, inner, options, path) .. close
    end
    for key, item in pairs(value) do
      if not listed[key] then
        local name
        if type(key) == "string" and not reserved[key] and key:match("^[%a_][%w_]*$") then
          name = key
        else
          name = "[" .. (options.compact and "" or " ") .. serialise(key, seen, inner, options, path)
            .. (options.compact and "" or " ") .. "]"
        end
        parts[#parts + 1] = inner .. name .. gap .. serialise(item, seen, inner, options, path) .. close
      end
    end
    parts[#parts + 1] = options.compact and "}" or indent .. "}"
    text = table.concat(parts)
  end
  if options.allow_repetitions then seen[value] = nil else seen[value] = false end
  return text
end

function textutils.serialise(value, options)
  expect(2, options, "table", "nil")
  local ok, text = pcall(serialise, value, {}, "", options or {}, "")
  if not ok then error(text, 2) end
  return text
end

function textutils.unserialise(text)
  expect(1, text, "string")
  local chunk = load("return " .. text, "=unserialise", "t", {})
  if not chunk then return nil end
  local ok, value = pcall(chunk)
  if ok then return value end
  return nil
end

textutils.serialize, textutils.unserialize = textutils.serialise, textutils.unserialise

function textutils.urlEncode(text)
  expect(1, text, "string")
  text = text:gsub("\n", "\r\n")
  text = text:gsub("[^A-Za-z0-9 %-%_%.]", function(letter)
    local byte = letter:byte()
    -- A byte stands for the character of that number, which is sent as UTF-8.
    if byte < 128 then return ("%%%02X"):format(byte) end
    return ("%%%02X%%%02X"):format(0xc0 + math.floor(byte / 64), 0x80 + byte % 64)
  end)
  return (text:gsub(" ", "+"))
end

function textutils.complete(text, environment)
  expect(1, text, "string")
  expect(2, environment, "table", "nil")
  local scope = environment or _G
  local owner, rest = text:match("^(.*)[%.:](.-)$")
  local only_functions = owner ~= nil and text:sub(#owner + 1, #owner + 1) == ":"
  for name in (owner or ""):gmatch("[^%.:]*") do
    if name ~= "" then scope = type(scope) == "table" and scope[name] or nil end
  end
  rest = rest or text
  local found, seen = {}, {}
  while type(scope) == "table" do
    for name, value in pairs(scope) do
      if type(name) == "string" and name:match("^[%a_][%w_]*$") and name:sub(1, #rest) == rest and not seen[name] then
        seen[name] = true
        local kind = type(value)
        local ending = kind == "function" and "(" or kind == "table" and not only_functions and "." or ""
        local more = name:sub(#rest + 1) .. ending
        if more ~= "" and (kind == "function" or not only_functions) then found[#found + 1] = more end
      end
    end
    local meta = getmetatable(scope)
    scope = type(meta) == "table" and meta.__index or nil
  end
  table.sort(found)
  return found
end
