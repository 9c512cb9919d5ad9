"""LLVM: its text, its types in lanes, and the engine that makes machine code of it."""
