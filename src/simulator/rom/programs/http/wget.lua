-- Downloads a file, or downloads and runs it.

local arguments = { ... }

if not http then
  printError("wget requires the http API, but it is not enabled")
  printError("Set http.enabled to true in CC: Tweaked's server config")
  return
end

local function usage()
  local name = arg[0] or "wget"
  print("Usage:")
  print(name .. " <url> [filename]")
  print(name .. " run <url>")
end

local running = arguments[1] == "run"
if running then table.remove(arguments, 1) end
local url = arguments[1]
if not url then
  usage()
  return
end

local function download()
  write("Connecting to " .. url .. "... ")
  local allowed, why = http.checkURL(url)
  if not allowed then
    printError(why or "Invalid URL.")
    return nil
  end
  local response, problem = http.get(url, nil, true)
  if not response then
    printError(problem or "Failed.")
    return nil
  end
  print("Success.")
  local body = response.readAll()
  response.close()
  return body or ""
end

if running then
  local source = download()
  if not source then return end
  local program, problem = load(source, url:match("[^/]+$") or url, "t", _ENV)
  if not program then
    printError(problem)
    return
  end
  local ok, failure = pcall(program, table.unpack(arguments, 2))
  if not ok then printError(failure) end
  return
end

local name = arguments[2] or url:gsub("[#?].*", ""):gsub("/+$", ""):match("/([^/]+)$")
if not name then
  usage()
  return
end
local path = shell.resolve(name)
if fs.exists(path) then
  print("File already exists")
  return
end
local body = download()
if not body then return end
local file, problem = fs.open(path, "wb")
if not file then
  printError("Cannot save file: " .. problem)
  return
end
file.write(body)
file.close()
print("Downloaded as " .. name)
