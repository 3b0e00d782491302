-- The tools that return one kind of content each.

local PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
local SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="

local content = {}

function content.simple_text()
  return "This is a simple text response for testing."
end

function content.image()
  return { content = { { type = "image", data = PIXEL, mimeType = "image/png" } } }
end

function content.audio()
  return { content = { { type = "audio", data = SILENCE, mimeType = "audio/wav" } } }
end

function content.embedded_resource()
  local resource = {
    uri = "test://embedded-resource", mimeType = "text/plain", text = "This is an embedded resource content.",
  }
  return { content = { { type = "resource", resource = resource } } }
end

function content.multiple()
  local resource = {
    uri = "test://mixed-content-resource",
    mimeType = "application/json",
    text = json.encode({ test = "data", value = 123 }),
  }
  return {
    content = {
      { type = "text", text = "Multiple content types test:" },
      { type = "image", data = PIXEL, mimeType = "image/png" },
      { type = "resource", resource = resource },
    },
  }
end

function content.failing()
  local text = "This tool intentionally returns an error for testing"
  return { content = { { type = "text", text = text } }, isError = true }
end

return content
