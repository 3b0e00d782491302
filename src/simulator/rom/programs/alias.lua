-- Lists, sets or clears other names of programs.

local name, program = ...
if program then
  shell.setAlias(name, program)
elseif name then
  shell.clearAlias(name)
else
  local lines = {}
  for other, target in pairs(shell.aliases()) do lines[#lines + 1] = other .. ":" .. target end
  table.sort(lines)
  textutils.pagedTabulate(lines)
end
