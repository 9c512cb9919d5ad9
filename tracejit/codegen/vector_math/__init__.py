"""Elementary functions: one definition each, LLVM IR text of any width or computed by NumPy."""
