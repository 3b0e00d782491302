-- Writes, renames and deletes files of a computer for a sync: each whole or not at all, and only if it still is what
-- the sync has seen there. What is gone by that lies in the trash of `manage-files` for a while.

local byte, find, format, gsub = string.byte, string.find, string.format, string.gsub
local floor, max = math.floor, math.max

-- What a file that is not whole yet is called behind its name. `reading.lua` has the same.
local NEW = ".sync-new"
-- The agent's own files.
local OWN = { ["/mcp-computer.lua"] = true, ["/startup/zz-mcp-computer.lua"] = true }
-- What a step says of a file that was not there.
local NONE = "none"
-- What is told of a file whose old contents are not in the trash.
local GONE = -1

-- The game stops code that runs for 7 s; and others want to run too.
local begun = os.clock()
local function breathe()
  if os.clock() - begun < 0.3 then return end
  sleep(0)
  begun = os.clock()
end

-- What a function throws, without the place in our code.
local function reason(problem)
  return (gsub(tostring(problem), "^[%w_%-%./]+:%d+: ", ""))
end

local function absolute(path)
  return "/" .. fs.combine("/", path)
end

-- See `reading.lua`, which has the same.
local function hash_of(text)
  local a, b = 1, 2
  for at = 1, #text, 4 do
    local one, two, three, four = byte(text, at, at + 3)
    local word = one + (two or 0) * 256 + (three or 0) * 65536 + (four or 0) * 16777216
    a, b = (a * 65599 + word) % 4294967291, (b * 31337 + word) % 4294967279
    if at % 65536 == 1 then breathe() end
  end
  a, b = (a * 65599 + #text) % 4294967291, (b * 31337 + #text) % 4294967279
  return format("%04x%04x%04x%04x", floor(a / 65536), a % 65536, floor(b / 65536), b % 65536)
end

-- Writes bytes to a path, in this mode. Out of space is told by any of the three.
local function put(path, mode, bytes)
  local file, problem = fs.open(path, mode)
  if not file then return nil, reason(problem) end
  local ok, thrown = pcall(file.write, bytes)
  local closed, then_thrown = pcall(file.close)
  if ok and closed then return true end
  return nil, reason(ok and then_thrown or thrown)
end

-- Whether a file still is what it was, or is not there if it may be gone; or nil and what it is. Its contents besides,
-- if it is there.
local function as_it_was(path, was, may_be_gone)
  if not fs.exists(path) then
    if was == NONE or may_be_gone then return true end
    return nil, "it is gone from the computer meanwhile"
  end
  if fs.isDir(path) then return nil, "there is a folder of this name on the computer: rename or delete it" end
  local file, problem = fs.open(path, "rb")
  if not file then return nil, reason(problem) end
  local before = file.readAll() or ""
  file.close()
  if hash_of(before) ~= was then return nil, "it has changed on the computer meanwhile" end
  return true, before
end

local function is_full(problem)
  return find(problem, "Out of space", 1, true) ~= nil
end

---------------------------------------------------------------- the trash

-- As `manage-files` has it (`managing.lua`): a folder for each deletion, named by its number, with what was deleted and
-- where that was.
local TRASH, ITEM, ORIGIN = "/.trash", "item", "origin"
-- How many deletions it holds, and bytes of them all.
local KEPT, SPACE = 50, 250000
-- What a file takes of a disk at least.
local LEAST = 500

local function place_of(number, name)
  return format("%s/%.0f%s", TRASH, number, name and "/" .. name or "")
end

local function size_of(path)
  if not fs.isDir(path) then return max(fs.getSize(path), LEAST) end
  local size = LEAST
  for _, name in ipairs(fs.list(path)) do size = size + size_of(fs.combine(path, name)) end
  return size
end

-- What is in the trash, the oldest first, and what it takes in all. It is looked at once for many steps.
local function trash_now()
  local trash = { total = 0, last = 0, evicted = {} }
  if not fs.isDir(TRASH) then return trash end
  for _, name in ipairs(fs.list(TRASH)) do
    local number = tonumber(name)
    if number and fs.exists(place_of(number, ITEM)) then
      trash[#trash + 1] = { number = number, size = size_of(place_of(number)) }
      trash.total, trash.last = trash.total + trash[#trash].size, max(trash.last, number)
    end
    breathe()
  end
  table.sort(trash, function(a, b) return a.number < b.number end)
  return trash
end

-- Takes the deletion at this place of the list out of the trash.
local function drop(trash, at)
  local dropped = table.remove(trash, at)
  trash.total = trash.total - dropped.size
  pcall(fs.delete, place_of(dropped.number))
  return dropped.number
end

-- Moves a file of this size to the trash, for which the oldest there may have to go. Gives its number there; nil if
-- there is no room for it.
local function into_trash(trash, path, size)
  size = max(size, LEAST) + LEAST
  if size > SPACE then return nil end
  while trash[1] and (trash.total + size > SPACE or #trash >= KEPT) do
    trash.evicted[#trash.evicted + 1] = drop(trash, 1)
  end
  -- No number is given again while the trash is looked at so.
  repeat trash.last = trash.last + 1 until not fs.exists(place_of(trash.last))
  local number = trash.last
  local ok, thrown = pcall(function()
    fs.makeDir(place_of(number))
    local put_down, problem = put(place_of(number, ORIGIN), "wb", path)
    if not put_down then error(problem, 0) end
    fs.move(path, place_of(number, ITEM))
  end)
  if ok then
    trash[#trash + 1] = { number = number, size = size }
    trash.total = trash.total + size
    return number
  end
  pcall(fs.delete, place_of(number))
  if is_full(reason(thrown)) then return nil end
  error(thrown, 0)
end

---------------------------------------------------------------- steps

-- Puts a file that is whole in the place of another, which goes to the path `keep` or to the trash if that is said.
-- Tells besides what became of the old one: its number in the trash, or that it is gone.
local function settle(path, beside, before, keep, trash)
  local kept, number
  local moved, thrown = pcall(function()
    if before and keep then
      fs.makeDir("/" .. fs.getDir(keep))
      fs.move(path, keep)
      kept = keep
    elseif before then
      number = trash and into_trash(trash, path, #before)
      kept = number and place_of(number, ITEM)
      if not number then fs.delete(path) end
    end
    fs.move(beside, path)
  end)
  if moved then return true, before and not keep and (number or GONE) or 0 end
  if before and not fs.exists(path) then
    if not (kept and pcall(fs.move, kept, path)) then put(path, "wb", before) end
    if number then drop(trash, #trash) end
  end
  pcall(fs.delete, beside)
  return nil, reason(thrown)
end

-- What a folder is below which a file can't be written, if there is such a one.
local function in_the_way(folder, path)
  local above = absolute(fs.getDir(path))
  while #above > #folder do
    if fs.exists(above) and not fs.isDir(above) then
      return format("%s is no folder but a file on the computer: rename or delete it", above)
    end
    above = absolute(fs.getDir(above))
  end
end

-- Writes a file, or a part of it: it gets its name with the last. Tells as `settle` does.
local function write_step(folder, path, step, trash)
  local beside = path .. NEW
  local keep = step.keep and absolute(fs.combine(folder, step.keep))
  local problem_above = in_the_way(folder, path)
  if problem_above then return nil, problem_above end
  local is, before
  local gone = 0
  if step.at == 0 or not step.more then
    is, before = as_it_was(path, step.was, step.at > 0)
    if not is then
      pcall(fs.delete, beside)
      return nil, before
    end
    -- Where there is no room for both, the old one goes first: the host has what follows it.
    local free = fs.getFreeSpace(fs.exists(path) and path or "/")
    if step.more and before and type(free) == "number" and free < step.size then
      if keep then return nil, "there is no room for it beside what is there, which no sync has brought" end
      fs.delete(path)
      gone = GONE
    end
  end
  if step.at > 0 and (not fs.exists(beside) or fs.getSize(beside) ~= step.at) then
    return nil, "what was written of it before is not there any more"
  end
  local done, problem = put(beside, step.at > 0 and "ab" or "wb", step.bytes)
  if not done then
    pcall(fs.delete, beside)
    if is_full(problem) and before and not keep and step.at == 0 and not step.more then
      done, problem = put(path, "wb", step.bytes)
      if done then return true, GONE end
      put(path, "wb", before)
    end
    return nil, problem
  end
  if step.more then return true, gone end
  return settle(path, beside, before, keep, step.trash and trash)
end

-- Deletes a file, and the folders above it that are empty then. Tells as `settle` does.
local function delete_step(folder, path, step, trash)
  if not fs.exists(path) then return true, 0 end
  local is, before = as_it_was(path, step.was)
  if not is then return nil, before end
  local number = step.trash and into_trash(trash, path, #before)
  if not number then fs.delete(path) end
  local above = absolute(fs.getDir(path))
  while #above > #folder and #fs.list(above) == 0 do
    fs.delete(above)
    above = absolute(fs.getDir(above))
  end
  return true, number or GONE
end

-- Gives a file another name, which may be the same but for capital letters: where the game takes both for one, a file
-- is not moved onto itself.
local function rename_step(folder, path, step)
  local from, beside = absolute(fs.combine(folder, step.from)), path .. NEW
  if not fs.exists(from) then return nil, "it is gone from the computer meanwhile" end
  local is, problem = as_it_was(from, step.was)
  if not is then return nil, problem end
  fs.move(from, beside)
  local moved, thrown = pcall(fs.move, beside, path)
  if moved then return true, 0 end
  pcall(fs.move, beside, from)
  return nil, reason(thrown)
end

--- What a sync has done, step by step: for each in `told` an empty text, or why it was not done; in `kept` what
-- became of the old contents: the number in the trash, `GONE`, or 0 if there were none, or are kept as was asked.
-- `evicted` has the numbers of what is not in the trash any more.
local function write(request)
  local folder, told, kept = absolute(request.folder), {}, {}
  local trash = trash_now()
  for i, step in ipairs(request.steps) do
    local path = absolute(fs.combine(folder, step.path))
    local ok, done, more = true, nil, "it is the agent's own file"
    if not OWN[path] then
      local act = step.delete and delete_step or step.from and rename_step or write_step
      ok, done, more = pcall(act, folder, path, step, trash)
    end
    if not ok then done, more = nil, reason(done) end
    told[i], kept[i] = done and "" or more, done and more or 0
    breathe()
  end
  return { told = told, kept = kept, evicted = trash.evicted }
end

return { write = write }
