-- How tools tell what went wrong.

local gsub, sub = string.gsub, string.sub

local errors = {}

-- Bytes of an error: what the caller said stands in it, of any length.
local LONGEST = 4000

--- What a function has thrown, without the place in our code.
function errors.reason(problem)
  return (gsub(tostring(problem), "^[%w_%-%./]+:%d+: ", ""))
end

--- A tool whose errors are no longer than clients take.
function errors.kept_short(tool)
  return function(arguments)
    local answer, problem = tool(arguments)
    if answer == nil and #problem > LONGEST then problem = sub(problem, 1, LONGEST) .. "..." end
    return answer, problem
  end
end

return errors
