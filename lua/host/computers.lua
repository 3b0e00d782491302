--- The module `computers`: what a handler on the host asks of the computers in the game.
--
-- With one computer a function returns what came of it, or throws what went wrong; with a list of computers it asks
-- them all at once, and returns a table of what came of each, by what it was named by.

local ask_bridge, null, array = ...

local error, next, select, tostring, type = error, next, select, tostring, type
local unpack, concat, sub = table.unpack, table.concat, string.sub

local computers = {}

-- What the bridge answers; what it refuses is the error of whoever called the function that asks.
local function ask(question)
  local done, answer = ask_bridge(question)
  if not done then
    local is_named = sub(answer, 1, 10) == "computers."
    error(is_named and answer or "computers." .. question.of .. ": " .. answer, 3)
  end
  return answer
end

local function check(value, name, ...)
  for i = 1, select("#", ...) do
    if type(value) == select(i, ...) then return end
  end
  error("bad argument " .. name .. ": it must be a " .. concat({ ... }, " or a ") .. ", not a " .. type(value), 3)
end

-- What is asked for one computer: a value for all of them, or what a function makes for each, which has to be a `kind`.
local function for_each(ids, what, kind)
  local list = {}
  for i = 1, #ids do
    local value = what
    if type(what) == "function" then
      value = what(ids[i])
      if type(value) ~= kind then
        error(("the function returned a %s for computer %s; it must return a %s"):format(type(value), ids[i], kind), 3)
      end
    end
    list[i] = { ids[i], value }
  end
  return list
end

-- The options, as the bridge takes them: a list without entries stays one.
local function checked(options)
  if not options then return nil end
  local result = {}
  for key, value in next, options do result[key] = value end
  if type(result.arguments) == "table" then
    local list, count = {}, result.arguments.n or #result.arguments
    for i = 1, count do
      list[i] = result.arguments[i]
      if list[i] == nil then list[i] = null end
    end
    result.arguments = array(list)
  end
  return result
end

-- A computer by its number or label, also out of an entry of `computers.list()`; nil if it is neither.
local function named(target)
  if type(target) == "table" then target = target.id end
  if type(target) == "string" or type(target) == "number" and target == target then return target end
end

-- The computers that are meant, and whether it is a single one.
local function as_list(target)
  local single = named(target)
  if single then return { single }, true end
  if type(target) ~= "table" then error("bad argument #1: it is no number of a computer", 3) end
  local ids, count = {}, 0
  for key, value in next, target do
    count = count + 1
    if type(key) ~= "number" then
      error(("bad argument #1: it must be a list of numbers or labels, and has the key %s"):format(tostring(key)), 3)
    end
    ids[key] = named(value)
    if not ids[key] then
      error(("bad argument #1: entry %s of the list is a %s, neither a number nor a label"):format(key, type(value)), 3)
    end
  end
  if count ~= #ids then error("bad argument #1: the list has holes", 3) end
  return ids, false
end

-- A value that the code returned as nil came as `null`, which is not false.
local function with_nils(returns, count)
  for i = 1, count or 0 do
    if returns[i] == null then returns[i] = nil end
  end
end

-- One computer's values, or its error; or a table with what came of each.
local function answer(outcomes, is_single)
  for i = 1, #outcomes do with_nils(outcomes[i].returns, outcomes[i].n) end
  if is_single then
    local only = outcomes[1]
    if only.error then error(only.error, 0) end
    return unpack(only.returns, 1, only.n)
  end
  local by_id = {}
  for i = 1, #outcomes do
    local outcome = outcomes[i]
    outcome.ok = outcome.error == nil
    by_id[outcome.id] = outcome
  end
  return by_id
end

--- The computers there are, offline ones too: each with `id`, `label`, `kind`, `linked`.
-- @treturn {table,...}
function computers.list()
  -- No tail call, whose caller would not be known.
  local list = ask({ of = "list" })
  return list
end

--- Runs Lua on one computer, or on several at once.
-- @tparam number|string|{number|string,...} target The computer's number or label, or a list of them; an entry of
--   `computers.list()`, or that list, will do.
-- @tparam string|function code Statements or an expression; or a function that gets a number and returns those for it.
-- @tparam[opt] table options `timeoutMs` for each computer (20000), `exclusive`, `arguments`: a list, the code's `...`.
-- @return The values that the code returned; of several, a table by number: `{ok, returns, output}` or `{ok, error}`.
function computers.exec(target, code, options)
  check(target, "#1 to 'computers.exec'", "number", "string", "table")
  check(code, "#2 to 'computers.exec'", "string", "function")
  check(options, "#3 to 'computers.exec'", "table", "nil")
  local ids, is_single = as_list(target)
  local on = for_each(ids, code, "string")
  for i = 1, #on do on[i] = { id = on[i][1], code = on[i][2] } end
  return answer(ask({ of = "exec", on = array(on), options = checked(options) }), is_single)
end

--- Calls a tool for one computer, or for several at once.
-- @tparam number|string|{number|string,...} target The computer's number or label, or a list of them: the tool's
--   `computerId`.
-- @tparam string tool The tool's name.
-- @tparam[opt] table|function arguments The others; or a function that gets a number and returns those for it.
-- @tparam[opt] table options `timeoutMs` for each computer (20000).
-- @return What the tool's handler returned; of several, a table by number of `{ok, returns}` or `{ok, error}`.
function computers.call(target, tool, arguments, options)
  check(target, "#1 to 'computers.call'", "number", "string", "table")
  check(tool, "#2 to 'computers.call'", "string")
  check(arguments, "#3 to 'computers.call'", "table", "function", "nil")
  check(options, "#4 to 'computers.call'", "table", "nil")
  local ids, is_single = as_list(target)
  local on = for_each(ids, arguments, "table")
  for i = 1, #on do on[i] = { id = on[i][1], arguments = on[i][2] or {} } end
  return answer(ask({ of = "call", tool = tool, on = array(on), options = checked(options) }), is_single)
end

return computers
