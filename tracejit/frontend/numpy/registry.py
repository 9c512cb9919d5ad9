"""NumPy functions on tracers: the table of handlers, and the calls that reach it.

A handler has the signature of the NumPy function it stands for, restricted to what it supports; it
records graph nodes and gives tracers. A form it does not know raises TraceError("TJ004").
"""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from tracejit.base.late_table import LateTable, name_of
from tracejit.errors import PACKAGE, TraceError
from tracejit.frontend.tracing.dispatch import DISPATCH
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.tracer import (
    TracedArray,
    TracedScalar,
    given_dtype,
    here,
    is_number,
    user_line,
)
from tracejit.ir.types import DTYPES, dtype_of, is_held

__all__ = [
    "HANDLERS",
    "NONE_IS_DEFAULT",
    "NOT_GIVEN",
    "PRELUDE",
    "SEVERAL_AXES",
    "SUBSCRIPTS",
    "bound_to",
    "call_function",
    "functions",
    "given_to",
    "handles",
    "is_of_prelude",
    "only",
    "plain_options",
]


def numpy_name(f: Any) -> str:
    """The name by which a function is announced; those of `np.ma` have the names of others, and
    methods are announced with their class."""
    name = f.__qualname__ if _is_method(f) else name_of(f)
    masked = name and str(getattr(f, "__module__", "")).startswith("numpy.ma")
    return f"ma.{name}" if masked else name


def _is_method(f: Any) -> bool:
    """Whether `f` is a function of a class of NumPy."""
    name = f.__qualname__ if type(f) is FunctionType else ""
    return "." in name and "<" not in name


F = TypeVar("F", bound=Callable[..., Any])

#: NumPy function -> its handler.
HANDLERS: LateTable[Any, Callable[..., Any]] = LateTable(name_of=numpy_name)
#: Function of NumPy, or the path of one of SciPy -> the function that is traced in its place.
PRELUDE: LateTable[Any, FunctionType] = LateTable(name_of=numpy_name)
_PRELUDE_FOLDER = os.path.join(PACKAGE, "frontend", "prelude", "")
#: Handlers that run even without a traced argument: they make arrays that must stay traced.
CREATORS: set[Any] = set()
#: Classes of objects of which NumPy only knows items, such as `np.mgrid` -> what an item is.
SUBSCRIPTS: LateTable[type, Callable[[Any, Any], Any]] = LateTable()

NOT_GIVEN: Any = np._NoValue


def handles(*functions: Any, creates: bool = False, several_axes: bool = False) -> Callable[[F], F]:
    """Decorator: the handler of one or more NumPy functions.

    `creates`: they run even without a traced argument. `several_axes`: `axis` may be a tuple.
    """

    def add(handler: F) -> F:
        for f in functions:
            HANDLERS[f] = handler
            if creates:
                CREATORS.add(f)
            if several_axes:
                SEVERAL_AXES.add(f)
        return handler

    return add


#: Options whose default is None; for others it is a value like any, which NumPy may refuse.
NONE_IS_DEFAULT = frozenset(("device", "dtype", "like", "order", "out"))


def only(function: str, **unsupported: Any) -> None:
    """Raise TraceError where an optional argument that is not supported was given."""
    given = [
        k
        for k, v in unsupported.items()
        if v is not NOT_GIVEN and not (v is None and k in NONE_IS_DEFAULT)
    ]
    if given:
        raise TraceError("TJ004", f"{function} with {', '.join(given)}=", user_line())


def call_function(func: Any, args: Any, kwargs: Any) -> Any:
    """A NumPy function called with a tracer among its arguments. Raises TraceError if unknown."""
    handler = HANDLERS.get(func)
    name = f"np.{getattr(func, '__name__', func)}"
    if handler is None:
        if isinstance(func, np.ufunc):
            return func(*args, **kwargs)
        if func in PRELUDE and here().interpreter is not None:
            return here().interpreter.call(func, *args, **kwargs)
        raise TraceError("TJ002", name, user_line())
    here()
    bound = bound_to(handler, name, args, kwargs)
    if isinstance(bound.arguments.get("axis"), tuple) and func not in SEVERAL_AXES:
        raise TraceError("TJ004", f"{name} with several axes", user_line())
    return handler(*bound.args, **bound.kwargs)


def is_of_prelude(f: FunctionType) -> bool:
    """Whether a function is written in the prelude."""
    return f.__code__.co_filename.startswith(_PRELUDE_FOLDER)


def functions() -> list[Any]:
    """Returns the functions of NumPy that have a handler or are in the prelude."""
    handled = [f for f in HANDLERS if f.__module__]  # Methods of ufuncs are in no module.
    return [*handled, *(f for f in PRELUDE if type(f) is not str and not _is_method(f))]


def given_to(func: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """The keywords of a call without those that are left out by `np._NoValue`.

    Raises TraceError where that is not NumPy's own default.
    """
    if not any(v is NOT_GIVEN for v in (*args, *kwargs.values())):
        return dict(kwargs)
    try:
        signature = inspect.signature(func)
        given = signature.bind_partial(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return {k: v for k, v in kwargs.items() if v is not NOT_GIVEN}
    for key, v in given.items():
        if v is NOT_GIVEN and signature.parameters[key].default is not NOT_GIVEN:
            raise TraceError("TJ004", f"np.{func.__name__} with {key}=np._NoValue", user_line())
    return {k: v for k, v in kwargs.items() if v is not NOT_GIVEN}


def bound_to(
    handler: Callable[..., Any], name: str, args: Any, kwargs: Any
) -> inspect.BoundArguments:
    """The arguments of a call as a handler takes them, with plain options. Raises TraceError."""
    try:
        bound = inspect.signature(handler).bind(*args, **kwargs)
    except TypeError as e:
        raise TraceError("TJ004", f"{name}: {e}", user_line()) from None
    given = bound.arguments
    given |= plain_options(name, given)
    for p in bound.signature.parameters.values():
        if p.kind is p.VAR_KEYWORD and p.name in given:
            given[p.name] |= plain_options(name, given[p.name])
    return bound


def plain_options(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The options among a call's arguments, with flags as bools.

    Raises TraceError for values for which no handler is written: what NumPy makes of those it must
    say itself.
    """
    found = {}
    for option, x in arguments.items():
        accepts = _ACCEPTED.get(option)
        if accepts is None:
            continue
        if option == "keepdims" and isinstance(x, (int, np.integer)) and x in (0, 1):
            x = bool(x)
        if option == "dtype" and isinstance(x, type) and x in _DTYPE_CLASSES:
            x = x()
        if option == "order" and type(x) is str and len(x) == 1:
            x = x.upper()
        if not accepts(x):
            raise TraceError("TJ004", f"{name} with {option}= of {type(x).__name__}", user_line())
        if option == "dtype" and x is not None:
            with suppress(TypeError):
                if not is_held(np.dtype(x)):
                    given_dtype(np.dtype(x))
        found[option] = x
    return found


#: Classes such as np.dtypes.Float64DType, each of which stands for its one instance.
_DTYPE_CLASSES = frozenset(map(type, DTYPES.values()))


def _is_int(x: Any) -> bool:
    """Whether `x` is an int or None; NumPy's unsigned ones overflow where they are subtracted."""
    if isinstance(x, TracedScalar):
        return dtype_of(x.type).kind == "i"
    return x is None or type(x) is int or isinstance(x, (SymInt, np.signedinteger))


def _are_ints(x: Any) -> bool:
    if isinstance(x, (TracedArray, np.ndarray)):
        return x.dtype.kind in "iu" and x.dtype != np.uint64
    return all(map(_are_ints, x)) if isinstance(x, (list, tuple)) else _is_int(x)


def _is_axis(x: Any) -> bool:
    return all(map(_is_int, x)) if isinstance(x, tuple) else _is_int(x)


def _is_flag(x: Any) -> bool:
    return x is NOT_GIVEN or isinstance(x, bool)


def _is_flag_or_none(x: Any) -> bool:
    return x is None or _is_flag(x)


def _is_number(x: Any) -> bool:
    return isinstance(x, SymInt) or type(x) in (int, float) and math.isfinite(x)


def _one_of(*words: str | None) -> Callable[[Any], bool]:
    return lambda x: (x is None or type(x) is str) and x in words


#: What handlers take parameters of these names to be. NumPy truncates other numbers in some
#: functions and raises in others: then it decides.
_ACCEPTED: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("N", "M", "k", "n", "num", "ndim", "ndmax", "ndmin", "offset"), _is_int),
    **dict.fromkeys(("axis1", "axis2", "axisa", "axisb", "axisc", "decimals"), _is_int),
    **dict.fromkeys(("axes", "destination", "source"), _are_ints),
    **dict.fromkeys(("edge_order", "pad_width", "repeats", "reps"), _are_ints),
    "indices_or_sections": _are_ints,
    "axis": _is_axis,
    **dict.fromkeys(("bias", "deg", "endpoint", "equal_nan", "include_initial"), _is_flag),
    **dict.fromkeys(("keepdims", "retstep", "returned", "rowvar", "sparse", "upper"), _is_flag),
    **dict.fromkeys(("copy", "stable"), _is_flag_or_none),
    **dict.fromkeys(("correction", "mean"), lambda x: x is NOT_GIVEN),
    **dict.fromkeys(("indices", "nan"), lambda x: x is not None),
    "casting": lambda x: type(x) is str,
    "d": is_number,
    "ddof": _is_number,
    "dimensions": lambda x: isinstance(x, (tuple, list)),
    "dtype": lambda x: x is None or isinstance(x, (type, str, np.dtype)),
    "kind": _one_of(None, "quicksort", "mergesort", "heapsort", "stable"),
    "optimize": lambda x: isinstance(x, bool) or x in ("greedy", "optimal"),
    "order": _one_of(None, "C", "F", "A", "K"),
    "like": lambda x: x is None,
    "overwrite_input": lambda x: x is False,
    "shift": lambda x: _are_ints(x) or isinstance(x, bool) or _is_number(x),
    **dict.fromkeys(("sorted", "subok"), _is_flag),
    "to": lambda x: isinstance(x, (type, str, np.dtype)),
}
#: Functions that take several axes; of all others `axis` is one.
SEVERAL_AXES: set[Any] = {
    getattr(np, name)
    for name in (
        "all amax amin any count_nonzero expand_dims flip max mean min roll rot90 squeeze std var"
    ).split()
}


DISPATCH.function = call_function
HANDLERS.announce("handlers")
PRELUDE.announce("prelude")
SUBSCRIPTS.announce("subscripts")
