-- Puts a file in the place of another so that one of the two is there whatever happens. Nothing here yields, so nothing
-- else of the computer comes between.

local files = require("shared.files")
local reason = require("shared.errors").reason
local trash = require("shared.trash")

local find, format = string.find, string.format
local max = math.max

local placing = {}

--- What is told of a file whose old contents are not in the trash.
placing.GONE = -1

-- Bytes that are free where a path is; some games tell no number.
local function free_at(path)
  while not fs.exists(path) do path = "/" .. fs.getDir(path) end
  local free = fs.getFreeSpace(path)
  return type(free) == "number" and free or math.huge
end

--- What is said of a file of this size that has no room.
function placing.no_room(path, size, before)
  return format("the computer's disk has no room for it%s: it has %.0f bytes, and %.0f are free. Delete there what " ..
    "is not needed, such as its /.trash", before and ", so what was there stays" or "", size, free_at(path))
end

--- How a file of this size can be written: `beside` what is there, or `over` it. Nil if it has no room, and what to
-- say of that. What is there is to stay somewhere if it is `unknown` to a sync, or `changed` since the last one.
function placing.way(path, size, before, unknown, changed)
  local free, on_disk = free_at(path), max(size, trash.LEAST)
  if on_disk <= free then return "beside" end
  if before and (unknown or changed) then
    return nil, format("there is no room for it beside what is there, which %s: it has %.0f bytes, and %.0f are " ..
      "free. Pull what is there, or delete there what is not needed", unknown and "no sync has brought" or
      "was changed on the computer since the last sync", size, free)
  end
  if before and on_disk <= free + max(#before, trash.LEAST) then return "over" end
  return nil, placing.no_room(path, size, before)
end

--- Whether the game has said that there is no room.
function placing.is_full(problem)
  return find(problem, "Out of space", 1, true) ~= nil
end

-- Whether the trash can hold this too with all that this sync has overwritten before: `now.own`, by the numbers.
local function has_place(now, size)
  local total, count = size + trash.LEAST, 0
  for _, item in ipairs(now) do
    if now.own[item.number] then total, count = total + item.size, count + 1 end
  end
  return total <= trash.SPACE and count < trash.KEPT
end

-- Takes away what is at a path: to `keep`, to the trash if `now` is that, or for good. Tells where it lies, and its
-- number in the trash, or `GONE`; or nil and why it was left.
local function put_away(path, before, keep, now)
  if keep then
    local moved, thrown = pcall(function()
      fs.makeDir("/" .. fs.getDir(keep))
      fs.move(path, keep)
    end)
    if moved then return keep, 0 end
    -- Old games copy what they move, and leave the part that had room.
    if fs.exists(path) then pcall(fs.delete, keep) end
    local problem = reason(thrown)
    if not placing.is_full(problem) then return nil, problem end
    return nil, format("what is there, which no sync has brought, has no room as %s, so it stays", keep)
  elseif now then
    local size = max(#before, trash.LEAST)
    if not has_place(now, size) and size + trash.LEAST <= trash.SPACE then
      return nil, "it was changed on the computer since the last sync, and /.trash is full of what this sync has " ..
        "overwritten before, so it stays. Pull it, or sync again"
    end
    local put, number, problem = pcall(trash.put, now, path, size)
    if put and number then
      now.own[number] = true
      return trash.item(number), number
    end
    if not put then return nil, reason(number) end
    return nil, format("it was changed on the computer since the last sync, and what is there has no room in " ..
      "/.trash (%s), so it stays. Pull it, or delete there what is not needed", problem)
  end
  fs.delete(path)
  return false, placing.GONE
end

-- Has what was put away back. Tells where it is.
local function put_back(path, before, kept, number, now)
  pcall(fs.delete, path)
  if kept and pcall(fs.move, kept, path) or not kept and files.write(path, "wb", before) then
    if number > 0 then trash.drop(now, #now) end
    return ", so what was there stays"
  end
  pcall(fs.delete, path)
  return kept and format(", and what was there is %s now", kept) or ", and what was there is lost"
end

--- Puts a file at a path where `before` is, or nothing: the one that is written already `beside`, or these bytes. What
-- is there goes to `keep`, or to the trash if `now` is that.
-- @treturn boolean|nil Whether it is there; then the number of what was there in the trash, `GONE`, or 0 if there was
--   nothing or it is kept as was asked. Else why not: then what was there still is.
function placing.put(path, beside, bytes, before, keep, now)
  local kept, number = false, 0
  if before then
    kept, number = put_away(path, before, keep, now)
    if kept == nil then
      if beside then pcall(fs.delete, beside) end
      return nil, number
    end
  end
  if beside then
    if pcall(fs.move, beside, path) then return true, number end
    -- Old games copy what they move, and so need room for it twice.
    pcall(fs.delete, path)
    bytes = files.read(beside)
    pcall(fs.delete, beside)
  end
  local written, problem = files.write(path, "wb", bytes)
  if written then return true, number end
  local what_was = before and put_back(path, before, kept, number, now)
  if not before then pcall(fs.delete, path) end
  if placing.is_full(problem) then problem = "the computer's disk has no room for it" end
  return nil, problem .. (what_was or "")
end

return placing
