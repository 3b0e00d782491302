-- cc.require: makes `require` and `package` for a program, looking beside it first.

local expect = (require and require("cc.expect") or ...).expect

local function search(name, path, separator)
  local tried = {}
  local file = name:gsub(separator == "" and "" or "%" .. (separator or "."), "/")
  for pattern in path:gmatch("[^;]+") do
    local candidate = pattern:gsub("%?", (file:gsub("%%", "%%%%")))
    if fs.exists(candidate) and not fs.isDir(candidate) then return candidate end
    tried[#tried + 1] = "no file '" .. candidate .. "'"
  end
  return nil, table.concat(tried, "\n  ")
end

local function make(environment, folder)
  expect(1, environment, "table")
  expect(2, folder, "string")
  local package = {
    loaded = {
      _G = _G, bit32 = bit32, coroutine = coroutine, math = math, string = string, table = table,
    },
    path = "?;?.lua;?/init.lua;/rom/modules/main/?;/rom/modules/main/?.lua;/rom/modules/main/?/init.lua",
    config = "/\n;\n?\n!\n-",
    preload = {},
  }
  if turtle then
    package.path = package.path .. ";/rom/modules/turtle/?;/rom/modules/turtle/?.lua;/rom/modules/turtle/?/init.lua"
  end

  local function here(path)
    -- Relative patterns start at the program's folder.
    return (path:gsub("[^;]+", function(pattern)
      if pattern:sub(1, 1) == "/" then return pattern end
      return fs.combine(folder, pattern)
    end))
  end

  function package.searchpath(name, path, separator)
    expect(1, name, "string")
    expect(2, path, "string")
    return search(name, here(path), separator)
  end

  package.loaders = {
    function(name)
      if package.preload[name] then return package.preload[name] end
      return nil, "no field package.preload['" .. name .. "']"
    end,
    function(name)
      local path, tried = search(name, here(package.path), ".")
      if not path then return nil, tried end
      local chunk, problem = loadfile(path, nil, environment)
      if chunk then return chunk, path end
      return nil, problem
    end,
  }

  local loading = {}

  local function require_(name)
    expect(1, name, "string")
    if package.loaded[name] == loading then error("loop or previous error loading module '" .. name .. "'", 2) end
    if package.loaded[name] ~= nil then return package.loaded[name] end
    local text = "module '" .. name .. "' not found:"
    for _, loader in ipairs(package.loaders) do
      local found, extra = loader(name)
      if found then
        package.loaded[name] = loading
        local value = found(name, extra)
        if value == nil then value = true end
        package.loaded[name] = value
        return value
      end
      text = text .. "\n  " .. extra
    end
    if name:find("^cc%.") then text = text .. "\n  the simulated computer has no '" .. name .. "' yet" end
    error(text, 2)
  end

  return require_, package
end

return { make = make }
