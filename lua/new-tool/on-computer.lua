-- The tool NAME. It runs on a computer in the game, with everything that a program there can use.

local function call(arguments)
  return "Computer " .. os.getComputerID() .. " heard: " .. arguments.text
end

return { call = call }
