-- The methods of what is attached to a computer.

--- Those of a peripheral: a set of names; empty if it has none, or is gone.
return function(name)
  local has = {}
  for _, method in ipairs(peripheral.getMethods(name) or {}) do has[method] = true end
  return has
end
