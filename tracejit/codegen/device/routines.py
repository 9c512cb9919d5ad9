"""Calls of a device's libraries: products, solves, factors, sorts, transforms.

A program calls Python, which gives the package (CuPy on a GPU) arrays over the program's own
memory, on its stream, and copies the result to where it belongs. LinAlgError, as for a singular
matrix, and ValueError have the call repeated on the host, which raises the user's own error. Every
other exception reaches the user.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, TypeAlias

from numpy.linalg import LinAlgError

from tracejit.codegen.analysis.liveness import is_array
from tracejit.codegen.device.context import DeviceContext
from tracejit.codegen.device.results import place
from tracejit.codegen.device.target import Device
from tracejit.codegen.lowering.index_maps import dense_strides
from tracejit.codegen.program.exits import call_python
from tracejit.codegen.program.views import copied
from tracejit.codegen.support.python_calls import BAIL, DONE
from tracejit.ir.dims import Dim, evaluate, free_symbols, symbol
from tracejit.ir.graph import Attrs, Node, attr_substitute
from tracejit.ir.types import ArrayType, type_sizes
from tracejit.ops.control.templates import make_object
from tracejit.ops.host.call import HostCall

__all__ = ["emit_routine", "routine_of"]

#: As `Op.by_package`.
Routine: TypeAlias = Callable[[Any, Sequence[Any], Attrs], Sequence[Any]]

#: Modules of NumPy whose functions are taken by name.
_TRANSFORMS = "numpy.fft:"
#: Arguments of such functions before `out`, which CuPy's do not have.
_MOST = 4


def routine_of(node: Node) -> Routine | None:
    """What computes a node on a device; None where the host does."""
    found: Routine | None = node.op.by_package
    if found is not None or not isinstance(node.op, HostCall) or node.binds:
        return found
    name = str(node.attrs["function"])
    if not name.startswith(_TRANSFORMS) or node.attrs["result"] != ("operand", 0):
        return None
    if len(node.attrs["arguments"]) > _MOST or "out" in dict(node.attrs["keywords"]):
        return None

    def transform(xp: Any, x: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
        function = getattr(xp.fft, name.removeprefix(_TRANSFORMS))
        args = [make_object(a, x) for a in attrs["arguments"]]
        named = {key: make_object(a, x) for key, a in attrs["keywords"]}
        return (function(*args, **named),)

    return transform


class _Site:
    """One call: slots hold the addresses of operands and results, then the sizes."""

    def __init__(
        self, node: Node, strides: Sequence[tuple[Dim, ...]], device: Device, routine: Routine
    ) -> None:
        self._node, self._device, self._routine = node, device, routine
        self._types = [v.type for v in (*node.inputs, *node.outputs)]
        self._strides = strides
        names = set[str]().union(*(type_sizes(t) for t in self._types), node.sizes())
        for s in strides:
            names |= set().union(*(free_symbols(d) for d in s))
        self.sizes = tuple(sorted(names))
        self._words = ctypes.c_int64 * (len(self._types) + len(self.sizes))

    def __call__(self, slots: int, b: int = 0, c: int = 0) -> int:
        words = list(self._words.from_address(slots))
        sizes = dict(zip(self.sizes, words[len(self._types) :], strict=True))
        try:
            with self._device.working() as xp:
                arrays = []
                for t, address, steps in zip(self._types, words, self._strides, strict=False):
                    assert isinstance(t, ArrayType)
                    shape = tuple(evaluate(d, sizes) for d in t.shape)
                    moves = tuple(evaluate(d, sizes) * t.dtype.itemsize for d in steps)
                    arrays.append(self._device.array(address, shape, moves, t.dtype))
                count = len(self._node.inputs)
                attrs = {k: attr_substitute(a, sizes) for k, a in self._node.attrs.items()}
                results = self._routine(xp, arrays[:count], attrs)
                for out, result in zip(arrays[count:], results, strict=True):
                    if out.shape != result.shape:
                        return BAIL
                    out[...] = result
        except (LinAlgError, ValueError):
            return BAIL
        return DONE


def emit_routine(e: DeviceContext, node: Node) -> bool:
    """Write the call of a library; False where there is none."""
    routine = routine_of(node)
    values = (*node.inputs, *node.outputs)
    if routine is None or not e.device.has_routines or not all(map(is_array, values)):
        return False
    e.trips.routines.append(node)
    fb = e.fb
    for v in node.outputs:
        e.pointer.require(v)
        place(e, v)
    with ExitStack() as held:
        pointers, strides = [], []
        for v in values:
            assert isinstance(v.type, ArrayType)
            if v in e.scattered:
                pointers.append(held.enter_context(copied(e, v)))
                strides.append(dense_strides(v.type))
            else:
                pointers.append(e.pointer[v])
                strides.append(e.strides.get(v) or dense_strides(v.type))
        site = _Site(node, strides, e.device, routine)
        slots = fb.alloca(f"[{len(values) + len(site.sizes) + 1} x i64]", 8)
        words = [("ptr", p) for p in pointers]
        words += [("i64", e.dim(symbol(s))) for s in site.sizes]
        for k, (kind, word) in enumerate(words):
            fb.line(
                f"store {kind} {word}, ptr {fb.emit(f'getelementptr i64, ptr {slots}, i64 {k}')}"
            )
        call_python(e, site, fb.emit(f"ptrtoint ptr {slots} to i64"))
    for v in node.outputs:
        e.pointer.stores(v)
    return True
