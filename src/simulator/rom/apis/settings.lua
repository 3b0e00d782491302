-- settings: values that programs define, change, and save to a file.
-- luacheck: globals settings

local native = ...
local expect, field = native.expect, native.embedded("modules/main/cc/expect.lua").field

settings = {}

local definitions, values = {}, {}

local function copy(value)
  if type(value) ~= "table" then return value end
  local result = {}
  for key, item in pairs(value) do result[key] = copy(item) end
  return result
end

local function announce(name, new, old)
  os.queueEvent("setting_changed", name, copy(new), copy(old))
end

local function assign(name, value)
  local old = settings.get(name)
  values[name] = copy(value)
  if old ~= value then announce(name, value, old) end
end

function settings.define(name, options)
  expect(1, name, "string")
  expect(2, options, "table", "nil")
  options = options or {}
  field(options, "description", "string", "nil")
  field(options, "type", "string", "nil")
  definitions[name] = { description = options.description, default = copy(options.default), type = options.type }
end

function settings.undefine(name)
  expect(1, name, "string")
  definitions[name] = nil
end

function settings.set(name, value)
  expect(1, name, "string")
  expect(2, value, "number", "string", "boolean", "table")
  local definition = definitions[name]
  if definition and definition.type and type(value) ~= definition.type then
    error(("bad argument #2 (%s expected, got %s)"):format(definition.type, type(value)), 2)
  end
  assign(name, value)
end

function settings.get(name, default)
  expect(1, name, "string")
  local value = values[name]
  if value ~= nil then return copy(value) end
  if default ~= nil then return default end
  local definition = definitions[name]
  return definition and copy(definition.default)
end

function settings.getDetails(name)
  expect(1, name, "string")
  local details = copy(definitions[name]) or {}
  details.value = copy(values[name])
  details.changed = details.value ~= nil
  if details.value == nil then details.value = details.default end
  return details
end

function settings.unset(name)
  expect(1, name, "string")
  local old = values[name]
  values[name] = nil
  if old ~= nil then announce(name, nil, old) end
end

function settings.clear()
  for name in pairs(copy(values)) do settings.unset(name) end
end

function settings.getNames()
  local names = {}
  for name in pairs(definitions) do names[#names + 1] = name end
  for name in pairs(values) do
    if not definitions[name] then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

function settings.load(path)
  expect(1, path, "string", "nil")
  local file = fs.open(path or ".settings", "r")
  if not file then return false end
  local loaded = textutils.unserialise(file.readAll())
  file.close()
  if type(loaded) ~= "table" then return false end
  for name, value in pairs(loaded) do
    local kind = type(value)
    if type(name) == "string" and (kind == "string" or kind == "number" or kind == "boolean" or kind == "table") then
      assign(name, value)
    end
  end
  return true
end

function settings.save(path)
  expect(1, path, "string", "nil")
  local file = fs.open(path or ".settings", "w")
  if not file then return false end
  file.write(textutils.serialise(values))
  file.close()
  return true
end

for name, definition in pairs {
  ["shell.allow_startup"] = { default = true, description = "Run startup files when the computer turns on." },
  ["shell.allow_disk_startup"] = {
    default = native.os.kind ~= "command",
    description = "Run startup files from disk drives.",
  },
  ["shell.autocomplete"] = { default = true, description = "Autocomplete program names and arguments." },
  ["edit.autocomplete"] = { default = true, description = "Autocomplete names in the editor." },
  ["lua.autocomplete"] = { default = true, description = "Autocomplete names in the Lua prompt." },
  ["bios.use_multishell"] = { default = true, description = "Run programs in tabs on advanced computers." },
  ["list.show_hidden"] = { default = false, description = "Show files whose names start with a dot." },
  ["edit.default_extension"] = { default = "lua", description = "The ending that new files of the editor get." },
  ["motd.enable"] = { default = native.os.kind ~= "pocket", description = "Show a message at the start." },
  ["motd.path"] = { default = "/rom/motd.txt:/motd.txt", description = "The files that messages are taken from." },
} do
  definition.type = type(definition.default)
  settings.define(name, definition)
end

settings.load(".settings")
