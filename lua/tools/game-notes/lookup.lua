-- Short notes on the game, and a search over them. It runs on the host: no computer is needed.

-- What each note is about stands after `#`, with the version of CC:Tweaked that it came with, if not since ever.
local NOTES = [=[
== The language
# Lua dialect: what there is
Lua 5.1 with parts of 5.2: load(s, name, mode, env), table.pack and table.unpack, bit32, string.format, string.rep
with a separator. There is no //, no <<, & or |, no integers, no collectgarbage, no os.exit, no io.popen, no
string.dump. Numbers are doubles.
# goto and labels (since 1.109)
`goto continue` and `::continue::` work.
# utf8 library (since 1.87)
utf8.char, utf8.codepoint, utf8.len and the like.
# string.pack, string.unpack (since 1.91)
Bytes from and to values, as in Lua 5.3.
# setfenv, getfenv, _ENV
setfenv works on functions that use globals. In new code use load's fourth argument.
# Globals, local, require
A program's globals are shared by what it runs; write `local`. require("name") finds name.lua beside the program, or
in /rom/modules. A module returns a table.
# cc.expect, cc.pretty (since 1.87)
require("cc.expect").expect(1, value, "string") checks an argument; require("cc.pretty").pretty_print(value) shows a
table.
# cc.strings (since 1.95)
require("cc.strings").wrap(text, width) makes lines of a text, ensure_width(text, width) one of that width.
# Too long without yielding
Code that runs 7 s for one event without yielding is stopped with `Too long without yielding`, and the computer is
shut down if it goes on. Put sleep(0) into long loops, or os.queueEvent("x") os.pullEvent("x") where a tick (50 ms)
is too much.
# attempt to index a nil value (global)
The API isn't on this kind of computer (turtle, pocket, commands, multishell), or a name is wrong: peripheral.wrap
and peripheral.find return nil if there is no such peripheral.
# attempt to call a nil value (field)
The function does not exist, or came with a later version. Look at the names: for k in pairs(turtle) do print(k)
end.
# bad argument
`bad argument #1 (number expected, got nil)`: the argument in that place is of the wrong type. What a person types
is text: tonumber(read()).
# pcall, error, error levels
local ok, problem = pcall(f, ...). error(message, 0) has no position. `Terminated` is an error too: pass it on.

== Time and events
# os.pullEvent, os.pullEventRaw
local event, a, b = os.pullEvent("redstone") waits for one event and drops the others that come meanwhile. pullEvent
throws `Terminated` at Ctrl+T; pullEventRaw returns it.
# Event queue
256 events wait at most; newer ones are dropped without a word, timers too. A program that only sleeps or waits for
one event loses the others: use parallel to wait for several things.
# parallel.waitForAny, parallel.waitForAll
Run functions side by side, as coroutines: parallel.waitForAll(f, g) until all have ended, waitForAny until one has.
Pass functions, not calls. An error in one ends all. Calls of peripherals in parallel take one tick together.
# sleep, os.sleep
sleep(seconds) is rounded up to ticks of 0.05 s; sleep(0) is one tick. It drops events that come meanwhile.
# os.startTimer, os.cancelTimer, timer event
local id = os.startTimer(5); then `timer` with that id. Compare the id: sleep uses timers too.
# os.time, os.day, os.epoch, os.date, os.clock
os.epoch("utc") is real milliseconds since 1970, os.time() the hour of the game, os.clock() seconds since the
computer started.
# os.setAlarm, alarm event
os.setAlarm(6.5) queues `alarm` at that hour of the game.
# os.queueEvent
os.queueEvent("name", ...) queues an event of your own. Tables are copied, functions become nil.
# Events: key, char, key_up, paste
key (code, held), char (letter), key_up (code), paste (text). Codes differ by version: compare with keys.enter and
the like. keys.getName(code) is the name. Jobs of a tool get none of them: use send-input for the program that
shall.
# Events: mouse_click, mouse_drag, mouse_scroll, monitor_touch
mouse_click (button 1 left, 2 right, 3 middle, x, y), mouse_up, mouse_drag the same; mouse_scroll (-1 up, 1 down, x,
y); monitor_touch (monitor's name, x, y), of advanced monitors.
# Events: redstone, peripheral, peripheral_detach, disk, disk_eject, turtle_inventory, term_resize, monitor_resize
redstone has no values: read the sides. peripheral and peripheral_detach have the name, disk and disk_eject the
drive's. turtle_inventory has none.
# Events: modem_message, rednet_message
modem_message (modem's side, channel, reply channel, message, distance); rednet_message (sender's number, message,
protocol).
# Events: http_success, http_failure, websocket_message, websocket_closed
By the URL that was asked: http_success (url, handle), http_failure (url, why, handle or nil), websocket_message
(url, text, is binary), websocket_closed (url, reason, code).

== Files and programs
# fs.open, file handles
local f = fs.open(path, "r"), "w", "a", or "rb", "wb", "ab" for bytes; nil and why if it can't. f.readAll(),
f.readLine(), f.read(n), f.write(text), f.writeLine(text), f.close(). With a dot, not a colon. What is not closed
may not be written.
# fs.list, fs.exists, fs.isDir, fs.makeDir, fs.delete, fs.move, fs.copy
Paths are from the root. move and copy fail if the target is there. delete takes whole folders. /rom can't be
changed.
# fs.find, globs
fs.find("programs/*.lua") lists paths; `?` since 1.106. list-files does ** too.
# fs.attributes, fs.getSize, fs.getFreeSpace, fs.getCapacity (since 1.87)
attributes: size, isDir, isReadOnly, created, modified. A computer has 1,000,000 bytes, a floppy 125,000; each file
counts 500 at least.
# Out of space
The disk is full: delete something, or use a floppy. write, flush or close may say so.
# io library
io.open(path, "r"), with a colon: f:read("*a"), f:lines(), f:write(text), f:close(). io.lines(path).
# shell.run, shell.execute, shell.resolve, shell.dir
shell.run("program", "argument") runs a program and returns whether it went well; its error is on the screen.
shell.resolve(name) is a path from the current folder. shell is no global of modules: pass it on.
# startup, autostart
/startup.lua or /startup runs at each boot, then the files in /startup/. A disk's startup comes instead. A startup
that never returns keeps the shell from starting.
# multishell, tabs
On advanced computers: multishell.launch(env, path, ...), shell.openTab("program"), multishell.setTitle(id, text).
Keys and clicks go to the tab in front.
# settings API
settings.get(name, default), settings.set(name, value), settings.save() keeps them in /.settings.
settings.define(name, {description, default, type}) since 1.87.
# textutils.serialise, unserialise, JSON
textutils.serialise(table) and unserialise(text); serialiseJSON(table), unserialiseJSON(text) since 1.87. Functions
can't be serialised, and tables that are there twice neither. An empty table becomes {} in JSON.
# http.get, http.post
local response, why = http.get(url); response.readAll(), response.getResponseCode(), response.close().
http.post(url, body, headers). `Domain not permitted` is a rule of the server's configuration; `http` is nil where
it is off.
# http.websocket
local ws, why = http.websocket(url); ws.send(text), ws.receive(timeout), ws.close(). Four at a time; a message has
131,072 bytes at most.
# wget, pastebin, edit, programs of the shell
wget URL name; wget run URL; pastebin get CODE name; edit name; list, cd, copy, move, delete, mkdir; label set name;
id; reboot; lua; set name value; monitor side program.

== The screen
# term API
term.write(text) without wrapping, term.setCursorPos(x, y) from 1, term.clear(), term.clearLine(), term.getSize(),
term.setTextColour(colours.red), term.setBackgroundColour, term.blit(text, "0f", "ff"), term.scroll(n),
term.setCursorBlink(true). 51x19 on computers, 39x13 on turtles, 26x20 on pocket computers.
# print, write, read, printError
print wraps and ends the line, write wraps only. read("*") hides what is typed; read(nil, history, complete).
printError writes in red.
# colours, colors
white 1, orange 2, magenta 4, lightBlue 8, yellow 16, lime 32, pink 64, grey 128, lightGrey 256, cyan 512, purple
1024, blue 2048, brown 4096, green 8192, red 16384, black 32768; gray and lightGray in colors. In blit they are 0 to
f. Basic computers show greys.
# term.setPaletteColour (since 1.80)
term.setPaletteColour(colours.red, 0xff0000) changes one of the 16 colours.
# window API
local w = window.create(term.current(), x, y, width, height, visible); draws as term does; w.setVisible(false) ...
w.setVisible(true) against flicker; w.getLine(y) since 1.84.
# term.redirect, monitors as a screen
local old = term.redirect(peripheral.wrap("top")) ... term.redirect(old). print and write go to what term was
redirected to.
# paintutils
paintutils.loadImage(path), drawImage(image, x, y), drawPixel, drawLine, drawBox, drawFilledBox(x1, y1, x2, y2,
colour). They leave the background colour changed.
# Characters
The screen has 256: ASCII, Latin-1 from 160 on, pictures below 32, blocks of two by three from 128 to 159. No UTF-8:
an é is one byte, \233.

== Peripherals
# peripheral.find, wrap, call, getNames, getType
local m = peripheral.find("monitor"); peripheral.wrap("left"); peripheral.call("left", "write", "x"); nil if there
is none. Sides: left, right, top, bottom, front, back; by cable names such as minecraft:chest_0. list-peripherals
shows all.
# peripheral.hasType, several types (since 1.99)
A chest is minecraft:chest and inventory: peripheral.hasType(name, "inventory").
# Wired modems and cables
A wired modem touches the peripheral and the cable, and has to be switched on by a right click (it turns red). Then
the peripheral has a name on the network, such as minecraft:chest_0. Another wired modem touches the computer. A
full-block modem connects all its sides.
# inventory peripherals: chests and the like (since 1.94)
size(), list() (slot to {name, count, nbt}), getItemDetail(slot), getItemLimit(slot), pushItems(to, slot, count,
toSlot), pullItems(from, slot, count, toSlot). Each takes a tick. list-items and move-items do it for many.
# Target does not exist, is not an inventory
pushItems and pullItems take names of the wired network; both inventories have to be on the same one. What only
stands beside the computer is on none.
# fluid_storage, energy_storage (since 1.94)
tanks(), pushFluid(to, limit, name), pullFluid; getEnergy(), getEnergyCapacity().
# monitor
As term, and setTextScale(0.5 to 5 by halves), getTextScale(). Only advanced ones have colours and monitor_touch.
What others drew can't be read.
# modem, channels
modem.open(channel), modem.transmit(channel, replyChannel, message), then modem_message. isWireless(), closeAll(). A
wireless one reaches 64 blocks, more at height; an ender modem everything.
# rednet
rednet.open("back") (a side with a modem), rednet.send(id, message, protocol), rednet.broadcast(message, protocol),
rednet.receive(protocol, timeout) returns id, message, protocol; rednet.host(protocol, name),
rednet.lookup(protocol, name).
# gps.locate
gps.locate(2) returns x, y, z, or nil: it takes a wireless modem and four GPS hosts in reach, not on one plane, each
running `gps host x y z`.
# drive, disks
disk.isPresent(side), disk.getMountPath(side) (disk, disk2, ...), disk.getLabel, disk.eject.
# printer
newPage(), setPageTitle, write, setCursorPos, endPage(), getInkLevel(), getPaperLevel().
# speaker (since 1.80)
playNote(instrument, volume, pitch), playSound(name, volume, pitch); playAudio(buffer, volume) since 1.100, with
speaker_audio_empty when there is room again.
# computer peripheral, turning others on
turnOn(), shutdown(), reboot(), getID(), isOn(), getLabel() of a computer beside this one or on its cable. The tool
power does it.
# redstone API
redstone.setOutput(side, true), getInput(side), setAnalogOutput(side, 0 to 15), getAnalogInput(side),
setBundledOutput(side, colours.red + colours.blue), testBundledInput(side, colours.red). Outputs end with the
computer. The event redstone tells of changes.
# redstone_relay (since 1.114)
A peripheral with the functions of redstone for its own sides.
# command computer, commands API
commands.exec("say hi") returns success, lines, count; commands.getBlockInfo(x, y, z). Only on command computers, in
creative worlds.

== Turtles and pocket computers
# turtle.forward, back, up, down, turnLeft, turnRight
Return true, or false and why: `Out of fuel`, `Movement obstructed`. A move takes 0.4 s and one fuel; turning takes
none. A turtle doesn't know where it is: count moves, or use gps.
# turtle.dig, digUp, digDown
Returns true, or false and why: `Nothing to dig here`, `Unbreakable block detected`, `No tool to dig with`. Sand and
gravel fall after: dig until turtle.detect() is false.
# turtle.place, placeUp, placeDown
Places what is in the selected slot; also uses buckets, seeds, hoes. False and `No items to place` or `Cannot place
block here`.
# turtle.inspect, detect, compare
local there, block = turtle.inspect(): block.name, block.state, block.tags. detect() is whether a block is there.
Also Up and Down.
# turtle.suck, drop
turtle.suck(count) takes from the inventory or the ground ahead, drop(count) puts the selected slot there; also Up
and Down. False with `No items to take`, `No space for items`.
# turtle.select, getItemCount, getItemDetail, transferTo
16 slots. getItemDetail(slot) is {name, count} or nil; getItemDetail(slot, true) has more and takes a tick.
transferTo(slot, count).
# turtle.refuel, getFuelLevel, getFuelLimit
turtle.refuel(count) burns the selected slot: coal 80, a lava bucket 1000. getFuelLevel() is a number or
"unlimited": compare types first. Limit 20,000, advanced 100,000.
# turtle.craft
Only crafty turtles (with a crafting table). The recipe lies in slots 1-3, 5-7, 9-11; all other slots are empty.
# turtle.attack, equipLeft, equipRight
attack() hits what stands ahead. equipLeft() swaps the tool with the selected slot: pickaxe, axe, shovel, sword,
hoe, modem, crafting table.
# pocket computer
pocket.equipBack(), unequipBack(). It runs only while a player carries it.
# Chunks that are not loaded
A computer in a chunk that is unloaded stops where it is, and boots anew when the chunk is loaded: use a startup
file and keep what matters in files. /forceload or a chunk loader keeps it running.
# Numbers, labels
os.getComputerID(), os.getComputerLabel(), os.setComputerLabel("name"). A computer or turtle without a label loses its
number and files when it is broken.
]=]

-- Notes that are shown whole, and titles besides.
local SHOWN, TITLES = 6, 12

-- Words that say nothing.
local EMPTY = {}
for word in ([[a an and are can do does for from how i in is it my of on or the to what when where which with]])
  :gmatch("%a+") do
  EMPTY[word] = true
end

-- The parts of a version, as one number.
local function number_of(version)
  local major, minor, patch = version:match("^(%d+)%.(%d+)%.?(%d*)")
  return tonumber(major) * 1000000 + tonumber(minor) * 1000 + (tonumber(patch) or 0)
end

local function words_in(text)
  local words = {}
  for word in text:lower():gmatch("[%w_]+") do
    if not EMPTY[word] then words[#words + 1] = word end
  end
  return words
end

-- How well a word stands among others. Other forms of it begin alike.
local function fit_of(word, words)
  local fit = 0
  for _, other in ipairs(words) do
    if other == word then return 3 end
    if #word >= 4 and #other >= 4 and (other:sub(1, #word) == word or word:sub(1, #other) == other) then fit = 2 end
  end
  return fit
end

-- The notes: {title, text, since, title_words, words}.
local function read_notes()
  local notes = {}
  for line in NOTES:gmatch("[^\n]+") do
    local title = line:match("^# (.+)")
    if title then
      local bare, since = title:match("^(.-) %(since ([%d.]+)%)$")
      notes[#notes + 1] = { title = bare or title, since = since, text = "" }
    elseif not line:find("^== ") then
      local note = notes[#notes]
      note.text = note.text .. (note.text == "" and "" or " ") .. line
    end
  end
  for _, note in ipairs(notes) do note.title_words, note.words = words_in(note.title), words_in(note.text) end
  return notes
end

-- The notes that have something of a query, the best first: {note, score, place}.
local function found_by(query, notes)
  local wanted, fits, found = words_in(query), {}, {}
  for i, note in ipairs(notes) do
    fits[i] = {}
    for n, word in ipairs(wanted) do fits[i][n] = 3 * fit_of(word, note.title_words) + fit_of(word, note.words) end
  end
  -- A word that stands in few notes says more than one that stands in many.
  local weights = {}
  for n in ipairs(wanted) do
    local count = 0
    for i in ipairs(notes) do count = count + (fits[i][n] > 0 and 1 or 0) end
    weights[n] = 1 / math.sqrt(math.max(count, 1))
  end
  for i, note in ipairs(notes) do
    local score = note.title:lower():find(query, 1, true) and 10 or 0
    for n, weight in ipairs(weights) do score = score + fits[i][n] * weight end
    if score > 0 then found[#found + 1] = { note = note, score = score, place = i } end
  end
  table.sort(found, function(one, other)
    if one.score ~= other.score then return one.score > other.score end
    return one.place < other.place
  end)
  return found
end

--- `lookup`.
local function lookup(arguments)
  local notes = read_notes()
  local found = found_by(arguments.query:lower(), notes)
  local version = arguments.version and number_of(arguments.version)
  local lines, titles = {}, {}
  for i, one in ipairs(found) do
    local note = one.note
    -- What fits far worse than the best is only named.
    if i <= SHOWN and one.score * 4 >= found[1].score then
      local mark = note.since and " (since CC:Tweaked " .. note.since .. ")" or ""
      if note.since and version and version < number_of(note.since) then
        mark = string.format(" (NOT in %s: it came with %s)", arguments.version, note.since)
      end
      lines[#lines + 1] = note.title .. mark .. ": " .. note.text
    elseif #titles < TITLES then
      titles[#titles + 1] = note.title
    end
  end
  if #lines == 0 then
    for _, note in ipairs(notes) do titles[#titles + 1] = note.title end
    return "There is no note on that. There are these:\n" .. table.concat(titles, "\n")
  end
  if #titles > 0 then lines[#lines + 1] = "There are also: " .. table.concat(titles, "; ") .. "." end
  return table.concat(lines, "\n\n")
end

return { lookup = lookup }
