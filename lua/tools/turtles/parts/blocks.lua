-- Blocks and items by their names, and what is on a side of the turtle.

local blocks = {}

--- What the names of `turtle`'s functions end with, by side.
blocks.ENDS = { front = "", up = "Up", down = "Down" }

--- A name without the game's own prefix.
function blocks.short(name) return (name:gsub("^minecraft:", "")) end

--- Whether a name is meant: as a whole, or without what is before the colon.
function blocks.is_called(name, wanted)
  return name == wanted or name:match(":(.*)$") == wanted
end

--- What is on a side, by its name; nil if nothing is.
function blocks.inspected(side)
  local ok, block = turtle["inspect" .. blocks.ENDS[side]]()
  return ok and block.name or nil
end

return blocks
