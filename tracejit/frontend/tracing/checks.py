"""Objects in a traced program: what class they stand for, and what may be done with them."""

from __future__ import annotations

import enum
import operator
import sys
import warnings
from types import BuiltinFunctionType, FunctionType, GeneratorType, ModuleType
from typing import Any, NoReturn

import numpy as np

from tracejit.base.locks import once
from tracejit.errors import TraceError
from tracejit.frontend.tracing.generator import GeneratorCall
from tracejit.frontend.tracing.items import is_range_or_view
from tracejit.frontend.tracing.pytree import VIEWS, is_constant, is_default, is_namedtuple
from tracejit.frontend.tracing.raised import TracedError
from tracejit.frontend.tracing.standins import StandIn
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.text import TracedText
from tracejit.frontend.tracing.tracer import (
    TracedArray,
    Tracer,
    given_dtype,
    here,
    user_line,
    wrap,
)
from tracejit.ir.types import ArrayType, NpScalar, PyScalar

__all__ = [
    "CONTAINERS",
    "NUMBERS",
    "class_of",
    "constant_array",
    "has_traced",
    "is_opaque",
    "is_operand",
    "refuse_index",
    "require_index",
    "require_key",
    "require_known",
    "require_plain",
    "require_reverse",
]
_PYTHON_CLASSES: dict[str, type] = {"int": int, "float": float, "complex": complex, "bool": bool}
NUMBERS = (int, float, complex, bool)
CONTAINERS = (list, tuple, dict, set, frozenset)


def class_of(x: Any) -> type:
    """The class of `x`, or of what it stands for. Raises TraceError where that is not known."""
    if isinstance(x, SymInt):
        return int
    if isinstance(x, TracedText):
        return str
    if isinstance(x, TracedError):
        return x.cls
    if isinstance(x, GeneratorCall):
        return GeneratorType
    if isinstance(x, StandIn):
        return x.stands_for
    if not isinstance(x, Tracer):
        cls = type(x)
        if cls.__module__.startswith("tracejit.frontend."):
            raise TraceError("TJ002", "the class of an object that Python makes", user_line())
        return cls
    t = x.type
    if isinstance(t, ArrayType):
        return np.ndarray
    if isinstance(t, NpScalar):
        return t.dtype.type
    if isinstance(t, PyScalar):
        return _PYTHON_CLASSES[t.kind]
    return type(None)


def constant_array(
    array: np.ndarray[Any, Any], memories: dict[int, TracedArray] | None = None
) -> TracedArray:
    """An array computed while tracing, as a constant of the graph that is laid out as it is.

    With `memories`, by their numbers, arrays that share memory do so in the graph. Elements that
    overlap otherwise than by repeated axes are copied.
    """
    trace = here()
    strides = zip(array.shape, array.strides, strict=True)
    repeated = [array.size > 0 and d > 1 and s == 0 for d, s in strides]
    own = array[(*(slice(0, 1) if again else slice(None) for again in repeated), ...)]
    order = sorted(range(own.ndim), key=lambda a: -abs(own.strides[a]) if own.shape[a] > 1 else 0)
    if own.flags.c_contiguous:
        order = list(range(own.ndim))
    moved = own.transpose(order)
    out: TracedArray | None = None
    if not moved.flags.c_contiguous:
        from tracejit.frontend.tracing.memory.constant_memory import part_of_constant

        out = part_of_constant(own, {} if memories is None else memories)
    if out is None:
        kind = ArrayType(given_dtype(array.dtype), moved.shape)
        made = wrap(trace, trace.constant(moved, kind))
        assert isinstance(made, TracedArray)
        out = made
        if order != list(range(own.ndim)):
            out = out.view("transpose", axes=tuple(order.index(k) for k in range(own.ndim)))
    # The flag as NumPy keeps it: reading it warns where elements are repeated.
    writeable = array.flags._writeable_no_warn  # type: ignore[attr-defined]
    if any(repeated):
        return out.view("broadcast_to", shape=array.shape, writeable=None if writeable else False)
    return out if writeable else out.view("reshape", shape=array.shape, writeable=False)


def has_traced(x: Any) -> bool:
    """Whether a traced value or a size is in `x`, containers included."""
    if isinstance(x, (Tracer, SymInt)):
        return True
    if isinstance(x, dict):
        return any(map(has_traced, x.values()))
    if isinstance(x, slice):
        return any(map(has_traced, (x.start, x.stop, x.step)))
    return isinstance(x, (list, tuple)) and any(map(has_traced, x))


def is_operand(x: Any) -> bool:
    """Whether `x` is a number or an array, traced or not, that operators are known for."""
    return isinstance(x, (Tracer, SymInt, np.generic)) or type(x) in NUMBERS


def require_plain(x: Any, what: str, sizes: bool = False) -> None:
    """Raise TraceError unless `x` is made of constants (or sizes) and builtin containers."""
    if isinstance(x, Tracer):
        raise TraceError("TJ001", what, user_line())
    if isinstance(x, TracedText):
        x.refuse(what)
    if is_constant(x) or isinstance(x, np.generic) or (sizes and isinstance(x, SymInt)):
        return
    cls = type(x)
    if cls in (set, *VIEWS) and id(x) in here().external:
        raise TraceError("TJ006", f"a {cls.__name__} from outside", user_line())
    if cls is set and id(x) in here().shuffled:
        raise TraceError("TJ022", "the order of a set that it changes", user_line())
    if cls in (set, frozenset):
        here().note_order(x)
    if cls in CONTAINERS or is_namedtuple(cls) or cls in VIEWS:
        for part in x:
            require_plain(part, what, sizes)
        if cls is dict:
            require_plain(list(x.values()), what, sizes)
        return
    if isinstance(x, SymInt):
        raise TraceError("TJ001", f"{what} of a size", user_line())
    raise TraceError("TJ002", f"{what} of a {cls.__name__}", user_line())


def require_known(x: Any, what: str) -> None:
    """Raise TraceError where an object of a class of the program's own is in `x`."""
    if is_operand(x) or is_constant(x) or isinstance(x, type) or x is np._NoValue:
        return
    if type(x) in (list, tuple, dict, slice) or is_namedtuple(type(x)):
        parts = (x.start, x.stop, x.step) if type(x) is slice else x
        for part in x.values() if type(x) is dict else parts:
            require_known(part, what)
        return
    raise TraceError("TJ002", f"{what} of class {type(x).__name__}", user_line())


def require_reverse(x: Any) -> None:
    """Raise TypeError unless Python sorts by `reverse=x`: before 3.13 it is to be an int."""
    cls = class_of(x)
    if sys.version_info < (3, 13) and (cls is np.bool_ or not hasattr(cls, "__index__")):
        refuse_index(cls)


def refuse_index(cls: type) -> NoReturn:
    """Raise TypeError for an object of a class that gives no index.

    Raises TraceError for NumPy's bools where they give one with a warning, before NumPy 2.3.
    """
    if cls is np.bool_ and _bools_are_indices():
        raise TraceError("TJ004", "a bool of NumPy as an index", user_line())
    raise TypeError(f"'{cls.__name__}' object cannot be interpreted as an integer")


@once
def _bools_are_indices() -> bool:
    with warnings.catch_warnings(action="ignore"):
        try:
            operator.index(np.True_)  # type: ignore[arg-type]
        except TypeError:
            return False
    return True


def require_index(key: Any) -> None:
    """Raise TraceError unless `key` is an index that Python and NumPy understand by themselves."""
    if not (is_operand(key) or is_constant(key)):
        require_known(key, "an index")


def require_key(capture: Any, k: Any) -> None:
    """Raise TraceError unless `k` hashes and compares without code of the program."""
    if isinstance(k, Tracer):
        raise TraceError("TJ001", "a key", user_line())
    if isinstance(k, StandIn):
        raise TraceError("TJ008", f"a key of class {class_of(k).__name__}", user_line())
    if is_range_or_view(k):
        raise TraceError("TJ001", "a range as a key", user_line())
    if type(k) in (tuple, frozenset) or is_namedtuple(type(k)):
        for part in k:
            require_key(capture, part)
    elif not (is_constant(k) or isinstance(k, (SymInt, np.generic)) or is_opaque(k)):
        cls = type(k)
        if not (is_default(cls, "__hash__") and is_default(cls, "__eq__")):
            raise TraceError("TJ008", f"a key of class {cls.__name__}", user_line())
        capture.guard_methods(k, "__hash__", "__eq__")


def plain_key(k: Any) -> Any:
    """`k` with the present values of sizes in it, under the guard that they stay so."""
    if isinstance(k, SymInt):
        return int(k)
    if isinstance(k, tuple) and any(isinstance(v, (SymInt, tuple)) for v in k):
        return tuple.__new__(type(k), map(plain_key, k))
    if type(k) is frozenset and any(isinstance(v, (SymInt, tuple)) for v in k):
        return frozenset(map(plain_key, k))
    return k


def require_plain_enum(capture: Any, cls: enum.EnumMeta, name: str) -> None:
    """Raise TraceError where the metaclass of an enum is the program's and has a method `name`."""
    capture.library_methods(enum.EnumMeta)
    if getattr(type(cls), name) is not getattr(enum.EnumMeta, name):
        raise TraceError("TJ008", f"{type(cls).__name__}.{name}", user_line())


def is_opaque(x: Any) -> bool:
    """Whether `x` is compared as a whole, by no code of the program."""
    return isinstance(x, _BY_IDENTITY) and not isinstance(type(x).__eq__, FunctionType)


_BY_IDENTITY = (type, FunctionType, BuiltinFunctionType, ModuleType, enum.Enum, np.ufunc)
