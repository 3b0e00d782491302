-- greet: a greeting.

local function call(arguments)
  return "Hello, " .. (arguments.name or "World") .. "!"
end

return { call = call }
