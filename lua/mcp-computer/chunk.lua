--- How a job's code becomes a function.

local byte, find, gsub, match = string.byte, string.find, string.gsub, string.match
local load = load

local chunk = {}

-- The first byte of compiled Lua, which is not accepted.
local BINARY_MARK = 27

-- Functions that are called for what they print. Some return how many lines that was, or the file: no answer to who
-- calls one and does nothing with that.
local PRINTING = {
  print = true, printError = true, write = true, ["io.write"] = true, ["textutils.pagedPrint"] = true,
}

-- What may stand before code: blanks, long comments, and those to the end of their line.
local BLANKS = { "^%s+", "^%-%-%[(=*)%[.-%]%1%]", "^%-%-[^\n]*" }

-- Where code begins.
local function beginning(code)
  local at, i = 1, 1
  while BLANKS[i] do
    local _, last = find(code, BLANKS[i], at)
    if last then
      at, i = last + 1, 1
    else
      i = i + 1
    end
  end
  return at
end

-- Whether code begins with a call of a function that prints.
local function begins_with_printing(code)
  local name = match(code, "^([%w_.]+)%s*[%(\"'%[{]", beginning(code))
  return name ~= nil and PRINTING[(gsub(name, "^_G%.", ""))] ~= nil
end

--- Compiles code: an expression, whose values it is to return, or else statements; the statements' error counts.
-- @tparam string code
-- @tparam string name What its errors call it.
-- @tparam table env Its globals.
-- @tparam boolean as_statements Whether it is statements in any case.
-- @treturn function|nil
-- @treturn string What is wrong with it.
function chunk.compile(code, name, env, as_statements)
  if byte(code, 1) == BINARY_MARK then return nil, name .. ":1: compiled Lua is not accepted" end
  local expression = not as_statements and load("return " .. code, "=" .. name, "t", env)
  if not expression then return load(code, "=" .. name, "t", env) end
  -- What is both an expression and a statement is nothing but a call.
  return begins_with_printing(code) and load(code, "=" .. name, "t", env) or expression
end

return chunk
