-- Parts of what tools answer.

local concat, format = table.concat, string.format

local words = {}

--- So many of something: `1 file`, `3 files`.
function words.count(count, singular)
  return format("%d %s%s", count, singular, count == 1 and "" or "s")
end

--- Some of the texts in a list, and how many more there are.
function words.some(texts, most)
  local more = #texts - most
  return concat(texts, ", ", 1, math.min(#texts, most)) .. (more > 0 and format(" and %d more", more) or "")
end

return words
