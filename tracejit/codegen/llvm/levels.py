"""Processors that code is made for ahead of time: this one, or levels of x86-64 by their names.

The levels are those of the System V ABI's AMD64 supplement, which LLVM takes as names of CPUs. What
code for one level computes is what code for any other does, to the bit: so a level without fused
multiply-adds calls the C library's `fma`, which takes its time.
"""

from __future__ import annotations

from tracejit.codegen.llvm.engine import HostTarget, host_target
from tracejit.spelling import no_such

__all__ = ["LEVELS", "NATIVE", "target_of"]

#: This process's own processor.
NATIVE = "native"
_V2 = frozenset("cx8 cx16 sahf popcnt sse sse2 sse3 ssse3 sse4.1 sse4.2".split())
_V3 = _V2 | frozenset("avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave".split())
_V4 = _V3 | frozenset("avx512f avx512bw avx512cd avx512dq avx512vl".split())
#: Level -> features, and the bits of a vector.
LEVELS: dict[str, tuple[frozenset[str], int]] = {
    "x86-64-v2": (_V2, 128),
    "x86-64-v3": (_V3, 256),
    "x86-64-v4": (_V4, 512),
}


def target_of(name: str) -> HostTarget:
    """The target of a level, or of "native". Raises ValueError for another name, or for a level of
    another machine.
    """
    host = host_target()
    if name == NATIVE:
        return host
    if name not in LEVELS:
        raise ValueError(no_such("target", name, [NATIVE, *LEVELS]))
    if not host.is_x86:
        raise ValueError(f"the target {name} is of x86-64, and this machine is {host.triple}")
    features, bits = LEVELS[name]
    return HostTarget(
        host.triple, name, features, bits, has_fma=True, has_f16c="f16c" in features, own_bits=False
    )
