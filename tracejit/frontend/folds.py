"""Python's functions over all items: sum, min, max, any, all and reduce as loops of the graph."""

from __future__ import annotations

import functools
import itertools
import operator
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tracejit.errors import TraceError
from tracejit.frontend.items import items_of
from tracejit.frontend.operators import class_of, has_traced, require_plain
from tracejit.frontend.shapes import SymInt
from tracejit.frontend.trace import user_line
from tracejit.frontend.tracer import TracedArray, TracedScalar

if TYPE_CHECKING:
    from tracejit.frontend.hooks import Hooks

__all__ = ["FOLD_CALLS"]

_REQUIRED: Any = object()
#: Up to this many items are joined one by one.
_FEW = 8


def _is_long(x: Any) -> bool:
    """Whether the items of `x` are better taken in a loop of the graph."""
    items = items_of(x)
    return items is not None and not (isinstance(items.length, int) and items.length <= _FEW)


def fold(hooks: Hooks, iterable: Any, total: Any, step: Callable[[Any, Any], Any]) -> Any:
    """`for item in iterable: total = step(total, item)`; gives the last total."""
    item: Any = None

    def assign(value: Any) -> None:
        nonlocal item
        item = value

    def body() -> None:
        nonlocal total
        total = step(total, item)

    hooks.for_(iterable, assign, body, None, None, ("total", "item"), (0, ("total",), ("total",)))
    return total


def _sum(hooks: Hooks, items: Any, start: Any = 0) -> Any:
    if isinstance(start, (str, bytes)):
        raise TypeError("sum() can't sum strings")
    if _is_long(items):
        return fold(hooks, items, start, lambda total, v: hooks.binary("add", total, v))
    values = list(hooks.iterate(items))
    traced = [k for k, v in enumerate([start, *values]) if has_traced(v)]
    if not traced:
        require_plain([start, values], "sum()")
        return hooks.fresh(sum(values, start))
    _require_uncompensated([start, *values])
    first = max(traced[0] - 1, 0)
    require_plain(values[:first], "sum()")
    total = sum(values[:first], start) if first else start
    for v in values[first:]:
        total = hooks.binary("add", total, v)
    return total


def _require_uncompensated(values: list[Any]) -> None:
    """Raise TraceError where Python sums floats with a compensation, as it does from 3.12 on.

    It does so up to the first value that is not a Python number.
    """
    leading = list(itertools.takewhile(_is_python, values))
    traced = any(isinstance(v, TracedScalar) for v in leading)
    inexact = any(not issubclass(class_of(v), int) for v in leading)
    if traced and inexact and sys.version_info >= (3, 12):
        raise TraceError("TJ004", "sum() of Python floats", user_line())


def _is_python(x: Any) -> bool:
    if isinstance(x, TracedScalar):
        return x.is_python
    return isinstance(x, SymInt) or type(x) in (bool, int, float, complex)


def _extreme(f: Any, op: str) -> Callable[..., Any]:
    """`min` or `max`: an item is taken where `item op best` holds."""

    def run(hooks: Hooks, *args: Any, key: Any = None, **kwargs: Any) -> Any:
        def better(best: Any, item: Any) -> Any:
            pair = (item, best) if key is None else (hooks.call(key, item), hooks.call(key, best))
            return hooks.ternary(hooks.compare(op, *pair), lambda: item, lambda: best)

        if len(args) == 1 and isinstance(args[0], TracedArray) and _is_long(args[0]):
            return fold(hooks, args[0], args[0][0], better)
        values = list(hooks.iterate(args[0])) if len(args) == 1 else list(args)
        if not values:
            return f((), **kwargs)
        if not any(map(has_traced, values)) and key is None:
            require_plain(values, f"{f.__name__}()")
        return functools.reduce(better, values)

    return run


def _any_or_all(answer: bool) -> Callable[..., Any]:
    """`any`, which is `answer` (True) as soon as one item is so; `all` is its opposite."""

    def run(hooks: Hooks, items: Any) -> Any:
        def step(total: Any, item: Any) -> Any:
            join = hooks.or_ if answer else hooks.and_
            return join(total, lambda: hooks.truth_of(item))

        if _is_long(items):
            return fold(hooks, items, not answer, step)
        tested: list[Any] = []
        for item in hooks.iterate(items):
            holds = hooks.truth_of(item)
            if holds is answer and not tested:
                return answer
            if holds is not (not answer):
                tested.append(holds)
        return functools.reduce(step, tested, not answer)

    return run


def _reduce(hooks: Hooks, f: Any, items: Any, initial: Any = _REQUIRED) -> Any:
    if initial is not _REQUIRED and _is_long(items):
        return fold(hooks, items, initial, lambda total, v: hooks.call(f, total, v))
    rest = hooks.iterate(items)
    if initial is _REQUIRED:
        initial = next(rest, _REQUIRED)
        if initial is _REQUIRED:
            raise TypeError("reduce() of empty iterable with no initial value")
    for x in rest:
        initial = hooks.call(f, initial, x)
    return initial


FOLD_CALLS: dict[Any, Callable[..., Any]] = {
    sum: _sum,
    min: _extreme(min, "lt"),
    max: _extreme(max, "gt"),
    any: _any_or_all(True),
    all: _any_or_all(False),
    functools.reduce: _reduce,
    operator.not_: lambda hooks, x: hooks.not_(x),
    operator.truth: lambda hooks, x: hooks.truth_of(x),
}
