-- Writes and deletes files of a computer for a sync: each whole or not at all, and only if it still is what the sync
-- has seen there.

local byte, find, format, gsub = string.byte, string.find, string.format, string.gsub
local floor = math.floor

-- What a file that is not whole yet is called behind its name. `reading.lua` has the same.
local NEW = ".sync-new"
-- The agent's own files.
local OWN = { ["/mcp-computer.lua"] = true, ["/startup/zz-mcp-computer.lua"] = true }
-- What a step says of a file that was not there.
local NONE = "none"

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

-- Puts a file that is whole in the place of another, which goes to `keep` if that is said.
local function settle(path, beside, before, keep)
  local moved, thrown = pcall(function()
    if before and keep then
      fs.makeDir("/" .. fs.getDir(keep))
      fs.move(path, keep)
    elseif before then
      fs.delete(path)
    end
    fs.move(beside, path)
  end)
  if moved then return true end
  if before and not fs.exists(path) then
    if not (keep and pcall(fs.move, keep, path)) then put(path, "wb", before) end
  end
  pcall(fs.delete, beside)
  return nil, reason(thrown)
end

local function is_full(problem)
  return find(problem, "Out of space", 1, true) ~= nil
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

-- Writes a file, or a part of it: it gets its name with the last.
local function write_step(folder, path, step)
  local beside = path .. NEW
  local keep = step.keep and absolute(fs.combine(folder, step.keep))
  local problem_above = in_the_way(folder, path)
  if problem_above then return nil, problem_above end
  local is, before
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
      if done then return true end
      put(path, "wb", before)
    end
    return nil, problem
  end
  if step.more then return true end
  return settle(path, beside, before, keep)
end

-- Deletes a file, and the folders above it that are empty then.
local function delete_step(folder, path, was)
  if not fs.exists(path) then return true end
  local is, problem = as_it_was(path, was)
  if not is then return nil, problem end
  fs.delete(path)
  local above = absolute(fs.getDir(path))
  while #above > #folder and #fs.list(above) == 0 do
    fs.delete(above)
    above = absolute(fs.getDir(above))
  end
  return true
end

--- What a sync has done, step by step: for each an empty text, or why it was not done.
local function write(request)
  local folder, told = absolute(request.folder), {}
  for i, step in ipairs(request.steps) do
    local path = absolute(fs.combine(folder, step.path))
    local ok, done, problem
    if OWN[path] then
      ok, problem = true, "it is the agent's own file"
    elseif step.delete then
      ok, done, problem = pcall(delete_step, folder, path, step.was)
    else
      ok, done, problem = pcall(write_step, folder, path, step)
    end
    if not ok then done, problem = nil, reason(done) end
    told[i] = done and "" or problem
    breathe()
  end
  return { told = told }
end

return { write = write }
