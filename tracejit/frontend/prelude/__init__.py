"""NumPy's functions in NumPy's simpler terms: plain Python that is traced in place of calls."""
