-- What a computer does first: names of programs, then the start-up files of its disk, then what the host gave it.

local simulated = _G._SIMULATOR
_G._SIMULATOR = nil

for name, program in pairs {
  ls = "list", dir = "list", cp = "copy", mv = "move", rm = "delete", clr = "clear", sh = "shell",
} do
  shell.setAlias(name, program)
end

if term.isColour() then shell.setPath(shell.path() .. ":/rom/programs/advanced") end
if turtle then shell.setPath(shell.path() .. ":/rom/programs/turtle") end

if settings.get("shell.allow_startup") then
  local first = fs.exists("startup.lua") and "startup.lua" or fs.exists("startup") and "startup"
  if first and not fs.isDir(first) then
    shell.run("/" .. first)
  end
  if fs.isDir("startup") then
    for _, name in ipairs(fs.list("startup")) do
      local path = fs.combine("startup", name)
      if not fs.isDir(path) then shell.run("/" .. path) end
    end
  end
end

if simulated and simulated.program ~= "" then
  simulated.state("running")
  simulated.state("ended", shell.run(simulated.program))
end
