"""The pure functions of Python that a traced program may call, and what they do with tracers.

`CALLS` has builtins, and functions of functools and itertools; `index` says who has others.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import operator
import sys
import typing
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.containers import grown_lists
from tracejit.frontend.containers.dicts import DictView, begun, made_of, settled_dict
from tracejit.frontend.control.iteration import (
    Once,
    enumerated,
    items_of,
    ranged,
    reversed_items,
    zipped,
)
from tracejit.frontend.python import positions
from tracejit.frontend.python.comprehensions import list_of
from tracejit.frontend.python.container_methods import pairs
from tracejit.frontend.python.effects import exit_, print_
from tracejit.frontend.python.iterators import (
    enumerated_items,
    filtered_items,
    first_items,
    items_while,
    mapped_items,
    zipped_items,
)
from tracejit.frontend.python.objects import special
from tracejit.frontend.python.positions import iterator_over, reversed_over
from tracejit.frontend.python.reductions import Generated, next_over
from tracejit.frontend.python.text.formatting import formatted, to_text
from tracejit.frontend.tracing.checks import (
    class_of,
    refuse_index,
    require_known,
    require_plain,
    require_reverse,
)
from tracejit.frontend.tracing.generator import GeneratorCall
from tracejit.frontend.tracing.grown import is_grown
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.items import Items
from tracejit.frontend.tracing.positions import Position
from tracejit.frontend.tracing.pytree import is_constant
from tracejit.frontend.tracing.standins import StandIn
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.tracer import TracedArray, Tracer, user_line
from tracejit.frontend.tracing.union import Union

__all__ = ["CALLS"]

# Iteration ---------------------------------------------------------------------------------------


def _range(interpreter: Interpreter, *args: Any) -> Any:
    # Its numbers are Python's ints, whatever those are that it is made of.
    args = tuple(interpreter.call(operator.index, x) if isinstance(x, Union) else x for x in args)
    require_known(args, "an argument of range()")
    return ranged(interpreter, *args)


def _enumerate(interpreter: Interpreter, iterable: Any, start: Any = 0) -> Any:
    if isinstance(start, Tracer) and not issubclass(class_of(start), (int, np.integer)):
        refuse_index(class_of(start))
    start = interpreter.binary("add", interpreter.call(operator.index, start), 0)
    if isinstance(iterable, GeneratorCall):
        return enumerated_items(interpreter, iterable, start)
    items: Any = enumerated(iterable, start)
    if items is None:
        items = positions.Enumerated(interpreter, iterator_over(interpreter, iterable), start)
    return interpreter.allocate(items)


def _zip(interpreter: Interpreter, *iterables: Any, strict: Any = False) -> Any:
    if any(isinstance(x, GeneratorCall) for x in iterables):
        return zipped_items(interpreter, iterables, bool(strict))
    items: Any = zipped(iterables, bool(strict))
    if items is None:
        parts = [iterator_over(interpreter, x) for x in iterables]
        items = positions.Zipped(interpreter, parts, bool(strict))
    return interpreter.allocate(items)


def _reversed(interpreter: Interpreter, x: Any) -> Any:
    plain = (list, tuple, dict, str, range)
    if not isinstance(x, (TracedArray, Items)) and type(x) not in plain:
        raise TraceError("TJ002", f"reversed() of a {class_of(x).__name__}", user_line())
    items = reversed_items(x)
    return reversed_over(interpreter, x) if items is None else interpreter.allocate(items)


def _map(interpreter: Interpreter, f: Any, *iterables: Any) -> Any:
    if any(isinstance(x, GeneratorCall) for x in iterables):
        if len(iterables) == 1:
            return mapped_items(interpreter, f, *iterables)
        return mapped_items(interpreter, f, zipped_items(interpreter, iterables, False), star=True)
    if len(iterables) == 1:
        items = grown_lists.mapped(interpreter, f, iterables[0])
        if items is not None:
            return interpreter.allocate(items)
    if not iterables:
        raise TypeError("map() must have at least two arguments.")
    parts = [iterator_over(interpreter, x) for x in iterables]
    return interpreter.allocate(positions.Drawn(interpreter, interpreter.callback(f), parts))


def _filter(interpreter: Interpreter, f: Any, iterable: Any) -> Any:
    if isinstance(iterable, GeneratorCall):
        return filtered_items(interpreter, f, iterable)
    part = iterator_over(interpreter, iterable)
    takes = (lambda x: x) if f is None else interpreter.callback(f)
    return interpreter.allocate(positions.Filtered(interpreter, part, lambda x: x, takes, False))


def _iter(interpreter: Interpreter, x: Any, *sentinel: Any) -> Any:
    if sentinel:
        return interpreter.allocate(positions.Called(interpreter, x, *sentinel))
    if isinstance(x, GeneratorCall):
        return x
    if isinstance(x, Items):
        return x if x.once else interpreter.allocate(Once(x))
    if isinstance(x, TracedArray) and x.ndim and not isinstance(x.shape[0], int):
        return interpreter.allocate(Once(items_of(x)))
    return iterator_over(interpreter, x)


def _next(interpreter: Interpreter, x: Any, *default: Any) -> Any:
    if isinstance(x, Items):
        raise TraceError("TJ029", "next()", user_line())
    if isinstance(x, GeneratorCall):
        return next_over(interpreter, Generated(interpreter, x, None, lambda v: v, ()), *default)
    if isinstance(x, Position):
        return next(x, *default)
    method = special(interpreter, x, "__next__")
    if method is None:
        if type(x) in (list, tuple, dict, set, str, range) or isinstance(x, Tracer):
            raise TypeError(f"'{class_of(x).__name__}' object is not an iterator")
        raise TraceError("TJ006", f"next() of a {type(x).__name__}", user_line())
    return positions.next_of_instance(interpreter, method, *default)


def _sequence(cls: Any) -> Callable[..., Any]:
    def run(interpreter: Interpreter, items: Any = ()) -> Any:
        if cls is list and isinstance(items, DictView):
            return items.in_order()
        if cls is tuple and type(items) is tuple:
            return items
        if cls is list and is_grown(items):
            return grown_lists.item(interpreter, items, slice(None))
        if cls is list and grown_lists.is_long(items) and type(items) is not range:
            filled: list[Any] = interpreter.allocate([])
            grown_lists.extend(interpreter, filled, items)
            return filled
        collects = isinstance(items, GeneratorCall)
        if collects and cls is list:
            return list_of(interpreter, Generated(interpreter, items, None, lambda x: x, ()))
        made = cls(interpreter.collected(items) if collects else interpreter.iterate(items))
        return made if cls is tuple else interpreter.allocate(made)

    return run


def _set(cls: Any) -> Callable[..., Any]:
    def run(interpreter: Interpreter, items: Any = ()) -> Any:
        if cls is frozenset:
            return interpreter.allocate(cls(interpreter.keys(items)))
        made = made_of(interpreter, cls, items)
        if made is not None:
            return made
        return begun(interpreter, cls(interpreter.keys(items)))

    return run


def _dict(interpreter: Interpreter, /, *given: Any, **named: Any) -> Any:
    if len(given) == 1 and not named:
        made = made_of(interpreter, dict, given[0])
        if made is not None:
            return made
    items = [pairs(interpreter, x) for x in given]
    return begun(interpreter, dict(*items, **named))


def _sorted(interpreter: Interpreter, items: Any, *, key: Any = None, reverse: Any = False) -> Any:
    require_reverse(reverse)
    items = settled_dict(items)
    long = grown_lists.is_long(items) and not is_grown(items)
    if long or isinstance(items, (GeneratorCall, StandIn)):
        items = interpreter.call(list, items)
    items = grown_lists.as_grown(interpreter, items)
    if is_grown(items):
        return grown_lists.in_order(interpreter, items, key, reverse)
    values = list(interpreter.iterate(items))
    tested = values if key is None else [interpreter.call(key, v) for v in values]
    tested = _leading(tested)
    require_plain(tested, "sorted()", sizes=True)
    order = sorted(
        range(len(values)), key=tested.__getitem__, reverse=bool(interpreter.truth(reverse))
    )
    return interpreter.allocate([values[k] for k in order])


def _leading(values: list[Any]) -> list[Any]:
    """Of tuples that differ in their first constants these: they decide the order."""
    if not all(type(v) is tuple for v in values):
        return values
    for size in range(1, min(map(len, values), default=0) + 1):
        if not all(is_constant(v[size - 1]) for v in values):
            break
        heads = [v[:size] for v in values]
        if len(set(heads)) == len(heads):
            return heads
    return values


def _accumulate(
    interpreter: Interpreter, items: Any, func: Any = operator.add, *, initial: Any = None
) -> Any:
    step = interpreter.callback(func or operator.add)
    return interpreter.allocate(
        itertools.accumulate(interpreter.iterate(items), step, initial=initial)
    )


def _starmap(interpreter: Interpreter, f: Any, items: Any) -> Any:
    return interpreter.allocate(
        interpreter.call(f, *interpreter.iterate(x)) for x in interpreter.iterate(items)
    )


def _islice(interpreter: Interpreter, items: Any, *bounds: Any) -> Any:
    if isinstance(items, GeneratorCall):
        return first_items(interpreter, items, *bounds)
    if any(isinstance(x, (Tracer, SymInt)) for x in bounds):
        raise TraceError("TJ029", "islice() up to a number of the run", user_line())
    return interpreter.allocate(itertools.islice(interpreter.iterate(items), *bounds))


def _over_one(f: Any) -> Callable[..., Any]:
    return lambda interpreter, items, *args: interpreter.allocate(
        f(interpreter.iterate(items), *args)
    )


def _over_all(f: Any) -> Callable[..., Any]:
    return lambda interpreter, *all_items, **kwargs: interpreter.allocate(
        f(*map(interpreter.iterate, all_items), **kwargs)
    )


# Objects -----------------------------------------------------------------------------------------


def _str(interpreter: Interpreter, x: Any = "", *args: Any, **kwargs: Any) -> Any:
    if not args and not kwargs:
        return to_text(interpreter, x)
    require_plain([x, *args, *kwargs.values()], "str()")
    return str(x, *args, **kwargs)


def _super(interpreter: Interpreter, cls: Any, owner: Any) -> Any:
    return super(cls, owner)


def _replace(interpreter: Interpreter, x: Any, /, **changes: Any) -> Any:
    """A dataclass with some fields changed: a call of its class, as in Python."""
    cls = interpreter.call(type, x)
    for f in dataclasses.fields(cls):
        if f.init:
            changes.setdefault(f.name, interpreter.attribute(x, f.name))
        elif f.name in changes:
            raise ValueError(f"field {f.name} is declared with init=False")
    interpreter.capture.object_source(cls, cls.__name__)
    return interpreter.call(cls, **changes)


def _partial(interpreter: Interpreter, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    return interpreter.allocate(functools.partial(f, *args, **kwargs))


def _wraps(interpreter: Interpreter, wrapped: Any) -> Any:
    return interpreter.allocate(functools.partial(functools.update_wrapper, wrapped=wrapped))


def _update_wrapper(interpreter: Interpreter, wrapper: Any, wrapped: Any) -> Any:
    interpreter.require_mutable(wrapper)
    return functools.update_wrapper(wrapper, wrapped, updated=())


def _ndarray(
    interpreter: Interpreter, shape: Any, dtype: Any = float, *more: Any, order: Any = None
) -> Any:
    """`np.ndarray(shape, dtype)`: what it holds is not defined."""
    if more:
        raise TraceError("TJ004", "np.ndarray of a buffer", user_line())
    return interpreter.call(np.empty, shape, dtype, order or "C")


def _place(k: Any, shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """The indices of element number k in C order."""
    found: list[Any] = []
    for n in reversed(shape[1:]):
        found.append(k % n)
        k = k // n
    return (*([k] if shape else []), *reversed(found))


def _ndindex(interpreter: Interpreter, *shape: Any) -> Any:
    """`np.ndindex(*shape)`, an iterator over all indices."""
    if len(shape) == 1 and isinstance(shape[0], tuple):
        (shape,) = shape
    require_known(shape, "a shape")
    shape = tuple(interpreter.call(operator.index, n) for n in shape)
    for n in shape:
        fits = interpreter.compare("ge", n, 0)
        if fits is False:
            raise ValueError("negative dimensions are not allowed")
        grown_lists.require(interpreter, fits)
    numbers = interpreter.call(range, interpreter.call(math.prod, shape))
    return interpreter.call(map, interpreter.allocate(lambda k: _place(k, shape)), numbers)


def _ndenumerate(interpreter: Interpreter, x: Any) -> Any:
    """`np.ndenumerate(x)`, an iterator over all indices and the elements there."""
    array = interpreter.call(np.asarray, x)
    shape = array.shape
    numbers = interpreter.call(range, interpreter.call(math.prod, shape))

    def item(k: Any) -> Any:
        place = _place(k, shape)
        return place, interpreter.item(array, place)

    return interpreter.call(map, interpreter.allocate(item), numbers)


#: Callee -> what a call of it does: (interpreter, *args, **kwargs) -> result.
CALLS: dict[Any, Callable[..., Any]] = {
    str: _str,
    repr: lambda interpreter, x: to_text(interpreter, x, "r"),
    format: lambda interpreter, x, spec="": formatted(interpreter, x, "", spec),
    range: _range,
    slice: lambda interpreter, *args: slice(*args),
    enumerate: _enumerate,
    zip: _zip,
    reversed: _reversed,
    map: _map,
    filter: _filter,
    iter: _iter,
    next: _next,
    list: _sequence(list),
    tuple: _sequence(tuple),
    set: _set(set),
    frozenset: _set(frozenset),
    dict: _dict,
    sorted: _sorted,
    super: _super,
    print: print_,
    sys.exit: exit_,
    dataclasses.replace: _replace,
    functools.partial: _partial,
    functools.wraps: _wraps,
    functools.update_wrapper: _update_wrapper,
    itertools.accumulate: _accumulate,
    itertools.islice: _islice,
    itertools.starmap: _starmap,
    itertools.takewhile: items_while,
    **{f: _over_one(f) for f in (itertools.combinations, itertools.permutations)},
    **{f: _over_one(f) for f in (itertools.pairwise,)},
    **{f: _over_all(f) for f in (itertools.chain, itertools.product, itertools.zip_longest)},
    itertools.repeat: lambda interpreter, *args: interpreter.allocate(itertools.repeat(*args)),
    np.ndarray: _ndarray,
    np.ndindex: _ndindex,
    np.ndenumerate: _ndenumerate,
    typing.cast: lambda interpreter, t, x: x,
}
