-- What a computer does first: names of programs, then the start-up files of its disk, then what the host gave it.

local simulated = _G._SIMULATOR
_G._SIMULATOR = nil

for name, program in pairs {
  ls = "list", dir = "list", cp = "copy", mv = "move", rm = "delete", clr = "clear", rs = "redstone",
  sh = "shell",
} do
  shell.setAlias(name, program)
end

local path = shell.path()
if term.isColour() then
  path = path .. ":/rom/programs/advanced"
  shell.setAlias("background", "bg")
  shell.setAlias("foreground", "fg")
end
path = path .. (turtle and ":/rom/programs/turtle" or ":/rom/programs/rednet:/rom/programs/fun")
if term.isColour() and not turtle then path = path .. ":/rom/programs/fun/advanced" end
if pocket then path = path .. ":/rom/programs/pocket" end
if commands then path = path .. ":/rom/programs/command" end
shell.setPath(path)

if settings.get("shell.allow_startup") then
  local first = fs.exists("startup.lua") and "startup.lua" or fs.exists("startup") and "startup"
  if first and not fs.isDir(first) then
    shell.run("/" .. first)
  end
  if fs.isDir("startup") then
    for _, name in ipairs(fs.list("startup")) do
      local file = fs.combine("startup", name)
      if not fs.isDir(file) then shell.run("/" .. file) end
    end
  end
end

if simulated and simulated.program ~= "" then
  simulated.state("running")
  simulated.state("ended", shell.run(simulated.program))
end
