"""Operands of BLAS and LAPACK in a program: where matrices lie, and stacks one matrix at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.lowering.index_maps import dense_strides
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.views import copied, strides_of
from tracejit.codegen.support.blas import HELPERS, guard_symbols, helper_address
from tracejit.codegen.support.routines import array_of
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType

__all__ = ["Operand", "call_helper", "each_matrix", "form", "operand"]


def call_helper(e: ProgramContext, name: str, arguments: str) -> str:
    """Call a helper of `codegen.support.blas`; its result."""
    result, parameters = HELPERS[name]
    e.module.declare(name, result, parameters.split(", "))
    address = helper_address(name, e.threads)
    assert address is not None
    e.symbols[name] = address
    # Products see to it themselves that BLAS has one thread.
    around = {} if name.split("_")[1] in ("product", "gemv", "dot") else guard_symbols()
    e.symbols |= around
    for guard in list(around)[:1]:
        e.fb.line(f"call void {e.module.declare(guard, 'void', [])}()")
    out = ""
    if result == "void":
        e.fb.line(f"call void @{name}({arguments})")
    else:
        out = e.fb.emit(f"call {result} @{name}({arguments})")
    for guard in list(around)[1:]:
        e.fb.line(f"call void {e.module.declare(guard, 'void', [])}()")
    return out


@dataclass(frozen=True)
class Operand:
    """Where an operand lies; `swapped` and `leading` say how BLAS takes its matrices.

    For a vector `leading` is the step from one element to the next.
    """

    pointer: str
    strides: tuple[Dim, ...]
    swapped: bool
    leading: Dim


def form(t: ArrayType, strides: tuple[Dim, ...]) -> tuple[bool, Dim] | None:
    """Whether the matrices of `t` lie in columns, and how far apart; None where in neither."""
    if t.ndim == 1:
        return False, strides[0]
    (rows, columns), (down, right) = t.shape[-2:], strides[-2:]
    if right == 1 or columns == 1:
        return False, columns if rows == 1 else down
    if down == 1 or rows == 1:
        return True, rows if columns == 1 else right
    return None


@contextmanager
def operand(e: ProgramContext, v: Value) -> Iterator[Operand]:
    """An operand as BLAS takes it; a view that it does not take is copied for as long as needed."""
    t = array_of(v)
    strides = strides_of(e, v)
    # Steps that only the call knows may be zero, or lead backwards.
    known = e.plan.live.root(v) not in e.strides
    found = form(t, strides) if strides is not None and known else None
    if found is not None and strides is not None:
        yield Operand(e.pointer[v], strides, *found)
        return
    with copied(e, v) as block:
        strides = dense_strides(t if v in e.scattered else ArrayType(t.dtype, t.shape))
        found = form(t, strides)
        assert found is not None
        yield Operand(block, strides, *found)


def each_matrix(
    e: ProgramContext,
    types: list[ArrayType],
    pointers: list[str],
    strides: list[tuple[Dim, ...]],
    product: Callable[[list[str]], None],
) -> None:
    """Call `product` with the addresses of the result, the first, and the operands for each matrix.

    The types tell their stacks; operands that are vectors are the same for all.
    """
    depth = max(len(t.shape[:-2]) for t in types)
    stack = types[0].shape[:depth]
    sizes = [e.dim(d) for d in stack]
    steps = []
    for t, moves in zip(types, strides, strict=True):
        own = depth if t is types[0] else len(t.shape[:-2])
        lead = depth - own
        # An axis along which an operand is repeated is one that it does not move along.
        steps.append(
            ["0"] * lead
            + ["0" if t.shape[k] == 1 else e.dim(moves[k] * t.dtype.itemsize) for k in range(own)]
        )
    fb = e.fb

    def walk(axis: int, offsets: list[str]) -> None:
        if axis == depth:
            moved = zip(pointers, offsets, strict=True)
            product(
                [
                    p if o == "0" else fb.emit(f"getelementptr i8, ptr {p}, i64 {o}")
                    for p, o in moved
                ]
            )
            return

        def body(index: str, _: list[str]) -> list[str]:
            inner = []
            for offset, step in zip(offsets, steps, strict=True):
                inner.append(fb.integer("add", offset, fb.integer("mul", index, step[axis])))
            walk(axis + 1, inner)
            return []

        def loop() -> list[str]:
            fb.do_while("0", sizes[axis], "1", [], body)
            return []

        fb.if_then(fb.less("0", sizes[axis]), [], loop)

    walk(0, ["0"] * len(types))
