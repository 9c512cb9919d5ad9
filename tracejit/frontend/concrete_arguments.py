"""The arguments of a function that is run on concrete tracers, and what it has stored into them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.frontend.cells import Cell
from tracejit.frontend.concrete import TRACED_DTYPES, ConcreteTrace, LostGradient
from tracejit.frontend.concrete_tracers import ConcreteArray, ConcreteScalar
from tracejit.frontend.containers import (
    build_dataclass,
    dataclass_fields,
    is_namedtuple,
    is_plain_dataclass,
)

__all__ = ["Arguments", "in_containers", "plain_value"]


class Arguments:
    """Stand-ins for the arguments of a call: arrays of floats get tracers, with their own memory.

    Lists, dicts and dataclasses are made anew around them; tracers of the trace stay themselves.
    """

    def __init__(
        self, trace: ConcreteTrace, args: Sequence[Any], kwargs: Mapping[str, Any], is_inner: bool
    ) -> None:
        self.trace, self.is_inner = trace, is_inner
        #: Arrays, and the tracers that stand for them.
        self.arrays: list[tuple[np.ndarray[Any, Any], ConcreteArray]] = []
        #: Lists, dicts and dataclasses, what stands for them, and what that held at first.
        self.containers: list[tuple[Any, Any, Any]] = []
        self.args = tuple(map(self._stand_in, args))
        self.kwargs = {name: self._stand_in(x) for name, x in kwargs.items()}

    def _stand_in(self, x: Any) -> Any:
        cls = type(x)
        if cls is np.ndarray:
            return self._array(x) if x.dtype in TRACED_DTYPES else x
        if cls is tuple or is_namedtuple(cls):
            return tuple.__new__(cls, map(self._stand_in, x))
        new: Any
        if cls is list:
            new = list(map(self._stand_in, x))
        elif cls is dict:
            new = {k: self._stand_in(v) for k, v in x.items()}
        elif is_plain_dataclass(x):
            names = dataclass_fields(x) or ()
            new = build_dataclass(cls, {n: self._stand_in(getattr(x, n)) for n in names})
        else:
            return x
        self.containers.append((x, new, dict(_items(new))))
        return new

    def _array(self, x: np.ndarray[Any, Any]) -> ConcreteArray:
        for given, tracer in self.arrays:
            if given is x:
                return tracer
        out = ConcreteArray(self.trace, Cell(self.trace, self.trace.foreign(x)))
        if not x.flags.writeable:
            out.cell.input = -1
        self.arrays.append((x, out))
        return out

    def put_back(self) -> None:
        """Let the arguments hold what their stand-ins hold now.

        Raises LostGradient where memory was stored into that two of them share.
        """
        for x, tracer in self.arrays:
            if not tracer.cell.written:
                continue
            if any(y is not x and np.shares_memory(x, y) for y, _ in self.arrays):
                raise LostGradient("a store into an argument that shares memory with another")
            x[...] = tracer.known()
        for x, new, before in self.containers:
            now = dict(_items(new))
            if now.keys() == before.keys() and all(now[k] is before[k] for k in now):
                continue
            changed = in_containers(self.original, now)
            if type(x) is list:
                x[:] = changed.values()
            elif type(x) is dict:
                x.clear()
                x.update(changed)
            else:
                for name, part in changed.items():
                    object.__setattr__(x, name, part)

    def original(self, x: Any) -> Any:
        """What the caller gets for a tracer: its own array, where that is what the tracer is."""
        for given, tracer in self.arrays:
            if x is tracer:
                return given
        for made_of, new, _ in self.containers:
            if x is new:
                return made_of
        return x if self.is_inner else plain_value(x)


def plain_value(x: Any) -> Any:
    """The array or number that a tracer stands for."""
    if not isinstance(x, (ConcreteArray, ConcreteScalar)):
        return x
    known = x.known()
    return np.array(known, order="K") if isinstance(known, np.ndarray) else known


def in_containers(f: Callable[[Any], Any], x: Any) -> Any:
    """`x` with `f` of its parts; containers are made anew where `f` does not replace them."""
    new = f(x)
    if new is not x:
        return new
    cls = type(x)
    if cls is list:
        return [in_containers(f, v) for v in x]
    if cls is tuple or is_namedtuple(cls):
        return tuple.__new__(cls, [in_containers(f, v) for v in x])
    if cls is dict:
        return {k: in_containers(f, v) for k, v in x.items()}
    if is_plain_dataclass(x):
        names = dataclass_fields(x) or ()
        return build_dataclass(cls, {n: in_containers(f, getattr(x, n)) for n in names})
    return x


def _items(x: Any) -> Any:
    """What a container holds, as pairs of a key and a part."""
    if isinstance(x, list):
        return enumerate(x)
    if isinstance(x, dict):
        return x.items()
    return ((name, getattr(x, name)) for name in dataclass_fields(x) or ())
