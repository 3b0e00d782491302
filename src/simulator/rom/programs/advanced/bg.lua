-- bg: runs a program in a new tab, which stays behind.

if not shell.openTab then
  printError("Requires multishell")
  return
end

if ... then shell.openTab(...) else shell.openTab("shell") end
