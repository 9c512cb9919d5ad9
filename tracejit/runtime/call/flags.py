"""Flag bits of an array (NumPy's public `flags.num`)."""

__all__ = ["ALIGNED", "C_CONTIGUOUS", "F_CONTIGUOUS", "WARN_ON_WRITE", "WRITEABLE"]

C_CONTIGUOUS, F_CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x2, 0x100, 0x400
WARN_ON_WRITE = 1 << 31
