"""Tests of `tracejit.frontend.numpy`: functions, ufuncs and indices of NumPy."""
