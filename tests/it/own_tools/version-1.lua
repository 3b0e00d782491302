-- An agent of protocol version 1, which answers `ping` and `exec-lua` and nothing else.
local socket = assert(http.websocket((...)))
socket.send(textutils.serialiseJSON({
  type = "hello", computerId = os.getComputerID(), computerLabel = "old",
}))

local function run(code)
  local output = {}
  local env = setmetatable({
    print = function(text) output[#output + 1] = tostring(text) .. "\n" end,
  }, { __index = _G })
  local chunk, problem = load("return " .. code, "=exec-lua", "t", env)
  if not chunk then chunk, problem = load(code, "=exec-lua", "t", env) end
  if not chunk then return { ok = false, error = problem } end
  local results = table.pack(pcall(chunk))
  if not results[1] then
    return { ok = false, error = tostring(results[2]), result = { output = table.concat(output) } }
  end
  local returns = {}
  for i = 2, results.n do
    local kind = type(results[i])
    if kind == "string" or kind == "number" or kind == "boolean" then
      returns[i - 1] = { type = kind, value = results[i] }
    else
      returns[i - 1] = { type = kind, repr = tostring(results[i]) }
    end
  end
  return { ok = true, result = { returns = returns, output = table.concat(output) } }
end

while true do
  local text = socket.receive()
  if not text then return end
  local request = textutils.unserialiseJSON(text)
  if request and request.type == "request" then
    local answer
    if request.method == "ping" then
      answer = { ok = true, result = "pong" }
    elseif request.method == "exec-lua" then
      answer = run(request.params.code)
    else
      answer = { ok = false, error = "unknown method" }
    end
    answer.type, answer.id = "response", request.id
    socket.send(textutils.serialiseJSON(answer))
  end
end
