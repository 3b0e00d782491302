-- What is told of a turtle.

local place = require("parts.place")
local short = require("parts.blocks").short

local format = string.format

local told = {}

--- What is told where there is none.
told.NO_TURTLE = "Only turtles can do that; this computer isn't one. list-computers tells which are."

--- How much fuel it has.
function told.fuel()
  local fuel = turtle.getFuelLevel()
  if fuel == "unlimited" then return "fuel unlimited" end
  return format("fuel %d of %d", fuel, turtle.getFuelLimit())
end

local function dug_text(dug)
  local names, parts = {}, {}
  for name in pairs(dug) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do parts[#parts + 1] = dug[name] .. " " .. short(name) end
  return table.concat(parts, ", ")
end

--- The steps with a question mark that failed, and why the last time.
local function passed_text(passed)
  local parts = {}
  for text, failed in pairs(passed) do
    local times_text = failed.count > 1 and format(", %d times", failed.count) or ""
    parts[#parts + 1] = format("`%s` (%s%s)", text, tostring(failed.why), times_text)
  end
  table.sort(parts)
  return table.concat(parts, ", ")
end

--- How the turtle is after the steps, in lines.
function told.after(drive, first)
  drive:learn()
  local now = drive:place()
  place.keep(now)
  local lines = { first, "Now " .. place.text(now) .. "; " .. told.fuel() .. "." }
  if drive.is_lost then
    lines[#lines + 1] = "Where it was before is lost: it has moved or turned since, or a call ended on its way. Where "
      .. "this call began is 0 0 0 now, and it looked north."
  end
  if next(drive.dug) then lines[#lines + 1] = "Dug: " .. dug_text(drive.dug) .. "." end
  if next(drive.passed) then lines[#lines + 1] = "Failed, and passed over: " .. passed_text(drive.passed) .. "." end
  if #drive.taken_off > 0 then lines[#lines + 1] = "Taken off: " .. table.concat(drive.taken_off, "; ") .. "." end
  if #drive.seen > 0 then lines[#lines + 1] = "Seen: " .. table.concat(drive.seen, "; ") .. "." end
  local free = 0
  for slot = 1, 16 do
    if turtle.getItemCount(slot) == 0 then free = free + 1 end
  end
  if free == 0 then lines[#lines + 1] = "Its slots are all taken: what it digs may be lost." end
  return table.concat(lines, "\n")
end

return told
