"""Processors that code is made for: this one, or levels of x86-64 by their names.

The levels are those of the System V ABI's AMD64 supplement, which LLVM takes as names of CPUs. What
code for one level computes is what code for any other does, to the bit: so a level without fused
multiply-adds calls the C library's `fma`, which takes its time.
"""

from __future__ import annotations

from tracejit import config
from tracejit.base.lazy_dataclass import dataclass
from tracejit.base.locks import once
from tracejit.base.spelling import no_such
from tracejit.codegen.llvm import api

__all__ = [
    "LEVELS",
    "NATIVE",
    "HostTarget",
    "host_target",
    "level_of",
    "real_host",
    "target_of",
]


@dataclass(frozen=True)
class HostTarget:
    """What the code generator may assume about the machine it runs on."""

    triple: str
    cpu: str
    features: frozenset[str]
    vector_bits: int
    has_fma: bool
    has_f16c: bool
    #: Whether what is computed may differ from what other processors compute in its last bits.
    own_bits: bool = True

    @property
    def gathers(self) -> bool:
        """Whether a gather is no slower than its loads: since Intel's processors with AVX512-FP16,
        whose gathers need no microcode against leaks.
        """
        return "avx512fp16" in self.features

    @property
    def is_x86(self) -> bool:
        """Whether this is 64-bit x86."""
        return self.triple.startswith(("x86_64", "amd64"))

    @property
    def permutes(self) -> bool:
        """Whether there are AVX-512's permutations, which read small tables."""
        return self.own_bits and self.is_x86 and "avx512f" in self.features


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


@once
def host_target() -> HostTarget:
    """What code of this process is for: the host, or a level that TRACEJIT_TARGET names.

    Raises ValueError for a level that the host does not have.
    """
    level = config.target()
    if level == config.TARGETS[0]:
        return real_host()
    return level_of(level, real_host(), runs_here=True)


@once
def real_host() -> HostTarget:
    """The host's triple, CPU, features and the register width that kernels should use."""
    triple, cpu, present = api.host()
    features = frozenset(name for name, on in present.items() if on)
    is_x86 = triple.startswith(("x86_64", "amd64"))
    if is_x86 and {"avx512f", "avx512vl", "avx512dq", "avx512bw"} <= features:
        vector_bits = 512
    elif is_x86 and "avx2" in features:
        vector_bits = 256
    else:
        vector_bits = 128
    is_arm = triple.startswith(("aarch64", "arm64"))
    return HostTarget(
        triple=triple,
        cpu=cpu,
        features=features,
        vector_bits=vector_bits,
        has_fma=is_arm or "fma" in features,
        has_f16c=is_arm or "f16c" in features,
    )


def target_of(name: str) -> HostTarget:
    """The target of a level, or of "native". Raises ValueError for another name, or for a level of
    another machine.
    """
    host = real_host()
    if name == NATIVE:
        return host
    if name not in LEVELS:
        raise ValueError(no_such("target", name, [NATIVE, *LEVELS]))
    return level_of(name, host)


def level_of(name: str, host: HostTarget, runs_here: bool = False) -> HostTarget:
    """The target of a level. Raises ValueError where the host is of another kind, or lacks what
    code needs that `runs_here`.
    """
    if not host.is_x86:
        raise ValueError(f"the target {name} is of x86-64, and this machine is {host.triple}")
    features, bits = LEVELS[name]
    lacking = sorted(features - host.features)
    if runs_here and lacking:
        raise ValueError(f"the target {name} needs {lacking[0]}, which this processor lacks")
    return HostTarget(
        host.triple, name, features, bits, has_fma=True, has_f16c="f16c" in features, own_bits=False
    )
