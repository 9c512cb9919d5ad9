"""Python's functions over all items: sum, min, max, any, all and reduce as loops of the graph."""

from __future__ import annotations

import collections
import functools
import math
import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tracejit.errors import TraceError
from tracejit.frontend.containers.dicts import settled_dict
from tracejit.frontend.control.iteration import items_of
from tracejit.frontend.control.unions import narrow
from tracejit.frontend.python.positions import Filtered, drawn_from, unended
from tracejit.frontend.tracing.checks import class_of, has_traced, require_plain
from tracejit.frontend.tracing.generator import GeneratorCall
from tracejit.frontend.tracing.grown import is_grown
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.standins import StandIn
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.trace import user_line
from tracejit.frontend.tracing.tracer import TracedArray, TracedScalar
from tracejit.frontend.tracing.union import Union

__all__ = ["FOLD_CALLS", "Generated", "call_over_items", "next_over"]

_REQUIRED: Any = object()
#: Up to this many items are joined one by one.
_FEW = 8
#: Functions that take all items before they do anything that the items could see.
_TAKERS = (list, sorted, set, dict, collections.deque, collections.Counter)
#: Whether this Python adds up floats more exactly than `+` does.
_COMPENSATES = sys.version_info >= (3, 12)
_COMPENSATES_COMPLEX = sys.version_info >= (3, 14)


def _is_long(x: Any) -> bool:
    """Whether the items of `x` are better taken in a loop of the graph."""
    items = items_of(x)
    if isinstance(x, GeneratorCall):
        return True
    return items is not None and not (isinstance(items.length, int) and items.length <= _FEW)


def fold(
    interpreter: Interpreter, iterable: Any, total: Any, step: Callable[[Any, Any], Any]
) -> Any:
    """`for item in iterable: total = step(total, item)`; gives the last total."""
    item: Any = None

    def assign(value: Any) -> None:
        nonlocal item
        item = value

    def body() -> None:
        nonlocal total
        total = step(total, item)

    _loop(interpreter, iterable, assign, body, ("total", "item"), "total")
    return total


def _loop(
    interpreter: Interpreter,
    iterable: Any,
    assign: Callable[[Any], None],
    body: Callable[[], Any],
    names: Sequence[str],
    *carried: str,
) -> None:
    """A loop that binds `names`, of which one iteration leaves `carried` to the next."""
    info = 0, carried, carried
    interpreter.settled(interpreter.for_(iterable, assign, body, None, None, names, info))


def _sum(interpreter: Interpreter, items: Any, start: Any = 0) -> Any:
    if _is_long(items):
        over = Generated(interpreter, items, None, lambda x: x, ())
        return _sum_over(interpreter, over, start)
    if isinstance(start, (str, bytes)):
        raise TypeError("sum() can't sum strings")
    values = list(interpreter.iterate(items))
    traced = [k for k, v in enumerate([start, *values]) if _is_traced(v)]
    if not traced:
        require_plain([start, values], "sum()")
        return interpreter.fresh(sum(values, start))
    require_plain(values[: max(traced[0] - 1, 0)], "sum()")
    total, lost = start, 0.0
    for v in values:
        total, lost = _added(interpreter, total, lost, v)
    return _restored(interpreter, total, lost)


def _added(interpreter: Interpreter, total: Any, lost: Any, v: Any) -> tuple[Any, Any]:
    """One step of `sum`: the new total, and what the additions so far have lost by rounding.

    From its version 3.12 on Python adds up floats by Neumaier's algorithm (A. Neumaier, ZAMM 54,
    1974) until it meets an item that is neither a float nor an int; ints are added plainly. Raises
    TraceError where it depends on what came before whether it still does.
    """
    if _COMPENSATES and (isinstance(total, Union) or isinstance(v, Union)):
        pair = interpreter.on_unions(lambda t, x: _added(interpreter, t, lost, x), total, v)
        return interpreter.item(pair, 0), interpreter.item(pair, 1)
    before, item = _kind(total), _kind(v)
    if before is int and class_of(total) is bool:
        before = None  # Items may be bools; a start that is one is not an int to `sum`.
    if before is item is float:
        whole = interpreter.binary("add", total, v)
        larger = interpreter.compare("ge", _size(interpreter, total), _size(interpreter, v))
        large, small = (
            interpreter.ternary(larger, lambda: total, lambda: v),
            interpreter.ternary(larger, lambda: v, lambda: total),
        )
        rest = interpreter.binary("add", interpreter.binary("sub", large, whole), small)
        return whole, interpreter.binary("add", lost, rest)
    if before is float and item is not int:
        total, lost = _restored(interpreter, total, lost), 0.0
    whole = interpreter.binary("add", total, v)
    left = before is None or before is float and item is None
    if left and _kind(whole) is not None or _COMPENSATES and _is_compensated_later(whole):
        raise TraceError("TJ004", "sum() of Python floats beside other items", user_line())
    return whole, lost


def _restored(interpreter: Interpreter, total: Any, lost: Any) -> Any:
    """The sum in which what was lost has its place, unless it is none or no finite number."""
    if not _COMPENSATES or isinstance(lost, float) and lost == 0.0:
        return total
    if isinstance(total, Union):
        return interpreter.on_unions(lambda t: _restored(interpreter, t, lost), total)
    if _kind(total) is not float:
        return total
    size = _size(interpreter, lost)

    def if_some() -> Any:
        finite = interpreter.compare("lt", size, math.inf)
        added = interpreter.binary("add", total, lost)
        return interpreter.ternary(finite, lambda: added, lambda: total)

    return interpreter.ternary(interpreter.compare("gt", size, 0.0), if_some, lambda: total)


def _size(interpreter: Interpreter, x: Any) -> Any:
    return interpreter.call(abs, x)


def _kind(x: Any) -> type | None:
    """`float` or `int` for an item by which `sum` stays with Python's floats; None for others."""
    if not _COMPENSATES or not _is_python(x):
        return None
    cls = class_of(x)
    if cls in (bool, int):
        return int if not isinstance(x, int) or -(1 << 63) <= x < 1 << 63 else None
    return float if cls is float else None


def _is_compensated_later(x: Any) -> bool:
    """Whether a sum is a complex number, which Python compensates from its version 3.14 on."""
    return _COMPENSATES_COMPLEX and _is_python(x) and class_of(x) is complex


def _is_traced(x: Any) -> bool:
    return isinstance(x, Union) or has_traced(x)


def _is_python(x: Any) -> bool:
    if isinstance(x, TracedScalar):
        return x.is_python
    return isinstance(x, SymInt) or type(x) in (bool, int, float, complex)


def _extreme(f: Any, op: str) -> Callable[..., Any]:
    """`min` or `max`: an item is taken where `item op best` holds, or that of their keys."""

    def run(interpreter: Interpreter, *args: Any, key: Any = None, **kwargs: Any) -> Any:
        def better(best: Any, item: Any) -> Any:
            holds = interpreter.compare(op, item, best)
            return interpreter.ternary(holds, lambda: item, lambda: best)

        def ranked(best: tuple[Any, Any], item: Any) -> Any:
            rank = interpreter.call(key, item)
            holds = interpreter.compare(op, rank, best[0])
            return interpreter.ternary(holds, lambda: (rank, item), lambda: best)

        items = args[0] if len(args) == 1 else args
        items = settled_dict(items)
        if isinstance(items, StandIn):
            items = interpreter.call(list, items)
        is_array = isinstance(items, TracedArray) and _is_long(items)
        is_long = is_array or is_grown(items)
        if isinstance(items, GeneratorCall) or is_long and (key is not None or kwargs):
            over = Generated(interpreter, items, None, lambda x: x, ())
            return _OVER[f](interpreter, over, key=key, **kwargs)
        if is_long:
            return fold(interpreter, items, interpreter.item(items, 0), better)
        # Each item is compared before the next one is made.
        rest = interpreter.iterate(items)
        first = next(rest, _REQUIRED)
        if first is _REQUIRED:
            return f((), **kwargs)
        if key is not None:
            return functools.reduce(ranked, rest, (interpreter.call(key, first), first))[1]
        return functools.reduce(better, _until_traced(first, rest, f"{f.__name__}()"), first)

    return run


def _until_traced(first: Any, rest: Iterator[Any], what: str) -> Iterator[Any]:
    """Yields the rest. Raises TraceError for objects, as long as all before are known."""
    plain = not _is_traced(first)
    if plain:
        require_plain([first], what)
    for item in rest:
        plain = plain and not _is_traced(item)
        if plain:
            require_plain([item], what)
        yield item


def _any_or_all(answer: bool) -> Callable[..., Any]:
    """`any`, which is `answer` (True) as soon as one item is so; `all` is its opposite."""

    def run(interpreter: Interpreter, items: Any) -> Any:
        join = interpreter.or_ if answer else interpreter.and_

        def step(total: Any, item: Any) -> Any:
            return join(total, lambda: interpreter.truth_of(item))

        held = isinstance(items, (list, tuple, TracedArray))
        if _is_long(items):
            if held:
                return fold(interpreter, items, not answer, step)
            over = Generated(interpreter, items, None, lambda x: x, ())
            return _search_over(answer)(interpreter, over)

        def search(rest: Iterator[Any]) -> Any:
            for item in rest:
                holds = interpreter.truth_of(item)
                if holds is answer:
                    return answer
                if holds is not (not answer):
                    # What follows is asked only where this does not decide: that may be an error.
                    # Where a function makes the items, it is not even made.
                    later = lambda: search(rest)  # noqa: E731
                    return functools.reduce(step, rest, holds) if held else join(holds, later)
            return not answer

        return search(interpreter.iterate(items))

    return run


def _reduce(interpreter: Interpreter, f: Any, items: Any, initial: Any = _REQUIRED) -> Any:
    if initial is not _REQUIRED and _is_long(items):
        return fold(interpreter, items, initial, lambda total, v: interpreter.call(f, total, v))
    rest = interpreter.iterate(items)
    if initial is _REQUIRED:
        initial = next(rest, _REQUIRED)
        if initial is _REQUIRED:
            raise TypeError("reduce() of empty iterable with no initial value")
    for x in rest:
        initial = interpreter.call(f, initial, x)
    return initial


# Generator expressions ---------------------------------------------------------------------------


class Generated(NamedTuple):
    """`value(*names) for names in iterable if test(*names)`, of which nothing has been taken."""

    interpreter: Interpreter
    iterable: Any
    #: Which parts of an item are names: None, or a tuple of patterns.
    pattern: Any
    value: Callable[..., Any]
    tests: Sequence[Callable[..., Any]]

    def names(self, item: Any) -> list[Any]:
        """What the names hold for an item."""
        return [item] if self.pattern is None else _parts(self.interpreter, item, self.pattern)

    def holds(self, names: list[Any]) -> Any:
        """Whether an item is taken: a bool or a traced one."""
        return _all_hold(self.interpreter, [_operand(test, *names) for test in self.tests])

    def generator(self) -> Any:
        """An iterator. The iterable is asked for its own at once."""
        part = drawn_from(self.interpreter, self.interpreter.iterate(self.iterable), self.iterable)
        names: list[Any] = []

        def takes(item: Any) -> Any:
            names[:] = self.names(item)
            return self.holds(list(names))

        made = Filtered(self.interpreter, part, lambda item: self.value(*names), takes)
        return self.interpreter.allocate(made)


def _parts(interpreter: Interpreter, item: Any, pattern: Any) -> list[Any]:
    if pattern is None:
        return [item]
    parts = list(interpreter.iterate(item))
    if len(parts) != len(pattern):
        few = len(parts) < len(pattern)
        raise ValueError("not enough values to unpack" if few else "too many values to unpack")
    return [v for part, p in zip(parts, pattern, strict=True) for v in _parts(interpreter, part, p)]


def _operand(f: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    """A part of an expression, which binds no names: its only parameter says so (see OPERAND)."""
    return lambda *__tracejit_operand__: f(*args)


def _all_hold(interpreter: Interpreter, tests: Sequence[Callable[[], Any]]) -> Any:
    """`test() and ...` as a bool or a traced one."""
    if not tests:
        return True
    later = [_operand(lambda t: interpreter.truth_of(t()), test) for test in tests[1:]]
    return interpreter.and_(interpreter.truth_of(tests[0]()), *later)


def call_over_items(
    interpreter: Interpreter,
    f: Any,
    iterable: Any,
    pattern: Any,
    value: Callable[..., Any],
    tests: Sequence[Callable[..., Any]],
    /,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """`f(value for names in iterable if test, *args, **kwargs)`.

    A function of all items is a loop where their number or their union is traced.
    """
    source = Generated(
        *(interpreter, interpreter.iterable(iterable), pattern, unended(value)),
        [unended(test) for test in tests],
    )
    if any(f is taker for taker in _TAKERS) and _is_long(source.iterable):
        return interpreter.call(f, interpreter.listed(source), *args, **kwargs)
    over = next((run for known, run in _OVER.items() if f is known), None)
    if over is None or not (tests or _is_long(source.iterable)):
        return interpreter.call(f, source.generator(), *args, **kwargs)
    return over(interpreter, source, *args, **kwargs)


def _sum_over(interpreter: Interpreter, source: Generated, start: Any = 0) -> Any:
    if isinstance(start, (str, bytes)):
        raise TypeError("sum() can't sum strings")
    total, lost, item = start, 0.0, None
    carried = ("total", "lost") if _COMPENSATES else ("total",)

    def assign(x: Any) -> None:
        nonlocal item
        item = x

    def body() -> Any:
        names = source.names(item)

        def add() -> None:
            nonlocal total, lost
            total, lost = _added(interpreter, total, lost, source.value(*names))

        return interpreter.if_(source.holds(names), add, None, None, carried, None)

    _loop(interpreter, source.iterable, assign, body, (*carried, "item"), *carried)
    return _restored(interpreter, total, lost)


def _search_over(answer: bool) -> Callable[..., Any]:
    """`any`, which ends at the first item that is true; `all` is its opposite."""

    def run(interpreter: Interpreter, source: Generated) -> Any:
        found, item = False, None

        def assign(x: Any) -> None:
            nonlocal item
            item = x

        def body() -> Any:
            names = source.names(item)

            def decides() -> Any:
                truth = interpreter.truth_of(source.value(*names))
                return truth if answer else interpreter.not_(truth)

            def stop() -> Any:
                nonlocal found
                found = True
                return interpreter.BREAK

            ends = _all_hold(interpreter, [_operand(source.holds, names), decides])
            return interpreter.if_(ends, stop, None, None, ("found",), None)

        _loop(interpreter, source.iterable, assign, body, ("found", "item"), "found")
        return found if answer else interpreter.not_(found)

    return run


def next_over(interpreter: Interpreter, source: Generated, *default: Any) -> Any:
    """`next`, if nothing follows it: the first item. Raises StopIteration where there is none."""
    found, first, item = False, None, None

    def assign(x: Any) -> None:
        nonlocal item
        item = x

    def body() -> Any:
        names = source.names(item)

        def stop() -> Any:
            nonlocal found, first
            found, first = True, source.value(*names)
            return interpreter.BREAK

        return interpreter.if_(source.holds(names), stop, None, None, ("found", "first"), None)

    carried = ("found", "first")
    _loop(interpreter, source.iterable, assign, body, (*carried, "item"), *carried)
    if found is True:
        return first
    if default:
        other = _operand(lambda: default[0])
        return interpreter.ternary(found, _operand(lambda: narrow(first)), other)
    if found is False:
        raise StopIteration
    interpreter.may_raise(interpreter.not_(found), StopIteration)
    return narrow(first)


def _extreme_over(f: Any, op: str) -> Callable[..., Any]:
    """`min` or `max`: the first item, or one for which `item op best` holds."""

    def run(interpreter: Interpreter, source: Generated, *, key: Any = None, **default: Any) -> Any:
        best, rank, item = None, None, None

        def assign(x: Any) -> None:
            nonlocal item
            item = x

        def body() -> Any:
            names = source.names(item)

            def consider() -> Any:
                value = source.value(*names)
                ranked = value if key is None else interpreter.call(key, value)
                if ranked is None or value is None:
                    raise TraceError("TJ004", f"{f.__name__}() of None", user_line())

                def put() -> None:
                    nonlocal best, rank
                    best, rank = value, ranked

                first = interpreter.compare("is_", rank, None)
                better = _operand(
                    lambda: interpreter.truth_of(interpreter.compare(op, ranked, rank))
                )
                return interpreter.if_(
                    interpreter.or_(first, better), put, None, None, ("best", "rank"), None
                )

            return interpreter.if_(
                source.holds(names), consider, None, None, ("best", "rank"), None
            )

        carried = ("best", "rank")
        _loop(interpreter, source.iterable, assign, body, (*carried, "item"), *carried)
        empty = interpreter.truth_of(interpreter.compare("is_", best, None))
        if empty is True:
            return f((), **default)
        if empty is not False and default:
            return interpreter.ternary(
                empty, _operand(lambda: default["default"]), _operand(lambda: best)
            )
        return narrow(best)

    return run


_OVER: dict[Any, Callable[..., Any]] = {
    sum: _sum_over,
    any: _search_over(True),
    all: _search_over(False),
    min: _extreme_over(min, "lt"),
    max: _extreme_over(max, "gt"),
    next: next_over,
}

FOLD_CALLS: dict[Any, Callable[..., Any]] = {
    sum: _sum,
    min: _extreme(min, "lt"),
    max: _extreme(max, "gt"),
    any: _any_or_all(True),
    all: _any_or_all(False),
    functools.reduce: _reduce,
    operator.not_: lambda interpreter, x: interpreter.not_(x),
    operator.truth: lambda interpreter, x: interpreter.truth_of(x),
}
