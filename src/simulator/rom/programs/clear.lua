-- Clears the screen.

term.clear()
term.setCursorPos(1, 1)
