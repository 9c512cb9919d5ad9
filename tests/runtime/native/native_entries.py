"""A spec with its native entry and its definition in Python, side by side."""

import ctypes
import itertools
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from tracejit.codegen.llvm.engine import Library, compile_module
from tracejit.frontend.capture.paths import Positional
from tracejit.ir.dims import symbol
from tracejit.link.library_names import refresh
from tracejit.runtime import native
from tracejit.runtime.call.entry_spec import (
    ArrayLeaf,
    EntrySpec,
    Leaf,
    NpScalarLeaf,
    OutArray,
    OutObject,
)
from tracejit.runtime.native.python_entry import Memory, PythonEntry

F8, I8, C16 = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.complex128)
N, M = symbol("n"), symbol("m")
_names = itertools.count()


@native.jit_type
class Jitted(native.JitBase):
    """A jitted function of the tests."""

    tag: Any
    me: Any

    def report(self) -> str:
        return "report"

    def __reduce__(self) -> Any:
        return (_unpickled, (self._slow,))


def _unpickled(slow: Callable[..., Any]) -> Any:
    return Jitted(slow)


def recorder(spec: EntrySpec, status: int = 0) -> tuple[str, Any]:
    """A program that copies its in-slots to a buffer and stores the scalar k + 1 in out-slot k."""
    buffer = (ctypes.c_int64 * max(spec.in_count, 1))()
    lines = ["@buffer = external global i8", "define i32 @program(ptr %in, ptr %out) {"]
    for k in range(spec.in_count):
        lines += [
            f"  %s{k} = getelementptr i64, ptr %in, i64 {k}",
            f"  %d{k} = getelementptr i64, ptr @buffer, i64 {k}",
            f"  %v{k} = load i64, ptr %s{k}",
            f"  store i64 %v{k}, ptr %d{k}",
        ]
    arrays = {
        slot
        for slot, out in zip(spec.out_slots, spec.outputs, strict=False)
        if isinstance(out, OutArray)
    }
    for k in set(range(spec.out_count)) - arrays:
        lines += [
            f"  %o{k} = getelementptr i64, ptr %out, i64 {k}",
            f"  store i64 {k + 1}, ptr %o{k}",
        ]
    return "\n".join([*lines, f"  ret i32 {status}", "}", ""]), buffer


class Linked:
    """A spec with its native entry, the entry's definition in Python, and the recorded slots."""

    def __init__(self, spec: EntrySpec, text: str | None = None, status: int = 0) -> None:
        self.spec = spec
        program, self.buffer = recorder(spec, status)
        self.name = f"entry{next(_names)}"
        glue, symbols = native.entry_ir(spec, "program", self.name)
        if text is None:
            symbols["buffer"] = ctypes.addressof(self.buffer)
        self.library: Library = compile_module(
            text or program,
            symbols,
            ["program", *native.entry_exports(self.name)],
            glue=glue,
            keep=(spec, self.buffer),
        )
        self.native = native.flat_callable(self.library, self.name, spec)
        self.python = PythonEntry(spec, self.library.address("program"))

    def recorded(self) -> list[bytes]:
        """What the last run of the program was given; forgets it."""
        memory = bytes(self.buffer)
        self.buffer[:] = [0] * len(self.buffer)
        parts = [memory[8 * self.spec.size_slot :]]
        for (_, leaf), slot in zip(self.spec.leaves, self.spec.leaf_slots, strict=False):
            # A narrow scalar leaves the rest of its slot undefined.
            size = leaf.dtype.itemsize if isinstance(leaf, NpScalarLeaf) else 8
            parts.append(memory[8 * slot : 8 * slot + size])
        return parts

    def publish(self, function: Any) -> None:
        # The slow paths of the tests take no note of what other tests changed in libraries.
        refresh()
        native.append_entry(function, self.library, self.name, self.spec)

    def both(self, *args: Any, **kwargs: Any) -> Any:
        """The native result, after comparing it and what the program was given with Python's."""
        self.recorded()
        expected, wanted = self.python(*args, **kwargs), self.recorded()
        got, found = self.native(*args, **kwargs), self.recorded()
        assert found == wanted
        assert_same(got, expected, self.spec)
        return got


def _start(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def assert_same(got: Any, expected: Any, spec: EntrySpec) -> None:
    assert type(got) is type(expected)
    if isinstance(got, (tuple, list)) and spec.result != "single":
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            assert_same(a, b, spec)
    elif isinstance(got, dict):
        assert list(map(repr, got)) == list(map(repr, expected))
        assert_same([*got.values()], [*expected.values()], spec)
    elif is_dataclass(got):
        pairs = [[getattr(x, f.name) for f in fields(x)] for x in (got, expected)]
        assert_same(*pairs, spec)
    elif isinstance(got, np.ndarray) and isinstance(expected.base, Memory):
        base = expected.base.base
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        assert got.strides == expected.strides and not got.flags.owndata
        for name in ("_writeable_no_warn", "c_contiguous", "f_contiguous", "aligned"):
            assert getattr(got.flags, name) == getattr(expected.flags, name)
        # New arrays are new ones in each result.
        moved = 0 if np.may_share_memory(got.base, base) else _start(base) - _start(got.base)
        assert _start(expected) - _start(got) == moved
    elif isinstance(got, np.ndarray) and got is not expected:
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        assert got.flags.owndata and got.flags.writeable and got.flags.aligned
        significant = [k for k, size in enumerate(got.shape) if size > 1 and got.size]
        assert [got.strides[k] for k in significant] == [expected.strides[k] for k in significant]
    else:
        assert got is expected or got == expected


def unary(leaf: Leaf, *outputs: Any, sizes: Sequence[str] = (), **rest: Any) -> Linked:
    """An entry of one argument; it returns None unless outputs are given."""
    result = rest.pop("result", "single" if len(outputs) < 2 else "tuple")
    spec = EntrySpec(
        leaves=((Positional(0), leaf),),
        nargs=1,
        sizes=tuple(sizes),
        outputs=outputs or (OutObject(None),),
        result=result,
        **rest,
    )
    return Linked(spec)


ADD = """
define i32 @program(ptr %in, ptr %out) {
entry:
  %x = load ptr, ptr %in
  %yp = getelementptr i64, ptr %in, i64 1
  %y = load ptr, ptr %yp
  %np = getelementptr i64, ptr %in, i64 2
  %n = load i64, ptr %np
  %o = load ptr, ptr %out
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %xp = getelementptr double, ptr %x, i64 %i
  %yq = getelementptr double, ptr %y, i64 %i
  %op = getelementptr double, ptr %o, i64 %i
  %a = load double, ptr %xp
  %b = load double, ptr %yq
  %c = fadd double %a, %b
  store double %c, ptr %op
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret i32 0
}
"""


def adder() -> Linked:
    leaf = ArrayLeaf(F8, ("n",))
    spec = EntrySpec(
        leaves=((Positional(0), leaf), (Positional(1), leaf)),
        nargs=2,
        sizes=("n",),
        outputs=(OutArray(F8, (N,)),),
        work=N,
    )
    return Linked(spec, ADD)
