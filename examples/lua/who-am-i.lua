-- What this computer is.
local kind = turtle and "turtle" or pocket and "pocket" or commands and "command" or "computer"
return {
  id = os.getComputerID(),
  label = os.getComputerLabel(),
  kind = kind,
  advanced = term.isColour(),
  fuel = turtle and turtle.getFuelLevel(),
  game = _HOST,
  uptime = os.clock(),
}
