"""Functions and methods of NumPy that change an array in place, as stores of the trace."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray, astype, is_static_number
from tracejit.frontend.numpy.creation import iota, placeholder
from tracejit.frontend.numpy.items.keys import takes_no_array
from tracejit.frontend.numpy.memory_orders import copy_of
from tracejit.frontend.numpy.outputs import store_masked
from tracejit.frontend.numpy.registry import SUBSCRIPTS, handles
from tracejit.frontend.numpy.selection import truth
from tracejit.frontend.numpy.sequences import is_sequence
from tracejit.frontend.numpy.shape import reshaped, shape_dims
from tracejit.frontend.numpy.ufuncs import elementwise
from tracejit.frontend.tracing.checks import constant_array, has_traced
from tracejit.frontend.tracing.items import Items
from tracejit.frontend.tracing.memory.layout import is_view_after_reshape
from tracejit.frontend.tracing.symint import SymInt, unwrap
from tracejit.frontend.tracing.tracer import (
    TracedArray,
    TracedScalar,
    Tracer,
    as_array,
    here,
    lift,
    user_line,
    wrap,
)
from tracejit.ir.dims import Dim
from tracejit.ir.types import dtype_of

__all__ = ["TracedFlat", "set_attribute"]


def _target(a: Any, name: str) -> TracedArray:
    if not isinstance(a, TracedArray):
        raise TraceError("TJ005", f"{name} of an array from outside", user_line())
    return a


def _values(v: Any, dtype: np.dtype[Any]) -> TracedArray:
    """What is stored, converted to `dtype` whatever it was."""
    if not has_traced(v):
        return constant_array(np.array(v, dtype))
    x = asarray(v)
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        raise TraceError("TJ004", "complex numbers stored as real ones", user_line())
    if x.dtype != dtype and not isinstance(v, TracedArray) and dtype.kind not in "fc":
        raise TraceError("TJ004", f"numbers stored as {dtype} by force", user_line())
    return astype(x, dtype)


def _repeated(v: TracedArray, count: Dim) -> TracedArray:
    """The elements of `v`, from the first again after the last, `count` of them.

    Raises TraceError where there are none.
    """
    env, size = here().env, v.type.size
    if env.decide(size, "==", 1):
        value = as_array(reshaped(v, (1,)), (count,))
        return asarray(wrap(here(), value))
    if env.decide(size, "==", 0):
        raise TraceError("TJ004", "a store of no values", user_line())
    flat = reshaped(v, (size,))
    if env.decide(count, "<=", size):
        return asarray(flat[: unwrap(count, env)])
    return asarray(flat[elementwise(np.remainder, (iota(count), unwrap(size, env)))])


class _Elements:
    """All elements of an array in C order, as a view or as a copy to be written back."""

    def __init__(self, x: TracedArray) -> None:
        self.x = x
        size = x.type.size
        self.is_view = is_view_after_reshape(x, (size,)) is True
        self.flat = reshaped(x, (size,)) if self.is_view else self._copied(size)

    def _copied(self, size: Dim) -> TracedArray:
        trace = here()
        return asarray(wrap(trace, trace.emit("reshape", (self.x.value(),), shape=(size,))))

    def store(self, key: Any, value: Any) -> None:
        """Store at places; one by one where what they are in is a copy."""
        if self.is_view:
            self.flat[key] = value
        elif isinstance(key, (Tracer, SymInt)):
            # The flat array checks the places.
            _ = self.flat[key]
            self.x[self._places(key)] = value
        else:
            self.flat[key] = value
            trace = here()
            shape = self.x.type.shape
            self.x.store(trace.emit("reshape", (self.flat.value(),), shape=shape))

    def _places(self, key: Any) -> tuple[Any, ...]:
        """Numbers of elements as an index for each axis."""
        env = here().env
        number = asarray(lift(key))
        rest: Any = astype(number, np.dtype(np.int64))[()]
        places: list[Any] = []
        for d in reversed(self.x.type.shape):
            size = unwrap(d, env)
            places.append(elementwise(np.remainder, (rest, size)))
            rest = elementwise(np.floor_divide, (rest, size))
        return tuple(reversed(places))


@handles(np.copyto)
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """Copy values into an array, where a mask holds."""
    x = _target(dst, "np.copyto")
    if isinstance(src, (list, tuple, range, TracedArray)):
        new = asarray(src)
        lead = new.ndim - x.ndim
        if lead > 0 and not any(new.type.shape[k] != 1 for k in range(lead)):
            new = reshaped(new, new.type.shape[lead:])
        store_masked(x, new, where, casting, "np.copyto")
        return
    given = np.asarray(placeholder(src)).dtype
    if not np.can_cast(given, x.dtype, casting):
        raise TraceError("TJ004", f"np.copyto of {given} into {x.dtype}", user_line())
    if isinstance(src, TracedScalar) and x.dtype.kind in "iu" and src.is_python:
        raise TraceError("TJ004", "np.copyto of a Python number into integers", user_line())
    number = src if isinstance(src, Tracer) else constant_array(np.array(src, x.dtype))
    store_masked(x, number, where, "unsafe", "np.copyto")


@handles(np.put)
def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    """Store values at places of the flattened array, in order."""
    x = _target(a, "np.put")
    index = asarray(ind)
    if index.dtype.kind not in "iu" or index.dtype == np.uint64:
        raise TraceError("TJ004", f"np.put at places of {index.dtype}", user_line())
    env = here().env
    size = unwrap(x.type.size, env)
    count = index.type.size
    # In an array without elements every place is out of range.
    if env.decide(count, "==", 0) or mode != "raise" and env.decide(x.type.size, "==", 0):
        raise TraceError("TJ004", "np.put at no places", user_line())
    place: Any = reshaped(index, (count,))
    if mode == "wrap":
        place = elementwise(np.remainder, (place, size))
    elif mode == "clip":
        place = np.clip(place, 0, size - 1)
    elif mode != "raise":
        if not isinstance(mode, str):
            raise TraceError("TJ004", f"np.put with mode={mode!r}", user_line())
        raise ValueError(f"np.put: no mode {mode!r}")
    _Elements(x).store(place, _repeated(_values(v, x.dtype), count))


def _mask(mask: Any, x: TracedArray, name: str) -> TracedArray:
    """A mask of as many elements as `x`, in its shape."""
    m = asarray(truth(asarray(mask)))
    if not here().env.decide(m.type.size, "==", x.type.size):
        raise ValueError(f"{name}: mask and data must be the same size")
    return m if m.type.shape == x.type.shape else reshaped(m, x.type.shape)


@handles(np.putmask)
def putmask(a: Any, mask: Any, values: Any) -> None:
    """Store each value where the mask holds at its place; few values are repeated."""
    x = _target(a, "np.putmask")
    if isinstance(values, TracedArray) and not np.can_cast(values.dtype, x.dtype, "safe"):
        raise TraceError("TJ004", f"np.putmask of {values.dtype} in {x.dtype}", user_line())
    m, v = _mask(mask, x, "np.putmask"), _values(values, x.dtype)
    if v.type.shape != x.type.shape:
        v = reshaped(_repeated(v, x.type.size), x.type.shape)
    store_masked(x, v, m, "no", "np.putmask")


@handles(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    """Store the values one after another where the mask holds; few values are repeated."""
    x = _target(arr, "np.place")
    m = _mask(mask, x, "np.place")
    v = asarray(vals)
    if not np.can_cast(v.dtype, x.dtype, "safe"):
        raise TraceError("TJ004", f"np.place of {v.dtype} in {x.dtype}", user_line())
    v = reshaped(astype(v, x.dtype), (v.type.size,))
    env = here().env
    if env.decide(v.type.size, "==", 0):
        raise TraceError("TJ004", "np.place of no values", user_line())
    number = elementwise(np.subtract, (np.cumsum(reshaped(m, (x.type.size,))), 1))
    picked = v[elementwise(np.remainder, (number, v.shape[0]))]
    store_masked(x, reshaped(picked, x.type.shape), m, "no", "np.place")


def set_shape(x: TracedArray, value: Any) -> None:
    """`x.shape = value`: the array object itself gets another shape, under all of its names.

    Raises AttributeError where that would need a copy, TraceError for objects of the caller's and
    where other objects may stand for this one.
    """
    trace = here()
    joined = any(node.regions for node in trace.builder.nodes)
    if x.storage.input is not None and not x.views or joined or trace.parent is not None:
        raise TraceError("TJ008", "an assignment to the attribute shape of an array", user_line())
    new = reshaped(x, shape_dims(value))
    shared = is_view_after_reshape(x, new.type.shape)
    if shared is None:
        raise TraceError("TJ008", "an assignment to the attribute shape of an array", user_line())
    if not shared:
        raise AttributeError("Incompatible shape for in-place modification.")
    x.add_view(new.views[-1])


class TracedFlat(Items):
    """`x.flat`: the elements of an array in C order, one after another."""

    def __init__(self, x: TracedArray) -> None:
        self.array = x

    @property
    def length(self) -> Any:
        """How many elements there are."""
        return unwrap(self.array.type.size, here().env)

    def item(self, k: Any) -> Any:
        """The element of a number, as it is now."""
        return self[k]

    def __len__(self) -> int:
        return here().env.concrete(self.array.type.size)

    def __eq__(self, other: object) -> Any:
        raise TraceError("TJ004", "a comparison of .flat", user_line())

    __ne__ = __eq__
    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, key: Any) -> Any:
        flat = _Elements(self.array).flat
        picked = flat[_flat_key(key)]
        return copy_of(picked) if isinstance(picked, TracedArray) else picked

    def __setitem__(self, key: Any, value: Any) -> None:
        elements = _Elements(self.array)
        x = self.array
        key = _flat_key(key)
        selected = elements.flat[key]
        if x.dtype.kind == "b" and is_sequence(value) and not isinstance(selected, TracedArray):
            value = len(value) > 0  # An element of bools takes the truth of any object.
        v = _values(value, x.dtype)
        if isinstance(selected, TracedArray):
            count = selected.type.size
            if here().env.decide(count, "==", 0):
                return
            elements.store(key, reshaped(_repeated(v, count), selected.type.shape))
        elif v.ndim and (takes_no_array(x.dtype) or not here().env.decide(v.type.size, "==", 1)):
            raise ValueError("Error setting single item of array.")
        else:
            elements.store(key, _repeated(v, 1)[0])


def _flat_key(key: Any) -> Any:
    if isinstance(key, tuple):
        if len(key) != 1:
            raise TraceError("TJ004", "several indices into .flat", user_line())
        (key,) = key
    if isinstance(key, slice) or key is Ellipsis:
        return key
    if isinstance(key, list):
        key = asarray(key) if key else asarray(key, np.int64)
    if not isinstance(key, (Tracer, SymInt)) and not is_static_number(key):
        raise TraceError("TJ004", "such an index into .flat", user_line())
    kind = dtype_of(lift(key).type).kind
    if kind not in "iu":
        code, what = ("TJ015", "a boolean mask") if kind == "b" else ("TJ004", "a number")
        raise TraceError(code, f"{what} as an index into .flat", user_line())
    return key


SUBSCRIPTS[TracedFlat] = TracedFlat.__getitem__


def set_attribute(x: TracedArray, name: str, value: Any) -> None:
    """`x.name = value`. Raises TraceError for attributes that stores do not reach."""
    if name in ("real", "imag"):
        if name == "imag" and x.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        deeper = is_sequence(value) and _parts_take_deeper_sequences()
        getattr(x, name)[...] = asarray(value) if deeper else value
    elif name == "flat":
        TracedFlat(x)[...] = value
    elif name == "shape":
        set_shape(x, value)
    else:
        what = f"an assignment to the attribute {name} of an array"
        raise TraceError("TJ008", what, user_line())


@cache
def _parts_take_deeper_sequences() -> bool:
    """Whether `x.real = [[1, 2]]` is a store of an array, as before NumPy 2.5, or of items."""
    try:
        np.zeros(2).real = [[1, 2]]
    except ValueError:
        return False
    return True
