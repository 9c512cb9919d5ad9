"""Kernels over the same rows take turns block by block: a block is still close when it is read.

    for i in range(n): m[i] = max of x[i, :]
    for i in range(n): for j: e[i, j] = exp(x[i, j] - m[i])
    ->  for b in range(n / R):
            for i in range(R): m[i] = max of x[b*R + i, :]
            for i in range(R): for j: e[b*R + i, j] = exp(x[b*R + i, j] - m[i])

The kernels have been joined row by row (`join.py`), so that any order is right in which what is
done with a row follows what was done with it before. Rows of a block do not wait for each other, as
the parts of one row would. A buffer that nothing else reads has room for one block.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from tracejit.codegen.affine import split_linear
from tracejit.codegen.llvm.lanes import bits
from tracejit.codegen.lowering.collapse import map_dims
from tracejit.codegen.lowering.join import (
    Stage,
    accesses,
    apart,
    fresh,
    loops_in,
    names_of,
    row_loops,
    rows_of,
)
from tracejit.ir.dims import Dim, floordiv, minimum, substitute, symbol
from tracejit.ir.kernel import For, Kernel, Stmt

__all__ = ["BLOCK", "MOST_ROWS", "in_blocks", "numbers_of_rows"]

#: Bytes that a block takes in all buffers: half of what the nearest cache has, or so.
BLOCK = 64 * 1024
#: Rows of a block, at most, and what their number is a multiple of if it is no smaller.
MOST_ROWS, _GROUP = 256, 16


def numbers_of_rows(kernel: Kernel) -> dict[str, int]:
    """The buffers that have one number for each row, or two, with how many."""
    (*_, row) = _loops(kernel)
    found, places = {}, accesses(row.body)
    for p in kernel.params:
        step, *others = _steps(row.var, places[p.name])
        if isinstance(step, int) and step in (1, 2) and not others:
            found[p.name] = step
    return found


def _loops(kernel: Kernel) -> list[For]:
    """The loops over the rows of a joined kernel."""
    depth = rows_of(kernel)
    assert depth is not None
    return row_loops(kernel, depth)


def _steps(row: str, places: Sequence[tuple[Dim, ...]]) -> list[Dim]:
    """How far accesses to a buffer lie apart in neighbouring rows; 0 if that is not known."""
    splits = [split_linear(place[0], row) if len(place) == 1 else None for place in places]
    return list(dict.fromkeys(0 if split is None else split[0] for split in splits))


def _row_bytes(kernel: Kernel, row: For, stages: Sequence[Sequence[Stmt]]) -> Dim:
    """The bytes of all buffers that belong to one row; 0 where stages share no more than numbers.

    Then nothing has to stay close, and long loops are best.
    """
    total: Dim = 0
    shared = False
    places, accessed = accesses(row.body), [accesses(s).keys() for s in stages]
    for p in kernel.params:
        step = next((s for s in _steps(row.var, places.get(p.name, ())) if s != 0), 0)
        step = abs(step) if isinstance(step, int) else step
        total = total + step * (bits(p.dtype) // 8)
        numbers = isinstance(step, int) and step <= 2
        shared |= not numbers and sum(p.name in s for s in accessed) > 1
    return total if shared else 0


def _rows(row: For, room: int) -> int:
    """The rows of a block where each takes so many bytes."""
    rows = min(MOST_ROWS, BLOCK // max(room, 1))
    rows = rows - rows % _GROUP if rows > _GROUP else max(rows, 1)
    return min(rows, max(row.size, 1)) if isinstance(row.size, int) else rows


def in_blocks(
    kernel: Kernel,
    stages: Sequence[Stage],
    private: Collection[str],
    rows_of_block: Callable[[Dim], str],
) -> tuple[Kernel, dict[str, Dim]]:
    """The stages of a joined kernel one after the other for each block of rows.

    Buffers that are `private` hold one block: all blocks of them lie where the first does. Beside
    the kernel there are the bytes of a block in each of them, 0 where that is not known. Where the
    bytes of a row are no number `rows_of_block` names a size, of at least 1.
    """
    *outer, row = _loops(kernel)
    bodies: list[Sequence[Stmt]] = []
    for stage in stages:
        begin = sum(map(len, bodies))
        bodies.append(row.body[begin : begin + stage.statements])
    room = _row_bytes(kernel, row, bodies)
    if isinstance(room, int):
        rows: Dim = _rows(row, room)
    else:
        name = rows_of_block(room)
        rows, kernel = symbol(name), replace(kernel, sizes=(*kernel.sizes, name))
    block = fresh(f"{row.var}_block", names_of(kernel))
    place = symbol(block) * rows
    first: dict[str, Dim] = {loop.var: 0 for loop in outer}

    def anywhere(d: Dim) -> Dim:
        return substitute(d, {row.var: place + symbol(row.var)})

    def at(buffer: str, d: Dim) -> Dim:
        return substitute(d, first) if buffer in private else anywhere(d)

    even = isinstance(row.size, int) and isinstance(rows, int) and row.size % rows == 0
    size = rows if even else minimum(rows, row.size - place)
    parts = tuple(
        For(row.var, size, tuple(map_dims(s, anywhere, at) for s in own), stage.vector)
        for own, stage in zip(bodies, stages, strict=True)
    )
    nest: Stmt = For(block, floordiv(row.size + rows - 1, rows), parts)
    for loop in reversed(outer):
        nest = replace(loop, body=(nest,), vector=False)
    places, inner, held = accesses(row.body), dict(loops_in(row.body)), dict[str, Dim]()
    for p in kernel.params:
        if p.name in private:
            found = places.get(p.name, ())
            known = apart((*outer, row), found, inner)
            held[p.name] = _steps(row.var, found)[0] * rows * (bits(p.dtype) // 8) if known else 0
    return replace(kernel, body=(nest,)), held
