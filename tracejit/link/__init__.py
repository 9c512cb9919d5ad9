"""Machine code as images: object files laid out once, loaded without LLVM."""
