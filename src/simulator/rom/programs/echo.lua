-- Prints its arguments.

print(table.concat({ ... }, " "))
