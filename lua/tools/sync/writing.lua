-- Writes, renames and deletes files of a computer for a sync: each whole or not at all, and only if it still is what
-- the sync has seen there. What is gone by that lies in the trash of `manage-files` for a while.

local breathe = require("shared.breathe")
local files = require("shared.files")
local hash_of = require("shared.hash")
local own_files = require("shared.own_files")
local paths = require("shared.paths")
local reason = require("shared.errors").reason
local trash = require("shared.trash")
local held = require("parts.held")
local placing = require("parts.placing")
local UNFINISHED = require("parts.unfinished")

local format = string.format
local max = math.max

-- What a step says of a file that was not there.
local NONE = "none"
local GONE = placing.GONE

-- Whether a file still is what it was; or nil and what it is. Its contents besides, if it is there.
local function as_it_was(path, was)
  if not fs.exists(path) then
    if was == NONE then return true end
    return nil, "it is gone from the computer meanwhile"
  end
  if fs.isDir(path) then return nil, "there is a folder of this name on the computer: rename or delete it" end
  local before, problem = files.read(path)
  if not before then return nil, problem end
  -- That takes a while, in which others may write.
  if hash_of(before) ~= was or files.read(path) ~= before then
    return nil, "it has changed on the computer meanwhile"
  end
  return true, before
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

-- Writes a part of a file beside what is there, or takes it into memory where there is no room for both. Tells whether
-- the file is whole then, and not written beside.
local function add_part(path, beside, step, before)
  local is_over = false
  if step.at == 0 then
    pcall(fs.delete, beside) -- what an earlier sync may have left
    local way, problem = placing.way(path, step.size, before, step.keep, step.trash)
    if not way then return nil, problem end
    is_over = way == "over"
    if is_over and step.more then held.begin(path, step.bytes) end
  elseif held.add(path, step.at, step.bytes) then
    is_over = true
  elseif held.has(path) or not fs.exists(beside) or fs.getSize(beside) ~= step.at then
    return nil, "what was written of it before is not there any more"
  end
  if is_over then return true, not step.more end
  local done, problem = files.write(beside, step.at > 0 and "ab" or "wb", step.bytes)
  if done then return true end
  pcall(fs.delete, beside)
  if not placing.is_full(problem) then return nil, problem end
  -- What a folder takes of the disk, say, the game does not tell before.
  if before and step.at == 0 and not step.more and not step.keep then return true, true end
  return nil, placing.no_room(path, step.size, step.was ~= NONE)
end

-- Writes a file, or a part of it: it gets its name with the last. Tells as `placing.put` does.
local function write_step(folder, path, step, now)
  local beside = path .. UNFINISHED
  local keep = step.keep and paths.absolute(fs.combine(folder, step.keep))
  local problem_above = in_the_way(folder, path)
  if problem_above then return nil, problem_above end
  local is, before
  if step.at == 0 or not step.more then
    is, before = as_it_was(path, step.was)
    if not is then
      pcall(fs.delete, beside)
      if held.has(path) then held.drop() end
      return nil, before
    end
  end
  local done, is_over = add_part(path, beside, step, before)
  if not done then return nil, is_over end
  if step.more then return true, 0 end
  if not is_over then return placing.put(path, beside, nil, before, keep, step.trash and now) end
  local bytes = step.at > 0 and held.take() or step.bytes
  return placing.put(path, nil, bytes, before, keep, step.trash and now)
end

-- Deletes a file, and the folders above it that are empty then. Tells as `placing.put` does.
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
  local moved, thrown = pcall(fs.move, from, beside)
  if not moved then
    -- Old games copy what they move, and leave the part that had room.
    if fs.exists(from) then pcall(fs.delete, beside) end
    return nil, reason(thrown)
  end
  local is_free = not fs.exists(path)
  moved, thrown = pcall(fs.move, beside, path)
  if moved then return true, 0 end
  if is_free then pcall(fs.delete, path) end
  if pcall(fs.move, beside, from) then return nil, reason(thrown) end
  return nil, format("%s, and it is %s now", reason(thrown), beside)
end

--- What a sync has done, step by step: for each in `told` an empty text, or why it was not done; in `kept` what
-- became of the old contents: the number in the trash, `GONE`, or 0 if there were none, or are kept as was asked.
-- `evicted` has the numbers of what is not in the trash any more, `request.overwritten` those of what the same sync has
-- overwritten before.
local function write(request)
  local folder, told, kept = paths.absolute(request.folder), {}, {}
  local now = trash.look()
  now.own = {}
  for _, number in ipairs(request.overwritten or {}) do now.own[number] = true end
  held.drop(true)
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
