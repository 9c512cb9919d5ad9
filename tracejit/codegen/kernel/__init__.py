"""A kernel becomes one LLVM function: loops, lanes, loads and stores, reductions."""
