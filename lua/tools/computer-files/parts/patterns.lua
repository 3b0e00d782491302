-- Patterns of Lua, so that no search for one holds up the computer.

local reason = require("shared.errors").reason

local find, gmatch, sub = string.find, string.gmatch, string.sub
local floor = math.floor

local patterns = {}

-- Steps that a search for a pattern in one line may cost. Nothing stops it once it has begun, and while it goes on
-- nothing else of the computer does.
local STEPS = 2e7

-- Where the class of signs that begins here ends; or nil and why it is none.
local function class_end(pattern, at)
  local sign = sub(pattern, at, at)
  if sign == "%" then
    if at == #pattern then return nil, "it ends with a %, which stands for itself as %%" end
    return at + 1
  end
  if sign ~= "[" then return at end
  at = at + 1
  if sub(pattern, at, at) == "^" then at = at + 1 end
  repeat
    if at > #pattern then return nil, "a [ has no ] behind it, and stands for itself as %[" end
    at = at + (sub(pattern, at, at) == "%" and 2 or 1)
  until sub(pattern, at, at) == "]"
  return at
end

-- At most so many steps does a search take in a text of this length, if what is repeated fits runs of these lengths:
-- as many as there are ways to choose where it begins, and where each run ends. The ends of the longest runs are
-- counted as places in the text that follow one another, those of the others by their lengths, whichever makes fewest.
local function steps(pattern, length, runs)
  table.sort(runs, function(a, b) return a > b end)
  local shorter = 1
  for _, run in ipairs(runs) do shorter = shorter * (run + 1) end
  local first = pattern.is_anchored and 0 or 1
  local ways = first == 1 and length + 1 or 1
  local least = ways * shorter
  for j, run in ipairs(runs) do
    shorter = shorter / (run + 1)
    ways = ways * (length + first + j) / (first + j)
    least = math.min(least, ways * shorter)
  end
  return least * pattern.weight
end

-- The longest runs there can be in any text of this length.
local function longest_runs(pattern, length)
  local runs = {}
  for i, repeated in ipairs(pattern) do runs[i] = repeated.is_once and math.min(1, length) or length end
  return runs
end

--- A pattern, with the classes in it that fit a number of signs; or nil and why it is none of Lua.
function patterns.compiled(text)
  local pattern = { text = text, is_anchored = sub(text, 1, 1) == "^" }
  local at, singles, groups, open, problem = pattern.is_anchored and 2 or 1, 0, 0, 0, nil
  while at <= #text do
    local sign, two = sub(text, at, at), sub(text, at, at + 1)
    local stop = at
    if sign == "(" then
      groups, open = groups + 1, open + 1
    elseif sign == ")" then
      open = open - 1
      if open < 0 then return nil, "a ) has no ( before it, and stands for itself as %)" end
    elseif sign == "$" and at == #text then
      pattern.sees_end = true
    elseif two == "%b" then
      if at + 3 > #text then return nil, "%b needs two signs behind it, as in %b()" end
      pattern[#pattern + 1] = { class = "." }
      stop = at + 3
    elseif two == "%f" then
      if sub(text, at + 2, at + 2) ~= "[" then return nil, "%f needs a [set] behind it" end
      stop, problem = class_end(text, at + 2)
      pattern.sees_end = true
    elseif find(two, "^%%%d") then
      local number = tonumber(sub(two, 2))
      if number < 1 or number > groups then
        return nil, two .. " stands for a group, and there is none of that number before it"
      end
      pattern[#pattern + 1] = { class = "." }
      stop = at + 1
    else
      stop, problem = class_end(text, at)
      if stop and find(text, "^[*+?-]", stop + 1) then
        local class = sub(text, at, stop)
        local quantifier = sub(text, stop + 1, stop + 1)
        pattern[#pattern + 1] = { class = class == "^" and "%^" or class, is_once = quantifier == "?" }
        stop = stop + 1
      else
        singles = singles + 1
      end
    end
    if not stop then return nil, problem end
    at = stop + 1
  end
  if open > 0 then return nil, "a ( has no ) behind it, and stands for itself as %(" end
  local ok, thrown = pcall(find, "", text)
  if not ok then return nil, reason(thrown) end
  pattern.weight = 1 + singles / 16
  -- The longest text that it may be looked for in, whatever stands there.
  local above = 1048576
  pattern.safe = 0
  while above - pattern.safe > 1 do
    local length = floor((pattern.safe + above) / 2)
    if steps(pattern, length, longest_runs(pattern, length)) <= STEPS then pattern.safe = length else above = length end
  end
  return pattern
end

local function longest_run(text, class)
  if class == "." then return #text end
  local longest = 0
  for run in gmatch(text, class .. "+") do longest = math.max(longest, #run) end
  return longest
end

--- Whether a text has a pattern; or nil and an error. With it, whether the text was too long to be looked at whole:
-- then only its beginning was, or nothing of it if the pattern asks for the end.
function patterns.has(text, pattern)
  local is_cut = false
  if #text > pattern.safe then
    local runs = {}
    for i, repeated in ipairs(pattern) do
      runs[i] = repeated.is_once and 1 or longest_run(text, repeated.class)
    end
    if steps(pattern, #text, runs) > STEPS then
      is_cut = true
      if pattern.sees_end then return false, true end
      text = sub(text, 1, pattern.safe)
    end
  end
  local ok, at = pcall(find, text, pattern.text)
  if not ok then return nil, reason(at) end
  return at ~= nil, is_cut
end

return patterns
