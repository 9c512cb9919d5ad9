"""Methods of Python's own containers, strings and numbers, called in a traced program."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.containers import grown_lists, list_edits
from tracejit.frontend.containers.dicts import meets_key
from tracejit.frontend.containers.traced import permuting, traced
from tracejit.frontend.control.growth import grows
from tracejit.frontend.python.text.formatting import format_text, has_text, join
from tracejit.frontend.tracing.checks import (
    class_of,
    has_traced,
    is_operand,
    require_index,
    require_plain,
)
from tracejit.frontend.tracing.generator import GeneratorCall
from tracejit.frontend.tracing.grown import is_grown
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.pytree import VIEWS, is_constant
from tracejit.frontend.tracing.standins import StandIn
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.trace import here
from tracejit.frontend.tracing.tracer import TracedArray, TracedScalar, user_line

__all__ = ["call_method"]

#: Classes whose items are there before they are asked for.
_WHOLE = frozenset((list, tuple, dict, set, frozenset, range, str, bytes, *VIEWS))
_BUILTIN_CLASSES = (bool, bytes, complex, dict, float, int, str)


def call_method(
    interpreter: Interpreter, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`f(*args, **kwargs)` for a method of a builtin object made inside or rebuilt.

    Raises TraceError TJ027 where it would change something from outside, TJ002 for unknown methods.
    """
    owner, name = f.__self__, f.__name__
    if isinstance(owner, type):
        return _class_method(interpreter, f, args, kwargs)
    if kwargs and type(owner) in (list, tuple) and name != "sort":
        return f(*args, **kwargs)  # Python says that it takes none.
    if is_grown(owner):
        run = list_edits.METHODS.get(name)
        if run is None:
            raise TraceError("TJ002", f"list.{name} of a list that grows", user_line())
        if name == "sort" and kwargs.get("key") is not None:
            with being_sorted(interpreter, owner):
                return run(interpreter, owner, *args, **kwargs)
        return run(interpreter, owner, *args, **kwargs)
    run = _METHODS.get((type(owner), name))
    if run is not None:
        return run(interpreter, owner, *args, **kwargs)
    if is_constant(owner) or isinstance(owner, np.generic):
        require_plain([*args, *kwargs.values()], f"{name}()")
        return interpreter.fresh(f(*args, **kwargs))
    raise TraceError("TJ002", f"{type(owner).__name__}.{name}", user_line())


def _class_method(
    interpreter: Interpreter, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    if f.__self__ is itertools.chain and f.__name__ == "from_iterable" and not kwargs:
        return interpreter.allocate(
            itertools.chain.from_iterable(map(interpreter.iterate, interpreter.iterate(*args)))
        )
    if f.__self__ not in _BUILTIN_CLASSES or f.__name__.startswith("__"):
        raise TraceError("TJ002", f"{f.__self__.__name__}.{f.__name__}", user_line())
    require_plain([*args, *kwargs.values()], f"{f.__name__}()")
    return interpreter.fresh(f(*args, **kwargs))


# Lists -------------------------------------------------------------------------------------------


def _append(interpreter: Interpreter, x: list[Any], value: Any) -> None:
    interpreter.require_mutable(x)
    if not grown_lists.appends(interpreter, x, value):
        x.append(value)


def each_of(interpreter: Interpreter, items: Any, run: Callable[[Any], Any]) -> None:
    """Runs `run(item)` for each item, before the next one is asked for."""
    item: Any = None

    def assign(x: Any) -> None:
        nonlocal item
        item = x

    names, info = ("item",), (0, (), ())
    interpreter.settled(interpreter.for_(items, assign, lambda: run(item), None, None, names, info))


def _extend(interpreter: Interpreter, x: list[Any], values: Any) -> None:
    interpreter.require_mutable(x)
    if grown_lists.is_long(values):
        grown_lists.extend(interpreter, x, values)
        return
    if type(values) not in _WHOLE and not isinstance(values, TracedArray):
        # What gives the items may look at the list.
        each_of(interpreter, values, lambda value: interpreter.call(x.append, value))
        return
    values = list(interpreter.iterate(values))  # all items first: they may be its own
    grows(interpreter, x, values)
    interpreter.copied(len(values))
    x.extend(values)


def _insert(interpreter: Interpreter, x: list[Any], k: Any, value: Any) -> None:
    interpreter.require_mutable(x)
    require_index(k)
    if isinstance(k, (TracedScalar, SymInt)):
        k = interpreter.call(operator.index, k)
        interpreter.call(x.append, value)
        interpreter.call(_move_last, x, k)
        return
    grows(interpreter, x, [value])
    x.insert(k, value)


@permuting
def _move_last(x: Any, k: Any) -> None:
    """`x.insert(k, x.pop())`: later elements move up one by one."""
    place = len(x) - 1
    value = x[place]
    if k < 0:
        k = k + place
        if k < 0:
            k = 0
    while place > k:
        x[place] = x[place - 1]
        place -= 1
    x[place] = value


def _list_pop(interpreter: Interpreter, x: list[Any], k: Any = -1) -> Any:
    interpreter.will_remove(x)
    require_index(k)
    if isinstance(k, (TracedScalar, SymInt)):
        return interpreter.call(_pop_moving, x, interpreter.call(operator.index, k))
    return x.pop(k)


@permuting
def _pop_moving(x: Any, k: Any) -> Any:
    """`x.pop(k)`: later elements move down one by one."""
    last = len(x) - 1
    if last < 0:
        raise IndexError("pop from empty list")
    if k < 0:
        k = k + last + 1
    if k < 0 or k > last:
        raise IndexError("pop index out of range")
    item = x[k]
    while k < last:
        x[k] = x[k + 1]
        k += 1
    x.pop()
    return item


def _index(interpreter: Interpreter, x: Any, value: Any, *bounds: Any) -> Any:
    """A run in which there is no such element leaves the call to Python."""
    if not has_traced([x, value, *bounds]):
        require_plain([x, value, *bounds], "index()", sizes=True)
        return x.index(value, *bounds)
    if None in bounds or len(bounds) > 2:
        return x.index(value, *bounds)  # Python refuses it.
    _require_scalars([*x, value], "index()")
    start, stop, _ = interpreter.call(slice(*(*bounds, None, None)[:2]).indices, len(x))
    place = interpreter.call(_place_of, x, value, start, stop)
    _require(interpreter, interpreter.compare("ge", place, 0), "index() of what is not there")
    return place


def _require(interpreter: Interpreter, holds: Any, what: str) -> None:
    """Leave a run to Python where something does not hold, or all of them."""
    if holds is False:
        raise TraceError("TJ001", what, user_line())
    grown_lists.require(interpreter, holds)


def _require_scalars(items: list[Any], what: str) -> None:
    """Raise TraceError unless all are numbers, texts or constants."""
    for v in items:
        if isinstance(v, TracedArray) or not (is_operand(v) or has_text([v]) or is_constant(v)):
            raise TraceError("TJ001", f"{what} of a list of a {class_of(v).__name__}", user_line())


@traced
def _place_of(x: Any, value: Any, start: Any, stop: Any) -> Any:
    """The first place of an element, or -1."""
    for k in range(start, stop):
        if x[k] == value:
            return k
    return -1


def _count(interpreter: Interpreter, x: Any, value: Any) -> Any:
    if not has_traced([x, value]):
        require_plain([x, value], "count()", sizes=True)
        return x.count(value)
    _require_scalars([*x, value], "count()")
    # An object is equal to itself, even where it is a NaN.
    _require(interpreter, interpreter.compare("eq", value, value), "count() of a NaN")
    return interpreter.call(_times_in, x, value)


@traced
def _times_in(x: Any, value: Any) -> Any:
    """How many elements are equal to a number."""
    count = 0
    for v in x:
        if v == value:
            count += 1
    return count


def _remove(interpreter: Interpreter, x: list[Any], value: Any) -> None:
    interpreter.require_mutable(x)
    if not has_traced([x, value]):
        require_plain([x, value], "remove()", sizes=True)
        x.remove(value)
        return
    _list_pop(interpreter, x, _index(interpreter, x, value))


def _clear(interpreter: Interpreter, x: Any) -> None:
    interpreter.will_remove(x)
    x.clear()


def _reverse(interpreter: Interpreter, x: list[Any]) -> None:
    interpreter.require_mutable(x)
    x.reverse()


@contextmanager
def being_sorted(interpreter: Interpreter, x: list[Any]) -> Iterator[None]:
    """Refuses the list to the functions that compare its elements: it is empty then.

    Raises TraceError where comparing fails, which leaves some elements sorted.
    """
    stale = here().stale
    stale[id(x)], interpreter.aliases.any_stale = x, True
    try:
        yield
    except TypeError as e:
        raise TraceError("TJ024", "a list.sort that fails half way", user_line()) from e
    finally:
        del stale[id(x)]


def _sort(interpreter: Interpreter, x: list[Any], *, key: Any = None, reverse: Any = False) -> None:
    interpreter.require_mutable(x)
    with being_sorted(interpreter, x):
        found = interpreter.call(sorted, x.copy(), key=key, reverse=reverse)
    x[:] = list(interpreter.iterate(found))


def _copy(interpreter: Interpreter, x: Any) -> Any:
    interpreter.ordered(x)
    return interpreter.allocate(x.copy())


# Dicts -------------------------------------------------------------------------------------------


def _get(interpreter: Interpreter, x: dict[Any, Any], k: Any, default: Any = None) -> Any:
    if not x and has_traced(k):
        return default
    meets_key(interpreter, x, k)
    return x.get(interpreter.key(k), default)


def _dict_pop(interpreter: Interpreter, x: dict[Any, Any], k: Any, *default: Any) -> Any:
    interpreter.will_remove(x)
    meets_key(interpreter, x, k)
    return x.pop(interpreter.key(k), *default)


def _popitem(interpreter: Interpreter, x: dict[Any, Any]) -> Any:
    interpreter.will_remove(x)
    return x.popitem()


def _setdefault(interpreter: Interpreter, x: dict[Any, Any], k: Any, default: Any = None) -> Any:
    meets_key(interpreter, x, k, default)
    if interpreter.key(k) in x:
        return x[k]
    interpreter.require_mutable(x)
    return x.setdefault(k, default)


def _update(interpreter: Interpreter, x: dict[Any, Any], /, *given: Any, **named: Any) -> None:
    interpreter.require_mutable(x)
    for other in given:
        if type(other) is dict or isinstance(other, StandIn):
            x.update(pairs(interpreter, other))
            continue
        count = 0

        def store(item: Any) -> None:
            nonlocal count
            parts = list(interpreter.iterate(item))
            if len(parts) != 2:
                what = f"dictionary update sequence element #{count} has length {len(parts)}"
                raise ValueError(f"{what}; 2 is required")
            count += 1
            interpreter.store_item(parts[1], x, parts[0])

        each_of(interpreter, other, store)
    x.update(named)


def pairs(interpreter: Interpreter, x: Any) -> dict[Any, Any]:
    """What `dict(x)` takes its items from."""
    if type(x) is dict:
        return x
    if isinstance(x, StandIn) and issubclass(x.stands_for, dict):
        x = interpreter.call(interpreter.attribute(x, "items"))
    if isinstance(x, GeneratorCall):
        x = interpreter.allocate(interpreter.collected(x))
    return {interpreter.key(k): v for k, v in interpreter.iterate_unpacked(x, (None, None))}


def _view(name: str) -> Callable[..., Any]:
    return lambda interpreter, x: getattr(x, name)()


# Sets, tuples and strings ------------------------------------------------------------------------


def _set_change(name: str, each: bool) -> Callable[..., Any]:
    def run(interpreter: Interpreter, x: set[Any], *others: Any) -> Any:
        interpreter.will_remove(x)
        for other in () if each else others:
            meets_key(interpreter, x, other)
        if name == "pop":
            interpreter.ordered(x)
            here().popped[id(x)] = x
        if name == "update" and not _WHOLE.issuperset(map(type, others)):
            for other in others:
                each_of(interpreter, other, lambda value: interpreter.call(x.add, value))
            return None
        taken = [interpreter.keys(o) if each else interpreter.key(o) for o in others]
        return getattr(x, name)(*taken)

    return run


def _set_result(name: str) -> Callable[..., Any]:
    def run(interpreter: Interpreter, x: Any, *others: Any) -> Any:
        interpreter.ordered(x)
        return interpreter.fresh(getattr(x, name)(*map(interpreter.keys, others)))

    return run


def _join(interpreter: Interpreter, x: Any, parts: Any) -> Any:
    parts = list(interpreter.iterate(parts))
    if type(x) is str and has_text(parts):
        return join(x, parts)
    require_plain(parts, "join()")
    return x.join(parts)


def _format(interpreter: Interpreter, x: str, /, *args: Any, **kwargs: Any) -> Any:
    return format_text(interpreter, x, args, kwargs)


_METHODS: dict[tuple[type, str], Callable[..., Any]] = {
    (list, "append"): _append,
    (list, "extend"): _extend,
    (list, "insert"): _insert,
    (list, "pop"): _list_pop,
    (list, "remove"): _remove,
    (list, "clear"): _clear,
    (list, "reverse"): _reverse,
    (list, "sort"): _sort,
    (list, "copy"): _copy,
    (dict, "get"): _get,
    (dict, "pop"): _dict_pop,
    (dict, "popitem"): _popitem,
    (dict, "setdefault"): _setdefault,
    (dict, "update"): _update,
    (dict, "clear"): _clear,
    (dict, "copy"): _copy,
    **{(dict, name): _view(name) for name in ("keys", "values", "items")},
    (set, "copy"): _copy,
    (set, "clear"): _clear,
    **{(set, name): _set_change(name, False) for name in ("add", "discard", "remove", "pop")},
    **{
        (set, name): _set_change(name, True)
        for name in (
            "update",
            "difference_update",
            "intersection_update",
            "symmetric_difference_update",
        )
    },
    **{
        (cls, name): _set_result(name)
        for cls in (set, frozenset)
        for name in (
            "union",
            "difference",
            "intersection",
            "symmetric_difference",
            "isdisjoint",
            "issubset",
            "issuperset",
        )
    },
    (str, "format"): _format,
    (str, "join"): _join,
    (bytes, "join"): _join,
    **{(cls, "index"): _index for cls in (list, tuple)},
    **{(cls, "count"): _count for cls in (list, tuple)},
}
