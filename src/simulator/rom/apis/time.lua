-- os.time, os.day, os.epoch and os.date: the world's clock and the real one.
-- luacheck: globals os

local native = ...
local error = native.error
local system, check, lift = native.os, native.check, native.language.lift

local DAY_SECONDS = 86400

--- Days from 1970-01-01 to a date of the Gregorian calendar.
local function days_from_date(year, month, day)
  year = year + math.floor((month - 1) / 12)
  month = (month - 1) % 12 + 1
  if month <= 2 then year = year - 1 end
  local era = math.floor(year / 400)
  local year_of_era = year - era * 400
  local day_of_year = math.floor((153 * (month + (month > 2 and -3 or 9)) + 2) / 5) + day - 1
  local day_of_era = year_of_era * 365 + math.floor(year_of_era / 4) - math.floor(year_of_era / 100) + day_of_year
  return era * 146097 + day_of_era - 719468
end

--- The date of so many days after 1970-01-01.
local function date_from_days(days)
  days = days + 719468
  local era = math.floor(days / 146097)
  local day_of_era = days - era * 146097
  local leap_days = math.floor(day_of_era / 1460) - math.floor(day_of_era / 36524) + math.floor(day_of_era / 146096)
  local year_of_era = math.floor((day_of_era - leap_days) / 365)
  local day_of_year = day_of_era - (365 * year_of_era + math.floor(year_of_era / 4) - math.floor(year_of_era / 100))
  local month_index = math.floor((5 * day_of_year + 2) / 153)
  local month = month_index + (month_index < 10 and 3 or -9)
  local year = year_of_era + era * 400 + (month <= 2 and 1 or 0)
  return year, month, day_of_year - math.floor((153 * month_index + 2) / 5) + 1
end

local function fields(seconds)
  local days = math.floor(seconds / DAY_SECONDS)
  local rest = math.floor(seconds - days * DAY_SECONDS)
  local year, month, day = date_from_days(days)
  return {
    year = year, month = month, day = day,
    hour = math.floor(rest / 3600), min = math.floor(rest / 60) % 60, sec = rest % 60,
    wday = (days + 4) % 7 + 1, yday = days - days_from_date(year, 1, 1) + 1, isdst = false,
  }
end

local function locale_of(value)
  local locale = tostring(value or "ingame"):lower()
  if locale == "ingame" or locale == "utc" or locale == "local" then return locale end
  error("Unsupported operation")
end

--- The hour of the world or of the real day; or the seconds since 1970 of a table of date fields.
function os.time(when)
  if type(when) ~= "table" then check(1, when, "string", true) end
  if type(when) == "table" then
    for _, name in ipairs { "year", "month", "day" } do
      if when[name] == nil then error("field \"" .. name .. "\" missing in date table") end
    end
    return days_from_date(when.year, when.month, when.day) * DAY_SECONDS
      + (when.hour or 12) * 3600 + (when.min or 12) * 60 + (when.sec or 12)
  end
  if locale_of(when) == "ingame" then return system.time() end
  return system.epoch() / 1000 % DAY_SECONDS / 3600
end

function os.day(when)
  check(1, when, "string", true)
  if locale_of(when) == "ingame" then return system.day() end
  return math.floor(system.epoch() / 1000 / DAY_SECONDS)
end

function os.epoch(when)
  check(1, when, "string", true)
  if when == "nano" then return math.floor(system.epoch() * 1e6) end
  if locale_of(when) == "ingame" then
    return (system.day() * DAY_SECONDS + system.time() * 3600) * 1000
  end
  return system.epoch()
end

local DAYS = { "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday" }
local MONTHS = {
  "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
  "December",
}

local function two(number) return ("%02d"):format(number) end

local directives
directives = {
  a = function(t) return DAYS[t.wday]:sub(1, 3) end,
  A = function(t) return DAYS[t.wday] end,
  b = function(t) return MONTHS[t.month]:sub(1, 3) end,
  B = function(t) return MONTHS[t.month] end,
  c = function(t)
    return ("%s %s %2d %02d:%02d:%02d %d"):format(
      directives.a(t), directives.b(t), t.day, t.hour, t.min, t.sec, t.year)
  end,
  d = function(t) return two(t.day) end,
  D = function(t) return ("%02d/%02d/%02d"):format(t.month, t.day, t.year % 100) end,
  e = function(t) return ("%2d"):format(t.day) end,
  F = function(t) return ("%d-%02d-%02d"):format(t.year, t.month, t.day) end,
  H = function(t) return two(t.hour) end,
  I = function(t) return two((t.hour + 11) % 12 + 1) end,
  j = function(t) return ("%03d"):format(t.yday) end,
  m = function(t) return two(t.month) end,
  M = function(t) return two(t.min) end,
  n = function() return "\n" end,
  p = function(t) return t.hour < 12 and "AM" or "PM" end,
  R = function(t) return ("%02d:%02d"):format(t.hour, t.min) end,
  S = function(t) return two(t.sec) end,
  t = function() return "\t" end,
  T = function(t) return ("%02d:%02d:%02d"):format(t.hour, t.min, t.sec) end,
  U = function(t) return two(math.floor((t.yday + 6 - (t.wday - 1)) / 7)) end,
  u = function(t) return tostring((t.wday + 5) % 7 + 1) end,
  W = function(t) return two(math.floor((t.yday + 6 - (t.wday + 5) % 7) / 7)) end,
  w = function(t) return tostring(t.wday - 1) end,
  y = function(t) return two(t.year % 100) end,
  Y = function(t) return tostring(t.year) end,
  z = function() return "+0000" end,
  Z = function() return "UTC" end,
  ["%"] = function() return "%" end,
}
directives.h, directives.x, directives.X = directives.b, directives.D, directives.T

function os.date(format, seconds)
  check(1, format, "string", true)
  check(2, seconds, "number", true)
  local at = fields(seconds or math.floor(system.epoch() / 1000))
  format = (format or "%c"):gsub("^!", "")
  if format:sub(1, 2) == "*t" then return at end
  return (format:gsub("%%(.?)", function(letter)
    local directive = directives[letter]
    if not directive then error("bad argument #1: invalid conversion specifier '%" .. letter .. "'") end
    return directive(at)
  end))
end

for _, name in ipairs { "time", "day", "epoch", "date" } do os[name] = lift(os[name]) end
