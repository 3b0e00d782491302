--- The present terminal, changed as `term.redirect` does, at each resume of a job: twice, so it has to be cheap.

local pcall, rawequal = pcall, rawequal
local current, get_size, redirect = term.current, term.getSize, term.redirect
local getupvalue, setupvalue = debug and debug.getupvalue, debug and debug.setupvalue

local present = {}

--- Makes a terminal the present one. It must have all methods: it is a job's own, or `term.redirect` has seen it.
-- @function present.set
-- @tparam table terminal
-- @treturn table The one before.
present.set = redirect

-- `term.redirect` looks at every method of the terminal, which takes longer than all else that a resume does. The
-- variable that it then sets is the only one that `term.current` reads; where `debug` may, it is set directly.
local function set_directly(terminal)
  local before = current()
  setupvalue(current, 1, terminal)
  return before
end

-- Whether the variable is what it is taken for: `term` draws on what is put there.
local function works()
  local before = current()
  local _, value = getupvalue(current, 1)
  if not rawequal(value, before) then return false end
  local asked = false
  local probe = { getSize = function() asked = true end }
  set_directly(probe)
  local is_current = rawequal(current(), probe)
  pcall(get_size)
  set_directly(before)
  return is_current and asked and rawequal(current(), before)
end

if getupvalue and setupvalue then
  local ok, it_works = pcall(works)
  if ok and it_works then present.set = set_directly end
end

return present
