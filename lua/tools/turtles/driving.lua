-- Drives a turtle by steps, tells how it went, and keeps where it is.

local words = require("shared.words")
local Drive = require("parts.drive")
local STEPS = require("parts.steps")
local read = require("parts.script")
local told = require("parts.told")

local format = string.format

--- Does the steps until one fails; how that is told, or nil.
local function carry_out(it, steps, arguments)
  local count = #arguments.steps
  for n, one in ipairs(steps) do
    local step = one.step
    progress(step.text .. one.round, n - 1, #steps)
    local ok, why = STEPS[step.name](it, step)
    if not ok and step.may_fail then
      local failed = it.passed[step.text] or { count = 0 }
      failed.count, failed.why = failed.count + 1, why
      it.passed[step.text] = failed
    elseif not ok then
      local number = one.number
      local before = number == 1 and "nothing before it" or words.count(number - 1, "step") .. " before it done"
      return format("Step %d of %d, `%s`%s, failed: %s (%s).", number, count, step.text, one.round, tostring(why),
        before)
    end
  end
  return nil
end

local function drive(arguments)
  if not turtle then return nil, told.NO_TURTLE end
  local steps, count = {}, #arguments.steps
  -- Before the first is done: a slip in the last costs nothing.
  for n, text in ipairs(arguments.steps) do
    local before = #steps
    local ok, why = read(text, steps)
    if not ok then return nil, format("Nothing was done: step %d, `%s`: %s.", n, text, why) end
    for i = before + 1, #steps do steps[i].number = n end
  end
  local it = Drive.new(arguments.dig)
  local failure = carry_out(it, steps, arguments)
  local first = failure or "Did " .. (count == 1 and "the step" or "all " .. count .. " steps") .. "."
  if arguments.home then
    local ok, why = it:go_home()
    first = first .. (ok and " It is back where it began." or " It could not come back: " .. tostring(why) .. ".")
    if not ok and not failure then failure = why end
  end
  local text = told.after(it, first)
  if failure then return nil, text end
  return text
end

return { drive = drive }
