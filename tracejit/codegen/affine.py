"""Offsets of accesses as polynomials of the loop variables, and how they depend on one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracejit.codegen.llvm.lanes import bits
from tracejit.ir.dims import Dim, Poly, free_symbols, prod, substitute
from tracejit.ir.kernel import Kernel, Load, Store

__all__ = ["Offsets", "split_linear"]


def split_linear(d: Dim, name: str) -> tuple[Dim, Dim] | None:
    """(coefficient, rest) with d = coefficient * name + rest, or None if d is not linear in it."""
    if isinstance(d, int):
        return 0, d
    coefficient: list[tuple[tuple[object, ...], int]] = []
    rest: list[tuple[tuple[object, ...], int]] = []
    for monomial, factor in d.terms:
        if any(not isinstance(a, str) and name in _symbols_of(a.args) for a in monomial):
            return None
        times = monomial.count(name)
        if times > 1:
            return None
        kept = tuple(a for a in monomial if a != name)
        (coefficient if times else rest).append((kept, factor))
    return _polynomial(coefficient), _polynomial(rest)


def _symbols_of(dims: Sequence[Dim]) -> set[str]:
    return set().union(*(free_symbols(d) for d in dims))


def _polynomial(terms: list[tuple[tuple[object, ...], int]]) -> Dim:
    # Removing one symbol from distinct monomials, or none, leaves them distinct and in order.
    if not terms:
        return 0
    if len(terms) == 1 and not terms[0][0]:
        return terms[0][1]
    return Poly(tuple(terms))  # type: ignore[arg-type]


class Offsets:
    """The linear element offset of each access of a kernel, some of whose sizes may be known."""

    def __init__(self, kernel: Kernel, known: Mapping[str, Dim] | None = None) -> None:
        self._sizes = known or {}
        self._strides: dict[str, tuple[Dim, ...]] = {}
        for param in kernel.params:
            strides = param.strides
            if strides is None:
                running: Dim = 1
                built: list[Dim] = []
                for size in reversed(param.shape):
                    built.insert(0, running)
                    running = running * size
                strides = tuple(built)
            self._strides[param.name] = strides
        self.footprint = _footprint(kernel)
        self._known: dict[tuple[str, tuple[Dim, ...]], Dim] = {}

    def __call__(self, access: Load | Store) -> Dim:
        key = (access.buffer, access.index)
        if key not in self._known:
            offset: Dim = 0
            for index, stride in zip(access.index, self._strides[access.buffer], strict=True):
                offset = offset + index * stride
            self._known[key] = substitute(offset, self._sizes) if self._sizes else offset
        return self._known[key]


def _footprint(kernel: Kernel) -> int | None:
    """The bytes of all buffers of a kernel, or None where a size is not a number."""
    total = 0
    for param in kernel.params:
        size = prod(param.shape)
        if not isinstance(size, int):
            return None
        total += size * bits(param.dtype) // 8
    return total
