-- Lints the in-game Lua: `luacheck lua`. The agent is written in what Lua 5.1 and 5.2 have in common.
std = "lua51+lua52"
max_line_length = 120

include_files = { "lua/**/*.lua", "examples/**/*.lua", "src/simulator/**/*.lua", "tests/**/*.lua" }

-- Globals of the game, read only: nothing of ours may leak into `_G`.
read_globals = {
  "_CC_DEFAULT_SETTINGS", "_HOST",
  "bit", "bit32", "colors", "colours", "commands", "disk", "fs", "gps", "help", "http", "keys", "multishell",
  "paintutils", "parallel", "peripheral", "pocket", "print", "printError", "read", "rednet", "redstone", "rs",
  "settings", "shell", "sleep", "term", "textutils", "turtle", "vector", "window", "write",
  os = {
    fields = {
      "cancelAlarm", "cancelTimer", "clock", "computerID", "computerLabel", "date", "day", "difftime", "epoch",
      "getComputerID", "getComputerLabel", "loadAPI", "pullEvent", "pullEventRaw", "queueEvent", "reboot", "run",
      "setAlarm", "setComputerLabel", "shutdown", "sleep", "startTimer", "time", "unloadAPI", "version",
    },
  },
}

-- Handlers on the host have the bridge's modules as globals.
for _, folder in ipairs({ "examples/tools", "tests/conformance/tools", "lua/new-tool", "lua/tools" }) do
  files[folder] = { read_globals = {
    "computers", "http", "json", "log", "progress", "regex", "resources", "secrets", "store",
    "tools",
  } }
end

-- The simulated game is what defines all these globals (W1xx: setting, mutating and reading globals).
files["src/simulator/rom"] = { ignore = { "1.." } }
