"""Python's operators in a traced program: which operands they may act on, and what they give.

On traced values, sizes, constants and builtin containers Python's own operator runs; on objects of
the program's own classes their special methods are called as rewritten code.
"""

from __future__ import annotations

import enum
import operator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.python.sequences import beside_sequence, is_sequence, meets, tried
from tracejit.frontend.tracing.pytree import VIEWS, is_constant, is_default, is_namedtuple
from tracejit.frontend.tracing.sizes import SymInt
from tracejit.frontend.tracing.text import TracedText
from tracejit.frontend.tracing.tracer import (
    TracedArray,
    TracedScalar,
    Tracer,
    check_dtype,
    here,
    lift,
    user_line,
)
from tracejit.ir.types import ArrayType, NpScalar, PyScalar

if TYPE_CHECKING:
    from tracejit.frontend.interpreter.interpreter import Hooks

__all__ = [
    "binary",
    "class_of",
    "compare",
    "constant_array",
    "has_traced",
    "in_place",
    "require_index",
    "require_key",
    "require_known",
    "require_plain",
    "unary",
]

_PYTHON_CLASSES: dict[str, type] = {"int": int, "float": float, "complex": complex, "bool": bool}
_NUMBERS = (int, float, complex, bool)
_CONTAINERS = (list, tuple, dict, set, frozenset)


def class_of(x: Any) -> type:
    """The class of `x`, or of what it stands for."""
    if isinstance(x, SymInt):
        return int
    if isinstance(x, TracedText):
        return str
    if not isinstance(x, Tracer):
        return type(x)
    t = x.type
    if isinstance(t, ArrayType):
        return np.ndarray
    if isinstance(t, NpScalar):
        return t.dtype.type
    if isinstance(t, PyScalar):
        return _PYTHON_CLASSES[t.kind]
    return type(None)


def constant_array(array: np.ndarray[Any, Any]) -> TracedArray:
    """An array computed while tracing, as a constant of the graph that is laid out as it is.

    Gaps between its elements are not kept.
    """
    trace = here()
    strides = zip(array.shape, array.strides, strict=True)
    repeated = [array.size > 0 and d > 1 and s == 0 for d, s in strides]
    own = array[(*(slice(0, 1) if again else slice(None) for again in repeated), ...)]
    order = sorted(range(own.ndim), key=lambda a: -abs(own.strides[a]) if own.shape[a] > 1 else 0)
    if own.flags.c_contiguous:
        order = list(range(own.ndim))
    moved = own.transpose(order)
    out = trace.wrap(trace.constant(moved, ArrayType(check_dtype(array.dtype), moved.shape)))
    assert isinstance(out, TracedArray)
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


def _is_number(x: Any) -> bool:
    return isinstance(x, (Tracer, SymInt, np.generic)) or type(x) in _NUMBERS


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
    if cls in _CONTAINERS or is_namedtuple(cls) or cls in VIEWS:
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
    if _is_number(x) or is_constant(x) or isinstance(x, type):
        return
    if type(x) in (list, tuple, dict, slice) or is_namedtuple(type(x)):
        parts = (x.start, x.stop, x.step) if type(x) is slice else x
        for part in x.values() if type(x) is dict else parts:
            require_known(part, what)
        return
    raise TraceError("TJ002", f"{what} of class {type(x).__name__}", user_line())


def holds_item(x: Any, key: Any, value: Any) -> bool:
    """Whether a list or dict holds this very object under a constant key."""
    if not is_constant(key):
        return False
    if type(x) is dict:
        return key in x and x[key] is value
    return type(key) is int and -len(x) <= key < len(x) and x[key] is value


def require_index(key: Any) -> None:
    """Raise TraceError unless `key` is an index that Python and NumPy understand by themselves."""
    if not (_is_number(key) or is_constant(key)):
        require_known(key, "an index")


def require_key(k: Any) -> None:
    """Raise TraceError unless `k` hashes and compares without code of the program."""
    if isinstance(k, Tracer):
        raise TraceError("TJ001", "a key", user_line())
    if type(k) in (tuple, frozenset) or is_namedtuple(type(k)):
        for part in k:
            require_key(part)
    elif not (is_constant(k) or isinstance(k, (SymInt, np.generic)) or _is_opaque(k)):
        cls = type(k)
        if not (is_default(cls, "__hash__") and is_default(cls, "__eq__")):
            raise TraceError("TJ008", f"a key of class {cls.__name__}", user_line())


def _is_opaque(x: Any) -> bool:
    """Whether `x` is compared as a whole, by no code of the program."""
    return isinstance(x, _BY_IDENTITY) and not isinstance(type(x).__eq__, FunctionType)


_BY_IDENTITY = (type, FunctionType, BuiltinFunctionType, ModuleType, enum.Enum, np.ufunc)


# Arithmetic --------------------------------------------------------------------------------------


def _checked(op: str, x: Tracer, other: Any) -> None:
    """A traced operand meets numbers and sequences; NumPy would make objects of the rest."""
    if not _is_number(other) and not meets(x, other):
        raise TraceError("TJ004", f"{op} with a {type(other).__name__}", user_line())
    if type(other) in (set, frozenset, *VIEWS):
        return  # Whatever they hold, an operator with a number does not ask.
    require_known(other, "an operand")
    if isinstance(x.type, PyScalar) and type(other) in (list, tuple) and op not in ("eq", "ne"):
        if op in ("mul", "imul") and x.type.kind in ("bool", "int"):
            raise TraceError("TJ001", "how often a sequence is repeated", user_line())
        kinds = f"{type(other).__name__} and {class_of(x).__name__}"
        raise TypeError(f"unsupported operand types for {op}: {kinds}")


def _lifted(a: Any, b: Any) -> tuple[Any, Any]:
    """NumPy's scalars do not know sizes: beside one, a size becomes a traced int."""
    if isinstance(a, SymInt) and isinstance(b, np.generic):
        return here().size(a.dim), b
    if isinstance(b, SymInt) and isinstance(a, np.generic):
        return a, here().size(b.dim)
    return a, b


def _holds_traced(x: Any) -> bool:
    return is_sequence(x) and has_traced(x)


def _builtin(x: Any) -> bool:
    return _is_number(x) or is_constant(x) or type(x) in _CONTAINERS or isinstance(x, type)


def unary(hooks: Hooks, op: str, x: Any) -> Any:
    """`-x`, `+x` and `~x`."""
    if _is_number(x) or is_constant(x):
        return getattr(operator, op)(x)
    method = _special(hooks, x, f"__{op}__")
    if method is None:
        raise TraceError("TJ002", f"{op} of a {type(x).__name__}", user_line())
    return hooks.call(method)


def _special(hooks: Hooks, x: Any, name: str) -> Any:
    from tracejit.frontend.python.objects import special

    return special(hooks, x, name)


def binary(hooks: Hooks, op: str, a: Any, b: Any) -> Any:
    """`a op b`, where `op` is a name of the module operator."""
    if isinstance(a, TracedText) or isinstance(b, TracedText) or op == "mod" and type(a) is str:
        from tracejit.frontend.python.formatting import text_operator

        return text_operator(hooks, op, a, b)
    if _builtin(a) and _builtin(b):
        return hooks.fresh(_builtin_operator(hooks, op, a, b))
    if _builtin(a):
        raise TraceError("TJ008", f"{op} with a {type(b).__name__}", user_line())
    return _call_special(hooks, f"__{op.rstrip('_')}__", a, b)


def _builtin_operator(hooks: Hooks, op: str, a: Any, b: Any) -> Any:
    if type(a) is bytes and op == "mod":
        tried(operator.mod, a, b)
        require_plain(b, "text")
    elif isinstance(a, Tracer):
        _checked(op, a, b)
    elif isinstance(b, Tracer):
        _checked(op, b, a)
    elif type(a) in (set, frozenset) or type(b) in (set, frozenset):
        hooks.ordered(a)
        hooks.ordered(b)
    elif isinstance(a, np.generic) or isinstance(b, np.generic):
        require_known([a, b], "an operand")
        if _holds_traced(a) or _holds_traced(b):
            return beside_sequence(getattr(operator, op), a, b)
    a, b = _lifted(a, b)
    with np.errstate(all="ignore"):
        return getattr(operator, op)(a, b)


def _call_special(hooks: Hooks, name: str, a: Any, b: Any) -> Any:
    """`a.name(b)`; what follows a NotImplemented is left to eager execution."""
    method = _special(hooks, a, name)
    if method is not None:
        result = hooks.call(method, b)
        if result is not NotImplemented:
            return result
    classes = f"{type(a).__name__} and {class_of(b).__name__}"
    raise TraceError("TJ008", f"{name} of {classes}", user_line())


def in_place(hooks: Hooks, op: str, a: Any, b: Any) -> Any:
    """The value of `a` after `a op= b`, where `op` is iadd and so on."""
    plain = op[1:] + "_" * (op in ("iand", "ior"))
    if type(a) is list and op == "imul" and isinstance(b, (int, np.integer, SymInt)):
        hooks.may_change(a)
        a *= b if isinstance(b, SymInt) else int(b)
        return a
    if type(a) in (list, set, dict) and not _is_number(b):
        hooks.may_change(a)
        if type(a) is list and op == "iadd":
            a += list(hooks.iterate(b))  # all items first: `b` may be `a` itself
            return a
        require_known(b, "an operand") if type(b) is not set else hooks.ordered(b)
        return getattr(operator, op)(a, b)
    if isinstance(a, Tracer):
        _checked(op, a, b)
        return getattr(operator, op)(a, b)
    if not _builtin(a):
        method = _special(hooks, a, f"__{op}__")
        if method is not None:
            return _call_special(hooks, f"__{op}__", a, b)
    return binary(hooks, plain, a, b)


# Comparisons -------------------------------------------------------------------------------------


def compare(hooks: Hooks, op: str, a: Any, b: Any) -> Any:
    """`a op b` for a comparison, `is`, `in` or their negation."""
    if isinstance(a, TracedText) or isinstance(b, TracedText):
        a, b = (x.known("a comparison") if isinstance(x, TracedText) else x for x in (a, b))
    if op in ("is_", "is_not"):
        return _same(hooks, a, b) is (op == "is_")
    if op in ("contains", "lacks"):
        found = _contains(hooks, b, a)
        return found if op == "contains" else hooks.not_(found)
    if isinstance(a, Tracer) or isinstance(b, Tracer):
        _checked(op, a, b) if isinstance(a, Tracer) else _checked(op, b, a)
        # A NumPy scalar on the left would compare as an array of unknown origin; Python's complex
        # would leave the comparison to the other side, as if that stood on the left.
        return getattr(operator, op)(lift(a) if isinstance(a, (np.generic, complex)) else a, b)
    if isinstance(a, np.generic) and isinstance(b, SymInt):
        return getattr(operator, op)(lift(a), lift(b))
    if _is_number(a) and _is_number(b):
        return getattr(operator, op)(*_lifted(a, b))
    if isinstance(a, np.generic) or isinstance(b, np.generic):
        other = b if isinstance(a, np.generic) else a
        if _holds_traced(other):
            return beside_sequence(getattr(operator, op), a, b)
        require_plain(other, "a comparison")
        return hooks.fresh(getattr(operator, op)(a, b))
    if _compares_by_value(a) and _compares_by_value(b):
        require_plain([a, b], "a comparison", sizes=True)
        hooks.known(a)
        hooks.known(b)
        return getattr(operator, op)(a, b)
    if op in ("eq", "ne") and (_compares_by_identity(a) or _compares_by_identity(b)):
        if _knows(a) and _knows(b):
            return (a is b) is (op == "eq") if type(a) is type(b) else op == "ne"
    if isinstance(a, np.dtype) or isinstance(b, np.dtype):
        return getattr(operator, op)(a, b)
    return _call_special(hooks, f"__{op}__", a, b)


def _compares_by_value(x: Any) -> bool:
    return (
        isinstance(x, SymInt)
        or is_constant(x)
        or type(x) in _CONTAINERS
        or type(x) in VIEWS
        or is_namedtuple(type(x))
    ) and not isinstance(x, np.dtype)


def _compares_by_identity(x: Any) -> bool:
    return _is_opaque(x) or is_default(type(x), "__eq__")


def _knows(x: Any) -> bool:
    """Whether `x` leaves equality with an object of another kind to identity."""
    if is_constant(x) or isinstance(x, type):
        return not isinstance(x, np.dtype)
    if isinstance(x, enum.Enum) and isinstance(x, (*_NUMBERS, str)):
        return False
    return is_default(type(x), "__eq__")


def _same(hooks: Hooks, a: Any, b: Any) -> bool:
    """`a is b`. Raises TraceError where the stand-ins cannot tell."""
    for x, other in ((a, b), (b, a)):
        if isinstance(x, (Tracer, SymInt)):
            if isinstance(x, TracedArray) and x is other:
                return True
            if isinstance(other, (Tracer, SymInt)):
                raise TraceError("TJ001", "the identity of traced values", user_line())
            if not isinstance(x, TracedArray) and (
                type(other) in _NUMBERS or isinstance(other, np.generic)
            ):
                raise TraceError("TJ001", "the identity of a number", user_line())
            return False
    if a is not b:
        rebuilt = hooks.capture.rebuilt
        both = id(a) in rebuilt and id(b) in rebuilt
        if both or (isinstance(a, tuple) and isinstance(b, tuple)):
            raise TraceError("TJ006", "the identity of containers from outside", user_line())
    return a is b


def _contains(hooks: Hooks, container: Any, item: Any) -> Any:
    """`item in container`: a bool, or a traced one."""
    cls = type(container)
    if isinstance(container, TracedArray):
        _checked("in", container, item)
        return hooks.truth_of(hooks.call(np.any, hooks.compare("eq", container, item)))
    if isinstance(item, (TracedScalar, SymInt)) and cls in (range, *_CONTAINERS, *VIEWS):
        return _contains_number(hooks, container, item)
    if isinstance(container, Tracer) or isinstance(item, Tracer):
        raise TraceError("TJ001", "a test by `in`", user_line())
    if cls in (set, frozenset, *VIEWS):
        hooks.known(container)
    if cls in (dict, set, frozenset):
        require_key(item)
        return item in container
    if cls in (list, tuple, range, str, bytes, *VIEWS) or is_namedtuple(cls):
        if not _is_opaque(item):
            require_plain(item, "a test by `in`", sizes=True)
        for part in () if cls in (range, str, bytes) else container:
            if not _is_opaque(part):
                require_plain(part, "a test by `in`", sizes=True)
        return item in container
    method = _special(hooks, container, "__contains__")
    if method is None:
        raise TraceError("TJ008", f"`in` of a {cls.__name__}", user_line())
    return bool(hooks.truth(hooks.call(method, item)))


def _contains_number(hooks: Hooks, container: Any, item: TracedScalar | SymInt) -> Any:
    """Whether a number is one of known items. Nobody knows whether two NaNs are one object."""
    cls = type(container)
    if cls is range and issubclass(class_of(item), (int, np.integer)):
        return _in_range(hooks, container, item)
    hooks.known(container)
    if cls in (dict, set, frozenset) and class_of(item) in (np.float16, np.float32, np.complex64):
        # Equal numbers of these classes have different hashes.
        raise TraceError("TJ001", "a key", user_line())
    found: Any = False
    for part in container:
        require_plain(part, "a test by `in`", sizes=True)
        if part is None or type(part) in (str, bytes):
            continue
        if not _is_number(part) or part != part:
            raise TraceError("TJ001", "a test by `in`", user_line())
        same = hooks.truth_of(hooks.compare("eq", item, part))
        if same is True:
            return True
        if same is not False:
            found = same if found is False else hooks.binary("or_", found, same)
    return found


def _in_range(hooks: Hooks, container: range, item: TracedScalar | SymInt) -> Any:
    if not container:
        return False
    low, high = sorted((container[0], container[-1]))
    inside = [hooks.compare("ge", item, low), hooks.compare("le", item, high)]
    if abs(container.step) > 1:
        steps = hooks.binary("mod", hooks.binary("sub", item, low), abs(container.step))
        inside.append(hooks.compare("eq", steps, 0))
    found: Any = True
    for holds in map(hooks.truth_of, inside):
        if holds is False:
            return False
        if holds is not True:
            found = holds if found is True else hooks.binary("and_", found, holds)
    return found
