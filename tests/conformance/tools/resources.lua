-- The resources that are made when they are read.

local resources = {}

function resources.template(arguments)
  return json.encode({ id = arguments.id, templateTest = true, data = "Data for ID: " .. arguments.id })
end

return resources
