"""Contractions of a program: tables of offsets, and a call of the compiled kernel for each batch.

Axes of the result that only the first operand moves along are rows, those of the second columns;
which operand is which is chosen so that neighbouring columns lie side by side in the result. Along
axes of both there is a call for each place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.lowering.index_maps import dense_strides, linear
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.views import copied, strides_of
from tracejit.codegen.support.contractions import (
    CONTRACTIONS,
    contraction_address,
    contraction_name,
    is_shared,
    loop_axes,
)
from tracejit.codegen.support.routines import array_of
from tracejit.ir.dims import Dim, prod
from tracejit.ir.graph import Node
from tracejit.ir.types import ArrayType
from tracejit.ops.array.contraction import Places

__all__ = ["emit_contraction"]


@dataclass(frozen=True)
class _Side:
    """An operand: what begins where in it, and how far each loop axis leads."""

    pointer: str
    offset: Dim
    steps: tuple[Dim, ...]


def emit_contraction(e: ProgramContext, node: Node) -> None:
    """Emit a `contract`. An operand that no strides describe is copied for as long as needed."""
    with ExitStack() as copies:
        sides = []
        for v, name in zip(node.inputs, ("left", "right"), strict=True):
            strides, pointer = strides_of(e, v), e.pointer[v]
            if strides is None:
                pointer = copies.enter_context(copied(e, v))
                strides = dense_strides(ArrayType(array_of(v).dtype, array_of(v).shape))
            sides.append(_side(pointer, node.attrs[name], strides))
        _emit(e, node, sides)


def _emit(e: ProgramContext, node: Node, sides: Sequence[_Side]) -> None:
    turned, batches, rows, columns, summed = loop_axes(node)
    a, b = reversed(sides) if turned else sides
    out = array_of(node.outputs[0])
    places = (*dense_strides(out), *(0 for _ in summed))
    c = _Side(e.pointer[node.outputs[0]], 0, places)
    sizes = (*node.attrs["shape"], *node.attrs["summed"])
    name = contraction_name(node)
    counts = [e.dim(prod([sizes[k] for k in axes])) for axes in (rows, columns, summed)]
    fb = e.fb

    def compute() -> list[str]:
        tables = _Tables(e, f"{name}_offsets", e.scratch[node][1], sizes)
        to_rows = [tables.add(s.steps, rows) for s in (a, c)]
        to_columns = [tables.add(s.steps, columns) for s in (b, c)]
        terms = [tables.add(s.steps, summed) for s in (a, b)]

        def one(pointers: Sequence[str]) -> None:
            arguments = [*(f"ptr {p}" for p in pointers), *(f"ptr {t}" for t in to_rows)]
            arguments += [f"i64 {counts[0]}", *(f"ptr {t}" for t in to_columns)]
            arguments += [f"i64 {counts[1]}", *(f"ptr {t}" for t in terms)]
            arguments += [f"i64 {counts[2]}", f"ptr {e.scratch[node][0]}"]
            _call(e, f"{name}_shared" if is_shared(node) else name, arguments)

        _each(e, [c, a, b], out.dtype.itemsize, [(sizes[k], k) for k in batches], one)
        return []

    def clear() -> list[str]:
        bytes_ = e.dim(out.size * out.dtype.itemsize)
        e.module.declare("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1"])
        fb.line(f"call void @llvm.memset.p0.i64(ptr {c.pointer}, i8 0, i64 {bytes_}, i1 false)")
        return []

    some = fb.less("0", e.dim(out.size))
    has_terms = fb.less("0", counts[2])
    if has_terms != "true":
        fb.if_then(fb.less(counts[2], "1"), (), clear)
        both = some if has_terms == "false" else fb.emit(f"and i1 {some}, {has_terms}")
        some = "false" if has_terms == "false" else both
    fb.if_then(some, (), compute)


def _side(pointer: str, places: Places, strides: tuple[Dim, ...]) -> _Side:
    steps = tuple(
        linear(coefficients, strides) for coefficients in zip(*(c for _, c in places), strict=True)
    )
    return _Side(pointer, linear(tuple(offset for offset, _ in places), strides), steps)


def _call(e: ProgramContext, name: str, arguments: Sequence[str]) -> None:
    e.module.declare(name, "void", CONTRACTIONS[name])
    e.symbols[name] = contraction_address(name, e.threads)
    e.fb.line(f"call void @{name}({', '.join(arguments)})")


class _Tables:
    """Tables of offsets one after another in a block of memory."""

    def __init__(self, e: ProgramContext, helper: str, block: str, sizes: Sequence[Dim]) -> None:
        self.e, self.helper, self.block, self.sizes = e, helper, block, sizes

    def add(self, steps: Sequence[Dim], axes: Sequence[int]) -> str:
        """The table of the offsets along `axes`; its address."""
        e, table = self.e, self.block
        entries: list[Dim] = [x for k in axes for x in (self.sizes[k], steps[k])]
        spec = e.fb.alloca(f"[{len(entries) + 1} x i64]")
        for n, d in enumerate([*entries, 0]):
            at = e.fb.emit(f"getelementptr i64, ptr {spec}, i64 {n}")
            e.fb.line(f"store i64 {e.dim(d)}, ptr {at}")
        _call(e, self.helper, [f"ptr {table}", f"ptr {spec}"])
        length = e.dim(prod([self.sizes[k] for k in axes]))
        self.block = e.fb.emit(f"getelementptr i64, ptr {table}, i64 {length}")
        return table


def _each(
    e: ProgramContext,
    sides: Sequence[_Side],
    itemsize: int,
    batches: Sequence[tuple[Dim, int]],
    one: Callable[[Sequence[str]], None],
) -> None:
    fb = e.fb

    def at(pointer: str, offset: str) -> str:
        moved = fb.integer("mul", offset, str(itemsize))
        return pointer if moved == "0" else fb.emit(f"getelementptr i8, ptr {pointer}, i64 {moved}")

    def walk(depth: int, pointers: list[str]) -> list[str]:
        if depth == len(batches):
            one(pointers)
            return []
        size, axis = batches[depth]

        def body(index: str, _: list[str]) -> list[str]:
            steps = [e.dim(s.steps[axis]) for s in sides]
            moved = [fb.integer("mul", index, step) for step in steps]
            return walk(depth + 1, [at(p, o) for p, o in zip(pointers, moved, strict=True)])

        return fb.do_while("0", e.dim(size), "1", (), body)

    walk(0, [at(s.pointer, e.dim(s.offset)) for s in sides])
