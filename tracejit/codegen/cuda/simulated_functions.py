"""What printed source means to Python itself: NumPy's numbers, of exactly the types on the device.

Nothing raises: divisions by zero, overflows and arguments outside of a domain give what IEEE and
the native code give. (NumPy warns of them where the caller has not turned that off.)
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from tracejit.base.locks import once
from tracejit.codegen.cuda.device_functions import (
    INSTRUCTIONS,
    LIBRARY,
    MANY,
    SOURCES,
    SOURCES_OF_DOUBLES,
    VECTORS,
    source,
)
from tracejit.codegen.cuda.device_functions import TYPES as TYPE_NAMES
from tracejit.codegen.cuda.python_builder import Printed
from tracejit.codegen.scalar.math import C_FUNCTIONS
from tracejit.ir.fma import fma
from tracejit.link.finding import c_address

__all__ = ["simulated_function", "simulated_namespace"]

_Function = Callable[..., Any]


def _dtype(x: Any) -> str:
    return f"{x.dtype.kind}{8 * x.dtype.itemsize}"


def _select(condition: Any, a: Any, b: Any) -> Any:
    return a if condition else b


def _bits(x: Any) -> Any:
    return x.view(f"i{x.itemsize}")


def _from_bits(x: Any) -> Any:
    return x.view(f"f{x.itemsize}")


def _quotient(a: Any, b: Any) -> Any:
    x, y = int(a), int(b)
    size = abs(x) // abs(y)
    return type(a)(-size if (x < 0) != (y < 0) else size)


def _rest(a: Any, b: Any) -> Any:
    size = abs(int(a)) % abs(int(b))
    return type(a)(-size if a < 0 else size)


def _multiply_high(a: Any, b: Any) -> Any:
    return type(a)((int(a) * int(b)) >> (8 * a.itemsize))


def _bit_count(x: Any) -> Any:
    return type(x)(np.bitwise_count(x.view(f"u{x.itemsize}")))


def _trailing_zeros(x: Any) -> Any:
    whole = int(x)
    return type(x)((whole & -whole).bit_length() - 1)


def _overflows(operation: Callable[[int, int], int]) -> _Function:
    def call(a: Any, b: Any) -> bool:
        limits = np.iinfo(type(a))
        return not limits.min <= operation(int(a), int(b)) <= limits.max

    return call


def _load(n: int) -> _Function:
    return lambda buffer, place: buffer.load(place, n)


def _store(n: int) -> _Function:
    def call(buffer: Any, place: Any, values: Any) -> None:
        assert len(values) == n
        buffer.store(place, values)

    return call


def _put(n: int) -> _Function:
    def call(buffer: Any, place: Any, aligned: bool, values: Any) -> None:
        assert len(values) == n
        if aligned:
            buffer.store(place, values)
        else:
            for k, value in enumerate(values):
                buffer[place + k] = value

    return call


def _loads(n: int, count: int) -> _Function:
    def call(buffer: Any, place: Any, step: Any, aligned: bool) -> tuple[Any, ...]:
        firsts = [place + v * step for v in range(count)]
        if n > 1 and aligned:
            return tuple(x for first in firsts for x in buffer.load(first, n))
        return tuple(buffer[first + k] for first in firsts for k in range(n))

    return call


def _atomic(operation: Callable[[Any, Any], Any]) -> _Function:
    """Threads take turns: an update is not interrupted."""

    def call(buffer: Any, place: Any, value: Any) -> None:
        buffer[place] = operation(buffer[place], value)

    return call


def _libm(name: str) -> _Function:
    @lru_cache(maxsize=1)
    def function(count: int) -> Any:
        return ctypes.CFUNCTYPE(*[ctypes.c_double] * (count + 1))(c_address(name))

    return lambda *args: np.float64(function(len(args))(*map(float, args)))


def _table(entries: tuple[int, ...], size: int) -> _Function:
    array = np.array(entries, f"u{size // 8}")
    return lambda index: array[int(index)]


def simulated_function(definition: Printed) -> _Function:
    """The function of a definition in source, on NumPy's numbers."""
    space: dict[str, Any] = dict(_namespace())
    for (entries, size), table in definition.tables.items():
        space[table] = _table(entries, size)
    exec(compile(definition.source, "<device function>", "exec"), space)
    function: _Function = space["function"]
    return function


def _in_source(name: str) -> _Function:
    """The function made of its source for the dtypes of the arguments."""

    @lru_cache(maxsize=64)
    def made(dtypes: tuple[str, ...]) -> _Function:
        return simulated_function(source(name, dtypes))

    def call(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return made(tuple(map(_dtype, args)))(*args)

    return call


def _ufunc(name: str) -> _Function:
    function: _Function = getattr(np, name)

    def call(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*args)

    return call


def _of_doubles(written: _Function, other: _Function) -> _Function:
    return lambda *args: (written if args[0].itemsize == 8 else other)(*args)


@once
def _namespace() -> dict[str, Any]:
    functions: dict[str, _Function] = {
        "select": _select,
        "bits": _bits,
        "from_bits": _from_bits,
        "quotient": _quotient,
        "rest": _rest,
        "multiply_high": _multiply_high,
        "bit_count": _bit_count,
        "trailing_zeros": _trailing_zeros,
        "add_overflows": _overflows(lambda a, b: a + b),
        "subtract_overflows": _overflows(lambda a, b: a - b),
        "multiply_overflows": _overflows(lambda a, b: a * b),
        "atomic_add": _atomic(np.add),
        "atomic_min": _atomic(np.minimum),
        "atomic_max": _atomic(np.maximum),
        "atomic_and": _atomic(np.bitwise_and),
        "atomic_or": _atomic(np.bitwise_or),
        "atomic_xor": _atomic(np.bitwise_xor),
        "aligned": lambda buffer, place, size: buffer.address(place) % size == 0,
    }
    for n in VECTORS:
        functions[f"load{n}"] = _load(n)
        functions[f"store{n}"] = _store(n)
        functions[f"put{n}"] = _put(n)
    for n, count in MANY:
        functions[f"loads{n}x{count}"] = _loads(n, count)
    for name in (*INSTRUCTIONS, *LIBRARY):
        if hasattr(np, name):
            functions[name] = _ufunc(name)
        elif not name.startswith("libm_"):
            functions[name] = _in_source(name)
    functions["fma"] = fma
    # NumPy has a square root of its own for the exponent 0.5, and -0.0 for its zero.
    power = _libm("pow")
    functions["power"] = lambda x, y: type(x)(power(x, y))
    functions |= {f"libm_{name}": _libm(name) for name in C_FUNCTIONS}
    functions |= {name: _in_source(name) for name in SOURCES}
    for name, written in SOURCES_OF_DOUBLES.items():
        functions[name] = _of_doubles(_in_source(written), functions[name])
    return {
        **{name: getattr(np, name) for name in TYPE_NAMES},
        "bool_": np.bool_,
        **{f"fn_{name}": function for name, function in functions.items()},
        "fn_inf": math.inf,
        "fn_nan": math.nan,
    }


def simulated_namespace() -> dict[str, Any]:
    """The global names of printed source, to execute it with NumPy's numbers."""
    return dict(_namespace())
