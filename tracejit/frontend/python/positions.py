"""Iterators of the traced program: a position in what they walk.

    it = iter(x); next(it)    ->    x[0], and `it` stands at 1

The position is what the iterator holds: regions take it back, branches and loops join it. Elements
are read when they are asked for, so stores into `x` in the meantime are seen. An iterator whose
position the run decides cannot be asked again: the function then runs eagerly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.control.iteration import items_of
from tracejit.frontend.control.regions import Names
from tracejit.frontend.control.unions import choose, leaves_of, without
from tracejit.frontend.python.objects import special
from tracejit.frontend.tracing.aliases import viewed
from tracejit.frontend.tracing.generator import GeneratorCall
from tracejit.frontend.tracing.grown import is_grown, size_of
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.items import Items
from tracejit.frontend.tracing.positions import LEFT, Position
from tracejit.frontend.tracing.pytree import VIEWS
from tracejit.frontend.tracing.raised import Raised
from tracejit.frontend.tracing.standins import StandIn
from tracejit.frontend.tracing.trace import here, user_line
from tracejit.frontend.tracing.tracer import TracedArray

__all__ = [
    "Called",
    "Drawn",
    "Enumerated",
    "Filtered",
    "Foreign",
    "OfInstance",
    "Zipped",
    "drawn_from",
    "given_by_iter",
    "iterator_over",
    "next_of_instance",
    "reversed_over",
    "unended",
    "walk",
]


# What is walked while nobody else can ask ---------------------------------------------------------


def walk(interpreter: Interpreter, x: Any) -> Iterator[Any]:
    """The items of a list, tuple, text, dict, view, set or array, read one after the other."""
    if type(x) is list:
        return _walk_list(interpreter, x)
    if type(x) is dict or type(x) in VIEWS:
        return _walk_dict(interpreter, x)
    if type(x) in (set, frozenset):
        return _walk_set(interpreter, x)
    if isinstance(x, TracedArray):
        if not x.ndim:
            raise TypeError("iteration over a 0-d array")
        return (x[k] for k in range(len(x)))
    return iter(x)


def _walk_list(interpreter: Interpreter, x: list[Any]) -> Iterator[Any]:
    k = 0
    while k < _length(x):
        yield _element(interpreter, x, k)
        k += 1


def _length(x: list[Any]) -> int:
    """The present length of a list. Raises TraceError where the run decides it."""
    n = size_of(x) if is_grown(x) else len(x)
    if type(n) is not int:
        raise TraceError("TJ029", "a list whose length the run decides", user_line())
    return n


def _element(interpreter: Interpreter, x: Any, k: int) -> Any:
    interpreter.aliases.require_current(x)
    if not is_grown(x):
        return x[k]
    found = x[0].at(k)
    interpreter.aliases.row_of(x, found)
    return found


def _walk_dict(interpreter: Interpreter, x: Any) -> Iterator[Any]:
    held = x if type(x) is dict else viewed(x)
    keys, removed = list(held), _removals(interpreter, held)
    return _walk_keys(interpreter, x, held, keys, removed)


def _walk_keys(
    interpreter: Interpreter, x: Any, held: Any, keys: list[Any], removed: int
) -> Iterator[Any]:
    for key in keys:
        _require_size(held, len(keys), "dictionary")
        _require_kept(interpreter, held, removed)
        yield key if type(x) in (dict, VIEWS[0]) else _of_view(x, key, held[key])
    _require_size(held, len(keys), "dictionary")
    _require_kept(interpreter, held, removed)


def _removals(interpreter: Interpreter, held: Any) -> int:
    """How often something may have been taken out of what is walked."""
    return interpreter.removals.get(id(held), 0)


def _require_kept(interpreter: Interpreter, held: Any, removed: int) -> None:
    """Raises TraceError where CPython may meet a key again that was taken out and put back."""
    interpreter.aliases.require_current(held)
    if _removals(interpreter, held) != removed:
        raise TraceError("TJ029", "a dict or set that changes in a loop over it", user_line())


def _of_view(view: Any, key: Any, value: Any) -> Any:
    return value if type(view) is VIEWS[1] else (key, value)


def _walk_set(interpreter: Interpreter, x: Any) -> Iterator[Any]:
    return _walk_elements(interpreter, x, list(x), _removals(interpreter, x))


def _walk_elements(
    interpreter: Interpreter, x: Any, held: list[Any], removed: int
) -> Iterator[Any]:
    for value in held:
        _require_size(x, len(held), "Set")
        _require_kept(interpreter, x, removed)
        yield value
    _require_size(x, len(held), "Set")
    _require_kept(interpreter, x, removed)


def _require_size(x: Any, n: int, name: str) -> None:
    if len(x) != n:
        raise RuntimeError(f"{name} changed size during iteration")


# Iterators that the program has -------------------------------------------------------------------


class _Walked(Position):
    """`iter(x)` of a list, tuple, text or range, or of an array of known length."""

    def __init__(self, interpreter: Interpreter, x: Any, backwards: bool = False) -> None:
        super().__init__(interpreter)
        self.walked, self.last = x, len(x) - 1 if backwards else None

    def draw(self, k: int) -> Any:
        n = _length(self.walked) if type(self.walked) is list else len(self.walked)
        at = k if self.last is None else self.last - k
        if not 0 <= at < n:
            raise StopIteration
        return _element(self.interpreter, self.walked, at)

    def remaining(self) -> Items | None:
        """The items that are left, by number; None for what is walked one by one."""
        if type(self.position) is not int or self.position < 0 or self.last is not None:
            return None
        items = items_of(self.walked)
        return None if items is None else _Rest(items, self.position)


class _Rest(Items):
    def __init__(self, items: Items, first: int) -> None:
        self.items, self.first = items, first
        self.length = max(items.length - first, 0)

    def item(self, k: Any) -> Any:
        return self.items.item(k + self.first if self.first else k)

    def check(self) -> None:
        self.items.check()


class _Keyed(Position):
    """An iterator over a dict, a view of one, or a set."""

    def __init__(self, interpreter: Interpreter, x: Any, backwards: bool = False) -> None:
        super().__init__(interpreter)
        self.walked = viewed(x) if type(x) in VIEWS else x
        self.view = x if type(x) in VIEWS else None
        self.removed = _removals(interpreter, self.walked)
        self.keys = list(self.walked)
        if backwards:
            self.keys.reverse()

    def draw(self, k: int) -> Any:
        name = "Set" if isinstance(self.walked, (set, frozenset)) else "dictionary"
        _require_size(self.walked, len(self.keys), name)
        _require_kept(self.interpreter, self.walked, self.removed)
        if k >= len(self.keys):
            raise StopIteration
        key = self.keys[k]
        if self.view is None or type(self.view) is VIEWS[0]:
            return key
        return _of_view(self.view, key, self.walked[key])


class Called(Position):
    """`iter(f, sentinel)`."""

    def __init__(self, interpreter: Interpreter, f: Any, sentinel: Any) -> None:
        super().__init__(interpreter)
        self.f, self.sentinel = f, sentinel

    def draw(self, k: int) -> Any:
        value = self.interpreter.call(self.f)
        ends = self.interpreter.truth_of(self.interpreter.compare("eq", value, self.sentinel))
        if type(ends) is not bool:
            raise TraceError("TJ029", "an iterator that ends where the run says", user_line())
        if ends:
            raise StopIteration
        return value


class Drawn(Position):
    """`map(f, *parts)`: an item of each part, given to a function."""

    stays_ended = False

    def __init__(self, interpreter: Interpreter, f: Callable[..., Any], parts: Sequence[Any]):
        super().__init__(interpreter)
        self.f, self.parts = f, parts

    def draw(self, k: int) -> Any:
        return self.f(*[next(part) for part in self.parts])


class Zipped(Position):
    """`zip(*parts, strict=strict)`."""

    stays_ended = False

    def __init__(self, interpreter: Interpreter, parts: Sequence[Any], strict: bool) -> None:
        super().__init__(interpreter)
        self.parts, self.strict = parts, strict

    def draw(self, k: int) -> Any:
        if not self.parts:
            raise StopIteration
        found = []
        for n, part in enumerate(self.parts):
            try:
                found.append(next(part))
            except StopIteration:
                if self.strict and n:
                    before = "argument 1 is" if n == 1 else f"arguments 1-{n} are"
                    what = f"zip() argument {n + 1} is shorter than {before[:-3]}"
                    raise ValueError(what) from None
                if self.strict:
                    self._require_ended()
                raise
        return tuple(found)

    def _require_ended(self) -> None:
        for n, part in enumerate(self.parts[1:], 1):
            try:
                next(part)
            except StopIteration:
                continue
            before = "argument 1" if n == 1 else f"arguments 1-{n}"
            raise ValueError(f"zip() argument {n + 1} is longer than {before}")


class Enumerated(Position):
    """`enumerate(part, start)`."""

    stays_ended = False

    def __init__(self, interpreter: Interpreter, part: Any, start: Any) -> None:
        super().__init__(interpreter)
        self.part, self.start = part, start

    def draw(self, k: int) -> Any:
        item = next(self.part)
        return self.interpreter.binary("add", self.start, k) if k else self.start, item


class Filtered(Position):
    """`filter`, or a generator expression: `value(item)` of those items that are taken."""

    def __init__(
        self,
        interpreter: Interpreter,
        part: Any,
        value: Callable[[Any], Any],
        takes: Callable[[Any], Any],
        is_generator: bool = True,
    ) -> None:
        super().__init__(interpreter)
        self.part, self.value, self.takes = part, value, takes
        self.stays_ended = is_generator

    def draw(self, k: int) -> Any:
        while True:
            item = next(self.part)
            holds = self.interpreter.truth_of(unended(self.takes)(item))
            if type(holds) is not bool:
                raise TraceError("TJ029", "an iterator over items that the run picks", user_line())
            if holds:
                return unended(self.value)(item)


def unended(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f`, a part of a generator: Python makes another error of a StopIteration that leaves it."""

    def run(*args: Any) -> Any:
        try:
            return f(*args)
        except StopIteration:
            raise TraceError("TJ023", "StopIteration in a generator", user_line()) from None

    return run


class Foreign(Position):
    """An iterator of Python's own, which cannot go back: each draw follows the one before."""

    def __init__(self, interpreter: Interpreter, items: Iterator[Any]) -> None:
        super().__init__(interpreter)
        self.items, self.drawn, self.at = items, 0, here()

    def draw(self, k: int) -> Any:
        if k != self.drawn or not self.at.encloses(here()):
            raise TraceError(
                "TJ029", f"a {type(self.items).__name__} that is asked again", user_line()
            )
        self.at, self.drawn = here(), k + 1
        return next(self.items)


class OfInstance(Position):
    """An iterator of a class of the program's own, by its `__next__`."""

    stays_ended = False

    def __init__(self, interpreter: Interpreter, method: Any) -> None:
        super().__init__(interpreter)
        self.method = method

    def draw(self, k: int) -> Any:
        outcome = _asked(self.interpreter, self.method)
        if all(map(_ends, leaves_of(outcome))):
            raise StopIteration
        if any(map(_ends, leaves_of(outcome))):
            raise TraceError("TJ029", "an iterator that ends where the run says", user_line())
        return self.interpreter.settled(outcome).value


def given_by_iter(interpreter: Any, x: Any) -> Any:
    """What an `__iter__` of the program's own gives, which has to be an iterator."""
    if isinstance(x, (Position, GeneratorCall)) or isinstance(x, Items) and x.once:
        return x
    method = special(interpreter, x, "__next__")
    if method is not None:
        return interpreter.allocate(OfInstance(interpreter, method))
    raise TraceError("TJ029", f"a {type(x).__name__} that __iter__ gives", user_line())


def _asked(interpreter: Any, method: Any) -> Any:
    """The outcome of `__next__`: an operand, or exceptions."""

    from tracejit.frontend.control.branches import Operand
    from tracejit.frontend.control.exceptions import Handlers

    with interpreter.trying(Handlers([(lambda: StopIteration, "", None)], asks=True)):
        return interpreter.bounded(lambda: Operand(interpreter.call(method)), Names((), ()))


def next_of_instance(interpreter: Any, method: Any, *default: Any) -> Any:
    """`next(x)` of an object whose `__next__` is the program's: it may end where the run says."""
    outcome = _asked(interpreter, method)
    if default and any(map(_ends, leaves_of(outcome))):
        p = choose(outcome, _ends)
        if p is True:
            return default[0]
        rest = interpreter.settled(without(outcome, _ends)).value
        return interpreter.ternary(p, lambda: default[0], lambda: rest)
    return interpreter.settled(outcome).value


def _ends(outcome: Any) -> bool:
    return isinstance(outcome, Raised) and issubclass(outcome.error.cls, StopIteration)


def iterator_over(interpreter: Interpreter, x: Any) -> Any:
    """The iterator of `x` that a program may ask now and again."""
    return drawn_from(interpreter, interpreter.iterate(x), x)


def drawn_from(interpreter: Interpreter, items: Iterator[Any], x: Any) -> Any:
    """`items`, those of `x`, as an object with a position."""
    made: Any
    if isinstance(items, Position):
        return items
    if type(x) in (list, tuple, str, bytes, range) or isinstance(x, tuple):
        made = _Walked(interpreter, x) if type(x) is not list or not is_grown(x) else None
        made = made or _Grown(interpreter, x)
    elif isinstance(x, TracedArray):
        made = _Walked(interpreter, x)
    elif type(x) is dict or type(x) in VIEWS or type(x) in (set, frozenset):
        made = _Keyed(interpreter, x)
    else:
        made = Foreign(interpreter, items)
        # A deque looks whether it has changed, even where it has ended.
        made.ended = LEFT if isinstance(x, StandIn) else made.ENDED
    return interpreter.allocate(made)


class _Grown(_Walked):
    """`iter(x)` of a list that grows with data."""

    def __init__(self, interpreter: Interpreter, x: Any) -> None:
        Position.__init__(self, interpreter)
        self.walked, self.last = x, None

    def remaining(self) -> Items | None:
        return items_of(self.walked) if self.position == 0 else None


def reversed_over(interpreter: Interpreter, x: Any) -> Any:
    """`reversed(x)` of a list, tuple, text, range or dict."""
    of = _Keyed if type(x) is dict else _Walked
    return interpreter.allocate(of(interpreter, x, True))
