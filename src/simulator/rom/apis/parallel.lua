-- parallel: runs functions side by side, each as a coroutine that gets every event.
-- luacheck: globals parallel

parallel = {}

--- Runs them until `enough` of them have ended; returns the place of the last that did.
local function run(functions, enough)
  local threads, filters = {}, {}
  for n, f in ipairs(functions) do
    if type(f) ~= "function" then
      error(("bad argument #%d (function expected, got %s)"):format(n, type(f)), 3)
    end
    threads[n] = coroutine.create(f)
  end
  if #functions == 0 then return 0 end
  local ended = 0
  local event = { n = 0 }
  while true do
    for n = 1, #functions do
      local thread = threads[n]
      local filter = filters[n]
      if thread and (filter == nil or filter == event[1] or event[1] == "terminate") then
        local ok, result = coroutine.resume(thread, table.unpack(event, 1, event.n))
        if not ok then error(result, 0) end
        filters[n] = result
        if coroutine.status(thread) == "dead" then
          threads[n], filters[n] = nil, nil
          ended = ended + 1
          if ended >= enough then return n end
        end
      end
    end
    event = table.pack(os.pullEventRaw())
  end
end

function parallel.waitForAny(...)
  return run({ ... }, 1)
end

function parallel.waitForAll(...)
  local functions = { ... }
  return run(functions, #functions)
end
