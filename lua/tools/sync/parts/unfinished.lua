-- What a file that is not whole yet is called behind its name.

return ".sync-new"
