-- linked: which computers are linked, for tools that ask many of them. They find it by `require("lib.linked")`.

--- The linked computers, all of them or those of one kind.
-- @tparam[opt] string kind Such as turtle.
-- @treturn {number,...} Their numbers.
-- @treturn table What to call each in a text, by its number.
local function linked(kind)
  local ids, names = {}, {}
  for _, computer in ipairs(computers.list()) do
    if computer.linked and (not kind or computer.kind == kind) then
      ids[#ids + 1] = computer.id
      names[computer.id] = string.format("%d (%s)", computer.id, computer.label or "no label")
    end
  end
  return ids, names
end

return linked
