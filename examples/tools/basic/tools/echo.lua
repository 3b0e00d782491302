-- echo: what it is given.

local function call(arguments)
  return "Echo: " .. arguments.text
end

return { call = call }
