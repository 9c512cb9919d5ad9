"""What Python does with lists that grow with data: methods, items, operators, and their arrays."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.control import unions
from tracejit.frontend.control.branches import branch
from tracejit.frontend.control.columns import columns_of
from tracejit.frontend.control.growth import (
    FEW,
    Grows,
    grows,
    note_appended,
    outermost,
    packed,
    widened_form,
)
from tracejit.frontend.control.iteration import items_of
from tracejit.frontend.numpy.conversion import astype
from tracejit.frontend.numpy.creation import filled
from tracejit.frontend.numpy.join import stack
from tracejit.frontend.numpy.number_operators import binary_operator
from tracejit.frontend.numpy.ufuncs import refuse
from tracejit.frontend.tracing.checks import class_of, require_index, require_reverse
from tracejit.frontend.tracing.grown import (
    Choice,
    Element,
    Form,
    Grown,
    Pooled,
    Record,
    fits,
    form_of,
    holds_objects,
    is_grown,
    joined_form,
    leaves_in,
    prefixes,
    release,
    size_of,
)
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.items import Items
from tracejit.frontend.tracing.symint import SymInt, as_dim
from tracejit.frontend.tracing.trace import here, user_line
from tracejit.frontend.tracing.tracer import TracedArray, TracedScalar, Tracer, lift, wrap
from tracejit.frontend.tracing.union import Union
from tracejit.ir.dims import Dim
from tracejit.ir.types import PYINT

#: Up to so many elements that are not all numbers, one is picked by a number of the run.
_FEW_OBJECTS, _FEW_ARRAYS = 8, 4

__all__ = [
    "METHODS",
    "appends",
    "array_of",
    "contains",
    "extend",
    "holds_or_raises",
    "is_long",
    "item",
    "join",
    "number",
    "position",
    "repeat",
    "require",
    "store_item",
]


def _mutable(interpreter: Interpreter, x: list[Any]) -> Grown:
    interpreter.require_mutable(x)
    grown: Grown = x[0]
    return grown


def _body(interpreter: Interpreter) -> Any:
    return interpreter.rolling[-1].region if interpreter.rolling else None


def _columns(interpreter: Interpreter, x: list[Any], value: Any) -> list[Any]:
    """The values of an element that the list holds from now on.

    Raises Grows where a loop has to begin with a list of more kinds.
    """
    if not fits(x[0].form, form_of(value)):
        form, loop = widened_form(x, form_of(value)), outermost(interpreter, x)
        if loop is not None:
            raise Grows(loop, x, form, loop.room.lists[id(x)][2] if id(x) in loop.room.lists else 0)
        x[:] = packed(interpreter, x, form, x[0].capacity)
    grown: Grown = x[0]
    out = list(columns_of(interpreter, grown.form, value))
    grown.owned &= release(value, _body(interpreter))
    interpreter.aliases.list_rows(x, value)
    if type(value) is list:
        made, body = interpreter.owner_of(value), _body(interpreter)
        if made is None or body is not None and not body.encloses(made):
            raise TraceError("TJ005", "a list of a list that may change", user_line())
        interpreter.share(value)
    return out


# Methods -----------------------------------------------------------------------------------------


def appends(interpreter: Interpreter, x: list[Any], value: Any) -> bool:
    """`x.append(value)`, where that is a grown list, or has to be one; else False."""
    one = _settled(value)
    grows(interpreter, x, [one])
    if not is_grown(x):
        return False
    value = one
    _mutable(interpreter, x)
    length, columns = size_of(x), _columns(interpreter, x, value)
    _make_room(interpreter, x)
    note_appended(interpreter, x)
    for array, column in zip(x[0].arrays, columns, strict=True):
        array[length] = column
    x[1] = length + 1
    return True


def _settled(x: Any) -> Any:
    """An array of which nobody knows which one it is, by value; anything else as it is."""
    x = x.known() if isinstance(x, Union) else x
    return x.merged if isinstance(x, Union) and x.merged is not None else x


def _make_room(interpreter: Interpreter, x: list[Any]) -> None:
    """Where no loop has left room for one more element: take new memory."""
    if any(id(x) in loop.room.lists for loop in interpreter.rolling):
        return
    grown, length = x[0], size_of(x)
    if not isinstance(length, Tracer):
        if here().env.proved(as_dim(length) + 1, "<=", grown.capacity):
            return
    arrays = []
    for array in grown.arrays:
        zero = np.zeros((), array.dtype)[()]
        one = filled((1, *array.type.shape[1:]), zero, array.dtype)
        arrays.append(np.concatenate([array, one]))
    x[0] = grown.with_arrays(arrays)


def _append(interpreter: Interpreter, x: list[Any], value: Any) -> None:
    appends(interpreter, x, value)


def is_long(values: Any) -> bool:
    """Whether items are better taken in a loop of the graph."""
    items = items_of(values)
    return items is not None and not (isinstance(items.length, int) and items.length <= FEW)


def extend(interpreter: Interpreter, x: list[Any], values: Any) -> None:
    """`x.extend(values)`."""
    if not is_long(values):
        for one in list(interpreter.iterate(values)):
            interpreter.call(x.append, one)
        return
    if values is x:
        raise TraceError("TJ017", "a list that is extended by itself", user_line())
    value: Any = None

    def assign(v: Any) -> None:
        nonlocal value
        value = v

    def body() -> None:
        interpreter.call(x.append, value)

    names = ("value",)
    interpreter.settled(interpreter.for_(values, assign, body, None, None, names, (0, (), ())))


def mapped(interpreter: Interpreter, f: Any, values: Any) -> Items | None:
    """`map(f, values)` by number; None where it is better taken apart."""
    items = items_of(values)
    return Mapped(interpreter, items, f) if items is not None and is_long(values) else None


def _clear(interpreter: Interpreter, x: list[Any]) -> None:
    _mutable(interpreter, x)
    x[1] = 0


def _copy(interpreter: Interpreter, x: list[Any]) -> Any:
    return item(interpreter, x, slice(None))


def _reverse(interpreter: Interpreter, x: list[Any]) -> None:
    grown = _mutable(interpreter, x)
    for array, held in zip(grown.arrays, prefixes(x), strict=True):
        array[: held.shape[0]] = held[::-1].copy()


def ordered(interpreter: Interpreter, x: list[Any], key: Any, reverse: Any) -> list[TracedArray]:
    """The arrays of a grown list in the order of `sorted`. NaNs are left to Python."""
    require_reverse(reverse)
    held, falling = prefixes(x), interpreter.truth_of(reverse)
    if falling is not True and falling is not False:
        raise TraceError("TJ001", "the order of sorted()", user_line())
    keys, form = held, x[0].form
    if key is not None:
        made = interpreter.allocate([])
        found: Any = mapped(interpreter, key, x)
        if found is None:
            found = [interpreter.call(key, v) for v in interpreter.iterate(x)]
        extend(interpreter, made, found)
        made = as_grown(interpreter, made)
        if not is_grown(made):
            raise TraceError("TJ001", "sorted() by these keys", user_line())
        keys, form = prefixes(made), made[0].form
    if not _has_order(form):
        raise TraceError("TJ001", "sorted()", user_line())
    if falling:
        # Equal elements stay in their order.
        keys, held = ([array[::-1] for array in columns] for columns in (keys, held))
    # What comes last decides last: the order by it is kept where what comes before is equal.
    order: Any = None
    for column in reversed(keys):
        refuse(np.isnan(column))
        if order is None:
            order = np.argsort(column, kind="stable")
        else:
            order = order[np.argsort(column[order], kind="stable")]
    placed = [array[order] for array in held]
    return [array[::-1] for array in placed] if falling else placed


def _has_order(form: Form) -> bool:
    """Whether elements are numbers of one kind, or tuples of such."""
    if isinstance(form, Record):
        return all(map(_has_order, form.parts))
    return isinstance(form, Element) and not form.shape and form.dtype.kind in "biuf"


class Mapped(Items):
    """What a function makes of items, by number."""

    def __init__(self, interpreter: Interpreter, inner: Items, f: Any) -> None:
        self.interpreter, self.inner, self.f = interpreter, inner.taken(), f
        self.length = inner.length

    def item(self, k: Any) -> Any:
        try:
            return self.interpreter.call(self.f, self.inner.item(k))
        except StopIteration:
            raise TraceError("TJ023", "StopIteration in a function of map()", user_line()) from None

    def check(self) -> None:
        self.inner.check()


def in_order(interpreter: Interpreter, x: list[Any], key: Any, reverse: Any) -> Any:
    """`sorted(x, key=key, reverse=reverse)`."""
    # The key may leave the block around, and what follows is in another trace.
    found = ordered(interpreter, x, key, reverse)
    arrays = [wrap(here(), a.copy().value()) for a in found]
    return _made(interpreter, x[0].form, arrays, x)


def _sort(interpreter: Interpreter, x: list[Any], *, key: Any = None, reverse: Any = False) -> None:
    new = ordered(interpreter, x, key, reverse)
    grown = _mutable(interpreter, x)
    for array, values in zip(grown.arrays, new, strict=True):
        array[: values.shape[0]] = values


METHODS: dict[str, Callable[..., Any]] = {
    "append": _append,
    "extend": extend,
    "clear": _clear,
    "copy": _copy,
    "reverse": _reverse,
    "sort": _sort,
}


# Items -------------------------------------------------------------------------------------------


def number(x: Any) -> Any:
    return lift(x) if isinstance(x, (int, SymInt)) else x


def require(interpreter: Interpreter, holds: Any) -> None:
    """Leave the call to Python where something does not hold: it raises there."""
    if isinstance(holds, Tracer):
        p = interpreter.truth_of(holds)
        if isinstance(p, Tracer):
            here().emit_all("check", (p.value(),), {})
            return
        holds = p
    if not holds:
        raise IndexError("list index out of range")


def holds_or_raises(holds: Any, message: str) -> None:
    """Raise IndexError where something does not hold; a run where it does not is Python's."""
    if isinstance(holds, TracedScalar):
        unions.require(holds, True)
    elif not holds:
        raise IndexError(message)


def position(interpreter: Interpreter, x: list[Any], key: Any) -> Any:
    """The place of the element of a number. A run in which there is none bails out."""
    return _place(interpreter, size_of(x), key)


def _place(interpreter: Interpreter, length: Any, key: Any) -> Any:
    if isinstance(key, (bool, np.integer)):
        key = int(key)
    if isinstance(key, TracedScalar) and not issubclass(class_of(key), (int, np.integer)):
        raise TypeError("list indices must be integers or slices")
    if not isinstance(key, (int, SymInt, TracedScalar)):
        require_index(key)
        raise TraceError("TJ004", f"a list index of class {class_of(key).__name__}", user_line())
    if isinstance(key, int) and key < 0:
        key = length + key
        require(interpreter, interpreter.compare("ge", key, 0))
        return key
    if isinstance(key, SymInt) and interpreter.truth_of(key < 0) is not False:
        key = lift(key)
    if isinstance(key, TracedScalar):
        if not key.is_python:
            key = wrap(here(), here().emit("py_scalar", (key.value(),), kind="int"))
        given: Any = key
        negative = interpreter.compare("lt", given, 0)
        key = interpreter.ternary(
            negative,
            lambda *__tracejit_operand__: given + length,
            lambda *__tracejit_operand__: given,
        )
        require(interpreter, interpreter.compare("ge", key, 0))
    require(interpreter, interpreter.compare("lt", key, length))
    return key


def chosen(interpreter: Interpreter, x: Any, key: Any) -> Any:
    """`x[key]` of a plain list or tuple, for a number that is not known while tracing."""
    if not x:
        raise IndexError(f"{type(x).__name__} index out of range")
    if not _is_unknown(key):
        return x[key]
    forms = {form_of(v) for v in x}
    form = next(iter(forms))
    if len(forms) == 1 and form is not None and not any(v.shape for v in leaves_in(form)):
        contents = packed(interpreter, list(x), form, len(x), owner=x)
        return item(interpreter, contents, key)
    arrays = any(isinstance(v, TracedArray) for v in x)
    if len(x) > (_FEW_ARRAYS if arrays else _FEW_OBJECTS):
        return x[key]
    return _picked(interpreter, x, _place(interpreter, len(x), key))


def _picked(interpreter: Interpreter, x: Any, k: Any, first: int = 0) -> Any:
    """The element of a few of any kinds, those from `first` on, by a branch for each."""
    if first == len(x) - 1:
        return x[first]
    sides = (lambda: x[first], lambda: _picked(interpreter, x, k, first + 1))
    here_is = interpreter.truth_of(interpreter.compare("eq", k, first))
    if not isinstance(here_is, TracedScalar):
        return sides[not here_is]()
    return interpreter.settled(branch(interpreter, here_is, *sides))


def item(interpreter: Interpreter, x: list[Any], key: Any) -> Any:
    """`x[key]`."""
    if type(key) is not slice:
        found = x[0].at(position(interpreter, x, key))
        interpreter.aliases.row_of(x, found)
        if isinstance(x[0].form, Pooled):
            x[0].form.read[id(found)] = found, key
        return found
    require_index(key)
    trace = here()
    parts = [wrap(trace, array[key].copy().value()) for array in prefixes(x)]
    return _made(interpreter, x[0].form, parts, x)


def _made(interpreter: Interpreter, form: Form, arrays: list[Any], *lists: Any) -> Any:
    """A new list of what arrays hold, in which others may have part: the rows of `lists`."""
    new = interpreter.allocate([Grown(interpreter, form, arrays, False), arrays[0].shape[0]])
    if holds_objects(form):
        interpreter.aliases.rows_from(new, *lists)
    return new


def store_item(interpreter: Interpreter, x: list[Any], key: Any, value: Any) -> None:
    """`x[key] = value`."""
    if isinstance(x[0].form, Pooled):
        found, read_by = x[0].form.read.get(id(value), (None, None))
        if found is not None and read_by is key:
            return  # As `x[key] += 1` does: it is there.
    _mutable(interpreter, x)
    k, columns = position(interpreter, x, key), _columns(interpreter, x, _settled(value))
    for array, column in zip(x[0].arrays, columns, strict=True):
        array[k] = column


def store_chosen(interpreter: Interpreter, x: list[Any], key: Any, value: Any) -> bool:
    """`x[key] = value` of a plain list, for a number that is not known while tracing.

    Gives whether that is done. Raises Grows where a loop has to begin with a grown list.
    """
    if not _is_unknown(key) or not _grown_now(interpreter, x, (value,)):
        return False
    store_item(interpreter, x, key, value)
    return True


def delete_chosen(interpreter: Interpreter, x: list[Any], key: Any) -> bool:
    """`del x[key]` of a plain list, as `store_chosen`."""
    bounds = (key.start, key.stop) if type(key) is slice else (key,)
    if not any(map(_is_unknown, bounds)) or not x or not _grown_now(interpreter, x):
        return False
    interpreter.delete_item(x, key)
    return True


def _is_unknown(key: Any) -> bool:
    """Whether a number is not known while tracing."""
    return isinstance(key, Tracer) or isinstance(key, SymInt) and not here().env.is_known(key.dim)


def _grown_now(interpreter: Interpreter, x: list[Any], values: Sequence[Any] = ()) -> bool:
    """Let a plain list be a grown one that can hold `values`, too; whether it is.

    Raises Grows where a loop has to begin with a grown list.
    """
    form = joined_form(*map(form_of, (*x, *values)))
    if form is None or interpreter.capture.learned.plain_lists:
        return False
    interpreter.require_mutable(x)
    loop = outermost(interpreter, x)
    if loop is not None:
        raise Grows(loop, x, form, 0)
    x[:] = packed(interpreter, x, form, len(x))
    return True


# Operators ---------------------------------------------------------------------------------------


def join(interpreter: Interpreter, a: Any, b: Any) -> Any:
    """`a + b` for lists of which one is grown."""
    if type(a) is not list or type(b) is not list:
        raise TraceError("TJ004", "a list that grows, beside another kind of object", user_line())
    form = widened_form(a, *([b[0].form] if is_grown(b) else map(form_of, b)))
    parts = []
    for x in (a, b):
        if is_grown(x) and x[0].form == form:
            parts.append(prefixes(x))
        elif x:
            room = x[0].capacity if is_grown(x) else len(x)
            parts.append(prefixes(packed(interpreter, x, form, room)))
    joined = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
    return _made(interpreter, form, joined, a, b)


def repeated(interpreter: Interpreter, x: Any, times: Any) -> Any:
    """`[number] * times` for a number that is not the same in each call; else None."""
    if type(x) is not list or len(x) != 1 or is_grown(x):
        return None
    form = form_of(x[0])
    if not isinstance(form, Element) or form.shape or interpreter.capture.learned.plain_lists:
        return None
    if isinstance(times, SymInt):
        size: Dim = times.dim
        if not here().env.proved(0, "<=", size) or not here().env.is_known(size):
            return None
    elif isinstance(times, TracedScalar) and times.type == PYINT:
        size = here().bound(lift(interpreter.call(max, times, 0)).value())
    else:
        return None
    interpreter.capture.learned.grew = True
    (column,) = columns_of(interpreter, form, x[0])
    return _made(interpreter, form, [filled((size,), column, form.dtype)])


def repeat(interpreter: Interpreter, x: list[Any], times: Any) -> Any:
    """`x * times`."""
    if type(times) is not int or times < 1:
        raise TraceError("TJ001", "how often a list is repeated", user_line())
    out = item(interpreter, x, slice(None))
    for _ in range(times - 1):
        out = join(interpreter, out, x)
    return out


def contains(interpreter: Interpreter, x: list[Any], value: Any) -> Any:
    """`value in x`."""
    form = x[0].form
    if not isinstance(form, Element) or form.shape or form_of(value) is None:
        raise TraceError("TJ001", "a test by `in`", user_line())
    if isinstance(value, (tuple, list, TracedArray)):
        raise TraceError("TJ001", "a test by `in`", user_line())
    # An object is in a list that holds it, even where it is a NaN.
    same = interpreter.truth_of(interpreter.compare("eq", value, value))
    require(interpreter, same)
    (held,) = prefixes(x)
    return interpreter.truth_of(interpreter.call(np.any, interpreter.compare("eq", held, value)))


# Arrays ------------------------------------------------------------------------------------------


def array_of(x: list[Any]) -> TracedArray:
    """What `np.array` makes of a grown list."""
    form = x[0].form
    held = prefixes(x)
    if isinstance(form, Element):
        if form.shape or form.dtype != np.float64:
            _refuse_empty(size_of(x))
        trace, value = here(), held[0].value()
        # A loop has filled it, in the order that it was made in.
        trace.unordered.discard(value)
        made = wrap(trace, value)
        assert isinstance(made, TracedArray)
        return made
    parts = form.kinds if isinstance(form, Choice) else getattr(form, "parts", (None,))
    if not all(isinstance(part, Element) and not part.shape for part in parts):
        raise TraceError("TJ004", "an array of a list of tuples or arrays", user_line())
    _refuse_empty(size_of(x))
    if isinstance(form, Choice):
        return _of_kinds(held[0], held[1:])
    joint = np.result_type(*(column.dtype for column in held))
    return stack([astype(column, joint) for column in held], axis=1)


def _of_kinds(tags: Any, columns: Sequence[Any]) -> TracedArray:
    """The array of numbers of several kinds, of which `tags` says which one each is."""
    joint = np.result_type(*(column.dtype for column in columns))
    # NumPy looks at the numbers that there are: enough of them have to be of this dtype.
    there = [(tags == k).any() for k, column in enumerate(columns) if column.dtype == joint]
    if len(there) < len(columns):
        if not there:
            raise TraceError("TJ004", f"an array of numbers that are {joint} together", user_line())
        here().emit_all("check", (lift(functools.reduce(operator.or_, there)).value(),), {})
    out: Any = astype(columns[0], joint)
    for k, column in enumerate(columns[1:], 1):
        out = np.where(tags == k, astype(column, joint), out)
    assert isinstance(out, TracedArray)
    return out


def _refuse_empty(length: Any) -> None:
    """An empty list is an array of no floats, whatever it was meant to hold."""
    env = here().env
    if not isinstance(length, Tracer) and env.is_known(as_dim(length)):
        if env.decide(as_dim(length), "==", 0):
            raise TraceError("TJ004", "an array of an empty list", user_line())
        return
    holds = binary_operator(operator.gt, number(length), 0)
    here().emit_all("check", (lift(holds).value(),), {})


def as_grown(interpreter: Interpreter, x: Any) -> Any:
    """A list of traced numbers as a grown one; anything else as it is."""
    if type(x) is not list or is_grown(x) or not any(isinstance(v, Tracer) for v in x):
        return x
    forms = {form_of(v) for v in x}
    form = next(iter(forms))
    if len(forms) != 1 or form is None or any(leaf.shape for leaf in leaves_in(form)):
        return x
    return interpreter.allocate(packed(interpreter, x, form, len(x)))
