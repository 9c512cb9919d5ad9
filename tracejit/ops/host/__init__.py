"""Calls of NumPy's and SciPy's own functions from inside a program."""
