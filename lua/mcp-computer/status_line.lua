--- The status line of a hosted shell: the screen's top line, if the player wants one.

local rep, sub, gsub = string.rep, string.sub, string.gsub
local pcall, setmetatable = pcall, setmetatable

local status_line = {}
status_line.__index = status_line

-- As `blit` takes them: white on grey, which basic computers show too.
local TEXT, BACK = "0", "7"

--- @tparam table parent The screen.
-- @tparam boolean is_shown
-- @treturn status_line
function status_line.new(parent, is_shown)
  local self = setmetatable({ parent = parent, is_shown = is_shown or false, text = "mcp-computer" }, status_line)
  self:draw()
  return self
end

--- Draws it, if it is shown. The cursor is left on it.
function status_line:draw()
  if not self.is_shown then return end
  pcall(function()
    local width = self.parent.getSize()
    local text = sub(" " .. gsub(self.text, "%c", "?") .. rep(" ", width), 1, width)
    self.parent.setCursorPos(1, 1)
    self.parent.blit(text, rep(TEXT, width), rep(BACK, width))
  end)
end

--- @tparam string text What it says from now on.
-- @treturn boolean Whether it was drawn.
function status_line:show(text)
  if text == self.text then return false end
  self.text = text
  self:draw()
  return self.is_shown
end

return status_line
