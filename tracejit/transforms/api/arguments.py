"""What derivatives are taken by: floats in containers; errors name what is none of these."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.control.kinds import parts_of
from tracejit.frontend.control.unions import narrow
from tracejit.frontend.tracing.concrete_trace import TRACED_DTYPES, concrete_trace
from tracejit.frontend.tracing.contents import contents_of
from tracejit.frontend.tracing.grown import is_grown
from tracejit.frontend.tracing.instances import is_instance
from tracejit.frontend.tracing.pytree import is_constant, is_namedtuple
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.text import TracedText
from tracejit.frontend.tracing.trace import here, user_line
from tracejit.frontend.tracing.tracer import TracedArray, Tracer, lift
from tracejit.frontend.tracing.union import Union
from tracejit.ir.derivatives import differentiable
from tracejit.ir.types import ArrayType

__all__ = [
    "has_floats",
    "kind_of",
    "require_floats",
    "require_no_tangent",
    "require_results",
    "require_transparent",
]

#: A part of an argument, with how the program would write it: `p["a"][0].w`.
_Part: TypeAlias = tuple[str, Any]

_TAKEN = "floats, arrays of them, or containers and objects that hold some"
_PLAIN = (bool, int, float, complex, np.ndarray)


def _parts(
    x: Any, path: str, around: tuple[Any, ...] = (), objects: bool = False
) -> Iterator[_Part]:
    """What containers (and instances, with `objects`) hold, and what is no container itself."""
    if is_grown(x):
        raise TraceError("TJ031", "a list that grows with data", user_line())
    found = parts_of(x)
    if objects and found is None and is_instance(x) and not isinstance(x, Tracer):
        yield from _parts_of_object(x, path, around)
        return
    if found is None or any(x is outer for outer in around):
        yield path, x
        return
    cls, keys, children = found
    fields = keys if cls is not dict else ()
    if is_namedtuple(cls):
        fields = cls._fields  # type: ignore[attr-defined]
    for k, child in enumerate(children):
        if fields:
            place = f".{fields[k]}"
        else:
            place = f"[{keys[k]!r}]" if keys else f"[{k}]"
        yield from _parts(child, path + place, (*around, x), objects)


def _parts_of_object(x: Any, path: str, around: tuple[Any, ...]) -> Iterator[_Part]:
    """What an object holds besides numbers, which are settings; itself where there is no array."""
    if any(x is outer for outer in around):
        return
    arrays = False
    for name, value in contents_of(x).items():
        for inner, part in _parts(value, f"{path}.{name}", (*around, x), True):
            if isinstance(part, (TracedArray, np.ndarray)) or not _is_float(part):
                arrays = arrays or _is_float(part)
                yield inner, part
    if not arrays:
        yield path, x


def _is_number(x: Any) -> bool:
    """Whether `x` is a number or an array, perhaps of several kinds."""
    return type(x) in _PLAIN or isinstance(x, (Tracer, Union, SymInt, np.generic))


def _is_float(x: Any) -> bool:
    if isinstance(x, Tracer):
        return differentiable(x.type)
    if type(x) is np.ndarray or isinstance(x, np.generic):
        return x.dtype in TRACED_DTYPES
    return type(x) in (float, complex)


def _is_foreign(x: Any) -> bool:
    """Whether `x` is, or converts to, an array or a number that no graph holds, of floats perhaps:
    in another byte order or precision, of a subclass of arrays, or another library's."""
    if _is_number(x) and not isinstance(x, (np.ndarray, np.generic)):
        return False
    dtype = getattr(x, "dtype", None) if hasattr(type(x), "__array__") else np.dtype(bool)
    hiding = getattr(dtype, "kind", "O") in "fcO" or getattr(dtype, "hasobject", False)
    return hiding and not _is_float(x)


def kind_of(x: Any) -> str:
    """What a message calls a value: `an array of int64`, `a str`."""
    if isinstance(x, Tracer):
        t = x.type
        return f"an array of {t.dtype}" if isinstance(t, ArrayType) else str(t)
    if type(x) is np.ndarray:
        return f"an array of {x.dtype}"
    if x is None or isinstance(x, (bool, int, np.generic)):
        return str(x) if x is None else type(x).__name__
    name = "str" if isinstance(x, TracedText) else type(x).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _hides_floats(x: Any) -> bool:
    """Whether there may be floats in what is no container that is taken apart."""
    if isinstance(x, np.ndarray):
        return x.dtype.kind == "V" or _is_foreign(x)
    if isinstance(x, (set, frozenset)):
        return any(_is_float(part) or _hides_floats(part) for part in x)
    if isinstance(x, (list, tuple, dict)):
        return bool(x)
    own = isinstance(x, (float, complex, Iterator)) and not isinstance(x, np.generic)
    return own or _is_foreign(x)


def _held(x: Any, path: str) -> str:
    """Some floats that an object holds as attributes, in words."""
    own = getattr(x, "__dict__", None)
    found = [f"{path}.{k}" for k, v in own.items() if _is_float(v)] if type(own) is dict else []
    return f", such as {' and '.join(found[:2])}" if found else ""


def has_floats(x: Any) -> bool:
    """Whether an argument is, or contains, a number or an array that has a derivative, or may."""
    return any(
        isinstance(v, Union) or _is_float(v) or _is_foreign(v)
        for _, v in _parts(narrow(x), "", objects=True)
    )


def require_floats(x: Any, what: str, name: str, advice: str, carries: bool = False) -> None:
    """Raise TypeError where a part of the argument `name`, by which `what` derives, is no float.

    None inside a container stands for what is not there, and has the derivative None. With
    `carries`, other parts of a container or an object are carried along, if there are floats at all
    and none may be hidden in them.
    """
    parts = list(_parts(narrow(x), name, objects=carries))
    found = any(isinstance(part, Union) or _is_float(part) for _, part in parts)
    for path, part in parts if found else _parts(narrow(x), name):
        fits = isinstance(part, Union) or _is_float(part)
        carried = carries and found and not _hides_floats(part)
        if fits or carried or part is None and path != name:
            continue
        raise TypeError(
            f"{what} takes real or complex floating-point arguments, and {path} is "
            f"{kind_of(part)}: pass {_TAKEN}{_held(part, path)}; or {advice}"
        )


def _holds_values(x: Any, around: tuple[Any, ...]) -> bool:
    """Whether an object has an array, or a number that was computed, somewhere."""
    if isinstance(x, (Tracer, np.ndarray)):
        return True
    if any(x is outer for outer in around):
        return False
    found = parts_of(x)
    inner = found[2] if found else list(contents_of(x).values()) if is_instance(x) else []
    return any(_holds_values(part, (*around, x)) for part in inner)


def require_results(x: Any, what: str) -> None:
    """Raise TypeError where a part of a function's result is neither a number, nor an array.

    Objects may hold anything beside their arrays, and dataclasses constants.
    """
    for path, part in _parts(narrow(x), "result"):
        attribute = path != "result" and not path.endswith("]")
        if _is_number(part) or part is None or attribute and is_constant(part):
            continue
        if not _holds_values(part, ()):
            raise TypeError(
                f"{what} takes a function that gives numbers and arrays, or containers and objects "
                f"of them, and its {path} is {kind_of(part)}; "
                "return it as auxiliary, with has_aux=True"
            )


def require_no_tangent(x: Any, what: str) -> None:
    """Raise TypeError unless a tangent, of what has no derivative, is None, or zeros.

    A trace checks it when it runs.
    """
    for _, part in _parts(narrow(x), ""):
        if part is None:
            continue
        if isinstance(part, (Tracer, np.ndarray)):
            zero = np.all(np.equal(lift(part), 0))
            trace = concrete_trace()
            if trace is None:
                here().emit_all("check", (lift(zero).value(),), {})
                continue
            if bool(trace.concrete(lift(zero).value())):
                continue
        elif _is_number(part) and not isinstance(part, Union) and part == 0:
            continue
        raise TypeError(f"{what} is None or zero, not {kind_of(part)}")


def require_transparent(x: Any, what: str) -> None:
    """Raise TypeError where `x` has a part that may hold arrays which cannot be seen."""
    for path, part in _parts(x, "x"):
        if not (_is_number(part) or is_constant(part) or isinstance(part, TracedText)):
            raise TypeError(
                f"{what} takes numbers and arrays, or lists, tuples, dicts, namedtuples or "
                f"dataclasses of them, and {path} is {kind_of(part)}{_held(part, path)}"
            )
