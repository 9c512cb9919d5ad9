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
import re
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
from tests.support.compare import Mismatch, assert_same
from tracejit.frontend.numpy.method_forms import METHOD_FORMS
from tracejit.frontend.numpy.registry import HANDLERS, PRELUDE, functions
from tracejit.frontend.numpy.ufuncs import DEFINED
from tracejit.ops.array.elementwise import UFUNC_OPS

__all__ = ["KNOWN", "NAMES", "Call", "calls", "difference"]


class _Thing:
    """An object that NumPy knows nothing of."""

    def __repr__(self) -> str:
        return "thing"

    def __deepcopy__(self, memo: Any) -> _Thing:
        return self


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
    **dict.fromkeys(("object", "iterable"), [1.0, 2.0]),
    **dict.fromkeys(("fill_value", "value"), 1.5),
    "condlist": [_MATRIX > 2, _MATRIX > 1],
    "subscripts": "ij->j",
    "multi_index": (1, 1),
}
#: Functions of files and of the contents of memory.
_LEFT = {
    *("empty", "empty_like", "ndarray.dump", "ndarray.dumps", "ndarray.tofile", "ndarray.tobytes"),
    *("ndarray.getfield", "ndarray.setfield", "ndarray.setflags", "ndarray.resize"),
    *("ndarray.byteswap", "ndarray.to_device", "lib.stride_tricks.as_strided"),
}
#: Calls that are not over in NumPy for years.
_ENDLESS = {("diff", "n")}
#: Options that NumPy's signatures call `**kwargs`.
_MORE = ("keepdims", "initial", "where", "mean", "correction", "casting")


def _name(f: Any) -> str:
    module = getattr(f, "__module__", None) or "numpy"
    return f"{module.removeprefix('numpy').lstrip('.')}.{f.__name__}".lstrip(".")


def _functions() -> dict[str, Callable[..., Any]]:
    known = [*functions(), *UFUNC_OPS, *DEFINED]
    found = {_name(f): f for f in known if callable(f)}
    for ufunc in (np.add, np.maximum, np.logical_or):
        for method in ("reduce", "accumulate", "outer", "at", "reduceat"):
            found[f"{ufunc.__name__}.{method}"] = getattr(ufunc, method)
    for name in dir(np.ndarray):
        if not name.startswith("_") and callable(getattr(np.ndarray, name)):
            found[f"ndarray.{name}"] = getattr(np.ndarray, name)
    return {name: f for name, f in found.items() if name not in _LEFT}


FUNCTIONS = _functions()
NAMES = sorted(FUNCTIONS)
_TEXTS = [*map(repr, ODD[:-1]), "[0.5] * 20"]
#: `function(argument)` of calls that are known to differ -> the reason.
KNOWN: dict[str, str] = {
    "triu_indices(m)": "uint64 sizes, from which NumPy cannot take 1",
    "fft.rfftfreq(d)": "a long list is an array where NumPy is called",
    "rollaxis(start)": "the compiler fails where a traced float is no place",
}


@dataclass(frozen=True)
class Call:
    """A call of a function, in which the argument `odd` is an odd value."""

    function: str
    odd: str
    #: Whether it is given by its place, or by its name whether or not NumPy lets it have one.
    by_place: bool
    #: Which of `ODD`.
    value: int
    #: Whether the odd value is an argument of the compiled function, or a constant in it.
    traced: bool

    def __str__(self) -> str:
        how = "by place, " * self.by_place + "traced" * self.traced
        return f"{self.function}({self.odd}={_TEXTS[self.value]}) {how}".rstrip(" ,")


@cache
def _parameters(name: str) -> dict[str, inspect.Parameter]:
    f = FUNCTIONS[name]
    try:
        return dict(inspect.signature(f).parameters)
    except ValueError:
        # NumPy says nothing of these, or not yet.
        known = METHOD_FORMS.get(name.removeprefix("ndarray."), HANDLERS.get(f) or PRELUDE.get(f))
        return {} if known is None else dict(inspect.signature(known).parameters)


def calls(name: str) -> Iterator[Call]:
    """All calls of a function."""
    ways: list[tuple[str, bool]] = [("unknown", False)]
    for p in _parameters(name).values():
        if p.kind is p.VAR_KEYWORD:
            ways += [(key, False) for key in _MORE if key not in _parameters(name)]
        elif p.name != "self":
            at_place = p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL)
            ways += [(p.name, at_place)]
            ways += [(p.name, False)] * (p.kind is p.POSITIONAL_ONLY)
    for odd, by_place in ways:
        for value, x in enumerate(ODD):
            if not ((name, odd) in _ENDLESS and isinstance(x, np.uint64)):
                for traced in (False, True):
                    yield Call(name, odd, by_place, value, traced)


def _arguments(call: Call) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call by place and by name, with `Ellipsis` where the odd value is."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    parameters = _parameters(call.function)
    names = [*parameters]
    last = names.index(call.odd) if call.by_place else -1
    for k, p in enumerate(parameters.values()):
        if p.name == call.odd:
            value = ...
        elif p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        elif p.default is p.empty:
            value = copy.deepcopy(_USUAL.get(p.name, _MATRIX))
        elif k < last:
            value = p.default
        else:
            continue
        if k <= last or p.kind is p.POSITIONAL_ONLY and value is not ...:
            args.append(value)
        else:
            kwargs[p.name] = value
    if call.odd not in parameters:
        kwargs[call.odd] = ...
    return args, kwargs


def _run(call: Call) -> tuple[Callable[..., Any], list[Any]]:
    """The function to compile, and what it is called with."""
    f = FUNCTIONS[call.function]
    args, kwargs = _arguments(call)
    odd = copy.deepcopy(ODD[call.value])
    given: list[Any] = []

    def place(v: Any) -> Callable[[list[Any]], Any]:
        if v is ... and not call.traced:
            return lambda _: odd
        k = len(given)
        given.append(odd if v is ... else v)
        return lambda values: values[k]

    by_place = [place(v) for v in args]
    by_name = {k: place(v) for k, v in kwargs.items()}
    method = call.function.partition("ndarray.")[2]

    def run(values: list[Any]) -> Any:
        args = [v(values) for v in by_place]
        kwargs = {k: v(values) for k, v in by_name.items()}
        if method:
            return getattr(args[0], method)(*args[1:], **kwargs)
        return f(*args, **kwargs)

    return run, given


def _outcome(f: Callable[..., Any], given: list[Any]) -> tuple[Any, list[Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return f(given), given
        except Exception as e:
            return (type(e).__name__, _shown(e)), given


def _shown(x: Any) -> str:
    return re.sub(" at 0x[0-9a-f]+", "", str(x) if isinstance(x, Exception) else repr(x))


def _same(expected: Any, actual: Any) -> bool:
    try:
        assert_same(expected, actual, "order", ulp=64.0)
    except Mismatch:
        plain = isinstance(expected, (np.ndarray, np.generic, float, complex, list, tuple))
        return not plain and _shown(expected) == _shown(actual)
    return True


def difference(call: Call) -> str | None:
    """What differs between the plain and the compiled call; None where nothing does."""
    run, given = _run(call)
    expected = _outcome(run, given)
    run, given = _run(call)
    jitted = tracejit.jit(run)
    actual = _outcome(jitted, given)
    failed = [x for x in jitted.report().fallbacks if x.code == "TJ013"]
    if failed:
        return f"{call}: the compiler fails: {failed[0].reason}"
    # Where a mask does not hold, what memory held before is left in the result of a ufunc.
    f = FUNCTIONS[call.function]
    elementwise = isinstance(f, np.ufunc) or call.function.endswith((".outer", "clip"))
    if call.odd == "where" and elementwise and type(expected[0]) is type(actual[0]):
        return None
    for what, e, a in zip(("result", "arguments"), expected, actual, strict=True):
        if not _same(e, a):
            text = " ".join(f"{what}: NumPy {_shown(e)}, compiled {_shown(a)}".split())
            return f"{call}: {text[:400]}"
    return None


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--part", default="0/1", help="k/n: part k of n")
    options = parser.parse_args(arguments)
    part, parts = map(int, options.part.split("/"))
    found: Counter[str] = Counter()
    for name in options.names:
        for call in calls(name):
            if zlib.crc32(str(call).encode()) % parts != part:
                continue
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
