--- What one job prints, on its way to the bridge: cut into numbered frames, each of which is kept until it has arrived.
--
-- There is a bound on what is kept. When more is printed, the oldest bytes that are not yet in a frame are dropped, and
-- the next frame says how many were.

local sub = string.sub
local concat = table.concat
local max, min, setmetatable = math.max, math.min, setmetatable

local stream = {}
stream.__index = stream

--- Bytes that a job's stream holds at most: as many as the bridge keeps of a job. Code may print them at one go,
-- where nothing can be sent meanwhile.
stream.LIMIT = 1024 * 1024
--- Bytes that all streams of a computer hold at most.
stream.LIMIT_OF_ALL = 2 * 1024 * 1024
--- Bytes of a frame's text: a frame that is full goes out without delay.
stream.FRAME_BYTES = 8 * 1024

-- Frames of one job follow each other at this interval, unless they are full.
local FRAME_SECONDS = 0.1
-- What is printed is gathered into blocks, of this many bytes or pieces: it may come byte by byte. What comes in one
-- piece is cut into blocks of a frame's size.
local BLOCK_BYTES, BLOCK_PIECES = 4 * 1024, 256

--- What all streams of a computer hold together.
-- @tparam function on_full Called when that is too much, before the one that has grown drops some of its own.
-- @treturn table `bytes`, and `frames` that have not arrived yet.
function stream.new_budget(on_full)
  return { bytes = 0, frames = 0, on_full = on_full }
end

--- @tparam table budget From @{stream.new_budget}.
-- @tparam[opt] told told What the job tells beside that, which goes out in the same frames.
-- @treturn stream An empty one.
function stream.new(budget, told)
  return setmetatable({
    budget = budget,
    told = told,
    total = 0,           -- bytes printed so far
    pieces = {},         -- the latest of them, not yet in a block
    piece_count = 0,
    piece_bytes = 0,
    blocks = {},         -- what is in no frame yet, at indices first_block..last_block
    first_block = 1,
    last_block = 0,
    block_bytes = 0,
    dropped = 0,         -- bytes dropped just before the first block
    framed = 0,          -- bytes that are in frames, or were dropped before one
    frames = {},         -- {seq, at, text, dropped, told}, those that have not arrived, at first_seq..last_seq
    first_seq = 1,
    last_seq = 0,
    next_seq = 1,        -- the first of them that was not sent on the present connection
    frame_bytes = 0,
    next_at = 0,         -- when the next frame may go out, in seconds
  }, stream)
end

-- Drops the oldest bytes that are in no frame, from one block. Returns how many.
local function drop_from_block(self, excess)
  local block = self.blocks[self.first_block]
  if not block then return 0 end
  local count = min(excess, #block)
  if count < #block then
    self.blocks[self.first_block] = sub(block, count + 1)
  else
    self.blocks[self.first_block] = nil
    self.first_block = self.first_block + 1
  end
  self.block_bytes = self.block_bytes - count
  self.budget.bytes = self.budget.bytes - count
  self.dropped = self.dropped + count
  return count
end

--- Drops the oldest bytes that are in no frame.
-- @tparam number excess How many, if there are so many.
function stream:drop(excess)
  while excess > 0 do
    local dropped = drop_from_block(self, excess)
    if dropped == 0 then return end
    excess = excess - dropped
  end
end

-- Drops what is beyond the limits.
local function trim(self)
  self:drop(self.block_bytes + self.frame_bytes - stream.LIMIT)
  local budget = self.budget
  if budget.bytes > stream.LIMIT_OF_ALL then budget.on_full() end
  self:drop(budget.bytes - stream.LIMIT_OF_ALL)
end

local function append_block(self, block)
  self.last_block = self.last_block + 1
  self.blocks[self.last_block] = block
  self.block_bytes = self.block_bytes + #block
  self.budget.bytes = self.budget.bytes + #block
end

-- Cuts what came in one large piece into blocks.
local function append_large(self, piece)
  local first = max(1, #piece - stream.LIMIT + 1)
  if first > 1 then
    -- All that was printed before is older than what of this has to go.
    self:drop(self.block_bytes)
    self.dropped = self.dropped + first - 1
  end
  for at = first, #piece, stream.FRAME_BYTES do append_block(self, sub(piece, at, at + stream.FRAME_BYTES - 1)) end
end

local function gather(self)
  if self.piece_count == 0 then return end
  local pieces, count, size = self.pieces, self.piece_count, self.piece_bytes
  self.piece_count, self.piece_bytes = 0, 0
  if size <= stream.FRAME_BYTES then
    append_block(self, concat(pieces, "", 1, count))
  else
    local large = pieces[count]
    -- Not to be held any longer than its blocks are.
    pieces[count] = nil
    if count > 1 then append_block(self, concat(pieces, "", 1, count - 1)) end
    append_large(self, large)
  end
  trim(self)
end

--- Appends what was printed.
-- @tparam string piece
-- @treturn boolean Whether much was since this last was so.
function stream:write(piece)
  local count, size = self.piece_count + 1, #piece
  self.total = self.total + size
  self.pieces[count] = piece
  self.piece_count = count
  size = self.piece_bytes + size
  self.piece_bytes = size
  if size < BLOCK_BYTES and count < BLOCK_PIECES then return false end
  gather(self)
  return true
end

local function has_uncut(self)
  return self.block_bytes + self.piece_bytes + self.dropped > 0 or self.told ~= nil and not self.told:is_empty()
end

--- Whether something was printed or told that was not sent on the present connection.
-- @treturn boolean
function stream:has_unsent()
  return self.next_seq <= self.last_seq or has_uncut(self)
end

--- When a frame is to be sent.
-- @treturn number|nil In seconds; nil if there is nothing for one.
function stream:due_at()
  local uncut = self.block_bytes + self.piece_bytes
  if self.next_seq <= self.last_seq or uncut >= stream.FRAME_BYTES then return 0 end
  return has_uncut(self) and self.next_at or nil
end

--- The oldest frame that has not arrived.
-- @treturn table|nil
function stream:oldest()
  return self.frames[self.first_seq]
end

--- @treturn number How many of the first bytes have arrived: no frame tells of them any more.
function stream:arrived_bytes()
  local oldest = self:oldest()
  return oldest and oldest.at - (oldest.dropped or 0) or self.framed
end

--- All frames are to be sent again that have not arrived: there is a new connection.
function stream:rewind()
  self.next_seq = self.first_seq
end

-- Takes up to FRAME_BYTES from the blocks.
local function take_text(self)
  local taken, count, room = {}, 0, stream.FRAME_BYTES
  while room > 0 and self.first_block <= self.last_block do
    local block = self.blocks[self.first_block]
    if #block > room then
      self.blocks[self.first_block] = sub(block, room + 1)
      block = sub(block, 1, room)
    else
      self.blocks[self.first_block] = nil
      self.first_block = self.first_block + 1
    end
    count = count + 1
    taken[count] = block
    room = room - #block
  end
  return concat(taken)
end

-- Makes a frame of what was printed and told. Returns whether there was something for it.
local function cut(self, now)
  gather(self)
  if not has_uncut(self) then return false end
  local text = take_text(self)
  local at = self.framed + self.dropped
  self.last_seq = self.last_seq + 1
  self.frames[self.last_seq] = {
    seq = self.last_seq, at = at, text = text, dropped = self.dropped > 0 and self.dropped or nil,
    told = self.told and self.told:take(),
  }
  self.framed = at + #text
  self.block_bytes = self.block_bytes - #text
  self.frame_bytes = self.frame_bytes + #text
  self.dropped = 0
  self.budget.frames = self.budget.frames + 1
  self.next_at = now + FRAME_SECONDS
  return true
end

--- The frame to send next on the present connection; it is made if there is none yet.
-- @tparam number now In seconds.
-- @treturn table|nil `seq`, `text`, `at` (how many bytes were printed before that), `dropped` (how many of them right
--   before it are in no frame, or nil), `told` (see @{told:take}); nil if there is nothing for it.
function stream:next_frame(now)
  if self.next_seq > self.last_seq and not cut(self, now) then return nil end
  return self.frames[self.next_seq]
end

--- The frame from @{stream:next_frame} was sent.
function stream:sent()
  self.next_seq = self.next_seq + 1
end

local function forget_frame(self)
  local size = #self.frames[self.first_seq].text
  self.frames[self.first_seq] = nil
  self.first_seq = self.first_seq + 1
  self.frame_bytes = self.frame_bytes - size
  self.budget.bytes = self.budget.bytes - size
  self.budget.frames = self.budget.frames - 1
end

--- Takes note that frames have arrived.
-- @tparam number seq The last of them.
function stream:arrived(seq)
  while self.first_seq <= self.last_seq and self.first_seq <= seq do forget_frame(self) end
  if self.next_seq < self.first_seq then self.next_seq = self.first_seq end
end

--- Takes back a part of a frame that the game refuses to send: what was told, or else the text, whose bytes count as
-- dropped.
-- @tparam table frame
function stream:lose(frame)
  if frame.told then
    frame.told = nil
    return
  end
  local size = #frame.text
  frame.dropped = (frame.dropped or 0) + size
  frame.at = frame.at + size
  frame.text = ""
  self.frame_bytes = self.frame_bytes - size
  self.budget.bytes = self.budget.bytes - size
end

--- Lets go of everything.
function stream:release()
  self:arrived(self.last_seq)
  self.budget.bytes = self.budget.bytes - self.block_bytes
  self.blocks, self.first_block, self.last_block, self.block_bytes = {}, 1, 0, 0
  self.pieces, self.piece_count, self.piece_bytes, self.dropped = {}, 0, 0, 0
  self.told = nil
end

return stream
