"""Code generation: fused graphs to kernels, kernels to LLVM, LLVM to machine code."""
