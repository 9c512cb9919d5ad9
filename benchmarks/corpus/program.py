"""What a program of the corpus is, and a picture of all that one of its calls leaves behind."""

from __future__ import annotations

import random
import types
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

#: Numbers may be off by this much of their magnitude or of their array's largest one.
RTOL = 1e-9

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), slice)
_NAMED = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, type, np.ufunc)


@dataclass(frozen=True)
class Program:
    """A function, or a method, and makers of its arguments: new objects at every call of them."""

    f: Callable[..., Any]
    inputs: tuple[Callable[[], tuple[Any, ...]], ...]

    @property
    def name(self) -> str:
        """The function's name, with its class before it."""
        return self.f.__qualname__


class Family(list[Program]):
    """The programs of one file."""

    def add(self, f: Callable[..., Any], *inputs: Callable[[], tuple[Any, ...]]) -> None:
        """One more: `inputs` make arguments that take different paths."""
        self.append(Program(f, inputs))


def standing(report: Any) -> str:
    """How a function was run: "whole", or what `EAGER` says of it."""
    codes = {f.code for f in report.fallbacks}
    if any(text.startswith("without an exception") for text in report.repeats):
        codes.add("TJ010")
    called = {line.why for line in report.lines if line.kind == "host"}
    return " ".join(sorted(codes)) or ", ".join(sorted(called)) or "whole"


def outcome(f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """What a call returns or raises, and all of its arguments afterwards."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            result = f(*args)
        except Exception as e:
            result = type(e).__name__, str(e)
    return picture((result, args))


def picture(x: Any, seen: dict[int, Any] | None = None) -> Any:
    """All that an object holds, with which parts of it are one object."""
    seen = {} if seen is None else seen
    if type(x) in _PLAIN or isinstance(x, (np.generic, np.dtype)):
        return type(x), x
    if isinstance(x, (*_NAMED, Enum)):
        return type(x), getattr(x, "__qualname__", None) or str(x)
    if id(x) in seen:
        return "again", seen[id(x)][0]
    seen[id(x)] = len(seen), x
    return type(x).__name__, _contents(x, seen)


def _contents(x: Any, seen: dict[int, Any]) -> Any:
    if isinstance(x, np.ndarray):
        return x.dtype, x.shape, x.copy()
    if isinstance(x, np.random.Generator):
        return _plain_state(x.bit_generator.state)
    if isinstance(x, (np.random.RandomState, random.Random)):
        return _plain_state(x.get_state() if hasattr(x, "get_state") else x.getstate())
    if isinstance(x, dict):
        return [(picture(k), picture(v, seen)) for k, v in x.items()]  # keys go by value
    if isinstance(x, (set, frozenset)):
        return [picture(v, seen) for v in sorted(x, key=repr)]
    if isinstance(x, (list, tuple, deque)):
        return [picture(v, seen) for v in x]
    names = [*getattr(x, "__dict__", ())]
    names += [n for n in getattr(type(x), "__slots__", ()) if hasattr(x, n)]
    return [(n, picture(getattr(x, n), seen)) for n in names]


def _plain_state(state: Any) -> str:
    with np.printoptions(threshold=10_000):
        return str(state)


def differences(expected: Any, actual: Any, rtol: float = RTOL, at: str = "") -> Iterator[str]:
    """In what two pictures differ by more than rounding, in lines of text."""
    if type(expected) is not type(actual):
        yield f"{at}: expected {expected!r}, got {actual!r}"
    elif isinstance(expected, (list, tuple)):
        if len(expected) != len(actual):
            yield f"{at}: expected {len(expected)} parts, got {len(actual)}"
        for k, (e, a) in enumerate(zip(expected, actual)):
            yield from differences(e, a, rtol, f"{at}.{k}")
    elif isinstance(expected, (float, complex, np.ndarray, np.generic)):
        if not _close(np.asarray(expected), np.asarray(actual), rtol):
            yield f"{at}: expected {expected!r}, got {actual!r}"
    elif expected is not actual and expected != actual:
        yield f"{at}: expected {expected!r}, got {actual!r}"


def _close(expected: np.ndarray, actual: np.ndarray, rtol: float) -> bool:
    if expected.dtype != actual.dtype or expected.shape != actual.shape:
        return False
    if expected.dtype.kind not in "fc":
        return np.array_equal(expected, actual)
    rtol = max(rtol, 8 * float(np.finfo(expected.dtype).eps))
    finite = np.abs(expected[np.isfinite(expected)])
    atol = rtol * max(float(finite.max(initial=0)), 1e-3)
    return np.allclose(expected, actual, rtol=rtol, atol=atol, equal_nan=True)
