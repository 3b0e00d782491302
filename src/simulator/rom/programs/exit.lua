-- Leaves the shell.

shell.exit()
