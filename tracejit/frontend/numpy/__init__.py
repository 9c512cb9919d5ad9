"""NumPy on tracers: ufuncs, functions, methods and indexing become nodes."""
