"""The front end: from a Python function that uses NumPy to a graph."""
