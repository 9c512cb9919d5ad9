"""Unions as tagged unions: the kinds that a value may be, which one it is, its value of each.

    Union(p, 0.0, Union(q, x, None))   ->   kinds float, f64, None;   p, not p and q, ...

A Python number and a NumPy scalar of the same dtype are two kinds with one machine value.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.control.unions import choose, is_absent, is_number, leaves_of
from tracejit.frontend.tracing.grown import Grown, is_grown
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.pytree import (
    build_dataclass,
    dataclass_fields,
    is_constant,
    is_namedtuple,
    is_plain_dataclass,
)
from tracejit.frontend.tracing.raised import Raised, TracedError
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.text import TracedText
from tracejit.frontend.tracing.trace import here, user_line
from tracejit.frontend.tracing.tracer import TracedArray, Tracer, lift, wrap
from tracejit.frontend.tracing.union import UNBOUND, Signal, Union
from tracejit.ir.graph import attr_key
from tracejit.ir.types import NpScalar, PyScalar, Type, dtype_name

__all__ = [
    "MISSING",
    "as_kind",
    "as_machine",
    "flags",
    "kinds_of",
    "kinds_of_both",
    "machine",
    "of_kind",
    "parts_of",
    "rebuild",
    "same_constant",
    "select",
]

_MOST = 16


class _Missing:
    """In place of a value that there is not."""

    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()


def same_constant(a: Any, b: Any) -> bool:
    """Whether two objects are one, or constants that nothing tells apart."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, SymInt):
        return bool(a.dim == b.dim)
    if isinstance(a, np.generic):
        return bool(attr_key(a.item()) == attr_key(b.item()))
    return bool(is_constant(a) and attr_key(a) == attr_key(b))


def parts_of(x: Any) -> tuple[type, tuple[Any, ...], list[Any]] | None:
    """(class, keys, children) of a container whose parts can be joined; None for anything else."""
    cls = type(x)
    if is_grown(x):
        return cls, (x[0].form, x[0].is_row), [*x[0].arrays, x[1]]
    if cls in (tuple, list) or is_namedtuple(cls):
        return cls, (), list(x)
    if cls is dict:
        return cls, tuple(x), list(x.values())
    if cls in (Raised, TracedError, TracedText):
        return cls, *(x.error if cls is Raised else x).parts()
    if not isinstance(x, (Tracer, Union, SymInt, type)) and is_plain_dataclass(x):
        names = dataclass_fields(x) or ()
        return cls, names, [getattr(x, name) for name in names]
    return None


def rebuild(interpreter: Interpreter, cls: type, keys: tuple[Any, ...], children: list[Any]) -> Any:
    """A new container of the class, made inside the trace."""
    if cls is list and keys:
        *arrays, length = children
        form, is_row = keys
        return interpreter.allocate([Grown(interpreter, form, arrays, False, is_row), length])
    if cls is list:
        return interpreter.allocate(children)
    if cls is dict:
        return interpreter.allocate(dict(zip(keys, children, strict=True)))
    if issubclass(cls, tuple):
        return tuple.__new__(cls, children)
    if cls in (Raised, TracedError):
        error = TracedError.of_parts(keys, children)
        return Raised(error) if cls is Raised else error
    if cls is TracedText:
        return TracedText.of_parts(keys, children)
    return interpreter.allocate(build_dataclass(cls, dict(zip(keys, children, strict=True))))


def kind_of(x: Any) -> Hashable:
    """What two values have in common that can be one in a graph."""
    if is_number(x):
        return lift(x).type
    if isinstance(x, TracedArray):
        known = x.trace.env.is_known
        return "array", x.dtype, tuple(d if known(d) else None for d in x.type.shape)
    if is_absent(x):
        return "constant", type(x), x if isinstance(x, (Signal, type(UNBOUND))) else attr_key(x)
    found = parts_of(x)
    if found is not None:
        return "parts", found[0], found[1], len(found[2])
    return "object", id(x)


def kinds_of(*values: Any) -> list[Hashable]:
    """The kinds that values may be of, absent ones last. Raises TraceError for too many."""
    leaves = [leaf for x in values if x is not MISSING for leaf in leaves_of(x)]
    return kinds_of_both([kind_of(leaf) for leaf in leaves], [])


def kinds_of_both(first: Sequence[Hashable], second: Sequence[Hashable]) -> list[Hashable]:
    """The kinds of two values together. Raises TraceError for too many."""
    found = list(dict.fromkeys((*first, *second)))
    out = [k for k in found if not any(other != k and _covers(other, k) for other in found)]
    if len(out) > _MOST:
        raise TraceError("TJ011", f"a value of one of {len(out)} kinds", user_line())
    return sorted(out, key=_is_absent_kind)


def _is_absent_kind(kind: Hashable) -> bool:
    return isinstance(kind, tuple) and kind[0] == "constant"


def of_kind(interpreter: Interpreter, x: Any, kind: Hashable) -> Any:
    """`x` as far as it is of a kind; MISSING where it never is."""
    if x is MISSING:
        return x
    if isinstance(x, Union):
        x = x.known()
    if not isinstance(x, Union):
        return x if _is_of(kind, x) else MISSING
    first, second = of_kind(interpreter, x.first, kind), of_kind(interpreter, x.second, kind)
    if first is MISSING or second is MISSING:
        return second if first is MISSING else first
    if same_constant(first, second):
        return first
    return interpreter.ternary(x.predicate, lambda: first, lambda: second)


def flags(interpreter: Interpreter, x: Any, kinds: Sequence[Hashable]) -> list[Any]:
    """For each kind but the last: whether `x` is of it (a bool, or a traced one)."""
    if x is MISSING:
        return [False] * (len(kinds) - 1)
    return [choose(x, functools.partial(_is_of, kind)) for kind in kinds[:-1]]


def _is_of(kind: Hashable, x: Any) -> bool:
    return _covers(kind, kind_of(x))


def _covers(kind: Hashable, other: Hashable) -> bool:
    """Whether `other` is `kind`, or has known sizes where those of `kind` are not."""
    if kind == other:
        return True
    if not (isinstance(kind, tuple) and isinstance(other, tuple)):
        return False
    if (kind[0], other[0], kind[1]) != ("array", "array", other[1]):
        return False
    sizes = kind[2], other[2]
    return len(sizes[0]) == len(sizes[1]) and all(
        d is None or d == e for d, e in zip(*sizes, strict=True)
    )


def select(chosen: Sequence[Any], values: Sequence[Any]) -> Any:
    """The union of values of which `chosen` says which one it is."""
    out = values[-1]
    for flag, value in zip(reversed(chosen), reversed(values[:-1]), strict=True):
        out = Union(flag, value, out)
    return out


def machine(kind: Hashable) -> Type | None:
    """The type of the graph value that stands for a number of a kind; None for other kinds."""
    return NpScalar(kind.dtype) if isinstance(kind, (NpScalar, PyScalar)) else None


def as_machine(x: Any) -> Any:
    """A number as the NumPy scalar of its dtype."""
    v = lift(x).value()
    if isinstance(v.type, PyScalar):
        v = here().emit("np_scalar", (v,), dtype=dtype_name(v.type.dtype))
    return v


def as_kind(x: Any, kind: Hashable) -> Any:
    """A NumPy scalar as a number of a kind with the same dtype."""
    trace = here()
    if isinstance(kind, PyScalar):
        return wrap(trace, trace.emit("py_scalar", (x,), kind=kind.kind))
    return wrap(trace, x)
