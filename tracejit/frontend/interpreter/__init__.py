"""The interpreter of rewritten code: calls, names, entry and results."""
