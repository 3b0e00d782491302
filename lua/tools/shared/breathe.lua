-- Lets others run: the game stops code that goes on for 7 s without a pause.

local begun = os.clock()

--- Pauses, if it has gone on for a while.
return function()
  if os.clock() - begun < 0.3 then return end
  sleep(0)
  begun = os.clock()
end
