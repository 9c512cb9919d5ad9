"""A fusion becomes a kernel: index maps, loop nests, updates."""
