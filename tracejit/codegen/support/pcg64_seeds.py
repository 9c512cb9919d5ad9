"""What `np.random.default_rng(seed)` makes of a seed, as machine code: the words of PCG64's state.

The seed's two halves of 32 bits are hashed into a pool of four numbers, and these into eight, as
NumPy's `SeedSequence` does after M. E. O'Neill's `seed_seq_fe` (pcg-random.org, "Developing a
seed_seq alternative"), whose constants are here. The generator begins from those as its authors'
`pcg_setseq_128_srandom` says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tracejit.base.locks import once
from tracejit.codegen.llvm.text import FunctionBuilder, Module

__all__ = ["is_known", "seeded"]

_FIRST_A, _TIMES_A = 0x43B0D7E5, 0x931E8875
_FIRST_B, _TIMES_B = 0x8B51F9DD, 0x58F38DED
_LEFT, _RIGHT = 0xCA01F9DD, 0x4973F715
_STEP = 0x2360ED051FC65DA44385DF649FCCF645
_POOL = 4


class _Instructions:
    """Arithmetic on integers of some bits, as LLVM's instructions."""

    def __init__(self, fb: FunctionBuilder) -> None:
        self.fb = fb

    def __call__(self, op: str, bits: int, a: Any, b: Any) -> Any:
        return self.fb.emit(f"{op} i{bits} {a}, {b}")

    def as_bits(self, x: Any, bits: int, to: int) -> Any:
        return self.fb.emit(f"{'zext' if to > bits else 'trunc'} i{bits} {x} to i{to}")


class _Numbers:
    """The same on Python's ints."""

    def __call__(self, op: str, bits: int, a: int, b: int) -> int:
        results = {"xor": a ^ b, "mul": a * b, "sub": a - b, "add": a + b, "or": a | b}
        shifted = a << b if op == "shl" else a >> b if op == "lshr" else 0
        return results.get(op, shifted) % (1 << bits)

    def as_bits(self, x: int, bits: int, to: int) -> int:
        return x % (1 << to)


def _powers(first: int, times: int) -> Iterator[int]:
    while True:
        yield first
        first = first * times % (1 << 32)


def _hashed(n: Any, x: Any, before: int, after: int) -> Any:
    x = n("mul", 32, n("xor", 32, x, before), after)
    return n("xor", 32, x, n("lshr", 32, x, 16))


def _pool(n: Any, seed: Any) -> list[Any]:
    """The entropy of a seed of 64 bits."""
    factors = _powers(_FIRST_A, _TIMES_A)
    factor = next(factors)

    def hashed(x: Any) -> Any:
        nonlocal factor
        before, factor = factor, next(factors)
        return _hashed(n, x, before, factor)

    halves = [n.as_bits(seed, 64, 32), n.as_bits(n("lshr", 64, seed, 32), 64, 32), 0, 0]
    pool = [hashed(half) for half in halves]
    for source in range(_POOL):
        for target in range(_POOL):
            if source != target:
                left = n("mul", 32, pool[target], _LEFT)
                right = n("mul", 32, hashed(pool[source]), _RIGHT)
                mixed = n("sub", 32, left, right)
                pool[target] = n("xor", 32, mixed, n("lshr", 32, mixed, 16))
    return pool


def _words(n: Any, seed: Any) -> list[Any]:
    """The state and the increment that a generator begins with, the upper half of each first."""
    pool, factors = _pool(n, seed), _powers(_FIRST_B, _TIMES_B)
    factor, numbers = next(factors), []
    for k in range(2 * _POOL):
        before, factor = factor, next(factors)
        numbers.append(_hashed(n, pool[k % _POOL], before, factor))

    def wide(parts: list[Any]) -> Any:
        """A number of 128 bits; of each 64 the lower half comes first, of both the upper ones."""
        order = (2, 3, 0, 1)
        out = n.as_bits(parts[order[0]], 32, 128)
        for k in range(1, 4):
            part = n.as_bits(parts[order[k]], 32, 128)
            out = n("or", 128, out, n("shl", 128, part, 32 * k))
        return out

    def step(x: Any) -> Any:
        return n("add", 128, n("mul", 128, x, _STEP), increment)

    increment = n("or", 128, n("shl", 128, wide(numbers[4:]), 1), 1)
    # The first step from 0 gives the increment.
    state = step(n("add", 128, increment, wide(numbers[:4])))
    words = []
    for x in (state, increment):
        words += [n.as_bits(n("lshr", 128, x, 64), 128, 64), n.as_bits(x, 128, 64)]
    return words


@once
def is_known() -> bool:
    """Whether NumPy seeds its generators as is written here."""
    for seed in (0, 1, 12345, 2**32 - 1, 2**32, 2**63 - 1):
        kept: Any = np.random.default_rng(seed).bit_generator.state
        if kept["bit_generator"] != "PCG64" or kept["has_uint32"] or kept["uinteger"]:
            return False
        numbers = kept["state"]["state"], kept["state"]["inc"]
        wanted = [w for x in numbers for w in divmod(x, 2**64)]
        if wanted != _words(_Numbers(), seed):
            return False
    return True


def seeded(module: Module) -> str:
    """The function `void f(i64 seed, ptr words)` of a module, with its sigil.

    No seed is negative.
    """

    def build() -> None:
        fb = FunctionBuilder(module, name, [("i64", "%seed"), ("ptr", "%words")])
        values = [*_words(_Instructions(fb), "%seed"), "0", "0"]
        for k, value in enumerate(values):
            at = fb.emit(f"getelementptr i64, ptr %words, i64 {k}")
            fb.line(f"store i64 {value}, ptr {at}")
        fb.ret()
        fb.finish()

    name = "tj_pcg64_seeded"
    return module.helper(name, build)
