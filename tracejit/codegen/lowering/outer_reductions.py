"""Reductions run in lanes along their terms or beside each other, whichever are neighbours.

    for i in range(n):                          for i in range(n), in lanes:
        r = reduce(x[k * ld + i], m) in lanes   <->     r = reduce(x[k * ld + i], m)
        out[i] = r                                  out[i] = r

To the right where one reduction by itself would gather its terms one by one, to the left where
those beside each other would. What each sum of floats adds up, and in which order, is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tracejit.codegen.affine import Offsets, split_linear
from tracejit.codegen.llvm.lanes import is_float
from tracejit.ir.dims import Dim, free_symbols
from tracejit.ir.kernel import Call, Expr, For, IndexValue, Kernel, Let, Load, Reduce, Stmt, Store
from tracejit.ir.order import LANES, VECTOR_BLOCK

__all__ = ["columns"]

#: Fewer results do not fill the lanes, and the terms of shorter ones fit in few vectors.
_LEAST = 16


def columns(kernel: Kernel) -> Kernel:
    """`kernel` whose loops around reductions run in lanes where those of the reductions would
    gather, and the other way round.
    """
    if not any(isinstance(stmt, For) for stmt in kernel.body):
        return kernel
    return replace(kernel, body=_turned(kernel.body, Offsets(kernel)))


def _turned(body: Sequence[Stmt], offsets: Offsets) -> tuple[Stmt, ...]:
    return tuple(_loop(stmt, offsets) if isinstance(stmt, For) else stmt for stmt in body)


def _loop(loop: For, offsets: Offsets) -> For:
    match loop.body:
        case (Reduce() as reduce, *after) if all(isinstance(s, (Let, Store)) for s in after):
            if loop.vector != reduce.vector and _turns(loop, reduce, offsets):
                turned = replace(reduce, vector=loop.vector)
                if loop.vector and not any(is_float(t.dtype) for t in reduce.targets):
                    # In any order the same; lanes of the sum are lanes of its loop.
                    turned = replace(turned, lanes=LANES, block=VECTOR_BLOCK)
                return replace(loop, body=(turned, *after), vector=reduce.vector)
    return replace(loop, body=_turned(loop.body, offsets))


def _turns(loop: For, reduce: Reduce, offsets: Offsets) -> bool:
    """Whether the loop that runs in lanes gathers all that it loads, and the other one nothing."""
    if any(isinstance(d, int) and d < _LEAST for d in (loop.size, reduce.size)):
        return False
    in_order = any(is_float(t.dtype) and t.combine in ("sum", "prod") for t in reduce.targets)
    if in_order and (loop.vector or any(t.combine != "sum" for t in reduce.targets)):
        return False
    if reduce.quotients or any(t.combine.startswith("arg") for t in reduce.targets):
        return False
    if not all(isinstance(s, Let) for s in reduce.body):
        return False
    own = {s.name for s in reduce.body if isinstance(s, Let)}
    exprs = [s.expr for s in reduce.body if isinstance(s, Let)] + [t.expr for t in reduce.targets]
    inner, outer = (loop, reduce) if loop.vector else (reduce, loop)
    moves = False
    for place in _places(exprs):
        offset = offsets(place) if isinstance(place, Load) else place.dim
        if not own.isdisjoint(free_symbols(offset)):
            return False
        now, then = (_step(offset, loop.var) for loop in (inner, outer))
        if now is None or then is None or then not in (0, 1, -1):
            return False
        if then != 0 and isinstance(place, Load):
            if now in (1, -1):
                return False
            moves |= now != 0
    return moves


def _step(offset: Dim, var: str) -> Dim | None:
    split = split_linear(offset, var)
    return None if split is None else split[0]


def _places(exprs: Sequence[Expr]) -> Iterator[Load | IndexValue]:
    seen: set[int] = set()
    stack = list(exprs)
    while stack:
        e = stack.pop()
        if id(e) in seen:
            continue
        seen.add(id(e))
        if isinstance(e, (Load, IndexValue)):
            yield e
        elif isinstance(e, Call):
            stack += e.args
