"""Tests of `tracejit.codegen`: kernels, scalar functions and programs as machine code."""
