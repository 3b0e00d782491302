-- The tools that tell the client something on the way.

local telling = {}

function telling.logging()
  log.info("Tool execution started")
  log.info("Tool processing data")
  log.info("Tool execution completed")
  return "Three lines were logged."
end

function telling.progress()
  progress("begun", 0, 100)
  progress("half of it", 50, 100)
  progress("all of it", 100, 100)
  return "Three steps were told."
end

return telling
