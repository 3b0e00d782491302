-- peripheral and disk: what is beside the computer, on it, and on its cable.
-- luacheck: globals peripheral disk

local native = ...
local expect, at_least = native.expect, native.os.atLeast
local land = native.land

-- The name of each table that `peripheral.wrap` has made, and its kinds.
local wrapped_names, wrapped_types = setmetatable({}, { __mode = "k" }), setmetatable({}, { __mode = "k" })

--- The kinds of a peripheral as this version tells them: one only before 1.99.
local function types_of(name)
  local types = land.describe(name)
  if types and not at_least(1, 99) then return { types[1] } end
  return types
end

peripheral = {}

function peripheral.getNames() return land.names() end

function peripheral.isPresent(name)
  expect(1, name, "string")
  return types_of(name) ~= nil
end

--- The kinds of a name or a wrapped table.
local function kinds(subject)
  expect(1, subject, "string", "table")
  if type(subject) == "string" then return types_of(subject) end
  return wrapped_types[subject] or error("bad argument #1 (table is not a peripheral)", 3)
end

function peripheral.getType(subject)
  local types = kinds(subject)
  if types then return table.unpack(types) end
  return nil
end

if at_least(1, 99) then
  function peripheral.hasType(subject, kind)
    expect(2, kind, "string")
    local types = kinds(subject)
    if not types then return nil end
    for _, one in ipairs(types) do
      if one == kind then return true end
    end
    return false
  end
end

function peripheral.getMethods(name)
  expect(1, name, "string")
  return (select(2, land.describe(name)))
end

function peripheral.getName(wrapped)
  expect(1, wrapped, "table")
  return wrapped_names[wrapped] or error("bad argument #1 (table is not a peripheral)", 2)
end

--- The results of a call, or an error where the program called.
local function finish(level, ok, ...)
  if not ok then error((...), level + 1) end
  return ...
end

local call

--- What came at once, or once the game has done it.
local function settle(level, task, ...)
  if not task then return finish(level + 1, ...) end
  local done
  repeat
    done = table.pack(os.pullEvent("task_complete"))
  until done[2] == task
  return finish(level + 1, table.unpack(done, 3, done.n))
end

function call(level, name, method, ...)
  if types_of(name) == nil then return nil end
  if method == "callRemote" then
    local remote, of_it = ...
    expect(1, remote, "string")
    expect(2, of_it, "string")
    if types_of(remote) == nil then error("No peripheral: " .. remote, level + 1) end
    return (function(...) return settle(level + 2, land.call(...)) end)(...)
  end
  local before = method == "ejectDisk" and native.fs.hasFloppy() and land.call(name, "getMountPath")
  local results = table.pack(settle(level + 1, land.call(name, method, ...)))
  if before ~= false and method == "ejectDisk" then native.fs.removeFloppy() end
  return table.unpack(results, 1, results.n)
end

function peripheral.call(name, method, ...)
  expect(1, name, "string")
  expect(2, method, "string")
  local results = table.pack(call(2, name, method, ...))
  return table.unpack(results, 1, results.n)
end

function peripheral.wrap(name)
  expect(1, name, "string")
  local types, methods = types_of(name), peripheral.getMethods(name)
  if not types then return nil end
  local wrapped = {}
  for _, method in ipairs(methods) do
    -- By whatever stands there when it is called, as in the game: programs put functions of their own in its place.
    wrapped[method] = function(...) return peripheral.call(name, method, ...) end
  end
  wrapped_names[wrapped], wrapped_types[wrapped] = name, types
  return wrapped
end

function peripheral.find(kind, filter)
  expect(1, kind, "string")
  expect(2, filter, "function", "nil")
  local found = {}
  for _, name in ipairs(peripheral.getNames()) do
    local is_one = false
    for _, one in ipairs(types_of(name) or {}) do is_one = is_one or one == kind end
    if is_one then
      local wrapped = peripheral.wrap(name)
      if wrapped and (not filter or filter(name, wrapped)) then found[#found + 1] = wrapped end
    end
  end
  return table.unpack(found)
end

---------------------------------------------------------------- disk drives

disk = {}
for name, method in pairs {
  isPresent = "isDiskPresent", hasData = "hasData", getMountPath = "getMountPath", getID = "getDiskID",
  getLabel = "getDiskLabel", setLabel = "setDiskLabel", hasAudio = "hasAudio", getAudioTitle = "getAudioTitle",
  playAudio = "playAudio", stopAudio = "stopAudio", eject = "ejectDisk",
} do
  local asks = name == "isPresent" or name == "hasData" or name == "hasAudio"
  disk[name] = function(where, ...)
    expect(1, where, "string", name == "stopAudio" and "nil" or nil)
    if where and peripheral.getType(where) == "drive" then return peripheral.call(where, method, ...) end
    if asks then return false end
    return nil
  end
end
