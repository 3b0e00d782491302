--- What this start of the agent lets bridges do: all that they ask, what a player at the computer allows, or only what
-- changes nothing.

local concat = table.concat
local tostring = tostring

local policy = {}

policy.FULL, policy.ASK, policy.READ_ONLY = "full", "ask", "read-only"

--- The settings that choose one where the command line doesn't. The second is the older one, and on or off.
policy.SETTING, policy.READ_ONLY_SETTING = "mcp_computer.policy", "mcp_computer.read_only"

--- What becomes of a request: it runs, it runs once the player has said yes, or it does not run.
policy.RUNS, policy.ASKS, policy.REFUSES = "runs", "asks", "refuses"

local NAMES = { policy.FULL, policy.ASK, policy.READ_ONLY }

-- The methods that change nothing. Of handlers only those of @{harmless} count.
local CHANGES_NOTHING = { ping = true, ["read-screen"] = true, ["recent-errors"] = true }

-- The methods all of whose doing is a job, which can wait for a yes.
local WAITS = { ["exec-lua"] = true, ["run-handler"] = true, ["run-program"] = true, ["send-input"] = true }

--- @tparam string|any name
-- @treturn boolean Whether it is a policy's.
function policy.is_known(name)
  for i = 1, #NAMES do
    if NAMES[i] == name then return true end
  end
  return false
end

--- How the policies are called, for whoever wrote something else.
policy.CHOICE = concat(NAMES, ", ", 1, 2) .. " or " .. NAMES[3]

--- What the settings say.
-- @tparam function get As `settings.get`.
-- @treturn string|nil The policy.
-- @treturn string What is wrong with them.
function policy.of_settings(get)
  local name, is_read_only = get(policy.SETTING), get(policy.READ_ONLY_SETTING)
  if name ~= nil and not policy.is_known(name) then
    return nil, "The setting " .. policy.SETTING .. " must be " .. policy.CHOICE .. ", not " .. tostring(name)
  end
  -- Whatever stands in the older one that is not false: a person who set it meant it.
  if is_read_only then return policy.READ_ONLY end
  return name or policy.FULL
end

--- @tparam string method
-- @treturn boolean Whether it changes nothing.
function policy.changes_nothing(method)
  return CHANGES_NOTHING[method] == true
end

--- What becomes of a request under a policy.
-- @tparam string chosen The policy.
-- @tparam string method
-- @treturn string @{policy.RUNS}, @{policy.ASKS} or @{policy.REFUSES}.
function policy.judge(chosen, method)
  if chosen == policy.FULL or CHANGES_NOTHING[method] then return policy.RUNS end
  return chosen == policy.ASK and WAITS[method] and policy.ASKS or policy.REFUSES
end

--- Why a request was refused.
-- @tparam string chosen The policy.
-- @treturn string
-- @treturn string What to do.
function policy.why_refused(chosen)
  local who = "Only a person at that computer can change it: by `set " .. policy.SETTING .. " full`, "
  if chosen == policy.ASK then
    return "this computer's agent asks its player before anything runs (--policy ask), and can't for this",
      who .. "and by starting mcp-computer without --policy. exec-lua can be asked for."
  end
  return "this computer's agent was started read-only: it runs no code that comes from a bridge, only what is known to "
    .. "change nothing", who .. "`set " .. policy.READ_ONLY_SETTING .. " false`, and by starting mcp-computer without "
    .. "--policy and --read-only."
end

return policy
