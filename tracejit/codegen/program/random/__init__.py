"""Draws of random numbers, by the C functions of NumPy or as machine code."""
