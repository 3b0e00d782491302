-- Lists a folder: folders first, then files.

local folder = shell.resolve(... or "")
if not fs.isDir(folder) then
  printError("Not a directory")
  return
end

local folders, files = {}, {}
for _, name in ipairs(fs.list(folder)) do
  if settings.get("list.show_hidden") or name:sub(1, 1) ~= "." then
    local to = fs.isDir(fs.combine(folder, name)) and folders or files
    to[#to + 1] = name
  end
end
table.sort(folders)
table.sort(files)
if term.isColour() then
  textutils.pagedTabulate(colours.green, folders, colours.white, files)
else
  textutils.pagedTabulate(folders, files)
end
