-- The player's files on this computer with their sizes in bytes, and the space that is left.
local function list(folder)
  for _, name in ipairs(fs.list(folder)) do
    local path = fs.combine(folder, name)
    if fs.isDir(path) then
      print(path .. "/")
      -- What can't be written, such as rom, is the game's own.
      if not fs.isReadOnly(path) then list(path) end
    else
      print(("%s  %d"):format(path, fs.getSize(path)))
    end
  end
end

list("")
print(("%s bytes free"):format(fs.getFreeSpace("")))
