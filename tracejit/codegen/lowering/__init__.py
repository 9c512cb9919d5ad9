"""A fusion becomes a kernel: index maps, loop nests, updates, joins over the same rows."""
