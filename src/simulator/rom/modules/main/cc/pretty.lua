-- cc.pretty: Lua values as a reader likes to see them. Layout is simpler than the game's.

local expect = require("cc.expect").expect
-- As in the game, the one of when the module was loaded.
local write = write

local function text_of(value, indent, seen)
  if type(value) == "string" then return (("%q"):format(value):gsub("\\\n", "\\n")) end
  if type(value) ~= "table" or seen[value] then return tostring(value) end
  local meta = getmetatable(value)
  if type(meta) == "table" and meta.__tostring then return tostring(value) end
  if next(value) == nil then return "{}" end
  seen[value] = true
  local parts, listed = {}, {}
  for n, item in ipairs(value) do
    listed[n] = true
    parts[n] = text_of(item, indent .. "  ", seen)
  end
  local keys = {}
  for key in pairs(value) do
    if not listed[key] then keys[#keys + 1] = key end
  end
  table.sort(keys, function(a, b)
    if type(a) == type(b) and (type(a) == "string" or type(a) == "number") then return a < b end
    return tostring(a) < tostring(b)
  end)
  for _, key in ipairs(keys) do
    local name = type(key) == "string" and key:match("^[%a_][%w_]*$") or "[" .. text_of(key, indent, seen) .. "]"
    parts[#parts + 1] = name .. " = " .. text_of(value[key], indent .. "  ", seen)
  end
  seen[value] = nil
  local line = "{ " .. table.concat(parts, ", ") .. " }"
  if #line + #indent <= term.getSize() and not line:find("\n") then return line end
  return "{\n" .. indent .. "  " .. table.concat(parts, ",\n" .. indent .. "  ") .. ",\n" .. indent .. "}"
end

local pretty_module = {}

function pretty_module.pretty(value, options)
  expect(2, options, "table", "nil")
  return { text = text_of(value, "", {}) }
end

function pretty_module.render(document) return document.text end

function pretty_module.print(document)
  write(document.text)
  write("\n")
end

function pretty_module.write(document) write(document.text) end

function pretty_module.pretty_print(value) pretty_module.print(pretty_module.pretty(value)) end

local names = { "concat", "nest", "group", "text" }
for _, name in ipairs(names) do
  pretty_module[name] = function()
    error("the simulated computer has no 'cc.pretty." .. name .. "' yet", 2)
  end
end

return pretty_module
