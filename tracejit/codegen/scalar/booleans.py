"""Scalar functions of booleans: each becomes instructions over any number of lanes."""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.codegen.llvm.lanes import Lanes
from tracejit.codegen.scalar.integers import COMPARISONS, ScalarEmitter, constant, same, simple

__all__ = ["BOOLEAN"]

_XOR = simple("xor")


def _and(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    return _of_truths(s, "and", "true", "false", a)


def _or(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    return _of_truths(s, "or", "false", "true", a)


def _of_truths(s: Lanes, opcode: str, neutral: str, final: str, a: Sequence[str]) -> str:
    """`and` or `or`, decided where an operand is a literal that decides it."""
    for x, y in (a, a[::-1]):
        if x == neutral:
            return y
        if x == final:
            return x
    return s.op(opcode, "b1", *a)


def _not(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    return s.op("xor", "b1", a[0], s.const(True, "b1"))


BOOLEAN: dict[str, ScalarEmitter] = {
    **COMPARISONS,
    "logical_and": _and,
    "logical_or": _or,
    "logical_xor": _XOR,
    "logical_not": _not,
    "add": _or,
    "multiply": _and,
    "bitwise_and": _and,
    "bitwise_or": _or,
    "bitwise_xor": _XOR,
    "invert": _not,
    "maximum": _or,
    "minimum": _and,
    "fmax": _or,
    "fmin": _and,
    "unlikely": same,
    "absolute": same,
    "floor": same,
    "ceil": same,
    "trunc": same,
    "conjugate": same,
    "isnan": constant(False),
    "isinf": constant(False),
    "isfinite": constant(True),
}
