"""Functions that run eagerly for the state V=0 of what they read, and are compiled for V=1.

python verdict_programs.py      as JSON, by name: is it answered without the compiler, the
                                result, the fallbacks, the warnings
"""

from __future__ import annotations

import json
import os
import sys
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tracejit

V = int(os.environ.get("V", "0"))
X = np.ones(3)

NUMBER, TEXT = V, "ab"[V]
LIST, DICT, LENGTH = [2.0, float(V)], {"k": V}, [1.0] * (V + 1)
ARRAY = np.ones(3 + V, [np.float64, np.float32][V])
if V == 0:
    PRESENT = 1
if V == 1:
    sys.modules["lacking"] = types.ModuleType("lacking")


class Holder:
    kind = V

    def __init__(self, mode: Any) -> None:
        self.mode = mode

    def scale(self, x: Any) -> Any:
        return x.byteswap()

    @tracejit.jit
    def method(self, x: Any) -> Any:
        return x.byteswap() if self.mode == 0 else x * 2


class Other:
    def scale(self, x: Any) -> Any:
        return x * 2


@dataclass
class Config:
    mode: int


HOLDER, ONE_OF, CONFIG = Holder(V), (Other() if V else Holder(0)), Config(V)


def swaps(x: Any) -> Any:
    return x.byteswap()


def doubles(x: Any) -> Any:
    return x * 2


helper = [swaps, doubles][V]


def defaults(x: Any, mode: int = V) -> Any:
    return x.byteswap() if mode == 0 else x * 2


@tracejit.jit
def number(x: Any) -> Any:
    return x.byteswap() if NUMBER == 0 else x * 2


@tracejit.jit
def text(x: Any) -> Any:
    return x.byteswap() if TEXT == "a" else x * 2


@tracejit.jit
def containers(x: Any) -> Any:
    return x.byteswap() if LIST[1] == 0 and DICT["k"] == 0 else x * 2


@tracejit.jit
def length(x: Any) -> Any:
    return x.byteswap() if len(LENGTH) == 1 else x * 2


@tracejit.jit
def captured_array(x: Any) -> Any:
    return x.byteswap() if ARRAY.shape == (3,) and ARRAY.dtype == np.float64 else x * 2


@tracejit.jit
def absent_name(x: Any) -> Any:
    try:
        return x.byteswap() if PRESENT else x
    except NameError:
        return x * 2


@tracejit.jit
def absent_module(x: Any) -> Any:
    try:
        import lacking  # type: ignore[import-not-found]
    except ImportError:
        return x.byteswap()
    return x * 2 if lacking else x


@tracejit.jit
def attribute(x: Any) -> Any:
    return x.byteswap() if HOLDER.mode == 0 else x * 2


@tracejit.jit
def class_attribute(x: Any) -> Any:
    return x.byteswap() if Holder.kind == 0 else x * 2


@tracejit.jit
def class_of_object(x: Any) -> Any:
    return ONE_OF.scale(x)


@tracejit.jit
def field(x: Any) -> Any:
    return x.byteswap() if CONFIG.mode == 0 else x * 2


@tracejit.jit
def replaced(x: Any) -> Any:
    return helper(x)


@tracejit.jit
def default_of_helper(x: Any) -> Any:
    return defaults(x)


own_default = tracejit.jit(defaults)


def _closing_over(mode: int) -> Any:
    @tracejit.jit
    def closure(x: Any) -> Any:
        return x.byteswap() if mode == 0 else x * 2

    return closure


closure = _closing_over(V)


@tracejit.jit
def argument(x: Any, value: Any) -> Any:
    return x.byteswap() if value == 0 else x * 2


@tracejit.jit
def items(x: Any, values: Any) -> Any:
    return x.byteswap() if len(values) == 30 else x * 2


@tracejit.jit
def shape(x: Any) -> Any:
    return x.byteswap() if x.shape == (3,) else x * 2


CALLS: dict[str, Callable[[], Any]] = {
    **{f.__name__: lambda f=f: f(X) for f in (number, text, containers, length)},
    **{f.__name__: lambda f=f: f(X) for f in (captured_array, absent_name, absent_module)},
    **{f.__name__: lambda f=f: f(X) for f in (attribute, class_attribute, class_of_object, field)},
    **{f.__name__: lambda f=f: f(X) for f in (replaced, default_of_helper, closure)},
    "own_default": lambda: own_default(X),
    "argument": lambda: argument(X, V),
    "items": lambda: items(X, [1.0] * (30 + V)),
    "method": lambda: Holder(V).method(X),
    "shape": lambda: shape(np.ones(3 + V)),
}


def main() -> None:
    found = {}
    for name, call in CALLS.items():
        f: Any = Holder.method if name == "method" else globals()[name]
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            result = repr(call())
        warm, report = f._state is None, f.report()
        fallbacks = [(f.code, f.reason, str(f.where)) for f in report.fallbacks]
        found[name] = warm, result, fallbacks, [str(w.message) for w in told]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
