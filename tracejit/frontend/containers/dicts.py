"""Dicts and sets whose keys are numbers of the run: their methods, and where they begin.

A dict or set that the program makes is Python's own as long as its keys are known while tracing.
Where it meets a key that is not, `Tabled` leaves the trace, and the next one makes a table in its
place (see tables.py), where the program makes it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from tracejit.errors import PACKAGE, TraceError
from tracejit.frontend.containers.grown_lists import holds_or_raises
from tracejit.frontend.containers.tables import Table, fits_table
from tracejit.frontend.containers.traced import direct, traced
from tracejit.frontend.control.growth import FEW
from tracejit.frontend.control.iteration import items_of
from tracejit.frontend.control.unions import require
from tracejit.frontend.tracing.checks import class_of
from tracejit.frontend.tracing.grown import Form, form_of, joined_form
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.items import Items
from tracejit.frontend.tracing.restarts import Tabled
from tracejit.frontend.tracing.standins import StandIn
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.trace import here, user_line
from tracejit.frontend.tracing.tracer import TracedScalar, Tracer

__all__ = [
    "DictView",
    "TracedDict",
    "TracedSet",
    "begun",
    "made_of",
    "meets_key",
    "settled_dict",
]

_MISSING: Any = object()
#: Bytes of a slot of a set, and how many slots a small one has.
_SLOT, _SLOTS = 16, 8


class TracedDict(Table):
    """A dict that is a table."""

    stands_for = dict

    @direct
    def items(self) -> Any:
        return DictView(self, "items")

    @direct
    def keys(self) -> Any:
        return DictView(self, "keys")

    @direct
    def values(self) -> Any:
        return DictView(self, "values")

    def iterated(self) -> Any:
        return _Entries(self, "keys")

    def result(self) -> Any:
        return dict, (self.held(),)

    @traced
    def __getitem__(self, key: Any) -> Any:
        place = self.find(key)
        known(place > 0)
        return self.value_at(place)

    @traced
    def __setitem__(self, key: Any, value: Any) -> None:
        self.put(key, value)

    @traced
    def __delitem__(self, key: Any) -> None:
        place = self.find(key)
        known(place > 0)
        self.remove_at(place)

    @traced
    def __contains__(self, key: Any) -> Any:
        return self.find(key) > 0

    @traced
    def get(self, key: Any, default: Any = None) -> Any:
        place = self.find(key)
        if place > 0:
            return self.value_at(place)
        return default

    @traced
    def setdefault(self, key: Any, default: Any = None) -> Any:
        parts = self.looked_up(key)
        h = self.hash_of(parts)
        place = self.search(parts, h)
        if place > 0:
            return self.value_at(place)
        self.takes(default)
        self.insert(key, h, default)
        return default

    @traced
    def pop(self, key: Any, *default: Any) -> Any:
        place = self.find(key)
        if len(default) == 0:
            known(place > 0)
        if place > 0:
            value = self.value_at(place)
            self.remove_at(place)
            return value
        return default[0]

    @traced
    def update(self, other: Any) -> None:
        for key, value in pairs_of(other):
            self.put(key, value)

    @traced
    def copy(self) -> Any:
        return dict(self)


class TracedSet(Table):
    """A set that is a table. Its order is Python's own: it is not known."""

    stands_for = set
    #: Whether its order is that of a set to which the entries were added one after the other.
    is_in_order = True

    def iterated(self) -> Any:
        raise TraceError("TJ022", "the order of a set of numbers of the run", user_line())

    def unordered(self) -> Any:
        """Its elements in some order."""
        return self.held(values=False)

    def result(self) -> Any:
        if self.numbers() is not None:
            raise TraceError("TJ022", "the order of a set that elements have left", user_line())
        if not self.is_in_order:
            raise TraceError("TJ022", "the order of a set made of another one", user_line())
        return set, (self.held(values=False),)

    @traced
    def __contains__(self, key: Any) -> Any:
        return self.find(key) > 0

    @traced
    def add(self, key: Any, value: Any = None) -> None:
        parts = self.looked_up(key)
        h = self.hash_of(parts)
        if self.search(parts, h) == 0:
            self.insert(key, h, value)

    @traced
    def discard(self, key: Any) -> None:
        place = self.find(key)
        if place > 0:
            self.remove_at(place)

    @traced
    def remove(self, key: Any) -> None:
        place = self.find(key)
        known(place > 0)
        self.remove_at(place)

    @traced
    def update(self, *others: Any) -> None:
        for other in others:
            for key in other:
                self.add(key)


@direct
def known(holds: Any) -> None:
    """Leave a run to Python in which a key is missing."""
    if isinstance(holds, TracedScalar):
        require(holds, True)
    else:
        holds_or_raises(holds, "a key")


@direct
def pairs_of(x: Any) -> Any:
    """The items of a dict; anything else is its own pairs."""
    return x.items() if class_of(x) is dict else x


# Views -------------------------------------------------------------------------------------------


class _Entries(Items):
    """The keys, values or items of a table, in order, for a loop over them."""

    once = False

    def __init__(self, table: Table, which: str) -> None:
        self.table, self.which = table, which
        self.numbers = table.numbers()
        self.length = table.interpreter.call(table.attribute("__len__"))
        self.seen = table.state()

    def item(self, k: Any) -> Any:
        place = self.table.interpreter.binary("add", k, 1)
        if self.numbers is not None:
            place = self.numbers[k]
        key = self.table.key_at(place) if self.which != "values" else None
        if self.which == "keys":
            return key
        value = self.table.value_at(place)
        return value if self.which == "values" else (key, value)

    def check(self) -> None:
        """A run that changes the number of entries is left to Python, which raises."""
        (size, gone), now = self.seen, self.table.state()
        if now[1] is not gone:
            raise TraceError("TJ029", "a dict that changes in a loop over it", user_line())
        same = self.table.interpreter.compare("eq", now[0], size)
        if isinstance(same, TracedScalar):
            require(same, True)
        elif not same:
            raise RuntimeError("dictionary changed size during iteration")


class DictView(StandIn):
    """`d.keys()`, `d.values()` or `d.items()` of a table."""

    def __init__(self, table: Any, which: str) -> None:
        self.table, self.which = table, which
        self.stands_for = type(getattr({}, which)())  # type: ignore[misc]

    def iterated(self) -> Any:
        return _Entries(self.table, self.which)

    def in_order(self) -> Any:
        """A list of what it holds."""
        return self.table.held(self.which != "values", self.which != "keys")

    @traced
    def __len__(self) -> Any:
        return len(self.table)

    @traced
    def __contains__(self, x: Any) -> Any:
        if self.which == "keys":
            return x in self.table
        for v in self:  # type: ignore[attr-defined]
            if (v,) == (x,):
                return True
        return False


# Where they begin --------------------------------------------------------------------------------


def _site() -> Any:
    """Where the program is: its code, and the instruction in it."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return None if frame is None else (frame.f_code, frame.f_lasti)


def begun(interpreter: Interpreter, x: Any, site: Any = None) -> Any:
    """A dict or set that the program has just made, or the table that it is to be."""
    site = site or _site()
    interpreter.capture.sites[id(x)] = x, site
    forms = interpreter.capture.learned.tables.get(site)
    if forms is None or interpreter.capture.learned.plain_lists:
        return interpreter.allocate(x)
    table = _table(interpreter, type(x), site, forms)
    if type(x) is set and not _is_made_in_order(x):
        table.is_in_order = False
    for key in x:
        interpreter.call(table.attribute("put"), key, x[key] if type(x) is dict else None)
    return table


def _is_made_in_order(x: set[Any]) -> bool:
    """Whether one by one, in their order, the elements make a set that is the same inside."""
    size = sys.getsizeof(x)
    slots = (size - sys.getsizeof(set())) // _SLOT or _SLOTS
    places = {hash(v) & (slots - 1) for v in x}
    return len(places) == len(x) and sys.getsizeof(set(iter(x))) == size


def _table(interpreter: Interpreter, cls: type, site: Any, forms: tuple[Form, Form | None]) -> Any:
    interpreter.capture.learned.grew = True
    made = TracedDict if cls is dict else TracedSet
    return interpreter.allocate(made(interpreter, site, *forms))


def made_of(interpreter: Interpreter, cls: type, items: Any) -> Any:
    """`dict(items)` or `set(items)` of items that are numbers of the run; None for others."""
    if isinstance(items, TracedDict) and cls is dict:
        items = items.items()
    is_copy = isinstance(items, TracedSet) and cls is set
    if isinstance(items, TracedSet):
        items = items.unordered() if cls is set else items
    if isinstance(items, Items):
        items = interpreter.call(list, items)  # To look at one would run what makes it.
    by_number = items_of(items)
    if interpreter.capture.learned.plain_lists or isinstance(items, range) or by_number is None:
        return None
    if isinstance(by_number.length, int) and by_number.length == 0:
        return None
    first = _example(by_number)
    if cls is dict and not (type(first) is tuple and len(first) == 2):
        return None
    key, value = first if cls is dict else (first, None)
    forms = form_of(key), form_of(value) if cls is dict else None
    site = _site()
    if interpreter.capture.learned.tables.get(site) is None:
        _require_forms(forms, cls)
        raise Tabled(site, forms)
    table = _table(interpreter, cls, site, interpreter.capture.learned.tables[site])
    if is_copy:
        table.is_in_order = False
    interpreter.call(table.attribute("update"), items)
    return table


def _example(items: Items) -> Any:
    """An item, to see of what form it is."""
    return items.item(0)


def meets_key(interpreter: Interpreter, x: Any, key: Any, value: Any = _MISSING) -> None:
    """Raise Tabled where a dict or set made by the program meets a key that is not known."""
    if not _is_unknown(key) or id(x) not in interpreter.capture.sites:
        return
    if interpreter.capture.learned.plain_lists:
        return
    if not _is_traced(key) and _is_short(interpreter):
        return
    held, site = interpreter.capture.sites[id(x)]
    if held is not x or not interpreter.is_local(x):
        return
    keys = {form_of(k) for k in (*x, key)}
    values: set[Form | None] = {None}
    if type(x) is dict:
        given: Iterable[Any] = x.values() if value is _MISSING else (*x.values(), value)
        values = {joined_form(*map(form_of, given))}
    if len(keys) != 1 or len(values) != 1:
        return
    forms = keys.pop(), values.pop()
    known = interpreter.capture.learned.tables.get(site)
    if known is None and fits_table(forms, type(x)):
        raise Tabled(site, forms)


def _is_traced(key: Any) -> bool:
    return any(map(_is_traced, key)) if type(key) is tuple else isinstance(key, Tracer)


def _is_short(interpreter: Interpreter) -> bool:
    """Whether the program is in a loop of few iterations, which know their numbers."""
    loop = interpreter.rolling[-1] if interpreter.rolling else None
    return loop is not None and isinstance(loop.iterations, int) and loop.iterations <= FEW


def _require_forms(forms: tuple[Form | None, Form | None], cls: type) -> None:
    if not fits_table(forms, cls):
        raise TraceError("TJ001", f"what a {cls.__name__} is made of", user_line())


def _is_unknown(key: Any) -> bool:
    if isinstance(key, SymInt):
        return not here().env.is_known(key.dim)
    if type(key) is tuple:
        return any(map(_is_unknown, key))
    return isinstance(key, Tracer)


def settled_dict(x: Any) -> Any:
    """A stand-in of a dict or set, or of a view, as a list of what it holds; others as they are."""
    if isinstance(x, TracedSet):
        return x.unordered()
    return x.in_order() if isinstance(x, DictView) else x
