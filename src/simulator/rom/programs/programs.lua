-- Lists the programs that the shell finds.

textutils.pagedTabulate(shell.programs((...) == "all"))
