"""Optimisers: plain NumPy on the leaves of a tree, changed in place."""
