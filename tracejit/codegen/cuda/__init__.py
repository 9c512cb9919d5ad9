"""CUDA: kernels printed as Python for Numba-CUDA."""
