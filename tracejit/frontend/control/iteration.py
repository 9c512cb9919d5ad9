"""What a loop runs over, by number: ranges, the rows of arrays, and zips of such.

A rolled loop asks for the item of a symbolic number; a loop that is unrolled iterates.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.numpy.number_operators import binary_operator
from tracejit.frontend.tracing.checks import class_of, refuse_index
from tracejit.frontend.tracing.grown import is_grown, size_of
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.items import Items
from tracejit.frontend.tracing.standins import StandIn
from tracejit.frontend.tracing.symint import SymInt, as_dim, unwrap
from tracejit.frontend.tracing.trace import here, user_line
from tracejit.frontend.tracing.tracer import (
    TracedArray,
    TracedScalar,
    Tracer,
    lift,
    number_of,
    wrap,
)
from tracejit.ir.dims import floordiv
from tracejit.ir.types import PYBOOL, PYINT

__all__ = ["Once", "enumerated", "items_of", "ranged", "reversed_items", "zipped"]


class _Range(Items):
    once = False

    def __init__(self, start: Any, step: Any, length: Any) -> None:
        self.start, self.step, self.length = start, step, length

    def item(self, k: Any) -> Any:
        return self.start + k * self.step if not _is_one(self.step) else self.start + k


def _is_one(x: Any) -> bool:
    return isinstance(x, int) and x == 1


class _Rows(Items):
    once = False

    def __init__(self, array: TracedArray) -> None:
        self.array, self.length = array, array.shape[0]

    def item(self, k: Any) -> Any:
        return self.array[k]


class _Elements(Items):
    """The elements of a list that grows with data."""

    once = False

    def __init__(self, x: list[Any]) -> None:
        self.list, self.length = x, size_of(x)
        self.seen = self.length

    def item(self, k: Any) -> Any:
        if not is_grown(self.list) or size_of(self.list) is not self.length:
            raise TraceError("TJ029", "a list that changes in a loop over it", user_line())
        self.seen = size_of(self.list)
        found = self.list[0].at(k)
        self.list[0].interpreter.aliases.row_of(self.list, found)
        return found

    def check(self) -> None:
        if not is_grown(self.list) or size_of(self.list) is not self.seen:
            raise TraceError("TJ029", "a list that changes in a loop over it", user_line())


class Once(Items):
    """`iter(items)`: one loop uses them up."""

    def __init__(self, items: Any) -> None:
        self.items, self.length = items, items.length

    def item(self, k: Any) -> Any:
        return self.items.item(k)

    def check(self) -> None:
        self.items.check()


class _Zip(Items):
    def __init__(self, parts: Sequence[Items], length: Any) -> None:
        self.parts, self.length = [p.taken() for p in parts], length

    def item(self, k: Any) -> Any:
        return tuple(p.item(k) for p in self.parts)

    def check(self) -> None:
        for part in self.parts:
            part.check()


class _Enumerate(Items):
    def __init__(self, inner: Items, start: Any) -> None:
        self.inner, self.start, self.length = inner.taken(), start, inner.length

    def item(self, k: Any) -> Any:
        return self.start + k, self.inner.item(k)

    def check(self) -> None:
        self.inner.check()


class _Reversed(Items):
    def __init__(self, inner: Items) -> None:
        self.inner, self.length = inner.taken(), inner.length

    def item(self, k: Any) -> Any:
        return self.inner.item(self.length - 1 - k)

    def check(self) -> None:
        self.inner.check()


def items_of(x: Any) -> Items | None:
    """The items of `x` by number; None for what can only be iterated over."""
    if isinstance(x, Items):
        return x
    if type(x) is range:
        return _Range(x.start, x.step, len(x))
    if isinstance(x, TracedArray) and x.ndim:
        return _Rows(x)
    if isinstance(x, StandIn):
        return items_of(x.iterated())
    return _Elements(x) if is_grown(x) else None


def ranged(interpreter: Interpreter, *args: Any) -> Any:
    """`range(*args)`, where an argument may be a size or traced. Raises what Python raises."""
    if not any(isinstance(a, (Tracer, SymInt)) for a in args):
        return range(*args)
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    for a in (start, stop, step):
        _require_int(a)
    if isinstance(step, int) and step == 0:
        raise ValueError("range() arg 3 must not be zero")
    if not any(isinstance(a, Tracer) for a in (start, stop, step)):
        length = _size_length(start, stop, step)
        if length is not None:
            return _Range(start, step, length)
    start, stop, step = (_as_int(a) for a in (start, stop, step))
    if isinstance(step, Tracer):
        nonzero = lift(binary_operator(operator.ne, step, 0))
        here().emit_all("check", (nonzero.value(),), {})
    # The number of steps is rounded up, whatever the signs are.
    span = start - stop
    count = -(span // step) if not _is_one(step) else -span
    positive = interpreter.truth_of(count > 0)
    return _Range(start, step, interpreter.ternary(positive, lambda: count, lambda: 0))


def _size_length(start: Any, stop: Any, step: Any) -> Any:
    """The length of a range of sizes; None where it cannot be written as one."""
    if not isinstance(step, int):
        return None
    env = here().env
    low, high = (as_dim(start), as_dim(stop)) if step > 0 else (as_dim(stop), as_dim(start))
    width = abs(step)
    try:
        whole = env.maximum(high - low, 0)
        return unwrap(floordiv(whole + (width - 1), width), env)
    except TraceError:
        return None


def _require_int(x: Any) -> None:
    if isinstance(x, TracedScalar):
        kind = getattr(x.type, "kind", x.type)
        if kind in ("int", "bool") or getattr(x.type, "dtype", None) is not None:
            if kind in ("int", "bool") or x.type.dtype.kind in "iu":  # type: ignore[union-attr]
                return
        refuse_index(class_of(x))
    if isinstance(x, TracedArray):
        raise TraceError("TJ004", "range() of an array", user_line())
    operator.index(x) if not isinstance(x, SymInt) else None


def _as_int(x: Any) -> Any:
    """A number as a Python int, traced if it is not known."""
    if isinstance(x, SymInt):
        return number_of(here(), x.dim)
    if isinstance(x, TracedScalar) and x.type != PYINT:
        trace = here()
        if x.type == PYBOOL:
            return lift(binary_operator(operator.add, x, 0))
        return wrap(trace, trace.emit("py_scalar", (x.value(),), kind="int"))
    return x if isinstance(x, Tracer) else operator.index(x)


def zipped(parts: Sequence[Any], strict: bool) -> Items | None:
    """`zip(*parts)` by number; None where a part can only be iterated over."""
    items = [items_of(p) for p in parts]
    if not items or any(p is None for p in items):
        return None
    lengths = [p.length for p in items if p is not None]
    if any(isinstance(n, Tracer) for n in lengths) and len(lengths) > 1:
        return None
    env = here().env
    length = lengths[0]
    for n in lengths[1:]:
        if strict and not env.decide(as_dim(length), "==", as_dim(n)):
            raise ValueError("zip() arguments have different lengths")
        length = unwrap(env.minimum(as_dim(length), as_dim(n)), env)
    return _Zip([p for p in items if p is not None], length)


def enumerated(x: Any, start: Any) -> Items | None:
    """`enumerate(x, start)` by number; None where `x` can only be iterated over."""
    inner = items_of(x)
    return None if inner is None else _Enumerate(inner, start)


def reversed_items(x: Any) -> Items | None:
    """`reversed(x)` by number; None where `x` can only be iterated over."""
    inner = items_of(x)
    return None if inner is None or inner.once else _Reversed(inner)
