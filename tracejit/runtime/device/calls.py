"""Calls of a decorated function whose arrays lie on a device, or are moved there.

The arrays are dressed as ghosts, a compiled function for the device answers, and what it gives is
undressed: arrays of the library that the arguments came from. What has no code for the device runs
on the host, compiled where it can be, and the report says so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from tracejit.base.locks import long_lock
from tracejit.errors import DeviceError
from tracejit.runtime.device.detect import host_library
from tracejit.runtime.device.ghosts import ghost, holder_of
from tracejit.runtime.device.library import Library, Moved

__all__ = ["DeviceCalls", "OnHost"]


class DeviceCalls:
    """The calls of one function on one device, one at a time.

    `make(calls, part)` gives a compiled form of the function for the device, whose eager runs are
    those of `part`; `host` is the one for the host.
    """

    def __init__(
        self,
        device: Any,
        make: Callable[[Any, Any], Any],
        host: Callable[..., Any],
    ) -> None:
        self.device, self._host = device, host
        self._lock = long_lock()
        self._library: Library | None = None
        self._dressed: _Dressed | None = None
        self._given: tuple[Sequence[Any], Mapping[str, Any]] = ((), {})
        self.function = make(self, OnHost(self))

    def __call__(self, library: Library, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result of a call with arrays of a library."""
        dressed = _Dressed(library, self.device)
        value = dressed.value
        given = [mapped(x, value) for x in args]
        named = {k: mapped(x, value) for k, x in kwargs.items()} if kwargs else {}
        with self._lock:
            outer = self._library, self._dressed, self._given
            self._library, self._dressed, self._given = library, dressed, (args, kwargs)
            before, stream = self.device.enter(), self.device.stream
            try:
                self.device.stream = library.stream()
                return _undressed(self.function(*given, **named), dressed)
            finally:
                self._library, self._dressed, self._given = outer
                try:
                    moved = dressed.moved
                    if moved is not None:
                        moved.end(self._stores())
                finally:
                    self.device.stream = stream
                    self.device.leave(before)

    def _stores(self) -> bool:
        """Whether some program may store into arrays that it is given."""
        return any(
            getattr(leaf, "writeable", False)
            for structure in self.function._structures.values()
            for variant in structure.variants
            for leaf in variant.traced.specialization.leaves
        )

    def make(
        self, dtype: np.dtype[Any], shape: tuple[int, ...], order: tuple[int, ...], scalar: bool
    ) -> tuple[np.ndarray[Any, Any], int]:
        """The ghost of a new array for a result of the present call, and its address."""
        library = self._library
        assert library is not None
        owner = library.empty(shape, dtype, order, scalar)
        address, _, strides, _, _ = library.describe(owner)
        return ghost(owner, address, shape, strides, dtype), address

    def captured(self, values: Sequence[Any]) -> list[Any]:
        """What was captured from outside, dressed; arrays of the host are moved for the call."""
        assert self._dressed is not None
        return [self._dressed.outside(x) for x in values]

    def like(self, x: Any) -> np.ndarray[Any, Any] | None:
        """An array of the host like one of the device, from outside the arguments of a call."""
        library, dressed = self._library, self._dressed
        if library is None or dressed is None or not library.is_away or not library.owns(x):
            return None
        return library.fetch([(dressed.outside(x), x)])[0]

    def samples(self, leaves: Sequence[Any]) -> list[Any]:
        """The leaves of a call as arrays of the host, for a trace: same shapes and strides."""
        return [self._sample(x) if isinstance(x, np.ndarray) else x for x in leaves]

    def _sample(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        holder = holder_of(x)
        if holder is None:
            return x
        assert self._library is not None
        if isinstance(holder.owner, np.ndarray):
            return holder.owner
        return self._library.fetch([(x, holder.owner)])[0]

    def _ghosts(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> list[tuple[np.ndarray[Any, Any], Any]]:
        """The ghosts among arguments, each with the array that it stands for."""
        found: dict[int, tuple[np.ndarray[Any, Any], Any]] = {}

        def find(x: Any) -> Any:
            if isinstance(x, np.ndarray) and (holder := holder_of(x)) is not None:
                found[id(x)] = x, holder.owner
            return x

        for x in (*args, *kwargs.values()):
            mapped(x, find)
        return list(found.values())

    def keep(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Callable[[], None]:
        """What gives the arrays of a call their present contents again."""
        library = self._library
        assert library is not None
        ghosts = [(x, owner) for x, owner in self._ghosts(args, kwargs) if x.flags.writeable]
        copies = [copy.copy() for copy in library.fetch(ghosts)]

        def restore() -> None:
            for (x, owner), copy in zip(ghosts, copies, strict=True):
                if isinstance(owner, np.ndarray):
                    owner[...] = copy
                else:
                    library.put(owner, x, copy)

        return restore

    def on_host(self) -> Any:
        """The present call, on the host; what it stores there is copied back."""
        library, dressed, (args, kwargs) = self._library, self._dressed, self._given
        assert library is not None and dressed is not None
        library.ran_on_host()
        if not library.is_away:
            return self._host(*args, **kwargs)
        ghosts = [x for x in dressed.known.values() if library.owns(x[1])]
        copies = library.fetch(ghosts)
        here = {id(owner): copy for (_, owner), copy in zip(ghosts, copies, strict=True)}
        before = [copy.copy() for copy in copies]
        made: list[tuple[Any, Any]] = []

        def replaced(x: Any) -> Any:
            return here.get(id(x), x)

        given = [mapped(x, replaced, made) for x in args]
        named = {k: mapped(x, replaced, made) for k, x in kwargs.items()}
        known = {id(copy): ghost for (ghost, _), copy in zip(ghosts, copies, strict=True)}

        def there(x: Any) -> Any:
            if id(x) not in known and isinstance(x, np.ndarray):
                known[id(x)] = library.given(self, x)
                dressed.kept.append(x)
            return known.get(id(x), x)

        try:
            return mapped(self._host(*given, **named), there)
        finally:
            for (x, owner), copy, old in zip(ghosts, copies, before, strict=True):
                if copy.tobytes() != old.tobytes():
                    library.put(owner, x, copy)
            for container, changed in made:
                fill(container, _undressed(mapped(changed, there), dressed))


class OnHost:
    """Eager runs of a function for a device, as its dispatcher asks for them."""

    most_variants = 16
    raises = True

    def __init__(self, calls: DeviceCalls) -> None:
        self._calls = calls

    def plain(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run on the host."""
        return self._calls.on_host()

    def current(self) -> Any:
        """What an eager run calls."""
        return self.plain

    def run(self, args: Any) -> Any:
        """What to call where no compiled code answers."""
        return self.plain

    def missed(self) -> None:
        """Compiled code has not answered."""

    def is_ready(self) -> bool:
        """Whether a call is to be compiled."""
        return True

    def compiling(self) -> Any:
        """Around a compile."""
        return nullcontext()

    def failed(self, fallback: Any, error: Exception) -> None:
        """A compile has ended in an error."""


class _Dressed:
    """Arguments with ghosts for arrays of the device."""

    def __init__(self, library: Library, device: Any) -> None:
        self.library, self._device = library, device
        #: Where arrays of the host are, if some are moved.
        self.moved = library if isinstance(library, Moved) else None
        #: id of a ghost -> the ghost and the array that it stands for.
        self.known: dict[int, tuple[Any, Any]] = {}
        self._ghosts: dict[int, Any] = {}
        #: What must live as long as the call, since it is known by its id.
        self.kept: list[Any] = []

    def value(self, x: Any) -> Any:
        """A leaf of the arguments, dressed if it is an array. Raises DeviceError."""
        if self.library.owns(x):
            return self._dress(x)
        if isinstance(x, np.ndarray):
            raise DeviceError(
                f"an array of NumPy, {x.dtype}{list(x.shape)}, beside arrays on a device: move it "
                "there, or all of them to the host"
            )
        if host_library(type(x)) is not None:
            raise DeviceError("an array on the host beside arrays on a device: move one")
        return x

    def outside(self, x: Any) -> Any:
        """A value from outside the arguments, dressed; an array of the host is moved."""
        if self.library.owns(x):
            return self._dress(x)
        if not isinstance(x, np.ndarray):
            return x
        if self.moved is None:
            self.moved = Moved(self._device)
        return self._dress(x, self.moved)

    def _dress(self, x: Any, library: Library | None = None) -> Any:
        if id(x) in self._ghosts:
            return self._ghosts[id(x)]
        address, shape, strides, dtype, read_only = (library or self.library).describe(x)
        made = ghost(x, address, shape, strides, dtype, read_only)
        self._ghosts[id(x)] = made
        self.known[id(made)] = made, x
        return made


def _undressed(result: Any, dressed: _Dressed) -> Any:
    """A result with arrays of the library in place of ghosts."""
    known = dressed.known

    def one(x: Any) -> Any:
        if not isinstance(x, np.ndarray):
            return x
        if id(x) in known:
            return known[id(x)][1]
        holder = holder_of(x)
        if holder is None:
            return x
        base: Any = x.base
        whole = base is holder
        library = dressed.library
        if isinstance(holder.owner, np.ndarray) and dressed.moved is not None:
            library = dressed.moved
        given = library.result(holder.owner, None if whole else x)
        known[id(x)] = x, given
        return given

    return one(result) if isinstance(result, np.ndarray) else mapped(result, one)


#: Classes that are no containers: these, and some that were asked.
_LEAVES: set[Any] = {np.ndarray, int, float, complex, bool, str, type(None)}
_MOST_LEAVES = 256


def mapped(x: Any, one: Callable[[Any], Any], made: list[tuple[Any, Any]] | None = None) -> Any:
    """A value with what its containers hold replaced; a container without a change stays itself.

    Those that can be changed are added to `made`, each with what takes its place.
    """
    cls: Any = type(x)
    if cls in _LEAVES:
        return one(x)
    new: Any
    if cls is dict:
        items = {k: mapped(v, one, made) for k, v in x.items()}
        same, new = all(items[k] is v for k, v in x.items()), items
    elif cls is list or issubclass(cls, tuple):
        parts = [mapped(v, one, made) for v in x]
        same = all(a is b for a, b in zip(parts, x, strict=True))
        new = parts if cls is list else x if same else tuple.__new__(cls, parts)
    elif dataclasses.is_dataclass(x) and not isinstance(x, type):
        names = [f.name for f in dataclasses.fields(x) if hasattr(x, f.name)]
        found = {name: getattr(x, name) for name in names}
        values = {k: mapped(v, one, made) for k, v in found.items()}
        same, new = all(values[k] is v for k, v in found.items()), cls.__new__(cls)
        fill(new, values)
    else:
        if len(_LEAVES) < _MOST_LEAVES:
            _LEAVES.add(cls)
        return one(x)
    if same:
        return x
    if made is not None and not issubclass(cls, tuple):
        made.append((x, new))
    return new


def fill(container: Any, contents: Any) -> None:
    """Have a list, dict or instance hold what another one, or a dict of attributes, holds."""
    if type(container) is list:
        container[:] = contents
    elif type(container) is dict:
        container.clear()
        container.update(contents)
    else:
        if not isinstance(contents, dict):
            contents = {f.name: getattr(contents, f.name) for f in dataclasses.fields(contents)}
        for name, value in contents.items():
            object.__setattr__(container, name, value)
