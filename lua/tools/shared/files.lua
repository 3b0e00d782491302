-- Files of a computer, byte by byte.

local reason = require("shared.errors").reason

local files = {}

--- What is in a file; or nil and why it can't be read.
function files.read(path)
  local file, problem = fs.open(path, "rb")
  if not file then return nil, reason(problem) end
  local text = file.readAll() or ""
  file.close()
  return text
end

--- Writes bytes to a path, in this mode; or nil and why not. Out of space is told by any of the three.
function files.write(path, mode, bytes)
  local file, problem = fs.open(path, mode)
  if not file then return nil, reason(problem) end
  local ok, thrown = pcall(file.write, bytes)
  local closed, then_thrown = pcall(file.close)
  if ok and closed then return true end
  return nil, reason(ok and then_thrown or thrown)
end

return files
