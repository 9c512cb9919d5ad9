"""What programs call at run time: memory, Python, interrupts, printing, BLAS and LAPACK."""
