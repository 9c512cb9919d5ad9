"""Ops on arrays, each with its type rule, its meaning in NumPy and its samples."""
