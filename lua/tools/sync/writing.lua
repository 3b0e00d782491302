-- Writes, renames and deletes files of a computer for a sync: each whole or not at all, and only if it still is what
-- the sync has seen there. What is gone by that lies in the trash of `manage-files` for a while.

local breathe = require("shared.breathe")
local files = require("shared.files")
local hash_of = require("shared.hash")
local own_files = require("shared.own_files")
local paths = require("shared.paths")
local reason = require("shared.errors").reason
local trash = require("shared.trash")
local UNFINISHED = require("parts.unfinished")

local find, format = string.find, string.format
local max = math.max

-- What a step says of a file that was not there.
local NONE = "none"
-- What is told of a file whose old contents are not in the trash.
local GONE = -1

-- Whether a file still is what it was, or is not there if it may be gone; or nil and what it is. Its contents besides,
-- if it is there.
local function as_it_was(path, was, may_be_gone)
  if not fs.exists(path) then
    if was == NONE or may_be_gone then return true end
    return nil, "it is gone from the computer meanwhile"
  end
  if fs.isDir(path) then return nil, "there is a folder of this name on the computer: rename or delete it" end
  local before, problem = files.read(path)
  if not before then return nil, problem end
  if hash_of(before) ~= was then return nil, "it has changed on the computer meanwhile" end
  return true, before
end

local function is_full(problem)
  return find(problem, "Out of space", 1, true) ~= nil
end

-- Puts a file that is whole in the place of another, which goes to the path `keep` or to the trash if that is said.
-- Tells besides what became of the old one: its number in the trash, or that it is gone.
local function settle(path, beside, before, keep, now)
  local kept, number
  local moved, thrown = pcall(function()
    if before and keep then
      fs.makeDir("/" .. fs.getDir(keep))
      fs.move(path, keep)
      kept = keep
    elseif before then
      number = now and trash.put(now, path, max(#before, trash.LEAST))
      kept = number and trash.item(number)
      if not number then fs.delete(path) end
    end
    fs.move(beside, path)
  end)
  if moved then return true, before and not keep and (number or GONE) or 0 end
  if before and not fs.exists(path) then
    if not (kept and pcall(fs.move, kept, path)) then files.write(path, "wb", before) end
    if number then trash.drop(now, #now) end
  end
  pcall(fs.delete, beside)
  return nil, reason(thrown)
end

-- What a folder is below which a file can't be written, if there is such a one.
local function in_the_way(folder, path)
  local above = paths.absolute(fs.getDir(path))
  while #above > #folder do
    if fs.exists(above) and not fs.isDir(above) then
      return format("%s is no folder but a file on the computer: rename or delete it", above)
    end
    above = paths.absolute(fs.getDir(above))
  end
end

-- Writes a file, or a part of it: it gets its name with the last. Tells as `settle` does.
local function write_step(folder, path, step, now)
  local beside = path .. UNFINISHED
  local keep = step.keep and paths.absolute(fs.combine(folder, step.keep))
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
  local done, problem = files.write(beside, step.at > 0 and "ab" or "wb", step.bytes)
  if not done then
    pcall(fs.delete, beside)
    if is_full(problem) and before and not keep and step.at == 0 and not step.more then
      done, problem = files.write(path, "wb", step.bytes)
      if done then return true, GONE end
      files.write(path, "wb", before)
    end
    return nil, problem
  end
  if step.more then return true, gone end
  return settle(path, beside, before, keep, step.trash and now)
end

-- Deletes a file, and the folders above it that are empty then. Tells as `settle` does.
local function delete_step(folder, path, step, now)
  if not fs.exists(path) then return true, 0 end
  local is, before = as_it_was(path, step.was)
  if not is then return nil, before end
  local number = step.trash and trash.put(now, path, max(#before, trash.LEAST))
  if not number then fs.delete(path) end
  local above = paths.absolute(fs.getDir(path))
  while #above > #folder and #fs.list(above) == 0 do
    fs.delete(above)
    above = paths.absolute(fs.getDir(above))
  end
  return true, number or GONE
end

-- Gives a file another name, which may be the same but for capital letters: where the game takes both for one, a file
-- is not moved onto itself.
local function rename_step(folder, path, step)
  local from, beside = paths.absolute(fs.combine(folder, step.from)), path .. UNFINISHED
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
  local folder, told, kept = paths.absolute(request.folder), {}, {}
  local now = trash.look()
  for i, step in ipairs(request.steps) do
    local path = paths.absolute(fs.combine(folder, step.path))
    local ok, done, more = true, nil, "it is the agent's own file"
    if not own_files[path] then
      local act = step.delete and delete_step or step.from and rename_step or write_step
      ok, done, more = pcall(act, folder, path, step, now)
    end
    if not ok then done, more = nil, reason(done) end
    told[i], kept[i] = done and "" or more, done and more or 0
    breathe()
  end
  return { told = told, kept = kept, evicted = now.evicted }
end

return { write = write }
