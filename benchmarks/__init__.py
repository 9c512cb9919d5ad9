"""Measurements of tracejit against NumPy, numexpr, Numba and JAX: `python -m benchmarks`."""
