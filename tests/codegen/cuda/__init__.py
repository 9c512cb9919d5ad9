"""Tests of kernels printed for CUDA."""
