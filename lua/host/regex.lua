--- The module `regex`: regular expressions, for what Lua's patterns can't say.
--
-- The syntax is that of Rust's crate `regex`: no look-around and no back references, so that none takes for ever.

local native = ...

local error, type, unpack = error, type, table.unpack

local regex = {}

local function check(value, name)
  if type(value) ~= "string" then
    error("bad argument " .. name .. ": it must be a string, not a " .. type(value), 3)
  end
end

local function find(name, text, pattern, from)
  local done, found = native.find(text, pattern, from)
  if not done then error(name .. ": " .. found, 3) end
  return found
end

-- What a match caught, or all of it if there is nothing to be caught.
local function caught(found)
  if found.n == 0 then return found[0] end
  return unpack(found, 1, found.n)
end

--- What the first match caught; all of it if the expression catches nothing; nil if there is none.
-- @tparam string text
-- @tparam string pattern The expression.
-- @return Each group: a string, or false if it took no part.
function regex.match(text, pattern)
  check(text, "#1 to 'regex.match'")
  check(pattern, "#2 to 'regex.match'")
  local found = find("regex.match", text, pattern, 0)
  if not found then return nil end
  return caught(found)
end

--- Goes over all matches, each as `regex.match` has it.
-- @tparam string text
-- @tparam string pattern The expression.
function regex.gmatch(text, pattern)
  check(text, "#1 to 'regex.gmatch'")
  check(pattern, "#2 to 'regex.gmatch'")
  local from = 0
  return function()
    local found = from and find("regex.gmatch", text, pattern, from)
    if not found then from = nil return nil end
    -- After an empty match comes the next byte.
    from = found.last >= found.first and found.last or found.last + 1
    return caught(found)
  end
end

--- The text with all matches replaced.
-- @tparam string text
-- @tparam string pattern The expression.
-- @tparam string by What takes their place; `$1` and `$name` are groups, `$$` a dollar.
-- @treturn string
function regex.gsub(text, pattern, by)
  check(text, "#1 to 'regex.gsub'")
  check(pattern, "#2 to 'regex.gsub'")
  check(by, "#3 to 'regex.gsub'")
  local done, replaced = native.replace(text, pattern, by)
  if not done then error("regex.gsub: " .. replaced, 2) end
  return replaced
end

return regex
