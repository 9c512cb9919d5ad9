"""The arguments of a function that is run on concrete tracers, and what it has stored into them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.frontend.capture.globals import captured_arrays
from tracejit.frontend.eager.text import plain_text
from tracejit.frontend.eager.tracers import ConcreteArray
from tracejit.frontend.tracing.concrete_trace import TRACED_DTYPES, ConcreteTrace, LostGradient
from tracejit.frontend.tracing.contents import contents_of
from tracejit.frontend.tracing.instances import is_instance
from tracejit.frontend.tracing.memory.storage import Storage
from tracejit.frontend.tracing.pytree import (
    build_dataclass,
    dataclass_fields,
    is_namedtuple,
    is_plain_dataclass,
)
from tracejit.frontend.tracing.tracer import Tracer
from tracejit.ir.op import OPS

__all__ = ["Arguments", "in_containers"]


class Arguments:
    """Stand-ins for the arguments of a call: arrays of floats get tracers, with their own memory.

    Lists, dicts, dataclasses and instances are made anew around them; tracers of the trace stay
    themselves.
    """

    def __init__(
        self, trace: ConcreteTrace, args: Sequence[Any], kwargs: Mapping[str, Any], is_inner: bool
    ) -> None:
        self.trace, self.is_inner = trace, is_inner
        #: Arrays, and the tracers that stand for them.
        self.arrays: list[tuple[np.ndarray[Any, Any], ConcreteArray]] = []
        #: Arrays of other dtypes, which the program gets itself, and what they held at first.
        self._others: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = []
        #: Objects that the program gets as they are, and what else it gets by them.
        self.objects: list[Any] = []
        self._kept = is_inner
        #: Lists, dicts, dataclasses and instances, their stand-ins, and what these held at first.
        self.containers: list[tuple[Any, Any, Any]] = []
        #: id -> what stands for a container, an instance, or an array that is its attribute.
        self._in_objects: dict[int, Any] = {}
        #: What the caller gets for memory, and (with the tracer itself) for a tracer.
        self._memories: dict[Storage, Any] = {}
        self._real: dict[int, tuple[Any, Any]] = {}
        self.args = tuple(map(self._placeholder, args))
        self.kwargs = {name: self._placeholder(x) for name, x in kwargs.items()}

    def _placeholder(self, x: Any) -> Any:
        cls = type(x)
        if cls is np.ndarray:
            return self._array(x) if x.dtype in TRACED_DTYPES else self._other(x)
        if cls is tuple or is_namedtuple(cls):
            return tuple.__new__(cls, map(self._placeholder, x))
        if id(x) in self._in_objects:
            return self._in_objects[id(x)]
        new: Any
        if cls is list:
            new = self._in_objects[id(x)] = []
            new += map(self._placeholder, x)
        elif cls is dict:
            new = self._in_objects[id(x)] = {}
            new.update((k, self._placeholder(v)) for k, v in x.items())
        elif is_plain_dataclass(x):
            names = dataclass_fields(x) or ()
            new = build_dataclass(cls, {n: self._placeholder(getattr(x, n)) for n in names})
        elif is_instance(x):
            return self._instance(x)
        else:
            self.objects.append(x)
            return x
        self._in_objects[id(x)] = new
        self.containers.append((x, new, dict(_items(new))))
        return new

    def _instance(self, x: Any) -> Any:
        known = self._in_objects
        if id(x) not in known:
            # Its methods may know arrays by other names.
            self.objects.append(type(x))
            new = known[id(x)] = build_dataclass(type(x), {})
            for name, value in contents_of(x).items():
                part = known[id(value)] if id(value) in known else self._placeholder(value)
                if type(value) is np.ndarray:
                    known[id(value)] = part
                object.__setattr__(new, name, part)
            self.containers.append((x, new, contents_of(new)))
        return known[id(x)]

    def _array(self, x: np.ndarray[Any, Any]) -> ConcreteArray:
        out = ConcreteArray(self.trace, Storage(self.trace, self.trace.foreign(x)))
        if not x.flags.writeable:
            out.storage.input = -1
        self.arrays.append((x, out))
        self.trace.originals[out.storage] = x
        return out

    def _other(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        self.objects.append(x)
        if x.flags.writeable and not self.is_inner:
            self._others.append((x, x.copy()))
        return x

    def finish(self) -> None:
        """Let arrays that the program was given itself be as they were, unless `put_back` was."""
        if not self._kept:
            for x, before in self._others:
                x[...] = before
        self._others.clear()

    def put_back(self) -> None:
        """Let the arguments hold what their stand-ins hold now.

        Raises LostGradient where memory was stored into that two of them share.
        """
        self._refuse_shared_stores()
        self._kept = True
        for x, tracer in self.arrays:
            if tracer.storage.written:
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
                for name in before.keys() - now.keys():
                    object.__delattr__(x, name)
                for name, part in now.items():
                    if name not in before or part is not before[name]:
                        object.__setattr__(x, name, changed[name])

    def _refuse_shared_stores(self) -> None:
        """Raise LostGradient where an argument was stored into whose memory another one shares."""
        placeholders = self.trace.placeholders.items()
        for k, (x, tracer) in enumerate(self.arrays):
            storages = [storage for storage, of in placeholders if of.storage is tracer.storage]
            if not any(storage.written for storage in (tracer.storage, *storages)):
                continue
            if any(np.shares_memory(x, y) for j, (y, _) in enumerate(self.arrays) if j != k):
                raise LostGradient("a store into an argument that shares memory with another")

    def require_no_other_name(self, function: Any) -> None:
        """Raise LostGradient where the function may have read an argument that it stores into under
        a name from outside, or in an object: there it was what it was before the call.
        """
        written = [x for x, tracer in self.arrays if tracer.storage.written]
        for other in captured_arrays(function, *self.objects) if written else ():
            if any(np.may_share_memory(other, x) for x in written):
                what = "a store into an argument that has another name in the function"
                raise LostGradient(what)

    def original(self, x: Any) -> Any:
        """What the caller gets for a part of a result: numbers and arrays for tracers.

        Arrays share memory as they do in NumPy, with the caller's own arrays too.
        """
        x = plain_text(x)
        for made_of, new, _ in self.containers:
            if x is new:
                return made_of
        if self.is_inner or not isinstance(x, Tracer):
            return next((given for given, tracer in self.arrays if x is tracer), x)
        return self.real(x)

    def real(self, x: Any) -> Any:
        """The array or number that a tracer stands for."""
        if not isinstance(x, ConcreteArray):
            return x.known()
        if id(x) not in self._real:
            base = self._memory(x.storage)
            for view in x.views:
                indices = [self.trace.concrete(v) for v in view.indices]
                (base,) = OPS[view.op].evaluate([base, *indices], view.attrs)
            # Held, so that its number stays its own.
            self._real[id(x)] = x, base
        return self._real[id(x)][1]

    def _memory(self, storage: Storage) -> Any:
        if storage not in self._memories:
            stands_for = self.trace.placeholders.get(storage)
            given = [array for array, tracer in self.arrays if tracer.storage is storage]
            if stands_for is not None:
                self._memories[storage] = self.real(stands_for)
            elif given:
                self._memories[storage] = given[0]
            else:
                self._memories[storage] = np.array(self.trace.concrete(storage.value), order="K")
        return self._memories[storage]


def in_containers(f: Callable[[Any], Any], x: Any, seen: dict[int, Any] | None = None) -> Any:
    """`x` with `f` of its parts; containers are made anew where `f` does not replace them.

    `seen` are objects that are being changed, by identity.
    """
    new = f(x)
    if new is not x:
        return new
    cls = type(x)
    seen = {} if seen is None else seen
    if cls is list:
        return [in_containers(f, v, seen) for v in x]
    if cls is tuple or is_namedtuple(cls):
        return tuple.__new__(cls, [in_containers(f, v, seen) for v in x])
    if cls is dict:
        return {k: in_containers(f, v, seen) for k, v in x.items()}
    if is_plain_dataclass(x):
        names = dataclass_fields(x) or ()
        return build_dataclass(cls, {n: in_containers(f, getattr(x, n), seen) for n in names})
    if id(x) not in seen and is_instance(x) and _holds_tracer(x, set()):
        # One that the program has made.
        seen[id(x)] = x
        for name, part in contents_of(x).items():
            object.__setattr__(x, name, in_containers(f, part, seen))
    return x


def _holds_tracer(x: Any, seen: set[int]) -> bool:
    if isinstance(x, Tracer):
        return True
    if id(x) in seen:
        return False
    seen.add(id(x))
    if type(x) in (list, tuple) or is_namedtuple(type(x)):
        parts = x
    elif type(x) is dict:
        parts = x.values()
    elif is_instance(x):
        parts = contents_of(x).values()
    else:
        return False
    return any(_holds_tracer(part, seen) for part in parts)


def _items(x: Any) -> Any:
    """What a container holds, as pairs of a key and a part."""
    if isinstance(x, list):
        return enumerate(x)
    if isinstance(x, dict):
        return x.items()
    return contents_of(x).items()
