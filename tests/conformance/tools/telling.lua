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

function telling.trigger_tools()
  log.info("trigger: tools")
  return "A change of the tools was asked for."
end

function telling.trigger_prompts()
  log.info("trigger: prompts")
  return "A change of the prompts was asked for."
end

function telling.reconnection()
  log.info("trigger: back")
  local code = "while not fs.exists('back') do sleep(0.1) end return 'The rest of the stream.'"
  return computers.exec(1, code, { timeoutMs = 60000 })
end

return telling
