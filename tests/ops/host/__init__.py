"""Tests of `tracejit.ops.host`: calls of NumPy and SciPy, and their derivatives."""
