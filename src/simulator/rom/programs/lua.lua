-- The Lua prompt: runs what is typed, and shows what it returns.

if ... then
  print("This is an interactive Lua prompt.")
  print("To run a lua program, just type its name.")
  return
end

local pretty = require("cc.pretty")
local going = true
local environment = setmetatable({
  exit = setmetatable({}, {
    __call = function() going = false end,
    __tostring = function() return "Call exit() to exit." end,
  }),
  _echo = function(...) return ... end,
}, { __index = _ENV })

print("Interactive Lua prompt.\nCall exit() to exit.")
local history = {}
while going do
  write("lua> ")
  local line = read(nil, history)
  if line:match("%S") and history[#history] ~= line then history[#history + 1] = line end
  local chunk = load("return _echo(" .. line .. ");", "=lua", "t", environment)
  local problem
  if not chunk then chunk, problem = load(line, "=lua", "t", environment) end
  if chunk then
    local results = table.pack(pcall(chunk))
    if results[1] then
      for n = 2, results.n do
        local ok, failure = pcall(pretty.pretty_print, results[n])
        if not ok then print(failure) end
      end
    else
      printError(results[2])
    end
  else
    printError(problem)
  end
end
