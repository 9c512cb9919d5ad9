"""Python's iterators over a generator of the program, as generators of their own.

zip(rows, items(x))    ->    the code of items, with (row, item) given in place of each item
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.control.growth import packed_items
from tracejit.frontend.control.iteration import items_of, zipped
from tracejit.frontend.control.unions import narrow
from tracejit.frontend.tracing.checks import class_of
from tracejit.frontend.tracing.generator import GeneratorCall
from tracejit.frontend.tracing.grown import is_grown
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.items import Items
from tracejit.frontend.tracing.trace import here, user_line
from tracejit.frontend.tracing.tracer import TracedArray, Tracer, lift

__all__ = [
    "enumerated_items",
    "filtered_items",
    "first_items",
    "items_while",
    "mapped_items",
    "zipped_items",
]


class _Elements(Items):
    """The elements of a list or tuple."""

    once = False

    def __init__(self, interpreter: Interpreter, x: Sequence[Any]) -> None:
        self.interpreter, self.elements, self.length = interpreter, x, len(x)

    def item(self, k: Any) -> Any:
        self.check()
        return self.interpreter.item(self.elements, k)

    def check(self) -> None:
        if is_grown(self.elements) or len(self.elements) != self.length:
            raise TraceError("TJ029", "a list that changes in a loop over it", user_line())


def _over(interpreter: Interpreter, g: GeneratorCall, give: Callable[[Any], Any]) -> Any:
    """A generator that runs `give(item)` for each item of another one."""

    def run() -> Any:
        item: Any = None

        def assign(x: Any) -> None:
            nonlocal item
            item = x

        def body() -> Any:
            return give(item)

        return interpreter.for_(g, assign, body, None, None, ("item",), (0, (), ()))

    return interpreter.allocate(GeneratorCall(run))


def mapped_items(interpreter: Interpreter, f: Any, g: GeneratorCall, star: bool = False) -> Any:
    """`map(f, g)`; with `star` the items are tuples of arguments."""

    def give(item: Any) -> Any:
        value = interpreter.call(f, *item) if star else interpreter.call(f, item)
        return interpreter.yield_(value, None, (), None)

    return _over(interpreter, g, give)


def filtered_items(interpreter: Interpreter, f: Any, g: GeneratorCall) -> Any:
    """`filter(f, g)`."""

    def give(item: Any) -> Any:
        test = item if f is None else interpreter.call(f, item)

        def taken() -> Any:
            return interpreter.yield_(item, None, (), None)

        return interpreter.if_(test, taken, None, None, (), None)

    return _over(interpreter, g, give)


def items_while(interpreter: Interpreter, f: Any, g: Any) -> Any:
    """`itertools.takewhile(f, g)`."""

    def give(item: Any) -> Any:
        def taken() -> Any:
            return interpreter.yield_(item, None, (), None)

        test = interpreter.call(f, item)
        return interpreter.if_(test, taken, lambda: interpreter.BREAK, None, (), None)

    return _over(interpreter, g, give)


def first_items(interpreter: Interpreter, g: GeneratorCall, *bounds: Any) -> Any:
    """`itertools.islice(g, stop)`. Raises what Python raises, and TraceError for other bounds."""
    if all(isinstance(x, int) for x in bounds):
        itertools.islice((), *bounds)
    if len(bounds) != 1 or not issubclass(class_of(bounds[0]), int):
        raise TraceError("TJ023", "islice() of a generator in this form", user_line())
    if isinstance(bounds[0], Tracer):
        is_bound = lift(interpreter.compare("ge", bounds[0], 0))
        here().emit_all("check", (is_bound.value(),), {})
    return _counting(interpreter, g, 0, lambda k, item: item, bounds[0], False)


def enumerated_items(interpreter: Interpreter, g: GeneratorCall, start: Any) -> Any:
    """`enumerate(g, start)`."""
    return _counting(interpreter, g, start, lambda k, item: (k, item), None, None)


def zipped_items(interpreter: Interpreter, parts: Sequence[Any], strict: bool) -> Any:
    """`zip(*parts)`, of which one is a generator. Raises TraceError for other iterators."""
    places = [k for k, x in enumerate(parts) if isinstance(x, GeneratorCall)]
    others = [_items(interpreter, x) for x in parts if not isinstance(x, GeneratorCall)]
    if len(places) > 1 or strict or any(x is None for x in others):
        raise TraceError("TJ023", "a generator beside another iterator", user_line())
    (place,) = places
    if not others:
        return _over(
            interpreter, parts[0], lambda item: interpreter.yield_((item,), None, (), None)
        )
    rows = zipped(others, False)
    if rows is None or any(isinstance(x, Items) and x.once for x in parts[:place]):
        raise TraceError("TJ023", "a generator beside items of an unknown number", user_line())

    def item_of(k: Any, item: Any) -> Any:
        row = rows.item(k)
        return (*row[:place], item, *row[place:])

    made = _counting(interpreter, parts[place], 0, item_of, rows.length, place == 0)
    run = made.run

    def watched() -> Any:
        rows.check()
        with _unchanged(parts[:place]):
            result = run()
        rows.check()
        return result

    made.run = watched
    return made


@contextmanager
def _unchanged(parts: Sequence[Any]) -> Iterator[None]:
    """Raise TraceError where something is stored into `parts`, which Python reads before the
    generator goes on."""
    storages = {s for x in parts if isinstance(x, TracedArray) for s in x.storage.roots()}
    lists = [(x, list(x)) for x in parts if type(x) is list]
    before = {s for s in storages if s.written}
    for storage in storages:
        storage.written = False
    try:
        yield
    finally:
        changed = any(s.written for s in storages)
        for storage in before:
            storage.written = True
    if changed or any(len(x) != len(y) or any(map(operator.is_not, x, y)) for x, y in lists):
        raise TraceError("TJ023", "a generator beside what is stored into", user_line())


def _items(interpreter: Interpreter, x: Any) -> Items | None:
    x = narrow(x)
    found = items_of(x) or packed_items(interpreter, x)
    if found is None and type(x) in (list, tuple):
        found = _Elements(interpreter, x)
    return found


def _counting(
    interpreter: Interpreter,
    g: GeneratorCall,
    start: Any,
    item_of: Callable[[Any, Any], Any],
    length: Any,
    looks_first: bool | None,
) -> Any:
    """A generator of `item_of(k, item)`: up to `length` of them, if that is not None.

    Whether there may be one more is asked when the generator has given its item if `looks_first`,
    else before.
    """

    def run() -> Any:
        item, k = None, start

        def assign(x: Any) -> None:
            nonlocal item
            item = x

        # A block's names are those that it closes over itself.
        def body() -> Any:
            def count() -> Any:
                nonlocal k
                k = interpreter.binary("add", k, 1)
                if length is None or looks_first:
                    return None
                return interpreter.if_(reached(k), stop, None, None, (), None)

            def give() -> Any:
                return interpreter.yield_(item_of(k, item), count, ("k",), None)

            if not looks_first:
                return give()
            return interpreter.if_(reached(k), stop, None, give, ("k",), None)

        def loop() -> Any:
            names = ("item", "k")
            return interpreter.for_(g, assign, body, None, None, names, (0, ("k",), ("k",)))

        if length is None or looks_first:
            return loop()
        return interpreter.if_(reached(k), lambda: None, loop, None, (), None)

    def reached(k: Any) -> Any:
        return interpreter.compare("ge", k, length)

    def stop() -> Any:
        return interpreter.BREAK

    return interpreter.allocate(GeneratorCall(run))
