"""Every keyword of NumPy's functions and of the methods of arrays, given odd values, against NumPy.

    python -m tests.frontend.numpy.keywords                    all of it
    python -m tests.frontend.numpy.keywords sum ndarray.clip   these functions
    python -m tests.frontend.numpy.keywords --part 0/4         a quarter of the calls

The keywords are those of NumPy's own signatures, and one that it has not. An outcome is a value
with its class and dtype, or an exception with its text, and what the arguments are afterwards. Runs
in plain Python are fine, failures of the compiler (TJ013) are not.
"""

from __future__ import annotations

import argparse
import copy
import inspect
import sys
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import tracejit
from tests.frontend.numpy.argument_kinds import shown
from tracejit.frontend.numpy.registry import HANDLERS
from tracejit.frontend.numpy.ufuncs import DEFINED
from tracejit.ops.array.elementwise import UFUNC_OPS

__all__ = ["KNOWN", "NAMES", "Call", "calls", "difference"]


class _Thing:
    """An object that NumPy knows nothing of."""

    def __repr__(self) -> str:
        return "thing"


#: Values in the place of any other.
ODD: tuple[Any, ...] = (
    *(None, True, -1, 2.5, "x", np.array([1, 0]), [1, 0], (1, 0), {}, np.float32(1)),
    *(np.uint64(2**63), 1 + 2j, b"x", _Thing(), np.array([1, 0], np.uint64), [0.5] * 20),
)

_MATRIX = np.array([[4.0, 1.0, 2.0], [1.0, 5.0, 3.0], [2.0, 3.0, 6.0]])
_LINE = np.arange(3.0)
#: What parameters without a default are given where they are not the odd one.
_USUAL: dict[str, Any] = {
    **dict.fromkeys(("arrays", "tup", "arys"), (_MATRIX, _MATRIX + 1)),
    **dict.fromkeys(("axis1", "source", "start", "n", "N", "shift", "kth", "ind", "val"), 0),
    **dict.fromkeys(("axis2", "destination", "stop", "indices_or_sections", "obj", "repeats"), 1),
    **dict.fromkeys(("indices", "pad_width", "axis", "reps", "num", "deg", "M", "q", "c"), 1),
    **dict.fromkeys(("xp", "fp", "bins"), _LINE),
    **dict.fromkeys(("condition", "mask"), _MATRIX > 2),
    **dict.fromkeys(("shape", "dimensions", "newshape", "new_shape", "dims"), (3, 3)),
    **dict.fromkeys(("dtype", "dtype1", "from_", "to"), "f4"),
    **dict.fromkeys(("choices", "choicelist"), [_MATRIX, _MATRIX + 1]),
    **{"condlist": [_MATRIX > 2, _MATRIX > 1], "fill_value": 1.5, "object": [1.0, 2.0]},
    **{"subscripts": "ij->j", "iterable": [1.0, 2.0], "value": 1.5, "multi_index": (1, 1)},
}
#: Functions by texts, of files, of the contents of memory; an order of sets that is not fixed.
_LEFT = {
    *("empty", "empty_like", "ndarray.dump", "ndarray.dumps", "ndarray.tofile", "ndarray.tobytes"),
    *("ndarray.getfield", "ndarray.setfield", "ndarray.setflags", "ndarray.resize"),
    *("ndarray.byteswap", "ndarray.to_device"),
}
#: Options that NumPy's signatures call `**kwargs`.
_MORE = ("keepdims", "initial", "where", "mean", "correction", "casting")


def _name(f: Any) -> str:
    module = getattr(f, "__module__", None) or "numpy"
    return f"{module.removeprefix('numpy').lstrip('.')}.{f.__name__}".lstrip(".")


def _functions() -> dict[str, Callable[..., Any]]:
    found = {_name(f): f for f in [*HANDLERS, *UFUNC_OPS, *DEFINED] if callable(f)}
    for ufunc in (np.add, np.maximum, np.logical_or):
        for method in ("reduce", "accumulate", "outer", "at", "reduceat"):
            found[f"{ufunc.__name__}.{method}"] = getattr(ufunc, method)
    for name in dir(np.ndarray):
        if not name.startswith("_") and callable(getattr(np.ndarray, name)):
            found[f"ndarray.{name}"] = getattr(np.ndarray, name)
    return {name: f for name, f in found.items() if name not in _LEFT}


FUNCTIONS = _functions()
NAMES = sorted(FUNCTIONS)
#: Calls that are known to differ, each with the reason.
KNOWN: dict[str, str] = {}


@dataclass(frozen=True)
class Call:
    """A call of a function, in which the argument `odd` is an odd value."""

    function: str
    odd: str
    #: Whether arguments are given by their places up to `odd`, or by name where NumPy has one.
    by_place: bool
    #: Which of `ODD`.
    value: int
    #: Whether the odd value is an argument of the compiled function, or a constant in it.
    traced: bool

    def __str__(self) -> str:
        given = repr(ODD[self.value]) if self.value < len(ODD) - 1 else "[0.5] * 20"
        how = "place " if self.by_place else ""
        return f"{self.function}({how}{self.odd}={given})" + (", traced" if self.traced else "")


@cache
def _parameters(name: str) -> dict[str, inspect.Parameter]:
    f = FUNCTIONS[name]
    try:
        return dict(inspect.signature(f).parameters)
    except ValueError:
        return dict(inspect.signature(HANDLERS[f]).parameters) if f in HANDLERS else {}


def calls(name: str) -> Iterator[Call]:
    """All calls of a function."""
    for p in _parameters(name).values():
        keys = [p.name]
        if p.kind is p.VAR_KEYWORD:
            keys = [k for k in _MORE if k not in _parameters(name)] + ["unknown"]
        places = p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL)
        for key in keys:
            for by_place in (True, False) if places and p.default is p.empty else (places,):
                for value in range(len(ODD)):
                    for traced in (False, True):
                        if p.name != "self" and not (p.kind is p.VAR_POSITIONAL and not by_place):
                            yield Call(name, key, by_place, value, traced)
    yield Call(name, "unknown", False, 1, False)


def _usual(p: inspect.Parameter) -> Any:
    return copy.deepcopy(_USUAL.get(p.name, _MATRIX))


def _arguments(call: Call) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call by place and by name, with `Ellipsis` where the odd value is."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for p in _parameters(call.function).values():
        odd = p.name == call.odd
        if p.kind is p.VAR_POSITIONAL:
            args += [...] if odd else []
        elif p.kind is not p.VAR_KEYWORD and p.default is p.empty or odd:
            value = ... if odd else _usual(p)
            if p.kind is p.POSITIONAL_ONLY and (call.by_place or not odd):
                args.append(value)
            else:
                kwargs[p.name] = value
        elif (
            call.by_place
            and not odd
            and p.kind is p.POSITIONAL_ONLY
            and call.odd in _after(p, call)
        ):
            args.append(p.default)
    if call.odd not in _parameters(call.function):
        kwargs[call.odd] = ...
    return args, kwargs


def _after(p: inspect.Parameter, call: Call) -> list[str]:
    names = [*_parameters(call.function)]
    return names[names.index(p.name) :]


def _run(call: Call) -> tuple[Callable[..., Any], list[Any]]:
    """The function to compile, and what it is called with."""
    f = FUNCTIONS[call.function]
    args, kwargs = _arguments(call)
    given: list[Any] = []

    def place(v: Any) -> Any:
        if v is ... and not call.traced:
            return lambda _: ODD[call.value]
        given.append(copy.deepcopy(ODD[call.value]) if v is ... else v)
        return lambda values, k=len(given) - 1: values[k]

    by_place = [place(v) for v in args]
    by_name = {k: place(v) for k, v in kwargs.items()}
    method = call.function.removeprefix("ndarray.") if "ndarray." in call.function else None

    def run(values: list[Any]) -> Any:
        args = [v(values) for v in by_place]
        kwargs = {k: v(values) for k, v in by_name.items()}
        if method is not None:
            return getattr(args[0], method)(*args[1:], **kwargs)
        return f(*args, **kwargs)

    return run, given


def _outcome(f: Callable[..., Any], given: list[Any], unwritten: bool) -> Any:
    given = copy.deepcopy(given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = shown(f(given))
            if unwritten and found[0] == "ndarray":
                found = found[:3]
        except Exception as e:
            found = type(e).__name__, str(e)
    return found, shown(given)


def difference(call: Call) -> str | None:
    """What differs between the plain and the compiled call; None where nothing does."""
    run, given = _run(call)
    jitted = tracejit.jit(run)
    # Where a ufunc's mask does not hold, what memory held before is left in its result.
    f = FUNCTIONS[call.function]
    unwritten = call.odd == "where" and (isinstance(f, np.ufunc) or "clip" in call.function)
    expected, actual = (_outcome(g, given, unwritten) for g in (run, jitted))
    failed = [x for x in jitted.report().fallbacks if x.code == "TJ013"]
    if failed:
        return f"{call}: the compiler fails: {failed[0].reason}"
    if expected == actual:
        return None
    part = expected[0] == actual[0]
    return f"{call}: NumPy {expected[part]}, compiled {actual[part]}"


def in_share(call: Call, seed: int, parts: int) -> bool:
    """Whether a call is in the slice of a seed."""
    return (zlib.crc32(str(call).encode()) + seed) % parts == 0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--part", default="0/1", help="k/n: part k of n")
    options = parser.parse_args(arguments)
    part, parts = map(int, options.part.split("/"))
    found: Counter[str] = Counter()
    for name in options.names:
        for call in (c for c in calls(name) if in_share(c, part, parts)):
            found["calls"] += 1
            line = difference(call)
            if line is not None:
                known = KNOWN.get(f"{call.function}({call.odd})")
                found["differ" if known is None else f"known: {known}"] += 1
                print(line if known is None else f"known ({known}): {line}", flush=True)
    print(", ".join(f"{n} {kind}" for kind, n in sorted(found.items())))
    return min(found["differ"], 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
