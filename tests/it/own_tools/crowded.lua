-- Makes a computer where there is as much of everything as can be.
-- luacheck: globals peripheral rednet
local long = ("n"):rep(90)
for i = 1, 900 do fs.open("many/" .. long .. i, "wb").close() end
local file = fs.open("lines", "wb")
for i = 1, 2500 do file.write("find me " .. i .. ("\233\""):rep(30) .. "\n") end
file.close()
file = fs.open("bytes", "wb")
file.write(("\0\1\2"):rep(30000))
file.close()
for i = 1, 300 do settings.set(long .. i, ("\"\1"):rep(500)) end

local names = {}
for i = 1, 600 do names[i] = "mod:" .. long .. "_" .. i end
local much = ("\1\255\"\\"):rep(20000)
local nested = {}
for i = 1, 2000 do nested[i] = { much, [much] = i } end

function peripheral.getNames() return { table.unpack(names) } end
function peripheral.isPresent() return true end
function peripheral.getType(name) return name:match("%d$") .. long, "inventory" end
function peripheral.getMethods()
  return {
    "list", "size", "pushItems", "pullItems", "tanks", "getEnergy", "getEnergyCapacity", "much", "nested", "fails",
    "turnOn", "isOn", "getID", "isWireless", ("m"):rep(2000),
  }
end
function peripheral.call(name, method)
  if method == "much" then return much, much end
  if method == "nested" then return nested end
  if method == "size" or method == "getEnergy" or method == "getEnergyCapacity" then return 1e9 end
  if method == "tanks" then return { { name = "fluid:" .. long, amount = 1 } } end
  if method == "list" then
    local slots = {}
    for slot = 1, 5 do slots[slot] = { name = name .. "_" .. slot, nbt = ("f"):rep(32), count = slot } end
    return slots
  end
  if method == "turnOn" or method == "isOn" or method == "getID" or method == "isWireless" then return false end
  error(much:sub(1, 3000), 0)
end

function rednet.isOpen() return true end
function rednet.receive() return 1, nested, long end
