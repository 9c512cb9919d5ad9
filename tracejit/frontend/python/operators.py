"""Python's operators in a traced program: which operands they may act on, and what they give.

On traced values, sizes, constants and builtin containers Python's own operator runs; on objects of
the program's own classes their special methods are called as rewritten code.
"""

from __future__ import annotations

import enum
import operator
from typing import Any

import numpy as np

from tracejit.base.methods import METHODS
from tracejit.errors import TraceError
from tracejit.frontend.capture.guards import is_single
from tracejit.frontend.numpy.sequences import beside_sequence, is_sequence, meets, tried
from tracejit.frontend.python import failures
from tracejit.frontend.python.objects import special
from tracejit.frontend.tracing.checks import (
    CONTAINERS,
    NUMBERS,
    class_of,
    has_traced,
    is_opaque,
    is_operand,
    require_key,
    require_known,
    require_plain,
)
from tracejit.frontend.tracing.grown import is_grown
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.items import is_range_or_view
from tracejit.frontend.tracing.pytree import VIEWS, is_constant, is_default, is_namedtuple
from tracejit.frontend.tracing.raised import TracedError
from tracejit.frontend.tracing.standins import StandIn
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.text import TracedText
from tracejit.frontend.tracing.tracer import (
    TracedArray,
    TracedScalar,
    Tracer,
    here,
    lift,
    number_of,
    user_line,
)
from tracejit.frontend.tracing.union import Union
from tracejit.ir.types import PyScalar

__all__ = ["binary", "compare", "holds_item", "in_place", "unary"]

#: Classes of whose equal objects there may be one or several.
_COPIED = frozenset({int, float, complex, str, bytes, range, slice})

#: Equal numbers of these classes and of others have different hashes.
_UNLIKE_HASHES = (np.float16, np.float32, np.complex64)


def holds_item(x: Any, key: Any, value: Any) -> bool:
    """Whether a list or dict holds this very object under a constant key."""
    if not is_constant(key):
        return False
    if type(x) is dict:
        return key in x and x[key] is value
    return type(key) is int and -len(x) <= key < len(x) and x[key] is value


# Arithmetic --------------------------------------------------------------------------------------


def _checked(op: str, x: Tracer, other: Any) -> None:
    """A traced operand meets numbers and sequences; NumPy would make objects of the rest."""
    if not is_operand(other) and not meets(x, other):
        raise TraceError("TJ004", f"{op} with a {type(other).__name__}", user_line())
    if type(other) in (set, frozenset, *VIEWS):
        return  # Whatever they hold, an operator with a number does not ask.
    require_known(other, "an operand")
    if type(other) not in (list, tuple) or op in ("eq", "ne"):
        return
    if isinstance(x.type, PyScalar):
        if op in ("mul", "imul") and x.type.kind in ("bool", "int"):
            raise TraceError("TJ001", "how often a sequence is repeated", user_line())
        kinds = f"{type(other).__name__} and {class_of(x).__name__}"
        raise TypeError(f"unsupported operand types for {op}: {kinds}")


def _lifted(a: Any, b: Any) -> tuple[Any, Any]:
    """NumPy's scalars do not know sizes: beside one, a size becomes a traced int."""
    if isinstance(a, SymInt) and isinstance(b, np.generic):
        return number_of(here(), a.dim), b
    if isinstance(b, SymInt) and isinstance(a, np.generic):
        return a, number_of(here(), b.dim)
    return a, b


def _holds_traced(x: Any) -> bool:
    return is_sequence(x) and has_traced(x)


def _builtin(x: Any) -> bool:
    return is_operand(x) or is_constant(x) or type(x) in CONTAINERS or isinstance(x, type)


def unary(interpreter: Interpreter, op: str, x: Any) -> Any:
    """`-x`, `+x` and `~x`."""
    if is_operand(x) or is_constant(x):
        return getattr(operator, op)(x)
    method = _special(interpreter, x, f"__{op}__")
    if method is None:
        raise TraceError("TJ002", f"{op} of a {type(x).__name__}", user_line())
    return interpreter.call(method)


def _special(interpreter: Interpreter, x: Any, name: str) -> Any:
    return special(interpreter, x, name)


def binary(interpreter: Interpreter, op: str, a: Any, b: Any) -> Any:
    """`a op b`, where `op` is a name of the module operator."""
    if isinstance(a, TracedText) or isinstance(b, TracedText) or op == "mod" and type(a) is str:
        from tracejit.frontend.python.text.formatting import text_operator

        return text_operator(interpreter, op, a, b)
    if _builtin(a) and _builtin(b):
        failures.division(interpreter, op, a, b)
        return interpreter.fresh(_builtin_operator(interpreter, op, a, b))
    if _builtin(a):
        if isinstance(b, StandIn) and class_of(a) in NUMBERS:
            return _call_special(interpreter, f"__r{op}__", b, a)
        raise TraceError("TJ008", f"{op} with a {type(b).__name__}", user_line())
    return _call_special(interpreter, f"__{op.rstrip('_')}__", a, b)


def _builtin_operator(interpreter: Interpreter, op: str, a: Any, b: Any) -> Any:
    if is_grown(a) or is_grown(b):
        return _grown_operator(interpreter, op, a, b)
    if op == "mul" and (type(a) is list or type(b) is list):
        x, times = (a, b) if type(a) is list else (b, a)
        from tracejit.frontend.containers import grown_lists

        repeated = grown_lists.repeated(interpreter, x, times)
        if repeated is not None:
            return repeated
    if type(a) is bytes and op == "mod":
        tried(operator.mod, a, b)
        require_plain(b, "text")
    elif isinstance(a, Tracer):
        _checked(op, a, b)
    elif isinstance(b, Tracer):
        _checked(op, b, a)
    elif type(a) in (set, frozenset) or type(b) in (set, frozenset):
        interpreter.ordered(a)
        interpreter.ordered(b)
    elif isinstance(a, np.generic) or isinstance(b, np.generic):
        require_known([a, b], "an operand")
        if _holds_traced(a) or _holds_traced(b):
            return beside_sequence(getattr(operator, op), a, b)
    a, b = _lifted(a, b)
    with np.errstate(all="ignore"):
        return getattr(operator, op)(a, b)


def _grown_operator(interpreter: Interpreter, op: str, a: Any, b: Any) -> Any:
    """An operator with a list that grows: with lists and Python's ints, or as an array."""

    from tracejit.frontend.containers import grown_lists

    x, other = (a, b) if is_grown(a) else (b, a)
    if isinstance(other, (TracedArray, np.generic)):
        # Python's own operator, or NumPy's, on what NumPy makes of the list.
        a, b = (grown_lists.array_of(v) if is_grown(v) else v for v in (a, b))
        return binary(interpreter, op, a, b)
    if op == "add":
        return grown_lists.join(interpreter, a, b)
    if op == "mul":
        return grown_lists.repeat(interpreter, x, other)
    raise TraceError("TJ004", f"{op} with a list that grows", user_line())


def _call_special(interpreter: Interpreter, name: str, a: Any, b: Any) -> Any:
    """`a.name(b)`; what follows a NotImplemented is left to eager execution."""
    method = _special(interpreter, a, name)
    if method is not None:
        result = interpreter.call(method, b)
        if result is not NotImplemented:
            return result
    classes = f"{type(a).__name__} and {class_of(b).__name__}"
    raise TraceError("TJ008", f"{name} of {classes}", user_line())


def in_place(interpreter: Interpreter, op: str, a: Any, b: Any) -> Any:
    """The value of `a` after `a op= b`, where `op` is iadd and so on."""

    plain = op[1:] + "_" * (op in ("iand", "ior"))
    if is_grown(a) and op == "iadd" and not is_operand(b):
        from tracejit.frontend.containers import grown_lists

        grown_lists.extend(interpreter, a, b)
        return a
    if is_grown(a) and type(b) is not TracedArray:
        raise TraceError("TJ004", f"{op} with a list that grows", user_line())
    if type(a) is list and op == "imul" and isinstance(b, (int, np.integer, SymInt)):
        interpreter.require_mutable(a)
        a *= b if isinstance(b, SymInt) else int(b)
        return a
    if type(a) in (list, set, dict) and not is_operand(b):
        interpreter.require_mutable(a)
        if type(a) is list and op == "iadd":
            interpreter.call(a.extend, b)
            return a
        require_known(b, "an operand") if type(b) is not set else interpreter.ordered(b)
        return getattr(operator, op)(a, b)
    if isinstance(a, Tracer):
        failures.division(interpreter, plain, a, b)
        _checked(op, a, b)
        return getattr(operator, op)(a, b)
    if not _builtin(a):
        method = _special(interpreter, a, f"__{op}__")
        if method is not None:
            return _call_special(interpreter, f"__{op}__", a, b)
    return binary(interpreter, plain, a, b)


# Comparisons -------------------------------------------------------------------------------------


def compare(interpreter: Interpreter, op: str, a: Any, b: Any) -> Any:
    """`a op b` for a comparison, `is`, `in` or their negation."""

    from tracejit.frontend.containers.sequence_order import are_sequences, compare_sequences

    if isinstance(a, TracedText) or isinstance(b, TracedText):
        a, b = (x.known("a comparison") if isinstance(x, TracedText) else x for x in (a, b))
    if op in ("is_", "is_not"):
        same = _same(interpreter, a, b)
        return same if op == "is_" else interpreter.not_(same)
    if op not in ("contains", "lacks") and any(isinstance(x, StandIn) for x in (a, b)):
        raise TraceError("TJ008", f"a comparison with a {class_of(a).__name__}", user_line())
    if op not in ("contains", "lacks") and any(map(is_range_or_view, (a, b))):
        raise TraceError("TJ001", "a comparison with a range or a view", user_line())
    if op not in ("contains", "lacks") and (is_grown(a) or is_grown(b)):
        x = b if is_grown(a) else a
        from tracejit.frontend.containers import grown_lists, list_edits

        if not isinstance(x, (TracedArray, np.generic)):
            return list_edits.compare(interpreter, op, a, b)
        a, b = (grown_lists.array_of(v) if is_grown(v) else v for v in (a, b))
    if op in ("contains", "lacks"):
        found = _contains(interpreter, b, a)
        return found if op == "contains" else interpreter.not_(found)
    if isinstance(a, Tracer) or isinstance(b, Tracer):
        x, other = (a, b) if isinstance(a, Tracer) else (b, a)
        if op in ("eq", "ne") and (other is None or type(other) in (str, bytes)):
            found = _beside_unlike(interpreter, op, x, other)
            if found is not None:
                return found
        _checked(op, x, other)
        # A NumPy scalar on the left would compare as an array of unknown origin; Python's complex
        # would leave the comparison to the other side, as if that stood on the left.
        return getattr(operator, op)(lift(a) if isinstance(a, (np.generic, complex)) else a, b)
    if isinstance(a, np.generic) and isinstance(b, SymInt):
        return getattr(operator, op)(lift(a), lift(b))
    if is_operand(a) and is_operand(b):
        return getattr(operator, op)(*_lifted(a, b))
    if isinstance(a, np.generic) or isinstance(b, np.generic):
        other = b if isinstance(a, np.generic) else a
        if _holds_traced(other):
            return beside_sequence(getattr(operator, op), a, b)
        require_plain(other, "a comparison")
        return interpreter.fresh(getattr(operator, op)(a, b))
    if type(a) is type(b) is list and op in ("eq", "ne") and len(a) != len(b):
        return op == "ne"
    if are_sequences(a, b):
        return compare_sequences(interpreter, op, a, b)
    if _compares_by_value(a) and _compares_by_value(b):
        require_plain([a, b], "a comparison", sizes=True)
        interpreter.known(a)
        interpreter.known(b)
        return getattr(operator, op)(a, b)
    if op in ("eq", "ne") and (_compares_by_identity(a) or _compares_by_identity(b)):
        if _knows(a, op) and _knows(b, op):
            interpreter.capture.tell_apart(a, b)
            for x in (a, b):
                interpreter.capture.guard_methods(x, "__eq__", f"__{op}__")
            return (a is b) is (op == "eq") if type(a) is type(b) else op == "ne"
    if isinstance(a, np.dtype) or isinstance(b, np.dtype):
        return getattr(operator, op)(a, b)
    return _call_special(interpreter, f"__{op}__", a, b)


def _beside_unlike(interpreter: Interpreter, op: str, x: Tracer, other: Any) -> Any:
    """A traced value compared with None, or a number with a text; None for an array and a text."""
    if isinstance(x, TracedScalar):
        return getattr(operator, op)(class_of(x)(1), other)
    if other is not None or not isinstance(x, TracedArray):
        return None
    # NumPy compares element by element.
    found = interpreter.call(np.full_like, x, op == "ne", dtype=bool)
    return found if x.ndim else interpreter.item(found, ())


def _compares_by_value(x: Any) -> bool:
    return (
        isinstance(x, SymInt)
        or is_constant(x)
        or type(x) in CONTAINERS
        or type(x) in VIEWS
        or is_namedtuple(type(x))
    ) and not isinstance(x, np.dtype)


def _compares_by_identity(x: Any) -> bool:
    return is_opaque(x) or is_default(type(x), "__eq__")


def _knows(x: Any, op: str) -> bool:
    """Whether `x` leaves "eq" or "ne" with an object of another kind to identity."""
    if is_constant(x) or isinstance(x, type):
        return not isinstance(x, np.dtype)
    if isinstance(x, enum.Enum) and isinstance(x, (*NUMBERS, str)):
        return False
    return is_default(type(x), "__eq__") and is_default(type(x), f"__{op}__")


def _same(interpreter: Interpreter, a: Any, b: Any) -> Any:
    """`a is b`: a bool, or a traced one. Raises TraceError where the stand-ins cannot tell."""
    for x, other in ((a, b), (b, a)):
        if isinstance(x, (Tracer, SymInt)):
            if isinstance(x, TracedArray) and x is other:
                return True
            if isinstance(x, (TracedScalar, SymInt)) and class_of(x) is not class_of(other):
                return False
            if type(other) is bool:
                return interpreter.compare("eq", x, other)
            if isinstance(other, (Tracer, SymInt)):
                if _are_apart(x, other):
                    return False
                raise TraceError("TJ001", "the identity of traced values", user_line())
            if not isinstance(x, TracedArray) and (
                type(other) in NUMBERS or isinstance(other, np.generic)
            ):
                raise TraceError("TJ001", "the identity of a number", user_line())
            return False
    _require_identity(a, b)
    if a is not b:
        if any(isinstance(x, (TracedError, BaseException)) for x in (a, b)) and None not in (a, b):
            raise TraceError("TJ024", "the identity of exceptions", user_line())
        if interpreter.aliases.may_be_one(a, b):
            raise TraceError("TJ034", "which of two objects is another one", user_line())
        if id(a) in interpreter.shared and id(b) in interpreter.shared:
            raise TraceError("TJ001", "the identity of elements of a list", user_line())
        if isinstance(a, tuple) and isinstance(b, tuple):
            raise TraceError("TJ006", "the identity of containers from outside", user_line())
        interpreter.capture.tell_apart(a, b)
    return a is b


def _require_identity(a: Any, b: Any) -> None:
    """Raise TraceError where equal objects may be one at a call, and two at another one."""
    cls = type(a)
    if cls is not type(b):
        return
    if cls in METHODS and a.__func__ is b.__func__:
        raise TraceError("TJ001", "the identity of bound methods", user_line())
    is_number = issubclass(cls, np.generic) and cls is not np.bool_
    if cls is int and -5 <= a <= 256:
        return
    if isinstance(a, np.dtype) and a == b and not (is_single(a) and is_single(b)):
        raise TraceError("TJ001", "the identity of two equal dtypes", user_line())
    if (cls in _COPIED or is_number) and repr(a) == repr(b):
        raise TraceError("TJ001", f"the identity of two equal {cls.__name__}s", user_line())


def _are_apart(a: Any, b: Any) -> bool:
    """Whether two traced values are arrays in memory of their own, one of it made in the trace."""
    if not (isinstance(a, TracedArray) and isinstance(b, TracedArray)):
        return False
    storages = a.storage, b.storage
    is_known = all(not x.listed and (x.input is None or x.input >= 0) for x in storages)
    is_new = any(x.input is None and not x.carried and x.roots() == {x} for x in storages)
    return is_known and is_new and not a.storage.roots() & b.storage.roots()


def _contains(interpreter: Interpreter, container: Any, item: Any) -> Any:
    """`item in container`: a bool, or a traced one."""

    cls = type(container)
    if is_grown(container):
        from tracejit.frontend.containers import grown_lists

        return grown_lists.contains(interpreter, container, item)
    if is_grown(item):
        raise TraceError("TJ001", "a test by `in`", user_line())
    if isinstance(container, StandIn):
        return interpreter.truth_of(interpreter.call(container.attribute("__contains__"), item))
    if isinstance(container, TracedArray):
        _checked("in", container, item)
        return interpreter.truth_of(
            interpreter.call(np.any, interpreter.compare("eq", container, item))
        )
    if isinstance(item, (TracedScalar, SymInt)) and cls in (range, *CONTAINERS, *VIEWS):
        return _contains_number(interpreter, container, item)
    if type(item) is tuple and cls in CONTAINERS and has_traced(item):
        return _contains_tuple(interpreter, container, item)
    if isinstance(container, Tracer) or isinstance(item, Tracer):
        raise TraceError("TJ001", "a test by `in`", user_line())
    if cls in (set, frozenset, *VIEWS):
        interpreter.known(container)
    if cls in (dict, set, frozenset):
        require_key(interpreter.capture, item)
        return item in container
    if cls in (list, tuple, range, str, bytes, *VIEWS) or is_namedtuple(cls):
        if not is_opaque(item):
            require_plain(item, "a test by `in`", sizes=True)
        for part in () if cls in (range, str, bytes) else container:
            if not is_opaque(part):
                require_plain(part, "a test by `in`", sizes=True)
        return item in container
    method = _special(interpreter, container, "__contains__")
    if method is None:
        raise TraceError("TJ008", f"`in` of a {cls.__name__}", user_line())
    return interpreter.truth_of(interpreter.call(method, item))


def _contains_number(interpreter: Interpreter, container: Any, item: TracedScalar | SymInt) -> Any:
    """Whether a number is one of known items. Nobody knows whether two NaNs are one object."""
    cls = type(container)
    if cls is range and issubclass(class_of(item), (int, np.integer)):
        return _in_range(interpreter, container, item)
    interpreter.known(container)
    if cls in (dict, set, frozenset) and class_of(item) in _UNLIKE_HASHES:
        raise TraceError("TJ001", "a key", user_line())
    found: Any = False
    for part in container:
        require_plain(part, "a test by `in`", sizes=True)
        if part is None or type(part) in (str, bytes):
            continue
        if not is_operand(part) or part != part:
            raise TraceError("TJ001", "a test by `in`", user_line())
        same = interpreter.truth_of(interpreter.compare("eq", item, part))
        if same is True:
            return True
        if same is not False:
            found = same if found is False else interpreter.binary("or_", found, same)
    return found


def _contains_tuple(interpreter: Interpreter, container: Any, item: tuple[Any, ...]) -> Any:
    """Whether a tuple that holds traced numbers is one of known items."""

    from tracejit.frontend.containers.sequence_order import either

    interpreter.known(container)
    if type(container) not in (list, tuple):
        for part in item:
            if isinstance(part, (tuple, Union)) or class_of(part) in _UNLIKE_HASHES:
                raise TraceError("TJ001", "a key", user_line())
    found: Any = False
    for part in container:
        same = type(part) is tuple and compare(interpreter, "eq", item, part)
        found = either(interpreter, found, interpreter.truth_of(same))
    return found


def _in_range(interpreter: Interpreter, container: range, item: TracedScalar | SymInt) -> Any:
    if not container:
        return False
    low, high = sorted((container[0], container[-1]))
    inside = [interpreter.compare("ge", item, low), interpreter.compare("le", item, high)]
    if abs(container.step) > 1:
        steps = interpreter.binary("mod", interpreter.binary("sub", item, low), abs(container.step))
        inside.append(interpreter.compare("eq", steps, 0))
    found: Any = True
    for holds in map(interpreter.truth_of, inside):
        if holds is False:
            return False
        if holds is not True:
            found = holds if found is True else interpreter.binary("and_", found, holds)
    return found
