-- What stands in a folder of a computer, for a sync: sizes and hashes, and contents piece by piece. It changes nothing.

local breathe = require("shared.breathe")
local hash_of = require("shared.hash")
local own_files = require("shared.own_files")
local paths = require("shared.paths")
local read_file = require("shared.files").read
local UNFINISHED = require("parts.unfinished")

local find, format, gsub, sub = string.find, string.format, string.gsub, string.sub
local concat, floor = table.concat, math.floor

-- Files and folders that are looked at. A disk of the game holds 2000.
local WALKED = 4000

-- Adds all files below a folder to a list, by their names: {path below the first, whole path, size}. What begins with a
-- dot, other drives and the agent's own files are passed over. Tells whether that was all.
local function add_files(files, folder, prefix, drive, budget)
  local names = fs.list(folder)
  table.sort(names)
  for _, name in ipairs(names) do
    local path = paths.absolute(fs.combine(folder, name))
    budget.left = budget.left - 1
    if budget.left < 0 then return false end
    breathe()
    local is_passed_over = sub(name, 1, 1) == "." or sub(name, -#UNFINISHED) == UNFINISHED or own_files[path]
    if not is_passed_over and not fs.isDir(path) then
      files[#files + 1] = { prefix .. name, path, fs.getSize(path) }
    elseif not is_passed_over and fs.getDrive(path) == drive then
      if not add_files(files, path, prefix .. name .. "/", drive, budget) then return false end
    end
  end
  return true
end

-- What tells a change without a look into the files; empty where the game does not tell when one was written.
local function digest_of(files)
  if not fs.attributes then return "" end
  local all = {}
  for i, file in ipairs(files) do
    local facts = fs.attributes(file[2])
    local modified = facts.modified or facts.modification
    if not modified then return "" end
    all[i] = format("%s\n%.0f\n%.0f", file[1], file[3], modified)
    breathe()
  end
  return hash_of(concat(all, "\n"))
end

-- How much a text takes on its way, where what is no plain sign is written as six.
local function weight_of(text)
  local _, others = gsub(text, "[^ !#-%[%]-~]", "")
  return #text + others * 5
end

-- The files from number `request.from` on, as many as go into `request.room`.
local function survey(request)
  local folder = paths.absolute(request.folder)
  local there = folder
  while not fs.exists(there) do there = paths.absolute(fs.getDir(there)) end
  local free = fs.getFreeSpace(there)
  local answer = {
    free = type(free) == "number" and free or nil, readOnly = fs.isReadOnly(there), files = {},
    missing = there ~= folder, digest = "",
  }
  if not fs.isDir(there) then return nil, format("%s is a file, not a folder.", there) end
  if answer.missing then return answer end
  local files, budget = {}, { left = WALKED }
  if not add_files(files, folder, "", fs.getDrive(folder), budget) then
    return nil, format("%s has more than %d files and folders: name a folder in it.", folder, WALKED)
  end
  answer.digest = digest_of(files)
  if answer.digest ~= "" and answer.digest == request.unless then return { same = true } end
  local room = request.room
  for i = request.from or 1, #files do
    local file = files[i]
    local text, problem = read_file(file[2])
    answer.files[#answer.files + 1] = text and { path = file[1], size = #text, hash = hash_of(text) }
      or { path = file[1], problem = problem }
    room = room - weight_of(file[1]) - 60
    breathe()
    if room < 0 and i < #files then
      answer.next = i + 1
      break
    end
  end
  return answer
end

-- The files that are asked for, from a byte on each, as much as goes into `request.room`.
local function fetch(request)
  local room, pieces = request.room, {}
  for _, wanted in ipairs(request.files) do
    local text, problem = read_file(paths.absolute(fs.combine(request.folder, wanted.path)))
    if not text then
      pieces[#pieces + 1] = { path = wanted.path, problem = problem }
    else
      -- A piece of what would be too much if all of it were no plain signs.
      local piece = sub(text, wanted.from, wanted.from + room - 1)
      if weight_of(piece) > room then piece = sub(piece, 1, math.max(floor(room / 6), 1)) end
      pieces[#pieces + 1] = { path = wanted.path, from = wanted.from, size = #text, bytes = piece }
      room = room - weight_of(piece) - #wanted.path - 60
    end
    breathe()
    if room < 600 then break end
  end
  return { pieces = pieces }
end

--- What a sync asks: `what` is `survey` or `fetch`.
local function read(request)
  if request.what == "fetch" then return fetch(request) end
  if find(paths.absolute(request.folder) .. "/", "^/rom/") then
    return nil, "/rom is the game's own: nothing of it is synced."
  end
  return survey(request)
end

return { read = read }
