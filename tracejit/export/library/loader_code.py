"""Calls of a shared library's functions with NumPy's arrays: NumPy and ctypes are all it needs.

A copy of this file is the first part of every loader; what describes the library follows it there.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Array(NamedTuple):
    """An argument that is an array, in C or Fortran order; sizes are numbers or names."""

    name: str
    dtype: str
    dims: tuple[int | str, ...]
    order: str
    stored: bool

    def bind(self, x: Any, sizes: dict[str, int]) -> None:
        """Check an array, and note the sizes that it has."""
        wanted = f"argument {self.name}: an array of {np.dtype(self.dtype).name}"
        if type(x) is not np.ndarray:
            raise TypeError(f"{wanted} is needed, not {_kind(x)}")
        if x.dtype != np.dtype(self.dtype):
            raise TypeError(f"{wanted} is needed, not of {x.dtype}")
        if x.ndim != len(self.dims):
            raise TypeError(f"{wanted} with {len(self.dims)} axes is needed, not {x.ndim}")
        for axis, (size, n) in enumerate(zip(self.dims, x.shape, strict=True)):
            known = sizes.setdefault(size, n) if isinstance(size, str) else size
            if known != n:
                raise ValueError(
                    f"argument {self.name}: axis {axis} has {n} elements, and {size} is {known}"
                    if isinstance(size, str)
                    else f"argument {self.name}: axis {axis} has {n} elements, not {size}"
                )
        is_fortran = self.order == "F"
        if not (x.flags.f_contiguous if is_fortran else x.flags.c_contiguous):
            kind, make = ("Fortran", "asfortranarray") if is_fortran else ("C", "ascontiguousarray")
            raise ValueError(
                f"argument {self.name} is not {kind}-contiguous: np.{make} makes it so"
            )
        if not x.flags.aligned:
            raise ValueError(f"argument {self.name} is not aligned")
        if self.stored and not x.flags.writeable:
            raise ValueError(f"argument {self.name} is stored into, and is read-only")

    def passed(self, x: Any) -> Any:
        """What the C function is given."""
        return ctypes.c_void_p(x.ctypes.data)


class Number(NamedTuple):
    """An argument that is a number of Python: an int, a float or a complex."""

    name: str
    kind: str

    def bind(self, x: Any, sizes: dict[str, int]) -> None:
        """Check a number."""
        if type(x).__name__ != self.kind or type(x).__module__ != "builtins":
            raise TypeError(f"argument {self.name}: {self.kind} is needed, not {_kind(x)}")
        if self.kind == "int" and not -(2**63) <= x < 2**63:
            raise ValueError(f"argument {self.name}: {x} does not fit 64 bits")

    def passed(self, x: Any) -> Any:
        """What the C function is given."""
        if self.kind == "complex":
            return (ctypes.c_double * 2)(x.real, x.imag)
        return ctypes.c_int64(x) if self.kind == "int" else ctypes.c_double(x)


class Scalar(NamedTuple):
    """An argument that is a scalar of NumPy."""

    name: str
    dtype: str

    def bind(self, x: Any, sizes: dict[str, int]) -> None:
        """Check a scalar."""
        if type(x) is not np.dtype(self.dtype).type:
            kind = np.dtype(self.dtype).name
            raise TypeError(f"argument {self.name}: a scalar of {kind} is needed, not {_kind(x)}")

    def passed(self, x: Any) -> Any:
        """What the C function is given."""
        if x.dtype.kind == "c":
            return (ctypes.c_char * x.itemsize).from_buffer_copy(x.tobytes())
        if x.dtype == np.float16:
            return ctypes.c_uint16(int(x.view(np.uint16)))
        return np.ctypeslib.as_ctypes_type(x.dtype)(x.item())


class Size(NamedTuple):
    """An argument that is the int that a size is."""

    name: str
    size: str

    def bind(self, x: Any, sizes: dict[str, int]) -> None:
        """Check an int, and note the size."""
        if type(x) is not int:
            raise TypeError(f"argument {self.name}: int is needed, not {_kind(x)}")
        if sizes.setdefault(self.size, x) != x:
            raise ValueError(f"argument {self.name} is {x}, and {self.size} is {sizes[self.size]}")


class Constant(NamedTuple):
    """An argument that is the same in all calls."""

    name: str
    value: Any

    def bind(self, x: Any, sizes: dict[str, int]) -> None:
        """Check that it is that."""
        if not _same(x, self.value):
            raise ValueError(f"argument {self.name}: the library is for {self.value!r}, not {x!r}")


class Made(NamedTuple):
    """A result. `form` is "array", "made" (by the library) or "scalar"; `kind` is Python's."""

    form: str
    dtype: str
    order: tuple[int, ...]
    kind: str


class Entry(NamedTuple):
    """One function of the library: its arguments by place, its sizes, how its result is built."""

    symbol: str
    text: str
    arguments: tuple[Any, ...]
    positional: int
    sizes: tuple[str, ...]
    results: tuple[Made, ...]
    build: Callable[[Sequence[Any], Mapping[str, Any]], Any]

    def bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by name. Raises TypeError."""
        names = [a.name for a in self.arguments]
        if len(args) > self.positional:
            raise TypeError(f"{self.positional} arguments by place are taken, not {len(args)}")
        given = dict(zip(names, args, strict=False))
        for name, x in kwargs.items():
            if name not in names:
                raise TypeError(f"there is no argument {name}")
            if name in given:
                raise TypeError(f"argument {name} is given twice")
            given[name] = x
        missing = [name for name in names if name not in given]
        if missing:
            raise TypeError(f"argument {missing[0]} is missing")
        return given

    def call(self, library: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result. Raises TypeError and ValueError where the arguments do not fit."""
        given = self.bound(args, kwargs)
        sizes: dict[str, int] = {}
        for a in self.arguments:
            a.bind(given[a.name], sizes)
        self._require_apart(given)
        passed = [ctypes.c_int64(sizes[s]) for s in self.sizes]
        results = self._results(library, passed)
        values = [a.passed(given[a.name]) for a in self.arguments if hasattr(a, "passed")]
        taken = [x for r in results for x in r.passed]
        self._require(getattr(library, self.symbol)(*passed, *values, *taken))
        return self.build([r.value(library) for r in results], given)

    def _require_apart(self, given: Mapping[str, Any]) -> None:
        arrays = [a for a in self.arguments if isinstance(a, Array)]
        for a in arrays:
            for b in arrays if a.stored else ():
                if a is not b and np.may_share_memory(given[a.name], given[b.name]):
                    text = f"argument {a.name} is stored into, and shares memory with {b.name}"
                    raise ValueError(text)

    def _results(self, library: Any, sizes: Sequence[Any]) -> list[_Result]:
        lengths = [(ctypes.c_int64 * len(r.order))() for r in self.results]
        known = [
            s for r, s in zip(self.results, lengths, strict=True) if r.form == "array" and len(s)
        ]
        if known:
            self._require(getattr(library, f"{self.symbol}_shapes")(*sizes, *known))
        return [_Result(r, s) for r, s in zip(self.results, lengths, strict=True)]

    def _require(self, status: int) -> None:
        if status == 1:
            raise RuntimeError(
                f"{self.symbol}: a check failed: an index out of bounds, a singular matrix or an "
                "int that does not fit 64 bits; arrays are as they were before"
            )
        if status == 2:
            raise ValueError(f"the sizes do not fit: {self.text}")
        if status == 3:
            raise MemoryError(f"{self.symbol} has no memory")
        if status == 4:
            raise RuntimeError(f"{self.symbol}: a size does not fit the integers of BLAS")
        if status:
            raise RuntimeError("this processor lacks instructions that the library was made with")


class _Result:
    """Memory for a result."""

    def __init__(self, made: Made, shape: ctypes.Array[ctypes.c_int64]) -> None:
        self.made, self.shape = made, shape
        self.pointer = ctypes.c_void_p()
        if made.form != "made":
            self.array = _empty(shape, made)
            self.passed: list[Any] = [ctypes.c_void_p(self.array.ctypes.data)]
        else:
            self.passed = [ctypes.byref(self.pointer), *([shape] if made.order else [])]

    def value(self, library: Any) -> Any:
        """What the user gets."""
        if self.made.form == "array":
            return self.array
        if self.made.form == "scalar":
            return self.array.item() if self.made.kind else self.array[()]
        try:
            out = _empty(self.shape, self.made)
            ctypes.memmove(out.ctypes.data, self.pointer, out.nbytes)
        finally:
            library.free_array(self.pointer)
        return out


def _empty(shape: Any, made: Made) -> np.ndarray[Any, Any]:
    """A new array whose axes lie in the order of a result."""
    out = np.empty([shape[axis] for axis in made.order], made.dtype)
    back = sorted(range(len(made.order)), key=made.order.__getitem__)
    return out if back == sorted(back) else out.transpose(back)


def _kind(x: Any) -> str:
    return f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")


def _same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if type(a) is tuple:
        return len(a) == len(b) and all(map(_same, a, b))
    return bool(a == b) and repr(a) == repr(b)


class Library:
    """The library beside the loader. `routines` are what `_table` takes, `build` is which library
    it has to be.
    """

    def __init__(
        self, file: str, name: str, routines: Sequence[Any], makes_arrays: bool, build: str
    ) -> None:
        path = Path(file).with_name(f"lib{name}.so")
        self._library: Any = ctypes.CDLL(str(path))
        # The system gives a process what it has loaded from this path before.
        found = ctypes.string_at(
            ctypes.addressof(ctypes.c_char.in_dll(self._library, f"{name}_build"))
        )
        if found != build.encode():
            raise ImportError(
                f"{path} is not the library of this loader, or was made anew since this process "
                "loaded it: a new process loads the new one"
            )
        if makes_arrays:
            self.free_array = getattr(self._library, f"{name}_free")
        if routines:
            getattr(self._library, f"{name}_set_blas")(ctypes.byref(_table(routines)))

    def __getattr__(self, symbol: str) -> Any:
        return getattr(self._library, symbol)

    def call(self, entries: Sequence[Entry], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result of the first entry that the arguments fit."""
        errors: list[TypeError | ValueError] = []
        for entry in entries:
            try:
                return entry.call(self, args, kwargs)
            except (TypeError, ValueError) as error:
                errors.append(error)
        if len(errors) == 1:
            raise errors[0]
        whole = [f"{e.text}: {error}" for e, error in zip(entries, errors, strict=True)]
        kind = TypeError if all(isinstance(e, TypeError) for e in errors) else ValueError
        raise kind("\n".join(["the arguments fit no signature", *whole]))


def _table(routines: Sequence[tuple[str, bool, Sequence[tuple[str, int]]]]) -> ctypes.Structure:
    """The routines of the library that NumPy itself calls: names, whether they are LAPACK's, what
    libraries call them, with the bits of their integers. Raises ImportError without them.
    """
    folder = "numpy._core" if np.__version__.partition(".")[0] != "1" else "numpy.core"
    modules = (f"{folder}._multiarray_umath", "numpy.linalg._umath_linalg")
    blas, lapack = (ctypes.CDLL(str(importlib.import_module(m).__file__)) for m in modules)
    members: list[Any] = [("int_bits", ctypes.c_int)]
    members += [(name, ctypes.c_void_p) for name, _, _ in routines]
    kind: Any = type("Table", (ctypes.Structure,), {"_fields_": members})
    # Routines of one library alone.
    for k, (_, bits) in enumerate(routines[0][2]):
        found: list[Any] = [
            getattr(lapack if is_lapack else blas, spelled[k][0], None)
            for _, is_lapack, spelled in routines
        ]
        if None not in found:
            table: ctypes.Structure = kind(bits, *(ctypes.cast(f, ctypes.c_void_p) for f in found))
            return table
    names = ", ".join(name for name, _, _ in routines)
    raise ImportError(f"NumPy's BLAS has no {names} under a name that is known")
