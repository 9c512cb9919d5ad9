"""The prelude as plain Python, beside NumPy."""
