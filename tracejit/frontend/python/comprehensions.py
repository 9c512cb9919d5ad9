"""List comprehensions as loops that append: over many items, or a number of them that is traced."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.containers.grown_lists import is_long
from tracejit.frontend.control.growth import Grows, packed_items
from tracejit.frontend.control.iteration import items_of
from tracejit.frontend.python.reductions import Generated
from tracejit.frontend.tracing.generator import GeneratorCall
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.trace import here

__all__ = ["comprehended", "list_of"]

#: How many elements are computed one by one where that cannot be done in a loop.
_UNROLLED = 2_000


def list_of(interpreter: Interpreter, source: Generated) -> Any:
    """The list of what a generator expression gives."""
    out = interpreter.allocate([])
    _append_all(interpreter, out, source, False)
    return out


def comprehended(
    interpreter: Interpreter,
    iterable: Any,
    pattern: Any,
    value: Callable[..., Any],
    tests: Sequence[Callable[..., Any]],
    nested: bool,
) -> Any:
    """`[value(*names) for names in iterable if test(*names)]`.

    Where it is `nested`, `value` gives the arguments of the same kind for the next `for`.
    """
    out = interpreter.allocate([])
    source = Generated(interpreter, interpreter.iterable(iterable), pattern, value, tests)
    _append_all(interpreter, out, source, nested)
    return out


def _append_all(interpreter: Interpreter, out: Any, source: Generated, nested: bool) -> None:
    item: Any = None
    begun = False

    def assign(x: Any) -> None:
        nonlocal item
        item = x

    def body() -> Any:
        nonlocal begun
        begun |= here() is outside
        names = source.names(item)
        add = functools.partial(_append, interpreter, out, source, names, nested)
        if source.tests:
            return interpreter.if_(source.holds(names), lambda: add(), None, None, (), None)
        return add()

    def loop() -> None:
        names = ("item",)
        interpreter.settled(
            interpreter.for_(source.iterable, assign, body, None, None, names, (0, (), ()))
        )

    outside = here()
    if isinstance(source.iterable, GeneratorCall):
        loop()
        return
    items = packed_items(interpreter, source.iterable)
    if items is not None:
        source = source._replace(iterable=items)
    if is_long(source.iterable):
        try:
            loop()
            return
        except Grows:
            raise
        except TraceError as e:
            # Items of Python's own, for an element that needs them: as many as there are now.
            length = getattr(items_of(source.iterable), "length", None)
            if begun or not isinstance(length, (int, SymInt)) or length > _UNROLLED:
                raise
            here().note("unrolled", f"a comprehension: {e.detail or e.code}")
    for x in interpreter.iterate(source.iterable):
        assign(x)
        interpreter.settled(body())


def _append(
    interpreter: Interpreter, out: Any, source: Generated, names: list[Any], nested: bool
) -> None:
    value = source.value(*names)
    if nested:
        iterable, pattern, inner, tests, more = value
        found = Generated(interpreter, interpreter.iterable(iterable), pattern, inner, tests)
        _append_all(interpreter, out, found, more)
    else:
        interpreter.call(out.append, value)
