-- Where a turtle is in the world, and which way it looks: by GPS, or as it was kept by the call before.

local files = require("shared.files")

local format = string.format

local place = {}

-- Where it is kept.
local FILE = "/.mcp-turtle"
-- How long GPS is waited for, in seconds.
local GPS_SECONDS = 1

local HEADINGS = { [0] = "north", "east", "south", "west" }

--- Quarter turns to the right, of what lies x to the east and z to the south.
function place.rotate(x, z, turns)
  for _ = 1, turns % 4 do x, z = -z, x end
  return x, z
end

--- The heading of this name; nil if it is none.
function place.heading_of(wanted)
  for heading, name in pairs(HEADINGS) do
    if name == wanted then return heading end
  end
end

--- What the call before has kept, if the turtle has not moved since, which costs fuel; and whether something was kept
-- that does not hold any more. A call may have ended while the turtle was on its way to a place: that is kept before.
local function kept()
  local text = files.read(FILE)
  if not text then return nil, false end
  local x, y, z, heading, fuel, by_gps, rest = text:match("^(%-?%d+) (%-?%d+) (%-?%d+) (%d) (%S+) (%a+)(.*)")
  if not x then return nil, false end
  -- It may be under way even now: what is asked of it next is done after.
  if rest ~= "" then turtle.detect() end
  local now = turtle.getFuelLevel()
  local to_x, to_y, to_z = rest:match("^ to (%-?%d+) (%-?%d+) (%-?%d+)")
  if to_x and (now == "unlimited" or now + 1 == tonumber(fuel)) then
    x, y, z = to_x, to_y, to_z
  elseif fuel ~= tostring(now) then
    return nil, true
  end
  return {
    x = tonumber(x), y = tonumber(y), z = tonumber(z), by_gps = by_gps == "gps",
    heading = not rest:find("turns", 1, true) and tonumber(heading) or nil,
  }, false
end

--- Keeps where the turtle is, and what it is about to do: ` turns`, or ` to ` a place.
function place.keep(at, about)
  if not at or not at.heading then
    if fs.exists(FILE) then pcall(fs.delete, FILE) end
    return
  end
  -- Where the disk is full it is not kept.
  files.write(FILE, "wb", format("%d %d %d %d %s %s%s", at.x, at.y, at.z, at.heading,
    tostring(turtle.getFuelLevel()), at.by_gps and "gps" or "own", about or ""))
end

--- Where GPS says that the turtle is, if it has a modem for it and there is GPS.
function place.located()
  for _, name in ipairs(peripheral.getNames()) do
    if (peripheral.getType(name)) == "modem" and peripheral.call(name, "isWireless") then
      local x, y, z = gps.locate(GPS_SECONDS)
      if not x then return nil end
      return math.floor(x + 0.5), math.floor(y + 0.5), math.floor(z + 0.5)
    end
  end
end

--- What is known of where the turtle is, with a heading or without one; and whether what was known is lost.
function place.found()
  local own, is_lost = kept()
  if own and own.by_gps then return own end
  local x, y, z = place.located()
  if x then return { x = x, y = y, z = z, by_gps = true, heading = nil } end
  return own, is_lost or own ~= nil and not own.heading
end

--- A place in words.
function place.text(at)
  if not at then return "its place is not known" end
  local heading = at.heading and ", facing " .. HEADINGS[at.heading] or ", heading not known"
  local where = format("at %d %d %d%s", at.x, at.y, at.z, heading)
  return at.by_gps and where .. " (GPS)" or where .. " (counted from where it was first driven; there is no GPS)"
end

return place
