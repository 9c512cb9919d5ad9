"""Tracers: stand-ins for arrays and numbers that record what is done to them as graph nodes.

A traced array is a (storage, view) pair: the storage is a piece of memory with a current value, the
view a chain of index ops from the storage's base. A store makes a new value of the storage; views
read it afresh.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.tracing.dispatch import DISPATCH
from tracejit.frontend.tracing.memory.storage import Storage, ViewStep, write_back
from tracejit.frontend.tracing.symint import SymInt, unwrap
from tracejit.frontend.tracing.trace import Trace, current_trace, here, innermost, user_line
from tracejit.ir.dims import Dim, prod
from tracejit.ir.graph import Attr, Value
from tracejit.ir.types import (
    DTYPES,
    PYBOOL,
    PYCOMPLEX,
    PYFLOAT,
    PYINT,
    ArrayType,
    NpScalar,
    PyScalar,
    Type,
    dtype_name,
    dtype_of,
    is_held,
)

__all__ = [
    "Storage",
    "Trace",
    "TracedArray",
    "TracedScalar",
    "Tracer",
    "ViewStep",
    "current_trace",
    "here",
    "user_line",
]


class Tracer:
    """What traced arrays and numbers share: they convert to nothing concrete."""

    __slots__ = ("trace",)
    __array_priority__ = 1000.0
    trace: Trace

    def value(self) -> Value:
        """The present value, as one of the innermost trace."""
        raise NotImplementedError

    @property
    def type(self) -> Type:
        """The type of the present value."""
        raise NotImplementedError

    def _needs_value(self, what: str) -> TraceError:
        return TraceError("TJ001", what, user_line())

    def __bool__(self) -> bool:
        raise self._needs_value("a Python condition")

    def __float__(self) -> float:
        raise self._needs_value("float()")

    def __int__(self) -> int:
        raise self._needs_value("int()")

    def __complex__(self) -> complex:
        raise self._needs_value("complex()")

    def __index__(self) -> int:
        raise self._needs_value("an index")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise self._needs_value("conversion to an array")

    def __hash__(self) -> int:
        raise self._needs_value("a hash")

    def __format__(self, spec: str) -> str:
        raise self._needs_value("formatting")

    def __str__(self) -> str:
        raise self._needs_value("str()")

    def __repr__(self) -> str:
        return f"Tracer({self.type})"

    def __reduce__(self) -> Any:
        raise self._needs_value("pickling")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return DISPATCH.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return DISPATCH.function(func, args, kwargs)


#: NumPy's arrays have no more.
_MOST_AXES = 64


class TracedArray(Tracer):
    """Stands for an ndarray."""

    __slots__ = ("_cached", "_reader", "_version", "storage", "views")

    def __init__(
        self,
        trace: Trace,
        storage: Storage,
        views: tuple[ViewStep, ...] = (),
        base: TracedArray | None = None,
    ) -> None:
        """The last of the `views` may be one of `base`, which is read already."""
        self.trace, self.storage, self.views = trace, storage, views
        self._version = -1
        self._reader = trace
        if base is None:
            self._cached = self.value()
        else:
            self._cached = views[-1].read(trace, base.value())
            self._version = storage.version
        if len(self.type.shape) > _MOST_AXES:
            raise TraceError("TJ004", f"an array of more than {_MOST_AXES} axes", user_line())

    def check_alive(self) -> None:
        """Raise TraceError where the array is read after the trace, or the region, that made it."""
        if not self.trace.alive and self.trace.root.alive:
            what = "an array whose size one way through the program decides"
            raise TraceError("TJ015", what, user_line())
        if not self.trace.alive:
            raise TraceError("TJ014")

    def value(self) -> Value:
        self.check_alive()
        storage, trace = self.storage, innermost(self.trace)
        storage.check()
        if self._version == storage.version and self._reader.encloses(trace):
            return trace.capture(self._cached, self._reader)
        value = storage.read(trace)
        for view in self.views:
            value = view.read(trace, value)
        self._cached, self._version, self._reader = value, storage.version, trace
        return value

    @property
    def type(self) -> ArrayType:
        t = self._cached.type
        assert isinstance(t, ArrayType)
        return t

    def snapshot(self, value: Value) -> TracedArray:
        """`value`, a copy of elements of this array, where NumPy would give a view of them."""
        trace = innermost(self.trace)
        return TracedArray(trace, Storage(trace, value, -1, self.storage))

    def view(
        self,
        op: str,
        *indices: Value,
        writeable: bool | None = True,
        corner: tuple[Dim, ...] = (),
        windows: tuple[bool, ...] = (),
        kept: tuple[int | None, ...] | None = None,
        **attrs: Attr,
    ) -> TracedArray:
        """A view of this array through one more index op."""
        trace = innermost(self.trace)
        view = ViewStep(trace, op, indices, attrs, writeable, corner, windows, kept)
        return TracedArray(trace, self.storage, (*self.views, view), self)

    def add_view(self, view: ViewStep) -> None:
        """Make this object itself a view of what it was."""
        self.views = (*self.views, view)
        self._version = -1
        self._cached = self.value()

    def drop_view(self) -> None:
        """Make this object what it was before the last `add_view`."""
        self.views = self.views[:-1]
        self._version = -1
        self._cached = self.value()

    def store(self, new: Value) -> None:
        """Make `new` (of this array's type) its contents, through the views, in its storage."""
        trace = innermost(self.trace)
        self.storage.check()
        chain = [self.storage.read(trace)]
        for view in self.views:
            chain.append(view.read(trace, chain[-1]))
        for base, view in zip(reversed(chain[:-1]), reversed(self.views), strict=True):
            new = write_back(trace, base, new, view)
        self.storage.store(trace, new)

    # What NumPy users read --------------------------------------------------------------------

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.type.dtype

    @property
    def ndim(self) -> int:
        return self.type.ndim

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(unwrap(d, self.trace.env) for d in self.type.shape)

    @shape.setter
    def shape(self, value: Any) -> None:
        raise TraceError("TJ008", "assignment to .shape", user_line())

    @property
    def size(self) -> Any:
        return unwrap(prod(self.type.shape), self.trace.env)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> Any:
        return self.size * self.itemsize

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return self.trace.env.concrete(self.type.shape[0])

    def __iter__(self) -> Any:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return iter([self[i] for i in range(len(self))])

    def __getattr__(self, name: str) -> Any:
        return DISPATCH.array_attribute(self, name)

    def __getitem__(self, key: Any) -> Any:
        return DISPATCH.get_item(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        DISPATCH.set_item(self, key, value)


class TracedScalar(Tracer):
    """Stands for a NumPy scalar or a Python number."""

    __slots__ = ("_value",)

    def __init__(self, trace: Trace, value: Value) -> None:
        self.trace, self._value = trace, value

    def value(self) -> Value:
        if not self.trace.alive:
            raise TraceError("TJ014")
        return innermost(self.trace).capture(self._value, self.trace)

    @property
    def type(self) -> Type:
        return self._value.type

    @property
    def own(self) -> Value:
        """The value itself, one of the trace it was made in."""
        return self._value

    @property
    def is_python(self) -> bool:
        """Whether it stands for a Python number."""
        return isinstance(self.type, PyScalar)

    def __getattr__(self, name: str) -> Any:
        return DISPATCH.scalar_attribute(self, name)

    def __getitem__(self, key: Any) -> Any:
        if not self.is_python and key in ((), Ellipsis):
            return self if key == () else wrap(self.trace, as_array(self, ()))
        raise TraceError("TJ004", "an index into a scalar", user_line())


_PY_TYPES: dict[type, PyScalar] = {
    bool: PYBOOL,
    int: PYINT,
    float: PYFLOAT,
    complex: PYCOMPLEX,
}


def wrap(trace: Trace, value: Value, storage: Storage | None = None) -> Tracer:
    """The tracer of a value of `trace`."""
    array, scalar = trace.tracers or (TracedArray, TracedScalar)
    if isinstance(value.type, ArrayType):
        return array(trace, storage or Storage(trace, value))
    return scalar(trace, value)


def wrap_array(value: Value) -> TracedArray:
    """The array that a value of the innermost trace is."""
    made = wrap(here(), value)
    assert isinstance(made, TracedArray)
    return made


def number_of(trace: Trace, dim: Dim) -> TracedScalar:
    """A size as a traced Python int."""
    _, scalar = trace.tracers or (TracedArray, TracedScalar)
    return scalar(trace, trace.size_value(dim))


DISPATCH.number_of = number_of


def is_number(x: object) -> bool:
    """Whether `x` is a Python or NumPy number, traced or not, or a size."""
    return isinstance(x, (bool, int, float, complex, np.generic, SymInt, TracedScalar))


def lift(x: Any) -> Tracer:
    """Anything numeric as a tracer of the innermost trace: constants become constant nodes.

    Raises TraceError for what a graph cannot hold, and for arrays of unknown origin.
    """
    trace = here()
    if isinstance(x, Tracer):
        return x
    if isinstance(x, SymInt):
        return number_of(trace, x.dim)
    kind = _PY_TYPES.get(type(x))
    if kind is not None:
        if kind is PYINT and not -(2**63) <= x < 2**63:
            raise TraceError("TJ003", "an int that does not fit 64 bits", user_line())
        return TracedScalar(trace, trace.constant(x, kind))
    if isinstance(x, np.generic):
        t = NpScalar(given_dtype(x.dtype))
        return TracedScalar(trace, trace.constant(x.item(), t))
    if isinstance(x, (list, tuple, range)):
        return DISPATCH.asarray(x)  # type: ignore[no-any-return]
    if isinstance(x, np.ndarray):
        return wrap(trace, trace.foreign(x))
    raise TraceError("TJ003", f"an object of type {type(x).__name__}", user_line())


def check_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """`dtype`, or one equal to it, if a graph can hold it. Raises TraceError."""
    try:
        return DTYPES[dtype_name(dtype)]
    except TypeError as e:
        raise TraceError("TJ003", str(e), user_line()) from None


def given_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """`dtype`, which the user's code gave or has in an array, if a graph can hold that very one.

    Raises TraceError.
    """
    known = check_dtype(dtype)
    if not is_held(dtype):
        what = "with metadata" if dtype.metadata is not None else f"of the letter {dtype.char}"
        raise TraceError("TJ003", f"a dtype {dtype} {what}", user_line())
    return known


def as_array(x: Any, shape: tuple[Dim, ...], order: tuple[int, ...] | None = None) -> Value:
    """A scalar (of a NumPy kind) or an array, broadcast to `shape`.

    Where it is repeated, its axes are laid out in `order`.
    """
    trace = here()
    v = lift(x).value()
    if isinstance(v.type, PyScalar):
        v = trace.emit("np_scalar", (v,), dtype=dtype_name(dtype_of(v.type)))
    if isinstance(v.type, ArrayType):
        if v.type.shape == shape:
            return v
        v = match_dims(v, shape)
        if v.type.shape == shape:  # type: ignore[union-attr]
            return v
    if order is None or order == tuple(range(len(shape))):
        return trace.emit("broadcast_to", (v,), shape=shape)
    if isinstance(v.type, ArrayType):
        v = trace.emit("reshape", (v,), shape=(1,) * (len(shape) - v.type.ndim) + v.type.shape)
        v = trace.emit("transpose", (v,), axes=order)
    whole = trace.emit("broadcast_to", (v,), shape=tuple(shape[a] for a in order))
    return trace.emit("transpose", (whole,), axes=tuple(order.index(a) for a in range(len(order))))


def match_dims(v: Value, shape: tuple[Dim, ...]) -> Value:
    """`v` with its dimensions written as in `shape`, where the two are equal but look different."""
    trace = here()
    assert isinstance(v.type, ArrayType)
    new = dims_as(v.type.shape, shape[len(shape) - v.type.ndim :])
    if new == v.type.shape:
        return v
    return trace.emit("reshape", (v,), shape=new, assume=True)


def dims_as(own: tuple[Dim, ...], target: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """Dimensions that broadcast to others, written as those are where they are not 1."""
    env = here().env
    pairs = zip(own, target, strict=True)
    return tuple(d if d in (1, t) else (1 if env.is_one(d) else t) for d, t in pairs)


def broadcast_dims(shapes: Sequence[tuple[Dim, ...]]) -> tuple[Dim, ...]:
    """NumPy's broadcast of shapes. Raises ValueError where they do not fit."""
    trace = here()
    env = trace.env
    ndim = max(map(len, shapes), default=0)
    out: list[Dim] = [1] * ndim
    for shape in shapes:
        for k, d in enumerate(shape, start=ndim - len(shape)):
            have = out[k]
            if have == d or d == 1:
                continue
            if have == 1 or env.is_one(have):
                out[k] = d
            elif env.is_one(d):
                continue
            elif not env.expect(have, "==", d):
                _never_one(have, d)
                text = " ".join(f"({', '.join(map(str, s))})" for s in shapes)
                raise ValueError(f"operands could not be broadcast together with shapes {text}")
            elif (isinstance(d, int) and d != 1) or (env.is_known(d) and not env.is_known(have)):
                out[k] = d
    return tuple(out)


def broadcasts_to(shape: tuple[Dim, ...], target: tuple[Dim, ...]) -> bool:
    """Whether NumPy broadcasts `shape` to exactly `target`."""
    env = here().env
    lead = len(target) - len(shape)
    for d, t in zip(shape, target[max(lead, 0) :], strict=False):
        if not (d in (1, t) or env.expect(d, "==", t) or env.is_one(d)):
            _never_one(d)
            return False
    return lead >= 0


def _never_one(*sizes: Dim) -> None:
    """Raise TraceError for a size that the run may find to be 1, which broadcasts to any other."""
    env = here().env
    if any(not env.is_known(d) and env.proved(d, "==", 1) is None for d in sizes):
        raise TraceError("TJ015", "a size that broadcasts only if it is 1", user_line())
