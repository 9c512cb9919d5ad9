"""`defaultdict` and `Counter`: a dict inside, which may be a table, and methods that are traced."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.containers.dicts import begun, pairs_of
from tracejit.frontend.containers.traced import traced
from tracejit.frontend.tracing.checks import class_of
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.standins import StandIn
from tracejit.frontend.tracing.trace import user_line

__all__ = ["COUNTER_CALLS"]


class DictLike(StandIn):
    """A dict of a class that is derived from dict."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def iterated(self) -> Any:
        return self.held

    @traced
    def __len__(self) -> Any:
        return len(self.held)

    @traced
    def __contains__(self, key: Any) -> Any:
        return key in self.held

    @traced
    def __setitem__(self, key: Any, value: Any) -> None:
        self.held[key] = value

    @traced
    def __delitem__(self, key: Any) -> None:
        del self.held[key]

    @traced
    def get(self, key: Any, default: Any = None) -> Any:
        return self.held.get(key, default)

    @traced
    def pop(self, key: Any, *default: Any) -> Any:
        return self.held.pop(key, *default)

    @traced
    def setdefault(self, key: Any, default: Any = None) -> Any:
        return self.held.setdefault(key, default)

    @traced
    def keys(self) -> Any:
        return self.held.keys()

    @traced
    def values(self) -> Any:
        return self.held.values()

    @traced
    def items(self) -> Any:
        return self.held.items()

    @traced
    def clear(self) -> None:
        self.held.clear()


class TracedDefaultDict(DictLike):
    """A defaultdict."""

    stands_for = defaultdict

    def __init__(self, held: Any, factory: Any) -> None:
        super().__init__(held)
        self.default_factory = factory

    def result(self) -> Any:
        return _MADE[self.default_factory], (self.held,)

    @traced
    def __getitem__(self, key: Any) -> Any:
        if key in self.held:
            return self.held[key]
        value = self.default_factory()
        self.held[key] = value
        return value

    @traced
    def update(self, other: Any) -> None:
        for key, value in pairs_of(other):
            self.held[key] = value


class TracedCounter(DictLike):
    """A Counter."""

    stands_for = Counter

    def result(self) -> Any:
        return _counter_of, (self.held,)

    @traced
    def __getitem__(self, key: Any) -> Any:
        return self.held.get(key, 0)

    @traced
    def __delitem__(self, key: Any) -> None:
        self.held.pop(key, None)

    @traced
    def update(self, items: Any) -> None:
        if isinstance(items, dict):
            for key, count in items.items():
                self.held[key] = count + self.held.get(key, 0)
        else:
            for key in items:
                self.held[key] = self.held.get(key, 0) + 1

    @traced
    def total(self) -> Any:
        return sum(self.held.values())

    @traced
    def most_common(self, n: Any = None) -> Any:
        ordered = sorted(self.held.items(), key=lambda item: item[1], reverse=True)
        return ordered if n is None else ordered[: max(n, 0)]


def _counter_of(held: Any) -> Any:
    made: Any = Counter()
    made.update(held)
    return made


def _default_dict(factory: Any) -> Callable[[Any], Any]:
    return lambda held: defaultdict(factory, held)


#: What makes a defaultdict, by its factory.
_MADE: dict[Any, Callable[[Any], Any]] = {
    f: _default_dict(f) for f in (None, int, float, bool, complex, list, dict, set)
}


def _make_default_dict(interpreter: Interpreter, factory: Any = None, *items: Any) -> Any:
    known = isinstance(factory, type) and factory in _MADE
    if not known and factory is not None or len(items) > 1:
        what = f"a defaultdict of a {class_of(factory).__name__}"
        raise TraceError("TJ002", what, user_line())
    new = interpreter.allocate(TracedDefaultDict(begun(interpreter, {}), factory))
    for given in items:
        interpreter.call(new.attribute("update"), given)
    return new


def _make_counter(interpreter: Interpreter, *items: Any, **counts: Any) -> Any:
    new = interpreter.allocate(TracedCounter(begun(interpreter, {})))
    for given in (*items, counts) if counts else items:
        if given is not None:
            interpreter.call(new.attribute("update"), given)
    return new


COUNTER_CALLS: dict[Any, Callable[..., Any]] = {
    defaultdict: _make_default_dict,
    Counter: _make_counter,
}
