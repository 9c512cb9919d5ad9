"""Changes inside of lists that grow with data, and the places of their elements."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.containers import grown_lists
from tracejit.frontend.numpy.number_operators import binary_operator
from tracejit.frontend.tracing.checks import require_index
from tracejit.frontend.tracing.grown import (
    Element,
    form_of,
    is_grown,
    prefixes,
    size_of,
)
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.trace import user_line
from tracejit.frontend.tracing.tracer import Tracer

__all__ = ["METHODS", "compare", "delete", "store_slice"]


# Places ------------------------------------------------------------------------------------------


def insert(interpreter: Interpreter, x: list[Any], k: Any, value: Any) -> None:
    """`x.insert(k, value)`."""
    interpreter.require_mutable(x)
    length = size_of(x)
    k = interpreter.call(min, interpreter.call(max, _from_start(interpreter, k, length), 0), length)
    interpreter.call(x.append, value)
    for array in x[0].arrays:
        last, behind = array[length : length + 1].copy(), array[k:length].copy()
        array[k + 1 : length + 1] = behind
        array[k : k + 1] = last


def _from_start(interpreter: Interpreter, k: Any, length: Any) -> Any:
    require_index(k)
    return interpreter.ternary(
        interpreter.compare("lt", k, 0),
        lambda *__tracejit_operand__: k + length,
        lambda *__tracejit_operand__: k,
    )


def pop(interpreter: Interpreter, x: list[Any], k: Any = -1) -> Any:
    """`x.pop(k)`."""
    interpreter.will_remove(x)
    grown_lists.require(
        interpreter, binary_operator(operator.gt, grown_lists.number(size_of(x)), 0)
    )
    out = grown_lists.item(interpreter, x, k)
    if not (isinstance(k, int) and k == -1):
        k = grown_lists.position(interpreter, x, k)
        _close(x, k, k + 1)
    x[1] = size_of(x) - 1
    return out


def _close(x: list[Any], first: Any, end: Any) -> None:
    """Bring the elements from `end` on to `first`."""
    length = size_of(x)
    for array in x[0].arrays:
        behind = array[end:length].copy()
        array[first : first + (length - end)] = behind


def delete(interpreter: Interpreter, x: list[Any], key: Any) -> None:
    """`del x[key]`."""
    interpreter.will_remove(x)
    if type(key) is not slice:
        pop(interpreter, x, key)
        return
    first, end = _bounds(interpreter, x, key)
    _close(x, first, end)
    x[1] = size_of(x) - (end - first)


def _bounds(interpreter: Interpreter, x: list[Any], key: slice) -> tuple[Any, Any]:
    """Where the elements begin and end that a slice without a step is of."""
    if key.step is not None and not (type(key.step) is int and key.step == 1):
        raise TraceError("TJ017", "a slice of a list that grows, with a step", user_line())
    length, ends = size_of(x), []
    for given, default in ((key.start, 0), (key.stop, length)):
        k = default if given is None else _from_start(interpreter, given, length)
        ends.append(interpreter.call(min, interpreter.call(max, k, 0), length))
    first, end = ends
    return first, interpreter.call(max, first, end)


def store_slice(interpreter: Interpreter, x: list[Any], key: slice, values: Any) -> None:
    """`x[key] = values`."""
    interpreter.require_mutable(x)
    first, end = _bounds(interpreter, x, key)
    made = interpreter.call(list, values)
    parts = [grown_lists.item(interpreter, x, s) for s in (slice(0, first), slice(end, None))]
    joined = grown_lists.join(interpreter, parts[0], made) if made else parts[0]
    joined = grown_lists.join(interpreter, joined, parts[1])
    x[:] = joined


# Values ------------------------------------------------------------------------------------------


def _equal(interpreter: Interpreter, x: list[Any], value: Any, what: str) -> Any:
    """Which elements are equal to a number: an array of bools."""
    form = x[0].form
    other = form_of(value)
    if not (isinstance(form, Element) and isinstance(other, Element)) or form.shape or other.shape:
        raise TraceError("TJ001", f"{what} of a list that grows", user_line())
    if form.dtype != other.dtype and not {form.dtype.kind, other.dtype.kind} <= {"b", "i"}:
        # NumPy may round such numbers before it compares them.
        raise TraceError("TJ001", f"{what} of a list that grows", user_line())
    (held,) = prefixes(x)
    # An object is equal to itself, even where it is a NaN.
    grown_lists.require(interpreter, interpreter.compare("eq", value, value))
    return interpreter.compare("eq", held, value)


def count(interpreter: Interpreter, x: list[Any], value: Any) -> Any:
    """`x.count(value)`."""
    equal = _equal(interpreter, x, value, "count()")
    return interpreter.call(int, interpreter.call(np.count_nonzero, equal))


def index(interpreter: Interpreter, x: list[Any], value: Any, *bounds: Any) -> Any:
    """`x.index(value)`. A run in which there is none bails out."""
    if bounds:
        raise TraceError("TJ002", "list.index between bounds of a list that grows", user_line())
    equal = _equal(interpreter, x, value, "index()")
    grown_lists.require(interpreter, interpreter.call(np.any, equal))
    return interpreter.call(int, interpreter.call(np.argmax, equal))


def remove(interpreter: Interpreter, x: list[Any], value: Any) -> None:
    """`x.remove(value)`."""
    interpreter.require_mutable(x)
    pop(interpreter, x, index(interpreter, x, value))


def compare(interpreter: Interpreter, op: str, a: Any, b: Any) -> Any:
    """A comparison of lists of which one is grown."""
    grown, other = (a, b) if is_grown(a) else (b, a)
    if op not in ("eq", "ne") or isinstance(other, Tracer):
        raise TraceError("TJ001", "a comparison of a list that grows", user_line())
    if type(other) is not list:
        return op == "ne"
    if not other:
        return interpreter.compare(op, size_of(grown), 0)
    raise TraceError("TJ001", "a comparison of a list that grows", user_line())


METHODS: dict[str, Callable[..., Any]] = {
    **grown_lists.METHODS,
    "insert": insert,
    "pop": pop,
    "remove": remove,
    "index": index,
    "count": count,
}
