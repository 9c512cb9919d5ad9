"""A call with arrays of another library becomes one with NumPy's views of them, and back.

Lists and dicts among the arguments, and objects of the program that lead to such arrays, are copied
for the call, with views in their place; what the call has changed in a copy is changed in the
original. Results, and what these get, are arrays of the same library, with the memory that NumPy's
had; where it is an argument that comes out, that is what the caller gets.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from types import FunctionType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from tracejit import config
from tracejit.errors import DeviceError
from tracejit.frontend.tracing.contents import contents_of, put_contents
from tracejit.frontend.tracing.instances import is_instance
from tracejit.frontend.tracing.pytree import build_dataclass, flatten
from tracejit.runtime.call.signature import leaf_key
from tracejit.runtime.device.detect import is_on_device, is_torch_module
from tracejit.runtime.exchange.libraries import Library, library_of

__all__ = ["Exchange", "call_with_views", "with_views"]

_NONE: frozenset[int] = frozenset()
_PLAIN = frozenset({int, float, complex, str, bool, type(None), bytes, slice, range})


def call_with_views(jitted: Any, array: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of a call with arrays of the library of this array, which is on the host.

    Raises TypeError for one that NumPy can have no view of, and for arrays of several libraries,
    DeviceError for arrays on a device beside them.
    """
    library = library_of(array)
    assert library is not None
    exchange = Exchange(library, (*args, *kwargs.values()))
    given = [exchange.taken(x) for x in args]
    named = {name: exchange.taken(x) for name, x in kwargs.items()}
    stores = _Stores(jitted, exchange.views, given, named) if library.counts_stores else None
    try:
        result = jitted(*given, **named)
    finally:
        exchange.put_back()
        stored = stores.found() if stores is not None else ()
        if stored:
            library.stored([exchange.original(v) for v in stored])
    return exchange.given(result)


def with_views(
    array: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call with views of NumPy's in the place of a library's arrays."""
    library = library_of(array)
    assert library is not None
    exchange = Exchange(library, (*args, *kwargs.values()))
    given = tuple([exchange.taken(x) for x in args])
    return given, {name: exchange.taken(x) for name, x in kwargs.items()}


class Exchange:
    """What stands for the values of one call while it runs."""

    def __init__(self, library: Library, values: Sequence[Any]) -> None:
        self._library = library
        #: id -> NumPy's view of an array, or the copy of a container; and the same back.
        self._taken: dict[int, Any] = {}
        self._given: dict[int, Any] = {}
        #: What must live as long as this, since it is known by its id.
        self._kept: list[Any] = list(values)
        self._copies: list[tuple[Any, Any, Any]] = []
        self.views: list[np.ndarray[Any, Any]] = []
        others = []
        for x in values:
            if type(x) is np.ndarray:
                self._given[id(x)] = x
            elif type(x) in _PLAIN:
                continue
            elif library.owns(x) and not is_on_device(x):
                self._view(x)
            else:
                others.append(x)
        self._leading = self._find(others) if others else _NONE

    def _find(self, values: Iterable[Any]) -> Set[int]:
        """The ids of what is copied: what leads to arrays of the library, and lists and dicts."""
        holders: dict[int, list[int]] = {}
        found: list[int] = []
        leading: set[int] = set()
        # What objects hold comes last: a list is one of the arguments where it is that, too.
        pending = deque([(x, 0, False) for x in values])
        while pending:
            x, holder, is_attribute = pending.pop()
            if type(x) in _PLAIN or isinstance(x, np.generic):
                continue
            known = holders.setdefault(id(x), [])
            known.append(holder)
            if len(known) > 1:
                continue
            self._given[id(x)] = x
            if type(x) is np.ndarray:
                continue
            if is_on_device(x):
                raise DeviceError("an array on a device beside arrays on the host: move one")
            if self._library.owns(x):
                self._view(x)
                found.append(id(x))
                continue
            other = library_of(x)
            if other is not None:
                raise TypeError(f"arrays of {other.name} beside those of {self._library.name}")
            if type(x) in (list, dict) and not is_attribute:
                leading.add(id(x))
                found.append(id(x))
            is_attribute |= is_instance(x)
            parts = [(part, id(x), is_attribute) for part in _referents(x)]
            pending.extendleft(parts) if is_attribute else pending.extend(parts)
        while found:
            for holder in holders.get(found.pop(), ()):
                if holder not in leading:
                    leading.add(holder)
                    found.append(holder)
        return leading

    def _view(self, x: Any) -> None:
        if id(x) in self._taken:
            return
        view = self._library.view(x)
        self._taken[id(x)], self._given[id(view)] = view, x
        self._kept += [x, view]
        self.views.append(view)

    def taken(self, x: Any, inside: bool = False) -> Any:
        """What stands for a value; `inside` of what is copied, all containers are."""
        if type(x) in _PLAIN:
            return x
        if id(x) in self._taken:
            return self._taken[id(x)]
        if not inside and id(x) not in self._leading:
            return x
        if isinstance(x, tuple):
            new: Any = tuple.__new__(type(x), [self.taken(v, True) for v in x])
            self._keep(x, new)
        elif type(x) in (list, dict) or is_instance(x):
            contents = contents_of(x)
            new = _empty(type(x))
            self._keep(x, new)
            put_contents(new, _mapped(contents, lambda v: self.taken(v, True)))
            self._copies.append((x, new, contents_of(new)))
        else:
            return x
        return new

    def _keep(self, x: Any, new: Any) -> None:
        self._taken[id(x)], self._given[id(new)] = new, x
        self._kept += [x, new]

    def original(self, view: Any) -> Any:
        """The array that a view is of."""
        return self._given[id(view)]

    def stands_for(self, x: Any, array: Any) -> None:
        """Have an array of the library be given for a value of the call."""
        self._given[id(x)] = array
        self._kept += [x, array]

    def stored(self) -> list[Any]:
        """What the call has put into containers and objects."""
        found: list[Any] = []
        for _, new, before in self._copies:
            old = set(map(id, before.values() if isinstance(before, dict) else before))
            now = contents_of(new)
            found += [
                v for v in (now.values() if isinstance(now, dict) else now) if id(v) not in old
            ]
        return found

    def put_back(self) -> None:
        """Change in the originals what the call has changed in their copies."""
        for x, new, before in self._copies:
            now = contents_of(new)
            if not _same(before, now):
                put_contents(x, _mapped(now, self.given))

    def given(self, x: Any) -> Any:
        """A value of the call, with arrays of the library in place of NumPy's."""
        cls = type(x)
        if cls in _PLAIN:
            return x
        if id(x) in self._given:
            return self._given[id(x)]
        if cls is np.ndarray or isinstance(x, np.generic):
            new = self._library.array(x)
        elif isinstance(x, tuple):
            parts = [self.given(v) for v in x]
            new = x if _same(parts, list(x)) else tuple.__new__(cls, parts)
        elif cls in (list, dict) or is_instance(x):
            self._given[id(x)] = new = x
            now = contents_of(x)
            contents = _mapped(now, self.given)
            if not _same(contents, now):
                new = _empty(cls)
                put_contents(new, contents)
        else:
            return x
        self._given[id(x)] = new
        self._kept += [x, new]
        return new


def _referents(x: Any) -> Iterator[Any]:
    if isinstance(x, (list, tuple)):
        yield from x
    elif type(x) is dict:
        yield from x.values()
    elif is_instance(x) and not is_torch_module(type(x)):
        # Asking for its dict would make one, with which Python is slower.
        for part in gc.get_referents(x):
            if not isinstance(part, (type, FunctionType, ModuleType)):
                yield part


def _empty(cls: type) -> Any:
    return cls() if cls in (list, dict) else build_dataclass(cls, {})


def _mapped(contents: Any, one: Callable[[Any], Any]) -> Any:
    if isinstance(contents, dict):
        return {name: one(v) for name, v in contents.items()}
    return [one(v) for v in contents]


def _same(a: Any, b: Any) -> bool:
    """Whether two lists, or dicts, hold the same objects in the same order."""
    if isinstance(a, dict):
        return list(a) == list(b) and _same(list(a.values()), list(b.values()))
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


#: How many variants a function had, and whether any of them stores into arrays that it is given.
_KNOWN: WeakKeyDictionary[Any, tuple[int, bool]] = WeakKeyDictionary()


class _Stores:
    """Which views a call stores into. What runs as Python is asked for what has changed."""

    def __init__(
        self, jitted: Any, views: Sequence[Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        self._jitted, self._given = jitted, (args, kwargs)
        self._views = [v for v in views if v.flags.writeable]
        self._runs = self._python_runs()
        report = jitted._report
        unsure = config.is_eager() or not report.variants or any(self._runs[1:])
        unsure |= jitted._options.moves is not None
        self._before = [v.tobytes() for v in self._views] if unsure else None

    def _python_runs(self) -> tuple[Any, ...]:
        report, plain = self._jitted._report, self._jitted._plain_calls
        errors = sum(report.errors.values())
        return report.bailouts, len(report.fallbacks), errors, plain.answers_some

    def found(self) -> list[Any]:
        """The views that were stored into, once the call has ended."""
        if self._before is not None:
            pairs = zip(self._before, self._views, strict=True)
            return [v for before, v in pairs if before != v.tobytes()]
        if self._runs != self._python_runs():
            return self._views
        return self._by_variants()

    def _by_variants(self) -> list[Any]:
        jitted = self._jitted
        count, stores = _KNOWN.get(jitted, (0, False))
        if count != len(jitted._report.variants):
            count, stores = len(jitted._report.variants), any(map(_stored, _variants(jitted)))
            _KNOWN[jitted] = count, stores
        if not stores:
            return []
        args, kwargs = self._given
        form = len(args), tuple(kwargs)
        if kwargs:
            args, kwargs = jitted._binder.bind(form, tuple(args), dict(kwargs))
        leaves, tree = flatten(args, kwargs, jitted._few)
        structure = jitted._structures.get((tree, tuple(map(leaf_key, leaves))))
        if structure is None or not structure.variants:
            return self._views
        places = set[int]().union(*map(_stored, structure.variants))
        if any(k >= len(leaves) for k in places):
            return self._views
        stored = {id(leaves[k]) for k in places}
        return [v for v in self._views if id(v) in stored]


def _variants(jitted: Any) -> Iterator[Any]:
    for structure in list(jitted._structures.values()):
        yield from structure.variants


def _stored(variant: Any) -> set[int]:
    """The numbers of the leaves that a variant stores into."""
    leaves = variant.traced.specialization.leaves
    return {k for k, leaf in enumerate(leaves) if getattr(leaf, "writeable", False)}
