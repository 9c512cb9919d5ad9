"""Tracers: stand-ins for arrays and numbers that record what is done to them as graph nodes.

A traced array is a (cell, view) pair: the cell is a piece of memory with a current value, the view
a chain of index ops from the cell's base. A store makes a new value of the cell; views read it
afresh.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import tracejit.ops  # noqa: F401 - fills the registry
from tracejit.errors import TraceError, Where
from tracejit.frontend.shapes import ShapeEnv, SymInt, unwrap
from tracejit.ir.dims import Dim, free_symbols, prod
from tracejit.ir.graph import Attr, ConstArray, Graph, GraphBuilder, Value
from tracejit.ir.op import OPS, Op
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
)

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "Cell",
    "Trace",
    "TracedArray",
    "TracedScalar",
    "Tracer",
    "current_trace",
    "here",
    "user_line",
]

_PACKAGE = str(Path(__file__).resolve().parent.parent)
_NUMPY = str(Path(np.__file__).resolve().parent)
_LIMIT = 20_000

_TRACE: ContextVar[Trace | None] = ContextVar("tracejit_trace", default=None)


def current_trace() -> Trace | None:
    """The innermost trace of this context, or None."""
    return _TRACE.get()


def here() -> Trace:
    """The innermost trace. Raises TraceError where a tracer is used after its trace has ended."""
    trace = _TRACE.get()
    if trace is None:
        raise TraceError("TJ014", "", user_line())
    return trace


def user_line() -> Where | None:
    """The innermost place on the stack that is neither tracejit's nor NumPy's."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((_PACKAGE, _NUMPY)):
            return Where(file, frame.f_lineno, frame.f_code.co_name)
        frame = frame.f_back  # type: ignore[assignment]
    return None


class Trace:
    """One graph being recorded. Region traces have a parent and capture what they use of it."""

    def __init__(self, name: str, env: ShapeEnv, parent: Trace | None = None) -> None:
        self.builder = GraphBuilder(name)
        self.env = env
        self.parent = parent
        self.captures: dict[Value, Value] = {}
        self.alive = True
        #: Containers and objects that existed before the trace: writing to them is visible outside.
        self.external: dict[int, object] = {} if parent is None else parent.external
        self.counter: list[int] = [0] if parent is None else parent.counter
        #: Arrays whose axes NumPy may lay out in another order than their types say.
        self.unordered: set[Value] = set() if parent is None else parent.unordered
        env.lift = lambda dim: _innermost(self).size(dim)

    @contextmanager
    def active(self) -> Iterator[Trace]:
        """Make this the innermost trace."""
        token = _TRACE.set(self)
        try:
            yield self
        finally:
            _TRACE.reset(token)
            self.alive = False

    def emit(
        self,
        name: str,
        inputs: Sequence[Value],
        *,
        regions: tuple[Graph, ...] = (),
        binds: tuple[str, ...] = (),
        **attrs: Attr,
    ) -> Value:
        """Record a node with one result."""
        return self.emit_all(name, inputs, attrs, regions=regions, binds=binds)[0]

    def emit_all(
        self,
        name: str,
        inputs: Sequence[Value],
        attrs: dict[str, Attr],
        *,
        regions: tuple[Graph, ...] = (),
        binds: tuple[str, ...] = (),
    ) -> tuple[Value, ...]:
        """Record a node."""
        self.counter[0] += 1
        if self.counter[0] > _LIMIT:
            raise TraceError("TJ008", f"a loop unrolls into more than {_LIMIT} operations")
        outputs = self.builder.emit(
            OPS[name], inputs, attrs, regions=regions, binds=binds, where=user_line()
        )
        if regions or any(v in self.unordered or not _is_c(v.type) for v in inputs):
            self._note_orders(OPS[name], inputs, outputs)
        return outputs

    def _note_orders(self, op: Op, inputs: Sequence[Value], outputs: Sequence[Value]) -> None:
        """Note the outputs whose order NumPy may choose otherwise: not all operands are in C order.

        Index ops that make views keep the order of their operand, elementwise ops the common one.
        """
        arrays = [v for v in inputs if isinstance(v.type, ArrayType)]
        known = not any(v in self.unordered for v in arrays)
        if op.name in ("slice", "transpose", "update_slice", "scatter"):
            known = arrays[0] not in self.unordered
        elif op.name == "reshape":
            known = known or _lengths(arrays[0].type) != _lengths(outputs[0].type)
        elif op.kind == "elementwise":
            known = known and len({v.type.order for v in arrays}) == 1  # type: ignore[union-attr]
        elif op.name != "broadcast_to":
            known = False
        if not known:
            self.unordered.update(v for v in outputs if _several_axes(v.type))

    def fresh_size(self, low: int = 0) -> str:
        """The name of a new size symbol that is known only at run time."""
        name = f"s{len(self.env.intervals)}"
        self.env.declare(name, None, low)
        return name

    def size(self, dim: Dim) -> TracedScalar:
        """A size as a traced Python int."""
        return TracedScalar(self, self.emit("dim_value", (), dim=dim))

    def constant(self, value: Any, type_: Type) -> Value:
        """A constant of a scalar or array type."""
        if isinstance(type_, ArrayType):
            value = ConstArray(value)
        return self.emit("constant", (), value=value, type=str(type_))

    def wrap(self, value: Value, cell: Cell | None = None) -> Tracer:
        """The tracer of a value."""
        if isinstance(value.type, ArrayType):
            return TracedArray(self, cell or Cell(self, value))
        return TracedScalar(self, value)

    def capture(self, value: Value, owner: Trace) -> Value:
        """A value of an enclosing trace as a value of this one. Raises TraceError for an escaped
        one.
        """
        if owner is self:
            return value
        if not owner.alive or self.parent is None:
            raise TraceError("TJ014")
        outer = self.parent.capture(value, owner)
        if outer not in self.captures:
            self.captures[outer] = self.builder.input(value.type, value.name)
        return self.captures[outer]


def _innermost(default: Trace) -> Trace:
    return _TRACE.get() or default


def _several_axes(t: Type) -> bool:
    return isinstance(t, ArrayType) and t.ndim > 1


def _is_c(t: Type) -> bool:
    return not isinstance(t, ArrayType) or t.is_c


def _lengths(t: Type) -> list[Dim]:
    """The sizes of an array type without its axes of size 1."""
    assert isinstance(t, ArrayType)
    return [d for d in t.shape if d != 1]


class Cell:
    """A piece of memory: its present value, its axis order, and whether the caller can see it.

    `order` is the one NumPy would give it, or None where that is not known. `strides` count
    elements; None for memory without gaps in this order.
    A cell with a `source` is a copy that stands for a view of that cell's memory: right as long as
    nothing is stored into either.
    """

    __slots__ = (
        *("input", "lost", "order", "seen", "source", "strides", "trace", "value", "version"),
    )

    def __init__(
        self,
        trace: Trace,
        value: Value,
        input: int | None = None,
        source: Cell | None = None,
        strides: tuple[Dim, ...] | None = None,
    ) -> None:
        self.trace, self.value, self.version, self.input = trace, value, 0, input
        self.order: tuple[int, ...] | None = ()
        if isinstance(value.type, ArrayType):
            # What a loop carries may be laid out in another way by its body.
            carried = trace.parent is not None and any(v is value for v in trace.builder.inputs)
            unknown = _several_axes(value.type) and (carried or value in trace.unordered)
            self.order = None if unknown else value.type.order
        self.source, self.seen = source, source.version if source else 0
        self.strides = strides
        #: Stored into by a loop that handed it on under another name.
        self.lost = False

    @property
    def root(self) -> Cell:
        """The memory itself, for a copy that stands for a view of it."""
        return self if self.source is None else self.source.root

    def check(self) -> None:
        """Raise TraceError where the memory this cell is a copy of has been stored into since."""
        if self.lost:
            raise TraceError("TJ005", "an array is read that a loop stored into and passed on")
        if self.source is not None:
            if self.source.version != self.seen:
                raise TraceError(
                    "TJ005", "a view at an index known at run time outlives a store", user_line()
                )
            self.source.check()

    def store(self, trace: Trace, value: Value) -> None:
        """Give the cell a new value. Raises TraceError where the store would be visible outside."""
        if self.input is not None:
            raise TraceError("TJ005", "the store is visible to the caller")
        if trace is not self.trace:
            raise TraceError(
                "TJ005", "an array made outside a branch or loop is stored into inside"
            )
        t = value.type
        if isinstance(t, ArrayType) and self.order is not None and t.order != self.order:
            value = _laid_out(trace, value, self.order)
        self.value = value
        self.version += 1


def _laid_out(trace: Trace, value: Value, order: tuple[int, ...]) -> Value:
    """A copy of an array with its axes in `order`."""
    t = value.type
    assert isinstance(t, ArrayType)
    shape = tuple(t.shape[a] for a in order)
    value = trace.emit("transpose", (value,), axes=order)
    value = trace.emit("reshape", (value,), shape=(prod(shape),))
    value = trace.emit("reshape", (value,), shape=shape)
    return trace.emit("transpose", (value,), axes=tuple(order.index(k) for k in range(len(order))))


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
        from tracejit.frontend.ufuncs import array_ufunc

        return array_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from tracejit.frontend.numpy_api import call_function

        return call_function(func, args, kwargs)


class View:
    """One step from a base to a view: an index op, its indices and its attributes."""

    __slots__ = ("attrs", "indices", "op", "writeable")

    def __init__(
        self, op: str, indices: tuple[Value, ...], attrs: dict[str, Attr], writeable: bool
    ) -> None:
        self.op, self.indices, self.attrs, self.writeable = op, indices, attrs, writeable

    def read(self, trace: Trace, base: Value) -> Value:
        """The elements of the view."""
        out = trace.emit(self.op, (base, *self.indices), **self.attrs)
        if self.op == "broadcast_to":
            # NumPy's copies of repeated axes follow strides of 0, which no type shows.
            trace.unordered.add(out)
        return out


class TracedArray(Tracer):
    """Stands for an ndarray."""

    __slots__ = ("_cached", "_version", "cell", "views")

    def __init__(self, trace: Trace, cell: Cell, views: tuple[View, ...] = ()) -> None:
        self.trace, self.cell, self.views = trace, cell, views
        self._version = -1
        self._cached: Value | None = None
        self._own_value()

    def _own_value(self) -> Value:
        self.cell.check()
        if self._version != self.cell.version or self._cached is None:
            value = self.cell.value
            for view in self.views:
                value = view.read(self.trace, value)
            self._cached, self._version = value, self.cell.version
        return self._cached

    def value(self) -> Value:
        if not self.trace.alive:
            raise TraceError("TJ014")
        return _innermost(self.trace).capture(self._own_value(), self.trace)

    @property
    def type(self) -> ArrayType:
        t = (self._cached or self.cell.value).type
        assert isinstance(t, ArrayType)
        return t

    def snapshot(self, value: Value) -> TracedArray:
        """`value`, a copy of elements of this array, where NumPy would give a view of them."""
        trace = _innermost(self.trace)
        return TracedArray(trace, Cell(trace, value, -1, self.cell))

    def view(self, op: str, *indices: Value, writeable: bool = True, **attrs: Attr) -> TracedArray:
        """A view of this array through one more index op."""
        trace = _innermost(self.trace)
        view = View(op, indices, attrs, writeable)
        if trace is not self.trace:
            return self.snapshot(view.read(trace, self.value()))
        return TracedArray(self.trace, self.cell, (*self.views, view))

    def store(self, new: Value) -> None:
        """Make `new` (of this array's type) its contents, through the views, in its cell."""
        trace = _innermost(self.trace)
        chain = [self.cell.value]
        for view in self.views:
            chain.append(view.read(trace, chain[-1]))
        for base, view in zip(reversed(chain[:-1]), reversed(self.views), strict=True):
            new = _write_back(trace, base, new, view)
        self.cell.store(trace, new)

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
        from tracejit.frontend.methods import array_attribute

        return array_attribute(self, name)

    def __getitem__(self, key: Any) -> Any:
        from tracejit.frontend.indexing import get_item

        return get_item(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        from tracejit.frontend.indexing import set_item

        set_item(self, key, value)


def _write_back(trace: Trace, base: Value, new: Value, view: View) -> Value:
    """The base after `new` was written through one view step."""
    if not view.writeable:
        raise TraceError("TJ005", "a store into a read-only view", user_line())
    if view.op == "gather":
        return trace.emit("scatter", (base, new, *view.indices))
    if view.op == "real":
        return trace.emit("make_complex", (new, trace.emit("imag", (base,))))
    if view.op == "imag":
        return trace.emit("make_complex", (trace.emit("real", (base,)), new))
    if view.op == "slice":
        return trace.emit("update_slice", (base, new), **view.attrs)
    if view.op == "transpose":
        axes = view.attrs["axes"]
        inverse = tuple(axes.index(k) for k in range(len(axes)))
        return trace.emit("transpose", (new,), axes=inverse)
    if view.op == "reshape":
        assert isinstance(base.type, ArrayType)
        return trace.emit("reshape", (new,), shape=base.type.shape)
    raise TraceError("TJ005", f"a store through a view made by {view.op}")


class TracedScalar(Tracer):
    """Stands for a NumPy scalar or a Python number."""

    __slots__ = ("_value",)

    def __init__(self, trace: Trace, value: Value) -> None:
        self.trace, self._value = trace, value

    def value(self) -> Value:
        if not self.trace.alive:
            raise TraceError("TJ014")
        return _innermost(self.trace).capture(self._value, self.trace)

    @property
    def type(self) -> Type:
        return self._value.type

    @property
    def is_python(self) -> bool:
        """Whether it stands for a Python number."""
        return isinstance(self.type, PyScalar)

    def __getattr__(self, name: str) -> Any:
        from tracejit.frontend.methods import scalar_attribute

        return scalar_attribute(self, name)

    def __getitem__(self, key: Any) -> Any:
        if not self.is_python and key in ((), Ellipsis):
            return self if key == () else self.trace.wrap(as_array(self, ()))
        raise TraceError("TJ004", "an index into a scalar", user_line())


_PY_TYPES: dict[type, PyScalar] = {
    bool: PYBOOL,
    int: PYINT,
    float: PYFLOAT,
    complex: PYCOMPLEX,
}


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
        return trace.size(x.dim)
    kind = _PY_TYPES.get(type(x))
    if kind is not None:
        if kind is PYINT and not -(2**63) <= x < 2**63:
            raise TraceError("TJ003", "an int that does not fit 64 bits", user_line())
        return TracedScalar(trace, trace.constant(x, kind))
    if isinstance(x, np.generic):
        t = NpScalar(check_dtype(x.dtype))
        return TracedScalar(trace, trace.constant(x.item(), t))
    if isinstance(x, (list, tuple)):
        from tracejit.frontend.numpy_api import asarray

        return asarray(x)
    if isinstance(x, np.ndarray):
        raise TraceError("TJ006", "an array", user_line())
    raise TraceError("TJ003", f"an object of type {type(x).__name__}", user_line())


def check_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """`dtype`, if a graph can hold it. Raises TraceError."""
    try:
        return DTYPES[dtype_name(dtype)]
    except TypeError as e:
        raise TraceError("TJ003", str(e), user_line()) from None


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
    lead = len(shape) - v.type.ndim
    env = trace.env
    new = tuple(
        d if d in (1, s) else (1 if env.decide(d, "==", 1) else s)
        for d, s in zip(v.type.shape, shape[lead:], strict=True)
    )
    if new == v.type.shape:
        return v
    return trace.emit("reshape", (v,), shape=new, assume=True)


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
            if have == 1 or env.decide(have, "==", 1):
                out[k] = d
            elif not env.decide(d, "==", 1) and not env.decide(have, "==", d):
                text = " ".join(f"({', '.join(map(str, s))})" for s in shapes)
                raise ValueError(f"operands could not be broadcast together with shapes {text}")
            elif isinstance(d, int) and d != 1:
                out[k] = d
    return tuple(out)


def broadcasts_to(shape: tuple[Dim, ...], target: tuple[Dim, ...]) -> bool:
    """Whether NumPy broadcasts `shape` to exactly `target`."""
    env = here().env
    lead = len(target) - len(shape)
    return lead >= 0 and all(
        d in (1, t) or env.decide(d, "==", t) or env.decide(d, "==", 1)
        for d, t in zip(shape, target[lead:], strict=True)
    )


def sizes_of(t: Type) -> set[str]:
    """The size symbols of a type."""
    if not isinstance(t, ArrayType):
        return set()
    return set().union(*(free_symbols(d) for d in t.shape))
