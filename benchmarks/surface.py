"""Every NumPy function that is compiled natively, over dtypes, layouts and sizes, beside NumPy.

A row is a call: NumPy's CPU time over ours, as the median of rounds that take turns. What is slow
is timed again after all others, longer and with its operands at several places: loads and stores
whose addresses differ by nearly a multiple of 4096 bytes wait for each other, in NumPy's loops or
in ours, as chance has it. The best of these counts. Results are compared first; calls that run
through NumPy or eagerly are told apart and do not count.
"""

from __future__ import annotations

import itertools
import time
import timeit
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import tracejit

from ._surface_calls import KINDS, calls, compiled, functions, operands
from .harness import Cell, Table

#: Elements of large operands, by number of axes, and of small ones.
SHAPES = {1: (100_000,), 2: (250, 400)}
SMALL = (6, 8)
#: Below this share of NumPy's speed a call is slow; times are of one clock and one machine.
SLOW = 0.9
#: In how many places the operands of slow calls lie when they are timed again.
PLACES = 5
#: Why calls may be slower, by function and dtype ("" for all).
EXCEPTIONS: dict[tuple[str, str], str] = {
    **dict.fromkeys(
        itertools.product(("diagflat", "tril", "triu"), ("",)),
        "NumPy's zeros are memory that the system cleared; here each element is computed",
    ),
    ("compress", ""): "the size of the result is known when it has been made: it is copied once",
    **dict.fromkeys(
        itertools.product(("norm", "vdot"), ("float32",)),
        "of matrices not in C order BLAS sums the products in float32, the kernel in float64",
    ),
    ("ediff1d", ""): "NumPy copies what has gaps and goes on with neighbours",
    ("sign", "complex128"): "each length is one call of the C library's hypot, in NumPy as here",
}


@dataclass(frozen=True)
class Row:
    """One call in one form: what ran it (native, host, eager) and NumPy's time over ours."""

    function: str
    call: str
    kind: str
    form: str
    how: str
    ratio: float = float("nan")
    numpy: float = float("nan")

    @property
    def excuse(self) -> str:
        """Why it may be slower than NumPy, or nothing."""
        name = self.function.removeprefix("linalg.")
        return EXCEPTIONS.get((name, self.kind)) or EXCEPTIONS.get((name, ""), "")

    def cells(self) -> dict[str, Cell]:
        return {
            "": self.call,
            "dtype": self.kind,
            "form": self.form,
            "run": self.how,
            "us numpy": self.numpy * 1e6,
            "times numpy": self.ratio,
        }


#: Forms of operands: shape and layout.
FORMS: dict[str, tuple[tuple[int, ...], str]] = {
    "1-D": (SHAPES[1], "C"),
    "1-D strided": (SHAPES[1], "strided"),
    "2-D": (SHAPES[2], "C"),
    "small 2-D": (SMALL, "C"),
    "2-D F": (SHAPES[2], "F"),
    "2-D strided": (SHAPES[2], "strided"),
}


def forms(ndim: int | None, quick: bool) -> Iterator[str]:
    """Those of operands with so many axes."""
    for form, (shape, layout) in FORMS.items():
        if ndim in (None, len(shape)) and not (quick and layout != "C"):
            yield form


def rows(only: str, quick: bool) -> Iterator[Row]:
    """A row for each call that NumPy has for its operands."""
    wanted = set(filter(None, only.split(",")))
    for name, f in functions().items():
        if wanted and name not in wanted:
            continue
        for text, ndim in calls(name, f):
            for kind in KINDS[: 1 if quick else None]:
                for form in forms(ndim, quick):
                    row = measured(name, text, kind, form, 3 if quick else 5)
                    if row is not None:
                        yield row


def measured(name: str, text: str, kind: str, form: str, rounds: int) -> Row | None:
    """A call compared and timed; None where NumPy refuses the operands.

    Raises AssertionError where the results differ.
    """
    plain, names = compiled(text)
    jitted = tracejit.jit(plain)
    own, args = (arguments(name, kind, form, names) for _ in range(2))
    try:
        expected = plain(*own)
    except (TypeError, ValueError, IndexError, np.linalg.LinAlgError):
        return None
    agree((expected, own), (jitted(*args), args), f"{text} of {kind}, {form}")
    report = jitted.report()
    if report.fallbacks or report.bailouts:
        return Row(name, text, kind, form, "eager")
    how = "host" if any(line.kind == "host" for line in report.lines) else "native"
    return Row(name, text, kind, form, how, *versus(plain, jitted, args, rounds))


def arguments(name: str, kind: str, form: str, names: list[str]) -> list[Any]:
    found = operands(name, kind, *FORMS[form])
    return [found[k] for k in names]


def again(row: Row, rounds: int) -> Row:
    """A slow call timed at several places, where those before stay taken."""
    plain, names = compiled(row.call)
    jitted = tracejit.jit(plain)
    taken, found = [], [(row.ratio, row.numpy)]
    for place in range(PLACES):
        args = arguments(row.function, row.kind, row.form, names)
        jitted(*args)
        found.append(versus(plain, jitted, args, rounds))
        taken += [args, np.empty(4096 * place + 528)]
    ratio, base = max(found)
    return replace(row, ratio=ratio, numpy=base)


def agree(expected: Any, actual: Any, what: str) -> None:
    """Raise AssertionError unless dtypes agree, integers exactly and floats to a few ULP."""
    if isinstance(expected, (tuple, list)):
        assert type(expected) is type(actual) and len(expected) == len(actual), what
        for e, a in zip(expected, actual, strict=True):
            agree(e, a, what)
        return
    assert type(expected) is type(actual), f"{what}: {type(expected)} and {type(actual)}"
    if not isinstance(expected, (np.ndarray, np.generic)):
        assert expected == actual, what
        return
    assert expected.dtype == actual.dtype, f"{what}: {expected.dtype} and {actual.dtype}"
    if isinstance(expected, np.ma.MaskedArray):
        assert np.array_equal(np.ma.getmaskarray(expected), np.ma.getmaskarray(actual)), what
        expected, actual = expected.filled(0), actual.filled(0)
    if expected.dtype.kind not in "fc":
        np.testing.assert_array_equal(actual, expected, err_msg=what)
        return
    eps = float(np.finfo(expected.dtype).eps)
    scale = float(np.max(np.abs(expected), initial=0, where=np.isfinite(expected)))
    np.testing.assert_allclose(actual, expected, 1024 * eps, 64 * eps * scale, err_msg=what)


def versus(
    plain: Callable[..., Any], jitted: Callable[..., Any], args: list[Any], rounds: int
) -> tuple[float, float]:
    """NumPy's CPU time over ours, and NumPy's in seconds: medians of rounds of about 1 ms."""
    timers = [timeit.Timer("f(*args)", globals={"f": f, "args": args}) for f in (plain, jitted)]
    once = min(timers[0].timeit(1) for _ in range(2))
    count = max(1, round(1e-3 / max(once, 1e-7)))
    seconds: list[list[float]] = [[], []]
    for turn in range(rounds):
        for k in (0, 1) if turn % 2 else (1, 0):
            start = time.process_time()
            timers[k].timeit(count)
            seconds[k].append((time.process_time() - start) / count)
    base, ours = (float(np.median(found)) for found in seconds)
    return base / ours, base


def run(quick: bool, only: str = "") -> list[Table]:
    """The slow calls, the worst first, and what share of all they are; `only` names functions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [
            again(row, 5 if quick else 15) if row.ratio < SLOW else row
            for row in list(rows(only, quick))
        ]
    native = [row for row in found if row.how == "native"]
    slow = sorted((r for r in found if r.ratio < SLOW), key=lambda r: r.ratio)
    table = Table(
        f"calls below {SLOW} of NumPy's speed, of {len(native)} compiled natively",
        [row.cells() for row in slow if row.how == "native" and not row.excuse],
    )
    table.require(f"share below {SLOW}", len(table.rows) / max(1, len(native)), at_most=0.0)
    others = {
        "exceptions": [r.cells() | {"why": r.excuse} for r in slow if r.excuse],
        "slow calls that run through NumPy": [
            row.cells() for row in slow if row.how == "host" and not row.excuse
        ],
        "all calls": [row.cells() for row in found if only],
    }
    for how in ("host", "eager"):
        names = {row.function for row in found if row.how == how}
        count = sum(row.how == how for row in found)
        table.notes.append(f"{count} calls not counted ({how}): {', '.join(sorted(names))}")
    return [table, *(Table(title, cells) for title, cells in others.items() if cells)]
