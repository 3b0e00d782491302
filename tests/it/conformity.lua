--- Checks of how a computer behaves, for any ComputerCraft: the game, an emulator, the simulated computer.
--
-- Run it as a program: `conformity`, or `conformity ws://host:port` with a WebSocket server that sends back what it
-- gets and closes with code 4001 and reason "bye" when it gets "close". It prints `ok N name` or
-- `not ok N name: got ...` for each check and `N checks, M failed` at the end, and writes the same to
-- `/conformity.txt`. What differs between versions is expected by the version that `_HOST` names; what CraftOS-PC is
-- known to do otherwise is expected of it by `on_emulator`. What is attached to the computer is looked at too: a modem,
-- an inventory, a monitor. It moves nothing there. Without one, it says what it leaves out.
-- luacheck: std +lua53, globals conformity_global

local url = ...

---------------------------------------------------------------- what it runs on

local major, minor, patch = _HOST:match("ComputerCraft (%d+)%.(%d+)%.?(%d*)")
local version = tonumber(major) * 1e6 + tonumber(minor) * 1e3 + (tonumber(patch) or 0)

--- Whether the game is this version or a later one.
local function since(a, b, c) return version >= a * 1e6 + b * 1e3 + (c or 0) end

local emulator = _HOST:find("CraftOS-PC", 1, true) ~= nil

---------------------------------------------------------------- reporting

local report = assert(fs.open("/conformity.txt", "w"))
local count, failed = 0, 0

local function say(line)
  print(line)
  report.writeLine(line)
  report.flush()
end

--- All values as one line of text.
local function show(...)
  local values = table.pack(...)
  for n = 1, values.n do values[n] = tostring(values[n]) end
  return (table.concat(values, " "):gsub("[%c\127-\255]", function(c) return ("\\%d"):format(c:byte()) end))
end

--- Runs a check. `wanted` is the text of all values that `run` returns, or a function that judges that text.
local function check(name, wanted, run)
  count = count + 1
  local got = show(select(2, pcall(function() return show(run()) end)))
  local good
  if type(wanted) == "function" then good = wanted(got) else good = got == wanted end
  if good then
    say(("ok %d %s"):format(count, name))
  else
    failed = failed + 1
    say(("not ok %d %s: got %s"):format(count, name, got))
  end
end

--- Judges a text by a pattern for all of it.
local function like(pattern)
  return function(text) return text:find("^" .. pattern .. "$") ~= nil end
end

--- The first of two where the version is at least this; else the second.
local function from(a, b, now, before)
  if since(a, b) then return now end
  return before
end

--- What CraftOS-PC does, and what the game does.
local function on_emulator(its, the_games)
  if emulator then return its end
  return the_games
end

--- What `pcall` gives, with the error's place (`file:line: `, or `pcall: ` before 1.90) taken off.
local function try(f, ...)
  local results = table.pack(pcall(f, ...))
  if not results[1] and type(results[2]) == "string" then
    results[2] = results[2]:gsub("^[^ ]-:%d+: ", ""):gsub("^pcall: ", "")
  end
  return table.unpack(results, 1, results.n)
end

local function write_file(path, text)
  local file = assert(fs.open(path, "wb"))
  file.write(text)
  file.close()
end

local function read_file(path)
  local file = assert(fs.open(path, "rb"))
  local text = file.readAll() or ""
  file.close()
  return text
end

local home = "/conformity-files"
fs.delete(home)
fs.makeDir(home)

---------------------------------------------------------------- the language

check("the language's version", from(1, 109, "Lua 5.2", "Lua 5.1"), function() return _VERSION end)

check("load takes a name and an environment", "3 x:1: boom", function()
  local f = load("return y", "=x", "t", { y = 3 })
  local g = load("error('boom')", "=x")
  return f(), select(2, pcall(g))
end)

check("load minds the mode since 1.109", from(1, 109, "nil", "function"), function()
  return type((load("return 1", "=x", "b")))
end)

-- CraftOS-PC with the game's limits may die of it, so it is not tried there.
check("load takes a function that gives the parts", "42", function()
  if emulator then return 42 end
  local parts = { "return ", "4", "2" }
  return load(function() return table.remove(parts, 1) end)()
end)

check("a syntax error names chunk and line",
  like("nil x:2: .+"), function() return load("local a = 1\nlocal = 2", "=x") end)

check("an error in a program names its file and line", like("/?conformity%.lua:%d+: boom"), function()
  return select(2, pcall(function() error("boom") end))
end)

check("an error of level 0 names no place", "false boom", function() return pcall(error, "boom", 0) end)

check("an error may be any value", "false true nil", function()
  local value = {}
  local ok, got = pcall(error, value)
  return ok, got == value, select(2, pcall(error))
end)

check("a program can yield within pcall", "true woken", function()
  return pcall(function()
    os.queueEvent("conformity")
    os.pullEvent("conformity")
    return "woken"
  end)
end)

check("a program can yield within an iterator and a metamethod", "1 2 3", function()
  local add = setmetatable({}, { __add = function(_, n)
    os.queueEvent("conformity")
    os.pullEvent("conformity")
    return n + 1
  end })
  local got = {}
  for n in coroutine.wrap(function() coroutine.yield(1) coroutine.yield(2) end) do got[#got + 1] = n end
  return got[1], got[2], add + 2
end)

check("xpcall takes arguments since 1.109", from(1, 109, "false E:a", like("false .+")), function()
  return xpcall(function(text) error(text, 0) end, function(problem) return "E:" .. problem end, "a")
end)

check("the handler of xpcall sees the stack of the error", "true", function()
  local function failing_function() error("x") end
  local _, trace = xpcall(function() failing_function() end, debug.traceback)
  return trace:find("failing_function", 1, true) ~= nil
end)

check("coroutines end, die and tell so",
  "suspended true 1 suspended true dead false cannot resume dead coroutine", function()
  local thread = coroutine.create(function() coroutine.yield(1) end)
  local before = coroutine.status(thread)
  local ok, value = coroutine.resume(thread)
  local between = coroutine.status(thread)
  local again = coroutine.resume(thread)
  return before, ok, value, between, again, coroutine.status(thread), coroutine.resume(thread)
end)

check("coroutine.running tells whether it is the main one since 1.109",
  from(1, 109, "thread false", "thread nil"), function()
  local thread, main = coroutine.running()
  return type(thread), main
end)

check("whole numbers are written in full", on_emulator("9.007199254741e+15 1e+15 -3 0.1",
  "9007199254740992 1000000000000000 -3 0.1"), function() return 2 ^ 53, 1e15, -3, 0.1 end)

check("odd numbers", "inf -inf nan 1e+100", function() return 1 / 0, -1 / 0, (tostring(0 / 0):gsub("-", "")), 1e100 end)

check("tonumber reads bases, hexadecimals and spaces", "255 255 10 nil nil", function()
  return tonumber("ff", 16), tonumber("0xff"), tonumber(" 10 "), tonumber("1x"), tonumber("")
end)

check("string.format", "3 003 ff 1.50 a  |  b \"q\\\"\\\\10\"", function()
  return ("%d %03d %x %.2f %-3s|%3s %q"):format(3, 3, 255, 1.5, "a", "b", "q\"\n")
end)

check("patterns", "b c a-b-c x=1 %d", function()
  local _, _, first, second = ("a b c"):find("(%a) (%a)$")
  return first, second, (("a b c"):gsub(" ", "-")), (("k"):gsub("k", { k = "x=1" })), "%d"
end)

check("balanced and frontier patterns", "(b(c)) THE", function()
  return ("a(b(c))d"):match("%b()"), ("THE (quick) fox"):match("%f[%a]%a+")
end)

check("table.pack, table.unpack and unpack keep nils", "3 nil 2 nil", function()
  local packed = table.pack(nil, 2, nil)
  return packed.n, table.unpack(packed, 1, packed.n)
end)

check("unpack and loadstring are there", "1 2 7", function()
  local a, b = unpack({ 1, 2 })
  return a, b, loadstring("return 7")()
end)

check("bit32 and bit", "8 14 6 4294967295 1 1", function()
  return bit32.band(12, 10), bit32.bor(12, 10), bit32.bxor(12, 10), bit32.bnot(0), bit32.rshift(2, 1), bit.band(3, 5)
end)

check("utf8", "\\195\\169\\226\\130\\172 2 233 8364", function()
  local text = utf8.char(233, 8364)
  return text, utf8.len(text), utf8.codepoint(text, 1, -1)
end)

check("string.pack came with 1.91", from(1, 91, "\\1\\2 258", "nil"), function()
  if not string.pack then return nil end
  return string.pack(">I2", 258), (string.unpack(">I2", "\1\2"))
end)

check("table.move came with 1.109", from(1, 109, "function", "nil"), function() return type(table.move) end)

check("there is goto since 1.109", from(1, 109, "2", like(".+")), function()
  local f = load("do goto over end do return 1 end ::over:: return 2")
  return f and f()
end)

check("nothing reaches the machine outside", "nil nil nil nil nil", function()
  return os.exit, os.execute, os.getenv, io.popen, package and package.loadlib
end)

check("there is no collectgarbage", on_emulator("function", "nil"), function() return type(collectgarbage) end)

check("setfenv and getfenv change what a function sees", "given given", function()
  local f = loadstring("return conformity_global")
  setfenv(f, { conformity_global = "given" })
  return f(), getfenv(f).conformity_global
end)

check("a program has globals of its own", "mine nil", function()
  conformity_global = "mine"
  return conformity_global, _G.conformity_global
end)

check("a stack overflow is an error", like("false .*stack overflow.*"), function()
  local function deeper() return 1 + deeper() end
  local ok, problem = pcall(deeper)
  return ok, tostring(problem):sub(1, 200)
end)

---------------------------------------------------------------- errors of the game's functions

check("a wrong argument is told with its number and types", on_emulator(
  "false bad argument #1 (expected number, got string)", "false bad argument #1 (number expected, got string)"
), function()
  return try(function() os.startTimer("x") end)
end)

check("a missing argument is nil", on_emulator(
  "false bad argument #1 (expected number, got no value)", "false bad argument #1 (number expected, got nil)"
), function()
  return try(function() os.startTimer() end)
end)

check("an infinite number is refused",
  on_emulator("true", "false bad argument #1 (number expected, got inf)"), function()
  local ok, problem = try(function() os.startTimer(1 / 0) end)
  if ok then return ok end
  return ok, problem
end)

check("such an error has the caller's place", like("/?conformity%.lua:%d+: bad argument.*"), function()
  return select(2, pcall(function()
    os.startTimer("x")
    return 1
  end))
end)

---------------------------------------------------------------- the terminal

check("a terminal has the size of its kind", function(text)
  if turtle then return text == "39 13" or text == "39 12" end
  if pocket then return text == "26 20" or text == "26 19" end
  return text == "51 19" or text == "51 18" or emulator
end, function() return term.getSize() end)

check("the native terminal gives no lines back", "nil", function() return term.native().getLine end)

check("a program's own terminal gives none either", function(text)
  -- Before, a tab's window was given as it is.
  return text == "nil" or not (since(1, 104) or minor == "101" and tonumber(patch) >= 3)
end, function() return term.current().getLine end)

check("a window gives its lines back", "abcde eeeee fffff", function()
  local w = window.create(term.native(), 1, 1, 5, 2, false)
  w.setTextColour(colours.red)
  w.write("abcdefg")
  return w.getLine(1)
end)

check("a window's line that it has not is an error", "false Line is out of range.", function()
  local w = window.create(term.native(), 1, 1, 5, 2, false)
  return try(w.getLine, 3)
end)

check("what is written in a window is clipped, and moves the cursor", "-1 2 4 2  bc", function()
  local w = window.create(term.native(), 1, 1, 3, 2, false)
  w.setCursorPos(-1, 2)
  local x, y = w.getCursorPos()
  w.write("zzabc")
  local after, row = w.getCursorPos()
  return x, y, after, row, " " .. (w.getLine(2)):sub(2)
end)

check("blit takes three strings of one length", "   xy 00012 fffab false Arguments must be the same length", function()
  local w = window.create(term.native(), 1, 1, 5, 1, false)
  w.setCursorPos(4, 1)
  w.blit("xyz", "123", "abc")
  local text, fore, back = w.getLine(1)
  return text, fore, back, try(w.blit, "ab", "1", "1")
end)

check("print goes to the terminal redirected to, and back", "inside     ", function()
  local w = window.create(term.native(), 1, 1, 11, 3, false)
  local old = term.redirect(w)
  print("inside")
  term.redirect(old)
  return (w.getLine(1))
end)

check("print wraps words, scrolls and counts lines", "3 four  ", function()
  local w = window.create(term.native(), 1, 1, 6, 3, false)
  local old = term.redirect(w)
  local lines = print("one two three four")
  term.redirect(old)
  return lines - 1, (w.getLine(2))
end)

check("a long word is cut", "abcdef ghi   ", function()
  local w = window.create(term.native(), 1, 1, 6, 3, false)
  local old = term.redirect(w)
  write("abcdefghi")
  term.redirect(old)
  return (w.getLine(1)), (w.getLine(2))
end)

check("term itself is no target", like("false term is not a recommended redirect target, try term.current%(%) instead"),
  function() return try(term.redirect, term) end)

check("scrolling brings blank lines", "b  |   ", function()
  local w = window.create(term.native(), 1, 1, 3, 2, false)
  w.write("a")
  w.setCursorPos(1, 2)
  w.write("b")
  w.scroll(1)
  return (w.getLine(1)) .. "|" .. (w.getLine(2))
end)

check("colours are powers of two", "1 16384 32768 16384 1", function()
  return colours.white, colours.red, colours.black, colors.red, colours.combine(colours.white)
end)

check("the palette at the start", "204 76 76", function()
  local r, g, b = term.nativePaletteColour(colours.red)
  return math.floor(r * 255 + 0.5), math.floor(g * 255 + 0.5), math.floor(b * 255 + 0.5)
end)

check("a palette colour can be set", "1 2 3", function()
  local w = window.create(term.native(), 1, 1, 3, 2, false)
  w.setPaletteColour(colours.red, 0x010203)
  local r, g, b = w.getPaletteColour(colours.red)
  return math.floor(r * 255 + 0.5), math.floor(g * 255 + 0.5), math.floor(b * 255 + 0.5)
end)

check("a colour out of range is refused",
  on_emulator("true", "false"), function() return (try(term.native().setTextColour, 0)) end)

check("windows tell whether they are visible since 1.94", from(1, 94, "false true", "nil"), function()
  local w = window.create(term.native(), 1, 1, 3, 2, false)
  if not w.isVisible then return nil end
  local hidden = w.isVisible()
  return hidden, window.create(w, 1, 1, 1, 1).isVisible()
end)

---------------------------------------------------------------- events and timers

check("an event carries its arguments", "conformity 1 nil x true", function()
  os.queueEvent("conformity", 1, nil, "x", true)
  return os.pullEvent("conformity")
end)

-- With its limits set to the game's, CraftOS-PC copies too, and writes a function as text.
check("an event's tables are copies, and functions are lost", on_emulator(like("%a+ 1 %a+"), "false 1 nil"), function()
  local sent = { a = { 1 }, f = print }
  os.queueEvent("conformity", sent)
  local _, got = os.pullEvent("conformity")
  return got == sent, got.a[1], got.f and type(got.f)
end)

check("the queue holds 256 events and drops the newest", on_emulator("300 300", "256 256"), function()
  os.queueEvent("conformity_start")
  os.pullEvent("conformity_start")
  for n = 1, 300 do os.queueEvent("conformity", n) end
  local seen, last = 0, 0
  local timer
  while true do
    local event, n = os.pullEvent()
    timer = timer or os.startTimer(0.2)
    if event == "conformity" then
      seen, last = seen + 1, n
    elseif event == "timer" and n == timer then
      return seen, last
    end
  end
end)

check("a filter lets only its event through", "wanted 2", function()
  os.queueEvent("other", 1)
  os.queueEvent("wanted", 2)
  return os.pullEvent("wanted")
end)

check("events come in the order in which they were queued", "a b c", function()
  for _, name in ipairs { "a", "b", "c" } do os.queueEvent("conformity_" .. name) end
  local order = {}
  while #order < 3 do
    local name = os.pullEvent():match("^conformity_(%l)$")
    if name then order[#order + 1] = name end
  end
  return table.unpack(order)
end)

check("terminate ends pullEvent and passes pullEventRaw", "false Terminated terminate", function()
  local thread = coroutine.create(function() return pcall(os.pullEvent, "x") end)
  coroutine.resume(thread)
  local _, ok, problem = coroutine.resume(thread, "terminate")
  local raw = coroutine.create(function() return os.pullEventRaw() end)
  coroutine.resume(raw)
  return ok, problem, select(2, coroutine.resume(raw, "terminate"))
end)

check("a coroutine's yield names the event that it waits for", "true wanted", function()
  return coroutine.resume(coroutine.create(function() os.pullEvent("wanted") end))
end)

check("a timer fires with its number", "timer true", function()
  local timer = os.startTimer(0.05)
  local event, id
  repeat event, id = os.pullEvent("timer") until id == timer
  return event, id == timer
end)

check("timers fire in the order of their times", "2 1", function()
  local late, early = os.startTimer(0.3), os.startTimer(0.1)
  local order = {}
  while #order < 2 do
    local _, id = os.pullEvent("timer")
    if id == late then order[#order + 1] = 1 elseif id == early then order[#order + 1] = 2 end
  end
  return table.unpack(order)
end)

check("a cancelled timer does not fire", "false", function()
  local cancelled, other = os.startTimer(0.05), os.startTimer(0.2)
  os.cancelTimer(cancelled)
  local fired = false
  while true do
    local _, id = os.pullEvent("timer")
    if id == cancelled then fired = true end
    if id == other then return fired end
  end
end)

check("sleeping takes whole ticks", on_emulator(like("%a+ true"), "true true"), function()
  sleep(0)
  local start = os.clock()
  sleep(0)
  local first = os.clock() - start
  sleep(0.12)
  return first > 0.04, os.clock() - start - first > 0.09
end)

check("an event that is queued waits for no tick", "true", function()
  sleep(0)
  local start = os.epoch("utc")
  for _ = 1, 20 do
    os.queueEvent("conformity")
    os.pullEvent("conformity")
  end
  return os.epoch("utc") - start < 900
end)

check("an alarm's hour is from 0 to 24", "false Number out of range", function() return try(os.setAlarm, 24) end)

check("parallel.waitForAny tells which ended first", "2", function()
  return parallel.waitForAny(function() sleep(1) end, function() sleep(0.05) end)
end)

check("parallel.waitForAll waits for all", "3", function()
  local n = 0
  local function add()
    sleep(0.05)
    n = n + 1
  end
  parallel.waitForAll(add, add, add)
  return n
end)

check("parallel passes an error on", "false child", function()
  local ok, problem = pcall(parallel.waitForAny, function() error("child", 0) end, function() sleep(1) end)
  return ok, type(problem) == "table" and problem.message or problem
end)

---------------------------------------------------------------- files

check("what keeps a file from opening is returned", "nil /no/such: No such file nil /rom/x: Access denied", function()
  local file, why = fs.open("/no/such", "r")
  return file, why, fs.open("/rom/x", "w")
end)

check("a folder can't be opened", from(1, 109, "nil /rom: Not a file", "nil /rom: No such file"), function()
  return fs.open("/rom", "r")
end)

check("a folder can't be written",
  "nil " .. home .. ": Cannot write to directory", function() return fs.open(home, "w") end)

check("a mode that there is not is an error",
  on_emulator("false q: Unsupported mode", "false Unsupported mode"),
  function() return try(fs.open, home .. "/x", "q") end)

check("a file is written, added to and read", "one two nil 8", function()
  local path = home .. "/a/b.txt"
  local file = fs.open(path, "w")
  file.writeLine("one")
  file.close()
  file = fs.open(path, "a")
  file.write("two")
  file.flush()
  file.close()
  file = fs.open(path, "r")
  local first, second, third = file.readLine(), file.readLine(), file.readLine()
  file.close()
  return first, second, third, fs.getSize(path) + 1
end)

check("binary files keep every byte", "256 true", function()
  local bytes = {}
  for n = 0, 255 do bytes[n + 1] = string.char(n) end
  local all = table.concat(bytes)
  write_file(home .. "/bytes", all)
  local got = read_file(home .. "/bytes")
  return #got, got == all
end)

check("text files are transcoded before 1.109", from(1, 109, "\\233", "\\195\\169"), function()
  local file = fs.open(home .. "/text", "w")
  file.write("\233")
  file.close()
  return read_file(home .. "/text")
end)

check("binary files are read by byte, by count and from any place", "104 el l 3 lo nil 0 hello", function()
  write_file(home .. "/seek", "hello")
  local file = fs.open(home .. "/seek", "rb")
  local byte, two, one = file.read(), file.read(2), file.read(1)
  local place = file.seek("set", 3)
  local rest, ended = file.read(9), file.read()
  local start = file.seek("set", 0)
  local all = file.readAll()
  file.close()
  return byte, two, one, place, rest, ended, start, all
end)

check("text files are read by character", "h el lo nil", function()
  local file = fs.open(home .. "/seek", "r")
  local one, two, rest, ended = file.read(), file.read(2), file.readAll(), file.readLine()
  file.close()
  return one, two, rest, ended
end)

check("a closed file can't be used", "false attempt to use a closed file", function()
  local file = fs.open(home .. "/closed", "w")
  file.close()
  return try(file.write, "x")
end)

check("r+ came with 1.109", from(1, 109, "hEllo", "false"), function()
  if not since(1, 109) then return (pcall(fs.open, home .. "/seek", "r+")) end
  local file = fs.open(home .. "/seek", "r+")
  file.seek("set", 1)
  file.write("E")
  file.close()
  return read_file(home .. "/seek")
end)

check("paths are combined and taken apart", "a/c b.txt a/b  /", function()
  return fs.combine("a/b", "../c"), fs.getName("a/b.txt"), fs.getDir("a/b/c"), fs.combine("", ""), "/"
end)

check("a path can't leave the computer", "false", function() return (pcall(fs.list, "../..")) end)

check("what fs throws names the path", "false /nope: No such file false /nope: No such file", function()
  local ok, problem = try(fs.list, "nope")
  return ok, problem:gsub("Not a directory", "No such file"), try(fs.getSize, "nope")
end)

check("/rom is read-only", "true false false /rom/x: Access denied", function()
  return fs.isReadOnly("/rom"), fs.isReadOnly("/"), try(fs.makeDir, "/rom/x")
end)

check("a folder over a file is refused", "false " .. home .. "/seek: File exists", function()
  return try(fs.makeDir, home .. "/seek")
end)

check("deleting what is not there is no error", "true", function() return (pcall(fs.delete, home .. "/nope")) end)

check("moving onto a file is refused, without the path", "false File exists", function()
  write_file(home .. "/m1", "1")
  write_file(home .. "/m2", "2")
  return try(fs.move, home .. "/m1", home .. "/m2")
end)

check("copying onto a file is refused", like("false .*File exists"), function()
  return try(fs.copy, home .. "/m1", home .. "/m2")
end)

check("a folder can't be copied into itself", like("false .*Can't copy a directory inside itself"), function()
  return try(fs.copy, home, home .. "/inside/itself")
end)

check("a file's folder is made with it; moves and copies take all", "true true false 1", function()
  write_file(home .. "/d/e/f", "1")
  fs.copy(home .. "/d", home .. "/d2")
  fs.move(home .. "/d/e", home .. "/d3")
  return fs.exists(home .. "/d2/e/f"), fs.exists(home .. "/d3/f"), fs.exists(home .. "/d/e"), read_file(home .. "/d3/f")
end)

check("lists are sorted and hold names", "a b c", function()
  for _, name in ipairs { "c", "a", "b" } do write_file(home .. "/sorted/" .. name, "") end
  return table.concat(fs.list(home .. "/sorted"), " ")
end)

check("find takes a star", "conformity-files/sorted/a", function()
  return table.concat(fs.find(home .. "/sort*/a"), " ")
end)

check("attributes tell size and kind", "5 false number true", function()
  local file, folder = fs.attributes(home .. "/seek"), fs.attributes(home)
  return file.size, file.isDir, type(file.modified or file.modification), folder.isDir
end)

check("a file costs at least 500 bytes", on_emulator(like("%-?%d+"), "500"), function()
  local before = fs.getFreeSpace("/")
  write_file(home .. "/cost", "1")
  return before - fs.getFreeSpace("/")
end)

check("a full disk says so", on_emulator("true", like("false .*Out of space.*")), function()
  if emulator then return true end
  local path = home .. "/full"
  local file = fs.open(path, "wb")
  local ok, problem = pcall(function()
    local piece = ("x"):rep(100000)
    for _ = 1, 11 do
      file.write(piece)
      file.flush()
    end
    file.close()
  end)
  pcall(file.close)
  fs.delete(path)
  return ok, problem
end)

-- Older releases of the emulator name a drive for what is not there.
check("the drives", on_emulator(like("hdd rom %a+"), "hdd rom nil"), function()
  return fs.getDrive("/"), fs.getDrive("/rom"), (fs.getDrive("/nope"))
end)

check("numbers are written as Lua writes them since 1.105", from(1, 105, "1 1.5 -20", "1.0 1.5 -20.0"), function()
  local file = fs.open(home .. "/numbers", "w")
  for n, number in ipairs { 1, 1.5, -20 } do
    if n > 1 then file.write(" ") end
    file.write(number)
  end
  file.close()
  return read_file(home .. "/numbers")
end)

check("io reads and writes", from(1, 105, "a1 b nil file closed file", "a1.0 b nil file closed file"), function()
  local path = home .. "/io"
  local file = io.open(path, "w")
  file:write("a", 1, "\nb")
  file:close()
  file = io.open(path)
  local first, second, third, kind = file:read(), file:read("*l"), file:read(), io.type(file)
  file:close()
  return first, second, third, kind, io.type(file)
end)

---------------------------------------------------------------- time and identity

check("dates are those of the calendar", "2023-11-14 22:13:20 1709208000", function()
  return os.date("!%Y-%m-%d %H:%M:%S", 1700000000),
    os.time { year = 2024, month = 2, day = 29, hour = 12, min = 0, sec = 0 }
end)

check("a date without hour, minute and second", on_emulator("1709208000", "1709208732"), function()
  return os.time { year = 2024, month = 2, day = 29 }
end)

check("os.epoch counts milliseconds", "true true true", function()
  return os.epoch("utc") > 1.6e12, os.epoch("utc") % 1 == 0, os.epoch("ingame") > 0
end)

check("the world has days and hours", "true true", function()
  local hour = os.time()
  return hour >= 0 and hour < 24, os.day() >= 0
end)

check("a computer has a number", "number true", function()
  return type(os.getComputerID()), os.getComputerID() == os.computerID()
end)

check("a label is set, read and taken away", "conformity nil", function()
  local before = os.getComputerLabel()
  os.setComputerLabel("conformity")
  local set = os.getComputerLabel()
  os.setComputerLabel()
  local none = os.getComputerLabel()
  os.setComputerLabel(before)
  return set, none
end)

---------------------------------------------------------------- values as text

check("Lua values are written and read back", "1 true true 1.5", function()
  local u = textutils.unserialise(textutils.serialise({ 1, "a\n\"", x = { y = true }, ["a b"] = 1.5 }))
  return u[1], u[2] == "a\n\"", u.x.y, u["a b"]
end)

check("what can't be written is refused", "false Cannot serialize type function", function()
  return try(textutils.serialise, { print })
end)

check("JSON of tables", "{} [1,2] {\"x\":2} true", function()
  local json = textutils.serialiseJSON
  return json({}), json({ 1, 2 }), json({ 1, x = 2 }):gsub("%[1%]", ""), json({ a = true }) == "{\"a\":true}"
end)

check("JSON keeps large whole numbers",
  on_emulator("9.007199254741e+15", "9007199254740992"), function() return textutils.serialiseJSON(2 ^ 53) end)

check("JSON escapes control characters since 1.91", from(1, 91, "\"a\\nb\"", "\"a\\\\10b\""), function()
  return textutils.serialiseJSON("a\nb")
end)

check("JSON is read", "1 x true nil", function()
  local t = textutils.unserialiseJSON("{\"a\":[1,\"x\",true,null]}")
  return t.a[1], t.a[2], t.a[3], t.a[4]
end)

check("JSON's code points become UTF-8", "\\195\\169", function() return textutils.unserialiseJSON("\"\\u00e9\"") end)

check("JSON that is none gives nil and why", like("nil .+"), function() return textutils.unserialiseJSON("{") end)

--- Runs with another `write` in the place of the global one, and gives what was written by that.
local function written(run)
  return load([[
    local run, real, got = ..., write, ""
    write = function(text)
      got = got .. tostring(text)
      return real(text)
    end
    local ok, problem = pcall(run)
    write = real
    return ok and got or problem
  ]])(run)
end

local sheet = window.create(term.current(), 1, 1, 24, 3, false)

--- Runs inside a window that is not shown.
local function on_sheet(run)
  local below = term.redirect(sheet)
  local ok, problem = pcall(run)
  term.redirect(below)
  if not ok then error(problem, 0) end
end

check("print calls the global write", "a\\9b\\10", function()
  return written(function() on_sheet(function() print("a", "b") end) end)
end)

check("io.stdout keeps the write of the start, and io.stderr looks it up", "e", function()
  return written(function()
    on_sheet(function()
      io.stdout:write("o")
      io.stderr:write("e")
    end)
  end)
end)

check("a table's cells are drawn, and only its lines' ends printed", "\\10\\10 a  b", function()
  sheet.clear()
  sheet.setCursorPos(1, 1)
  local got = written(function() on_sheet(function() textutils.tabulate({ "a", "b" }, { "c", "d" }) end) end)
  return got, (sheet.getLine(1):match("^%S+%s+%S+"))
end)

check("printed text goes down by setCursorPos, and by scroll on the last line", "0 0 2", function()
  sheet.clear()
  sheet.setCursorPos(1, 1)
  local scrolled = 0
  local copy = setmetatable({}, { __index = sheet })
  copy.scroll = function(lines)
    scrolled = scrolled + lines
    sheet.scroll(lines)
  end
  local counts = {}
  local below = term.redirect(copy)
  for n = 1, 3 do
    write(n == 1 and "x" or "\nx\n")
    counts[n] = scrolled
  end
  term.redirect(below)
  return table.unpack(counts)
end)

check("URLs are encoded", "a+b%2F%3F", function() return textutils.urlEncode("a b/?") end)

check("times of day are written", "1:30 PM 13:30", function()
  return textutils.formatTime(13.5), textutils.formatTime(13.5, true)
end)

---------------------------------------------------------------- settings, keys, programs

check("settings have definitions, defaults and types", "3 4 false 3", function()
  settings.define("conformity.n", { type = "number", default = 3 })
  local default = settings.get("conformity.n")
  settings.set("conformity.n", 4)
  local set = settings.get("conformity.n")
  local refused = pcall(settings.set, "conformity.n", "x")
  settings.unset("conformity.n")
  local back = settings.get("conformity.n")
  settings.undefine("conformity.n")
  return default, set, refused, back
end)

-- Minecraft 1.12 numbers them as LWJGL 2 does, and so do emulators.
check("keys have their numbers", since(1, 90) and not emulator and "257 65 290 enter" or "28 30 59 enter", function()
  return keys.enter, keys.a, keys.f1, keys.getName(keys.enter)
end)

check("the shell's way of finding files", "conformity-files/x /rom/programs/list.lua true", function()
  local dir = shell.dir()
  shell.setDir(home)
  local resolved = shell.resolve("x")
  shell.setDir(dir)
  return resolved, "/" .. shell.resolveProgram("list"), shell.getRunningProgram():find("conformity", 1, true) ~= nil
end)

check("shell.run tells whether a program ended well", "true false false", function()
  write_file(home .. "/good.lua", "local a = ...")
  write_file(home .. "/bad.lua", "error('x', 0)")
  local hidden = window.create(term.current(), 1, 1, 10, 5, false)
  local old = term.redirect(hidden)
  local good, bad = shell.run(home .. "/good"), shell.run(home .. "/bad")
  local none = shell.run(home .. "/nope")
  term.redirect(old)
  return good, bad, none
end)

check("a program gets its arguments and its name", "a b c d " .. home .. "/args", function()
  write_file(home .. "/args.lua", "_G.conformity_args = table.concat({ ... }, ' ') .. ' ' .. arg[0]")
  shell.run(home .. "/args a 'b c' \"d\"")
  local got = _G.conformity_args
  _G.conformity_args = nil
  return (got:gsub("'", ""))
end)

check("shell.execute came with 1.88 and takes arguments as they are", "a b|c", function()
  write_file(home .. "/args.lua", "_G.conformity_args = table.concat({ ... }, '|')")
  shell.execute(home .. "/args", "a b", "c")
  local got = _G.conformity_args
  _G.conformity_args = nil
  return got
end)

check("a program's modules are found beside it", "module true", function()
  write_file(home .. "/sub/module.lua", "return { name = 'module' }")
  write_file(home .. "/main.lua", "_G.conformity_args = require('sub.module').name")
  shell.run(home .. "/main")
  local got = _G.conformity_args
  _G.conformity_args = nil
  return got, require("cc.expect").expect ~= nil
end)

check("os.run shows an error and gives false", "false false", function()
  local hidden = window.create(term.current(), 1, 1, 10, 5, false)
  local old = term.redirect(hidden)
  local bad, missing = os.run({}, home .. "/bad.lua"), os.run({}, home .. "/nope.lua")
  term.redirect(old)
  return bad, missing
end)

check("advanced computers have tabs", function(text) return text == tostring(term.isColour()) end, function()
  return multishell ~= nil and shell.openTab ~= nil
end)

check("the versions of the game and its system", like("ComputerCraft %d+%.%d+.* CraftOS 1%.[89]"), function()
  return _HOST, os.version()
end)

---------------------------------------------------------------- pictures, the editor, the message of the day

--- What is behind the cells of a small window, a line each, once something was drawn on it; and its cursor and colour.
local function painted(draw)
  local w = window.create(term.current(), 1, 1, 6, 4, false)
  w.setTextColour(colours.red)
  local below = term.redirect(w)
  local ok, problem = pcall(draw)
  term.redirect(below)
  if not ok then error(problem, 0) end
  local behind = {}
  for row = 1, 4 do behind[row] = select(3, w.getLine(row)) end
  local x, y = w.getCursorPos()
  return table.concat(behind, "/"), x, y, w.getBackgroundColour(), w.getTextColour()
end

check("a pixel is drawn, and its colour stays", "ffffff/ffbfff/ffffff/ffffff 4 2 2048 16384", function()
  return painted(function() paintutils.drawPixel(3.8, 2.2, colours.blue) end)
end)

check("a pixel has the present colour where none is given", "fffff5/ffffff/ffffff/ffffff 7 1 32 16384", function()
  return painted(function()
    term.setBackgroundColour(colours.lime)
    paintutils.drawPixel(6, 1)
  end)
end)

check("lines lie on the nearest cells", "5fffff/f55fff/fff55f/ffffff 6 3 32 16384", function()
  return painted(function() paintutils.drawLine(1, 1, 5, 3, colours.lime) end)
end)

check("steep lines, from either end", "f5ffff/f5ffff/5fffff/5fffff f5ffff/f5ffff/5fffff/5fffff", function()
  local down = painted(function() paintutils.drawLine(2, 1, 1, 4, colours.lime) end)
  return down, (painted(function() paintutils.drawLine(1, 4, 2, 1, colours.lime) end))
end)

check("a box is drawn from any corner", "f9999f/f9ff9f/f9999f/ffffff 6 3 512 16384", function()
  return painted(function() paintutils.drawBox(5, 3, 2, 1, colours.cyan) end)
end)

check("a filled box is cut at the edges", "666fff/666fff/ffffff/ffffff 4 2 64 16384", function()
  return painted(function() paintutils.drawFilledBox(-2, -2, 3, 2, colours.pink) end)
end)

check("a picture is read, and what is no colour left out", "fffeff/bffff1/ffffff/ffffff 3 1,32768,0,2 0", function()
  local image = paintutils.parseImage("0f 1\n\nE")
  local drawn = painted(function() paintutils.drawImage(paintutils.parseImage("   e\nb f  1"), 1, 1) end)
  return drawn, #image, table.concat(image[1], ","), #image[2]
end)

check("a picture is loaded; one that is not there is nil", "2 4,8 nil", function()
  write_file(home .. "/picture.nfp", "23\n4")
  local image = paintutils.loadImage(home .. "/picture.nfp")
  return #image, table.concat(image[1], ","), paintutils.loadImage(home .. "/nothing.nfp")
end)

check("names are completed", "f,ong(,pha. eta nma( 0", function()
  local names = setmetatable({ alpha = { beta = 1, ganma = print }, alf = 1 }, { __index = { along = print } })
  local complete = textutils.complete
  return table.concat(complete("al", names), ","), table.concat(complete("alpha.b", names), ","),
    table.concat(complete("alpha:ga", names), ","), #complete("x = al", names)
end)

--- Runs the editor on a screen that can be read, gives it events, and returns what is on some line after each that is
-- named "show".
local function edited(path, events)
  local w = window.create(term.current(), 1, 1, 51, 8, false)
  local below = term.redirect(w)
  local thread = coroutine.create(function() return shell.run("edit " .. path) end)
  local filter, shown = nil, {}
  local function feed(...)
    if coroutine.status(thread) == "dead" or filter ~= nil and filter ~= (...) then return end
    term.redirect(w)
    local _, wanted = coroutine.resume(thread, ...)
    term.redirect(below)
    filter = wanted
  end
  feed()
  for _, event in ipairs(events) do
    local name, value = event[1], event[2]
    if name == "show" then
      shown[#shown + 1] = (w.getLine(value):gsub("%s+$", ""):gsub("%s%s+", "~"))
    elseif name == "type" then
      for n = 1, #value do feed("char", value:sub(n, n)) end
    elseif name == "press" then
      feed("key", keys[value], false)
      feed("key_up", keys[value])
    else
      feed(table.unpack(event))
    end
  end
  term.redirect(below)
  return table.concat(shown, "|"), coroutine.status(thread)
end

local hint = term.isColour() and "Press Ctrl or click here to access menu" or "Press Ctrl to access menu"

check("the editor indents and completes names", "print(|print(x)|~y|~y||" .. hint .. "~Ln 2 dead",
  function()
    return edited(home:sub(2) .. "/edited.txt", {
      { "type", "  prin" }, { "press", "home" }, { "press", "delete" }, { "press", "delete" }, { "press", "end" },
      { "show", 1 }, { "press", "tab" }, { "type", "x)" }, { "show", 1 }, { "press", "enter" }, { "press", "tab" },
      { "type", "y" }, { "show", 2 }, { "press", "enter" }, { "show", 2 }, { "press", "backspace" }, { "show", 3 },
      { "press", "up" }, { "press", "delete" }, { "show", 8 }, { "press", "leftCtrl" }, { "type", "e" },
    })
  end)

check("the editor saves by its menu, which opens by Ctrl",
  ((multishell and "[Save] Run~Exit~Ln 2| Save [Run] Exit~Ln 2|" or "[Save] Exit~Ln 2| Save [Exit]~Ln 2|")
    :gsub("~Ln 2", on_emulator("", "~Ln 2")))
    .. "Saved to conformity-files/saved.lua~Ln 2 dead print(1)\\10\\10", function()
    local path = home:sub(2) .. "/saved"
    local shown, status = edited(path, {
      { "type", "print(1)" }, { "press", "enter" }, { "press", "leftCtrl" }, { "show", 8 }, { "press", "right" },
      { "show", 8 }, { "press", "left" }, { "press", "enter" }, { "show", 8 }, { "press", "rightCtrl" },
      { "type", "e" },
    })
    return shown, status, read_file("/" .. path .. ".lua")
  end)

check("the editor is used by the mouse", "abX|a b c|Saved to conformity-files/clicked.txt~Ln 2 dead", function()
  write_file(home .. "/clicked.txt", "ab\na b c\n")
  return edited(home:sub(2) .. "/clicked.txt", {
    { "mouse_click", 1, 9, 1 }, { "type", "X" }, { "show", 1 }, { "mouse_click", 1, 2, 2 }, { "show", 2 },
    { "mouse_click", 1, 5, 8 }, { "mouse_click", 1, 3, 8 }, { "show", 8 }, { "mouse_click", 1, 5, 8 },
    { "mouse_click", 1, multishell and 14 or 8, 8 },
  })
end)

check("a pasted text goes to the cursor", "one two|" .. hint .. "~Ln 1 suspended", function()
  return edited(home:sub(2) .. "/pasted.txt", { { "paste", "one two" }, { "show", 1 }, { "show", 8 } })
end)

check("pocket computers alone have no message of the day", on_emulator(like("true .+"),
  tostring(not pocket) .. " true"), function()
  write_file(home .. "/motd.txt", "the only one")
  local before = settings.get("motd.path")
  settings.set("motd.path", home .. "/motd.txt")
  local w = window.create(term.current(), 1, 1, 20, 3, false)
  local below = term.redirect(w)
  shell.run("motd")
  term.redirect(below)
  settings.unset("motd.path")
  return settings.get("motd.enable"), before:find("/rom/motd.txt:/motd.txt", 1, true) ~= nil
    and w.getLine(1):sub(1, 12) == "the only one"
end)

---------------------------------------------------------------- the world around

check("a peripheral that is not there is nil", "nil nil nil false table", function()
  return peripheral.getType("nope"), peripheral.wrap("nope"), peripheral.call("nope", "x"),
    peripheral.isPresent("nope"), type(peripheral.getNames())
end)

check("redstone goes out at each side", "6 true false", function()
  redstone.setOutput("back", true)
  local on = redstone.getOutput("back")
  redstone.setOutput("back", false)
  return #redstone.getSides(), on, redstone.getOutput("back")
end)

check("a side that there is not is refused", "false", function() return (pcall(redstone.getInput, "inside")) end)

check("signals are 0 to 15, and what goes out comes not in", "7 15 0 false Expected number in range 0-15", function()
  redstone.setAnalogOutput("back", 7)
  local seven = redstone.getAnalogOutput("back")
  redstone.setOutput("back", true)
  local full, input = redstone.getAnalogOutput("back"), redstone.getAnalogInput("back")
  redstone.setOutput("back", false)
  return seven, full, input, try(redstone.setAnalogOutput, "back", 16)
end)

check("bundled cables carry sixteen colours", "5 true false 0", function()
  redstone.setBundledOutput("back", colors.combine(colors.white, colors.magenta))
  local bundle = redstone.getBundledOutput("back")
  local has = colors.test(bundle, colors.magenta)
  redstone.setBundledOutput("back", 0)
  return bundle, has, redstone.testBundledInput("back", colors.red), redstone.getBundledInput("back")
end)

check("rednet takes a message to oneself without a modem", "true rednet_message true hello conformity", function()
  local sent = rednet.send(os.getComputerID(), "hello", "conformity")
  local event, sender, message, protocol = os.pullEvent("rednet_message")
  return sent, event, sender == os.getComputerID(), message, protocol
end)

check("rednet opens nothing that is no modem", "false No such modem: nope false", function()
  local ok, problem = try(rednet.open, "nope")
  return ok, problem, rednet.isOpen("nope")
end)

--- The name of something attached that has all these methods; nil if there is none.
local function attached_with(...)
  for _, name in ipairs(peripheral.getNames()) do
    local has, all = {}, true
    for _, method in ipairs(peripheral.getMethods(name) or {}) do has[method] = true end
    for _, method in ipairs({ ... }) do all = all and has[method] end
    if all then return name end
  end
  return nil
end

--- Says which checks are left out for want of what they look at.
local function skipped(what, thing)
  say(("-- left out: %s (%s is not attached)"):format(what, thing))
end

local modem = attached_with("open", "transmit", "isWireless")
if modem then
  local wired = not peripheral.call(modem, "isWireless")

  check("a modem's channels are opened and closed", "false true false", function()
    local call = peripheral.call
    local before = call(modem, "isOpen", 54321)
    call(modem, "open", 54321)
    local opened = call(modem, "isOpen", 54321)
    call(modem, "close", 54321)
    return before, opened, call(modem, "isOpen", 54321)
  end)

  check("rednet opens a modem's own channel and that of all", "true true true false", function()
    rednet.open(modem)
    local own = peripheral.call(modem, "isOpen", os.getComputerID() % 65500)
    local all = peripheral.call(modem, "isOpen", 65535)
    local is_open = rednet.isOpen(modem)
    rednet.close(modem)
    return own, all, is_open, rednet.isOpen(modem)
  end)

  if wired then
    check("a wired modem has all others on its cable", "true true true nil false", function()
      local all, seen = true, {}
      for _, name in ipairs(peripheral.getNames()) do seen[name] = true end
      local names = peripheral.call(modem, "getNamesRemote")
      for _, name in ipairs(names) do all = all and seen[name] end
      local first = names[1]
      return all, first == nil or peripheral.call(modem, "isPresentRemote", first),
        first == nil or peripheral.call(modem, "getTypeRemote", first) == peripheral.getType(first),
        peripheral.call(modem, "getTypeRemote", "nope"), peripheral.call(modem, "isPresentRemote", "nope")
    end)

    check("a call by cable of what is not there fails", on_emulator("true", "false No peripheral: nope"), function()
      return try(peripheral.call, modem, "callRemote", "nope", "list")
    end)
  end
else
  skipped("modems", "one")
end

local chest = attached_with("list", "size", "getItemDetail", "pushItems", "pullItems")
if chest then
  local function call(method, ...) return peripheral.call(chest, method, ...) end

  --- How many ticks pass while this runs.
  local function ticks_of(run)
    sleep(0)
    local start = os.clock()
    run()
    return math.floor((os.clock() - start) * 20 + 0.5)
  end

  check("an inventory lists what is in its slots", "true true true", function()
    local size, whole, named = call("size"), true, true
    for slot, stack in pairs(call("list")) do
      whole = whole and slot >= 1 and slot <= size and slot % 1 == 0
      named = named and stack.name:find("^[%w_]+:[%w_/]+$") ~= nil and stack.count >= 1
    end
    return size >= 1, whole, named
  end)

  check("a stack's details have its name to show and its most", on_emulator("true", "true true true"), function()
    local slot, stack = next(call("list"))
    local detail = slot and call("getItemDetail", slot)
    if not slot then detail, stack = { displayName = "", maxCount = 1, name = "x" }, { name = "x" } end
    if emulator then return detail.name == stack.name end
    return type(detail.displayName) == "string", type(detail.maxCount) == "number", detail.name == stack.name
  end)

  check("an inventory is of that type since 1.99", function(text)
    return text == (since(1, 99) and "true true" or "nil nil")
  end, function()
    if not since(1, 99) then return nil, nil end
    return peripheral.hasType(chest, "inventory"), peripheral.find("inventory") ~= nil
  end)

  check("a slot that there is not is named with those that there are", function(text)
    local wanted = "false Slot out of range (between 1 and %d) false From slot out of range (between 1 and %d)"
    return emulator or text == wanted:format(call("size"), call("size"))
  end, function()
    if emulator then return nil end
    local ok, problem = try(call, "getItemDetail", 0)
    return ok, problem, try(call, "pushItems", chest, call("size") + 1)
  end)

  check("a place for items that there is not is told by its name",
    on_emulator(like("false .+"), "false Target 'nope' does not exist false Source 'nope' does not exist"), function()
      local ok, problem = try(call, "pushItems", "nope", 1)
      return ok, problem, try(call, "pullItems", "nope", 1)
    end)

  check("moving none moves none", on_emulator(like(".*"), "0"), function() return call("pushItems", chest, 1, 0) end)

  -- The emulator does all at once. A game that is busy spreads many over some ticks.
  check("a call of an inventory takes a tick, and calls side by side take it together", "true true", function()
    local calls = {}
    for n = 1, 50 do calls[n] = function() call("size") end end
    local one = ticks_of(function() call("size") end)
    local many = ticks_of(function() parallel.waitForAll(table.unpack(calls)) end)
    return emulator or one >= 1, many <= 20
  end)

  check("the answer of such a call comes by task_complete", on_emulator(like(".*"), "task_complete"), function()
    local thread = coroutine.create(function() return call("size") end)
    local _, filter = coroutine.resume(thread)
    while coroutine.status(thread) ~= "dead" do
      local event = table.pack(os.pullEvent())
      if event[1] == filter then coroutine.resume(thread, table.unpack(event, 1, event.n)) end
    end
    return filter
  end)
else
  skipped("inventories", "one")
end

local monitor = attached_with("setTextScale", "blit")
if monitor then
  check("a monitor has a terminal's methods, and a scale from 0.5 to 5", on_emulator(like("true .*"),
    "true true false Expected number in range 0.5-5"), function()
      local of = peripheral.wrap(monitor)
      local before = of.getTextScale and of.getTextScale() or 1
      of.setTextScale(0.5)
      local width = of.getSize()
      of.setTextScale(before)
      return width >= of.getSize(), type(of.isColour()) == "boolean", try(of.setTextScale, 6)
    end)
else
  skipped("monitors", "one")
end

if http then
  check("a URL that is none is told at once", on_emulator(like("false .+ false .+"),
    "false URL malformed false Invalid scheme 'http'"), function()
    local ok, why = http.websocket("ws://a b")
    return ok, why, http.websocket("http://127.0.0.1:1")
  end)

  -- 1.12.2 passes Java's own text on.
  check("a port that nobody listens on", on_emulator(like("false .+"),
    from(1, 90, "false Could not connect", like("false .+"))), function() return http.websocket("ws://127.0.0.1:1") end)

  check("the same by event, with the URL as it was given", "websocket_failure ws://127.0.0.1:1 string", function()
    http.websocketAsync("ws://127.0.0.1:1")
    local event, to, why = os.pullEvent("websocket_failure")
    return event, to, type(why)
  end)
end

if http and url then
  --- Opens a socket of its own. CraftOS-PC gives a slot back only a while after `close`.
  local function open(name)
    if emulator then sleep(1.2) end
    return assert(http.websocket(url .. "#" .. name)), url .. "#" .. name
  end

  check("a message comes back, by an event with the exact URL", "websocket_message true hello false", function()
    local socket, to = open("fragment")
    socket.send("hello")
    local event, of, text, binary = os.pullEvent("websocket_message")
    socket.close()
    return event, of == to, text, binary
  end)

  check("binary messages keep every byte", "256 true true", function()
    local bytes = {}
    for n = 0, 255 do bytes[n + 1] = string.char(n) end
    local all = table.concat(bytes)
    local socket = open("binary")
    socket.send(all, true)
    local got, binary = socket.receive(5)
    socket.close()
    return #got, got == all, binary
  end)

  check("text that is UTF-8 comes back", "\\195\\169", function()
    local socket = open("utf8")
    socket.send("\195\169")
    local got = socket.receive(5)
    socket.close()
    return got
  end)

  check("a message may have 131072 bytes and no more", "131072 false", function()
    local socket = open("long")
    socket.send(("x"):rep(131072))
    local got = socket.receive(5)
    local ok = pcall(socket.send, ("x"):rep(131073))
    socket.close()
    return #got, ok
  end)

  check("receive gives up after its time", "nil", function()
    local socket = open("timeout")
    local got = socket.receive(0.2)
    socket.close()
    return got
  end)

  check("a server's close is told with reason and code", "true bye 4001", function()
    local socket, to = open("close")
    socket.send("close")
    local _, of, reason, code = os.pullEvent("websocket_closed")
    pcall(socket.close)
    return of == to, reason, code
  end)

  check("a socket that was closed can't be used", like("false .*closed file"), function()
    local socket = open("closed")
    socket.close()
    return pcall(socket.send, "x")
  end)

  -- Fewer where another program, such as the agent, has sockets of its own.
  check("a fifth socket is refused", like("[1-4] .*[Tt]oo many .*"), function()
    local sockets, problem = {}, nil
    while not problem and #sockets < 5 do
      local ok, socket, why = pcall(open, "number" .. #sockets)
      if ok then sockets[#sockets + 1] = socket else problem = why or socket end
    end
    for _, socket in ipairs(sockets) do socket.close() end
    return #sockets, problem
  end)
end

---------------------------------------------------------------- the end

fs.delete(home)
say(("%d checks, %d failed"):format(count, failed))
report.close()
