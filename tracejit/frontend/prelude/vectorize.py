"""Calls of the objects that `np.vectorize` makes: a function of numbers goes over elements.

The function gets Python's numbers, but for scalars of NumPy, which stay what they are; what it
gives is turned into numbers of the result's dtype as NumPy turns objects.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.frontend.prelude.intrinsics import apart, refuse

__all__ = ["FUNCTIONS"]

#: What can be numbers of one dtype.
_NUMBERS = (bool, int, float, complex)
#: More operands than a ufunc of any version of NumPy takes.
_MOST = 30
_EMPTY = "cannot call `vectorize` on size 0 inputs unless `otypes` is set"


def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
    """What `pyfunc` gives for each element of the arguments, but for those that are excluded."""
    pyfunc = self.pyfunc
    if not callable(pyfunc):
        refuse("np.vectorize without a function")
    excluded = self.excluded
    places = [k for k in range(len(args)) if k not in excluded]
    names = [name for name in kwargs if name not in excluded]
    given = [args[k] for k in places] + [kwargs[name] for name in names]

    def function(*values: Any) -> Any:
        found, named = list(args), dict(kwargs)
        for k, place in enumerate(places):
            found[place] = values[k]
        for k, name in enumerate(names):
            named[name] = values[len(places) + k]
        return pyfunc(*found, **named)

    if not names and not excluded:
        function = pyfunc
    if self.signature is not None:
        return over_parts(function, self.signature, self.otypes, given)
    if not given:
        return function()
    if len(given) > _MOST:
        refuse("np.vectorize of so many arguments")
    return over_elements(function, self.otypes, self.cache, given)


def over_elements(function: Any, otypes: Any, cache: Any, given: Any) -> Any:
    """What a function of numbers gives for each element of some arrays, lists and numbers."""
    arrays = [np.asarray(x) for x in given]
    parts = [elements_of(x, a) for x, a in zip(given, arrays, strict=True)]
    if otypes is not None:
        dtypes = [np.dtype(t) for t in otypes]
        return collected(function, parts, [], len(dtypes) != 1, *dtypes)
    if any(a.size == 0 for a in arrays):
        raise ValueError(_EMPTY)
    first = function(*[a.flat[0] for a in arrays])
    several = isinstance(first, tuple)
    dtypes = [dtype_of(x) for x in (first if several else (first,))]
    return apart(collected, function, parts, [first] if cache else [], several, *dtypes)


def dtype_of(x: Any) -> Any:
    """The dtype of the array that NumPy makes of a number."""
    array = np.asarray(x)
    if array.ndim > 0:
        refuse("np.vectorize of a function that gives no number")
    return array.dtype


def collected(function: Any, parts: Any, known: Any, several: Any, *dtypes: Any) -> Any:
    """Arrays of some dtypes with what a function gives, of which the first may be known."""
    if several != (len(dtypes) > 1):
        refuse("np.vectorize of a function that gives a tuple of one value, or of none")
    if any(d.kind not in "biufc" or d.char in "gG" for d in dtypes):
        refuse("np.vectorize with results that are no numbers")
    shape, turned, columns = side_by_side(parts)
    outs = [np.empty(shape, d, order="F" if turned else "C") for d in dtypes]
    flat = [(out.T if turned else out).reshape(-1) for out in outs]
    for x in known:
        store(flat, 0, x, several)
    for i in range(len(known), flat[0].shape[0]):
        numbers = [c[i].item() if type(c) is np.ndarray else c for c in columns]
        store(flat, i, function(*numbers), several)
    return tuple(outs) if several else outs[0]


def elements_of(x: Any, array: Any) -> Any:
    """An array of one axis or more whose elements become Python's numbers, or a number that is
    given as it is."""
    if array.dtype.kind not in "biufc" or array.dtype.char in "gG":
        refuse("np.vectorize of what are no numbers")
    if type(x) in _NUMBERS or isinstance(x, np.generic):
        return x
    if isinstance(x, np.ndarray):
        if type(x) is not np.ndarray:
            refuse("np.vectorize of a subclass of arrays")
        return x if x.ndim else x.item()
    if type(x) not in (list, tuple) or len({type(v) for v in x} & {*_NUMBERS}) != (len(x) > 0):
        refuse("np.vectorize of a sequence of other things than numbers of one class")
    if any(type(v) not in _NUMBERS for v in x):
        refuse("np.vectorize of a sequence of other things than numbers of one class")
    return array


def side_by_side(parts: Any) -> Any:
    """The shape of the result, whether its axes are reversed, and numbers or arrays of one axis."""
    arrays = [x for x in parts if type(x) is np.ndarray]
    if not arrays:
        return (), False, parts
    shape = arrays[0].shape
    alike = all(a.shape == shape for a in arrays)
    turned = False
    if len(shape) > 1 or not alike:
        packed = [a if a.ndim < 2 or a.flags.forc else a.copy(order="K") for a in arrays]
        turned = alike and not all(a.flags.c_contiguous for a in packed)
        if turned and not all(a.flags.f_contiguous for a in packed):
            refuse("np.vectorize of arrays in other orders of memory")
        if not alike and not all(a.ndim < 2 or a.flags.c_contiguous for a in packed):
            refuse("np.vectorize of arrays in other orders of memory")
    if turned:
        parts = [x.T if type(x) is np.ndarray else x for x in parts]
    if not alike:
        shape = broadcast([np.shape(x) for x in parts])
        parts = [np.broadcast_to(x, shape) if type(x) is np.ndarray else x for x in parts]
    return shape, turned, [x.reshape(-1) if type(x) is np.ndarray else x for x in parts]


def broadcast(shapes: Any) -> Any:
    """The shape that all broadcast to. Raises ValueError as a ufunc does."""
    for a in shapes:
        for b in shapes:
            if any(m != n and m != 1 and n != 1 for m, n in zip(a[::-1], b[::-1], strict=False)):
                given = "".join([f"{s} ".replace(", ", ",") for s in shapes])
                text = f"operands could not be broadcast together with shapes {given}"
                raise ValueError(text)
    return np.broadcast_shapes(*shapes)


def store(outs: Any, i: Any, found: Any, several: Any) -> None:
    """Let one element of each array be what a function has given for it."""
    if several and (type(found) is not tuple or len(found) != len(outs)):
        refuse("np.vectorize of a function that gives no tuple of as many values")
    for out, x in zip(outs, found if several else (found,), strict=True):
        out[i] = apart(converted, x, out.dtype)


def converted(x: Any, dtype: Any) -> Any:
    """The number to store, so that an array of a dtype holds what NumPy makes of an object."""
    if type(x) in (float, np.float64):
        return int(x) if dtype.kind in "iu" else float(x)
    if type(x) in _NUMBERS:
        return x
    if not isinstance(x, (np.generic, np.ndarray)) or x.ndim > 0 or x.dtype.char in "gG":
        refuse("np.vectorize of a function that gives no number")
    kinds = x.dtype.kind, dtype.kind
    if kinds[0] == "f" and kinds[1] in "fc":
        return float(x)
    wraps = kinds[0] in "bui" and kinds[1] in "bui"
    if not wraps and not np.can_cast(x.dtype, dtype, "safe"):
        refuse("np.vectorize of a function whose results differ in class")
    return x


def over_parts(function: Any, signature: Any, otypes: Any, given: Any) -> Any:
    """What a function of arrays gives for each of the arrays along the last axes of others."""
    before, _, after = "".join(signature.split()).partition("->")
    inputs, outputs = axes_in(before), axes_in(after)
    if len(given) != len(inputs):
        text = f"wrong number of positional arguments: expected {len(inputs)}, got {len(given)}"
        raise TypeError(text)
    if any(isinstance(x, np.ndarray) and type(x) is not np.ndarray for x in given):
        refuse("np.vectorize of a subclass of arrays")
    sizes: dict[str, Any] = {}
    arrays = [np.asarray(x) for x in given]
    for a, axes in zip(arrays, inputs, strict=True):
        note_sizes(sizes, a, axes)
    sides = [a.shape[: a.ndim - len(axes)] for a, axes in zip(arrays, inputs, strict=True)]
    shape = np.broadcast_shapes(*sides)
    n = 1
    for size in shape:
        n = n * size
    cores = [tuple([sizes[axis] for axis in axes]) for axes in inputs]
    rows = [rows_of(a, shape, n, core) for a, core in zip(arrays, cores, strict=True)]
    if n == 0:
        return empty(shape, otypes, outputs, sizes)
    first = results_of(function, rows, 0, outputs)
    for x, axes in zip(first, outputs, strict=True):
        note_sizes(sizes, x, axes)
    cores = [tuple([sizes[axis] for axis in axes]) for axes in outputs]
    dtypes = [None] * len(first) if otypes is None else otypes
    outs = [
        np.empty_like(x, shape=shape + core, dtype=t)
        for x, core, t in zip(first, cores, dtypes, strict=True)
    ]
    if shape == ():
        for out, x in zip(outs, first, strict=True):
            out[...] = x
        return outs[0] if len(outs) == 1 else tuple(outs)
    flat = [out.reshape((n, *core)) for out, core in zip(outs, cores, strict=True)]
    for out, x in zip(flat, first, strict=True):
        out[0] = x
    for i in range(1, n):
        for out, x in zip(flat, results_of(function, rows, i, outputs), strict=True):
            out[i] = x
    return outs[0] if len(outs) == 1 else tuple(outs)


def axes_in(text: Any) -> list[Any]:
    """The names of the axes of each array in one side of a signature."""
    return [tuple([axis for axis in part.split(",") if axis]) for part in text[1:-1].split("),(")]


def note_sizes(sizes: Any, x: Any, axes: Any) -> None:
    """Note how long the axes with names are, the last ones of an array. Raises ValueError."""
    if not axes:
        return
    if not isinstance(x, (np.ndarray, np.generic)):
        refuse("np.vectorize of a function that gives no array")
    if x.ndim < len(axes):
        text = f"{x.ndim}-dimensional argument does not have enough dimensions for all core "
        raise ValueError(f"{text}dimensions {axes!r}")
    for axis, size in zip(axes, x.shape[-len(axes) :], strict=True):
        if axis in sizes and sizes[axis] != size:
            text = f"inconsistent size for core dimension {axis!r}: {size} vs {sizes[axis]}"
            raise ValueError(text)
        sizes[axis] = size


def rows_of(a: Any, shape: Any, n: Any, core: Any) -> Any:
    """An array repeated along leading axes, which are one: it is read alone, as in NumPy."""
    return np.broadcast_to(np.broadcast_to(a, shape + core).reshape((n, *core)), (n, *core))


def results_of(function: Any, rows: Any, i: Any, outputs: Any) -> Any:
    """What a function gives for the rows of one number, as a tuple."""
    found = function(*[row[i] for row in rows])
    count = len(found) if isinstance(found, tuple) else 1
    if count != len(outputs):
        text = f"wrong number of outputs from pyfunc: expected {len(outputs)}, got {count}"
        raise ValueError(text)
    return (found,) if count == 1 else found


def empty(shape: Any, otypes: Any, outputs: Any, sizes: Any) -> Any:
    """The results where there is nothing to call a function for."""
    if otypes is None:
        raise ValueError(_EMPTY)
    if any(axis not in sizes for axes in outputs for axis in axes):
        text = "cannot call `vectorize` with a signature including new output dimensions on size 0 "
        raise ValueError(f"{text}inputs")
    outs = [
        np.empty(shape + tuple([sizes[axis] for axis in axes]), t)
        for axes, t in zip(outputs, otypes, strict=True)
    ]
    return outs[0] if len(outs) == 1 else tuple(outs)


#: Function of NumPy -> the one that is traced in its place.
FUNCTIONS: dict[Any, Any] = {np.vectorize.__call__: call}
