-- What a resource shows of a file or folder, for the bridge to put into words.

local base64 = require("shared.base64")
local breathe = require("shared.breathe")
local hash_of = require("shared.hash")
local paths = require("shared.paths")
local texts = require("shared.texts")
local disk = require("parts.disk")

local find, format, sub = string.find, string.format, string.sub
local concat = table.concat

-- Entries of a folder that it shows at once.
local ENTRIES = 500
-- Bytes of a file that a resource shows at once.
local AT_ONCE = 262144

-- What a resource shows of a folder, from an entry on: each with its size, or true for a folder.
local function raw_folder(path, from)
  local names, entries = fs.list(path), {}
  table.sort(names)
  for i = from, math.min(#names, from + ENTRIES - 1) do
    local entry = paths.inside(path, names[i])
    entries[#entries + 1] = { names[i], fs.isDir(entry) or fs.getSize(entry) }
    breathe()
  end
  local free = fs.getFreeSpace(path)
  return { entries = entries, size = #names, free = type(free) == "number" and free or nil }
end

-- What a resource shows of a file, from a byte on: text as UTF-8, anything else as base64.
local function raw_file(path, from)
  local text, problem = disk.contents_of(path)
  if not text then return nil, problem end
  if from > #text + 1 then
    return nil, format("%s has %d bytes, so there is none to begin with from %d.", path, #text, from)
  end
  local last = math.min(#text, from - 1 + AT_ONCE)
  if texts.is_binary(text) then return { size = #text, last = last, base64 = base64.encode(sub(text, from, last)) } end
  for _ = 1, 3 do
    if last < #text and find(text, "^[\128-\191]", last + 1) then last = last - 1 end
  end
  local part, is_latin = texts.shown(sub(text, from, last))
  return { size = #text, last = last, text = part, latin = is_latin }
end

-- What is another one when a file or folder has changed.
local function stamp_of(path)
  if not fs.exists(path) then return "none" end
  if fs.isDir(path) then
    local names, parts = fs.list(path), {}
    table.sort(names)
    for i = 1, #names do
      local entry = paths.inside(path, names[i])
      parts[i] = names[i] .. "\n" .. tostring(fs.isDir(entry) or fs.getSize(entry))
      breathe()
    end
    return hash_of(concat(parts, "\n"))
  end
  -- `attributes` came late, and its field changed its name.
  local attributes = fs.attributes and fs.attributes(path) or {}
  local modified = attributes.modified or attributes.modification
  if modified then return format("%.0f %.0f", fs.getSize(path), modified) end
  return hash_of(disk.contents_of(path) or "")
end

--- What is shown of whatever has this path, from a byte or an entry on; from `stamp`, its stamp.
return function(path, from)
  if from == "stamp" then return { stamp = stamp_of(path) } end
  if not fs.exists(path) then return { missing = true } end
  if fs.isDir(path) then return raw_folder(path, from) end
  return raw_file(path, from)
end
