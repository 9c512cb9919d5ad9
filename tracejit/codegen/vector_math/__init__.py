"""Elementary functions of any width: a name and a format become LLVM IR text over vectors."""
