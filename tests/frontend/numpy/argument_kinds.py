"""Every public function of NumPy with each of its parameters given odd values, against NumPy.

    python -m tests.frontend.numpy.argument_kinds            all of it
    python -m tests.frontend.numpy.argument_kinds sum eye    these functions

Numbers of every kind take the place of ints, of flags and of the arrays themselves: Python's and
NumPy's, 0-d arrays, floats where an int is expected, infinities, NaN, bools. What NumPy gives is a
value with its type, dtype and class, or an exception.
"""

from __future__ import annotations

import inspect
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tracejit
from tracejit.frontend.numpy.registry import HANDLERS, PRELUDE, functions

__all__ = ["NAMES", "calls", "differences"]

#: Numbers in the place of any other.
ODD: tuple[Any, ...] = (
    *(0, 1, 2, -1, -2, 7, True, False, 0.5, 1.0, -1.5, np.inf, np.nan, 1 + 2j),
    *(np.int64(1), np.int8(-1), np.uint8(1), np.float64(1.0), np.float32(0.5), np.bool_(True)),
    *(np.array(1), np.array(1.0), None, (0,), (0, 1), [1, 0], (0.0,), "x", np.array([0, 1])),
)
NUMBERS: tuple[Any, ...] = (
    *(0, 3, True, 2.5, -0.0, np.inf, np.nan, 1 + 2j, np.float32(2.5), np.float64(-0.0)),
    *(np.int8(3), np.uint64(3), np.complex64(1 - 2j), np.bool_(True), np.array(2.5), [1, 2.5], []),
)

#: What the parameters are given where they are not the odd one.
_MATRIX = np.array([[4.0, 1.0, 2.0], [1.0, 5.0, 3.0], [2.0, 3.0, 6.0]])
_USUAL: dict[str, Any] = {
    **dict.fromkeys(("a", "x", "m", "arr", "ary", "array", "v", "z", "val"), _MATRIX),
    **dict.fromkeys(("A", "x1", "a1"), _MATRIX),
    **dict.fromkeys(("b", "y", "x2", "a2", "values", "to", "vals"), _MATRIX + 1),
    **dict.fromkeys(("N", "n", "num", "shift", "repeats", "reps"), 2),
    **dict.fromkeys(("start", "axis1", "source"), 0),
    **dict.fromkeys(("stop", "axis2", "destination", "indices_or_sections"), 1),
    **dict.fromkeys(("obj", "indices", "pad_width", "axis"), 1),
    **dict.fromkeys(("arrays", "tup", "arys"), (_MATRIX, _MATRIX + 1)),
    **dict.fromkeys(("shape", "dimensions", "newshape"), (3, 3)),
    **dict.fromkeys(("condition", "mask"), _MATRIX > 2),
    "fill_value": 1.5,
    "object": [1.0, 2.0],
    "kth": 1,
    "f": _MATRIX,
    "ind": 1,
}
#: Other functions are given functions, files or objects, or give the contents of memory.
_LEFT = {
    *("empty", "empty_like", "copyto", "put", "putmask", "place", "fill_diagonal", "einsum"),
    *("put_along_axis", "shares_memory", "may_share_memory", "array", "asarray", "select"),
    *("result_type", "can_cast", "ix_", "block", "linalg.multi_dot", "asanyarray", "copy"),
}


def _name(f: Any) -> str:
    module = getattr(f, "__module__", None) or "numpy"
    return f"{module.removeprefix('numpy').lstrip('.')}.{f.__name__}".lstrip(".")


FUNCTIONS: dict[str, Callable[..., Any]] = {
    _name(f): f for f in functions() if not isinstance(f, np.ufunc) and _name(f) not in _LEFT
}
NAMES = sorted(FUNCTIONS)


def _parameters(f: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(f).parameters)
    except ValueError:
        return dict(inspect.signature(HANDLERS.get(f) or PRELUDE[f]).parameters)


_NAMES_LEFT = {"out", "like", "device", "subok", "dtype", "where", "optimize", "casting", "kwargs"}


def calls(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls of the function as (the odd parameter, arguments by name)."""
    parameters = _parameters(FUNCTIONS[name])
    needed = {
        p.name: _USUAL.get(p.name, 1)
        for p in parameters.values()
        if p.default is p.empty and p.kind is not p.VAR_POSITIONAL and p.kind is not p.VAR_KEYWORD
    }
    for p in parameters.values():
        if p.name in _NAMES_LEFT or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        arrays = isinstance(_USUAL.get(p.name), np.ndarray)
        for value in NUMBERS if arrays else ODD:
            yield p.name, {**needed, p.name: value}


def _call(f: Callable[..., Any], kwargs: dict[str, Any]) -> Callable[[Any], Any]:
    """A function of one argument, the first array or else anything, with the rest as constants."""
    parameters = _parameters(f)
    positional = [k for k in kwargs if parameters[k].kind is inspect.Parameter.POSITIONAL_ONLY]
    rest = {k: v for k, v in kwargs.items() if k not in positional}

    def run(given: dict[str, Any]) -> Any:
        every = {**kwargs, **given}
        return f(*(every[k] for k in positional), **{k: every[k] for k in rest})

    return run


def shown(x: Any) -> Any:
    """A result as what must agree: its classes, dtypes, shapes and values."""
    if isinstance(x, (list, tuple)):
        return type(x).__name__, [shown(v) for v in x]
    if isinstance(x, (np.ndarray, np.generic)):
        values = np.asarray(x)
        if values.dtype.kind in "fc":
            # Sums may differ in their order.
            small = values.dtype.char in "efF"
            values = np.round(values.astype(complex), 4 if small else 9) + 0.0
        return type(x).__name__, str(x.dtype), x.shape, repr(values.tolist())
    return type(x).__name__, repr(x)


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return shown(f(*args))
        except Exception as e:
            return type(e).__name__


def differences(name: str, most: int | None = None) -> list[str]:
    """What differs between plain and compiled calls of the function, each as a line.

    Of all calls, or of `most` that are always the same ones.
    """
    f = FUNCTIONS[name]
    found = []
    chosen = list(calls(name))
    if most is not None:
        chosen = random.Random(name).sample(chosen, min(most, len(chosen)))
    for odd, kwargs in chosen:
        run = _call(f, kwargs)
        # The odd value as a constant of the function, and as an argument of the call.
        arrays = {k: v for k, v in kwargs.items() if isinstance(v, np.ndarray)}
        ways = [arrays or {}, {odd: kwargs[odd]}]
        for given in ways[: 1 if odd in arrays and len(arrays) == 1 else 2]:
            expected = outcome(run, given)
            actual = outcome(tracejit.jit(run), given)
            if expected != actual:
                how = "constant" if odd not in given else "argument"
                text = f"{name}({odd}={kwargs[odd]!r}, {how}): NumPy {expected}, compiled {actual}"
                found.append(text)
    return found


def main(names: list[str]) -> int:
    total = 0
    for name in names or NAMES:
        for line in differences(name):
            total += 1
            print(line, flush=True)
    count = sum(1 for name in names or NAMES for _ in calls(name))
    print(f"{total} differences in {count} calls")
    return min(total, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
