"""`python -m benchmarks.vector_math.errors [name ...]`: errors of elementary functions in ULP.

float32 functions of one argument are asked for every `--stride`-th of the 2**32 numbers (1: all);
what they return is judged by NumPy's or SciPy's float64 function. float64 functions, and those of
two arguments, are given `--points` random and structured arguments, and judged in long double. The
worst of either are judged again by mpmath, which alone judges where there is no long double
function. Beside ours stand NumPy's or SciPy's, libm's and, where it is installed, JAX's.
The figures are kept in benchmarks/vector_math/figures.json; docs/vector_math.md shows them.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np

from tracejit.codegen.vector_math.define import ARITY

from .contenders import LABELS, Array, contenders, numpys, precise
from .special_sweep import PRECISE, rounded_and_rest
from .sweep import (
    DTYPES,
    NAMES,
    pairs,
    points,
    reference,
    special_points,
    ulp_errors,
)

FIGURES = Path(__file__).parent / "figures.json"
CHUNK = 1 << 17
EVEN = ("cos", "cosh")
ODD = ("sin", "tan", "sinh", "tanh", "cbrt", "arcsin", "arctan", "arcsinh", "arctanh")
#: How many of the worst results mpmath judges again.
AGAIN = 200
#: How many results mpmath judges where nothing else does.
SLOW_POINTS = 3_000
_PAIRS: dict[str, Callable[..., Any]] = {
    "arctan2": mp.atan2,
    "hypot": mp.hypot,
    "logaddexp": lambda a, b: max(a, b) + mp.log1p(mp.exp(-abs(a - b))),
    "logaddexp2": lambda a, b: max(a, b) + mp.log1p(mp.mpf(2) ** -abs(a - b)) / mp.log(2),
    "power": mp.power,
}


@dataclass
class Worst:
    """The greatest errors of one contender: in ULP, at which arguments, with which results."""

    errors: Array = field(default_factory=lambda: np.zeros(0))
    columns: list[Array] = field(default_factory=list)
    got: Array = field(default_factory=lambda: np.zeros(0))

    def add(self, errors: Array, columns: list[Array], got: Array) -> None:
        if self.columns:
            errors = np.concatenate([self.errors, errors])
            columns = [np.concatenate(pair) for pair in zip(self.columns, columns, strict=True)]
            got = np.concatenate([self.got, got])
        kept = np.argsort(-errors)[:AGAIN]
        self.errors, self.columns, self.got = errors[kept], [c[kept] for c in columns], got[kept]

    def judged_again(self, name: str) -> tuple[float, str]:
        """The greatest error by mpmath and its argument; 0.5 where no result was wrong."""
        if not self.errors.size:
            return 0.5, ""
        head, rest = exact(name, self.columns)
        again = measured(name, self.columns, self.got, head, rest)
        finite = np.isfinite(self.errors) & np.isfinite(head) & np.isfinite(self.got)
        errors = np.where(finite, again, self.errors)
        at = int(np.argmax(errors))
        return float(errors[at]), ", ".join(f"{c[at]:.9g}" for c in self.columns)


def exact(name: str, columns: list[Array]) -> tuple[Array, Array]:
    """mpmath's value rounded to the dtype of the arguments, and what is missing in its ULP."""
    if name in NAMES:
        return reference(name, columns[0])
    if name in PRECISE:
        return rounded_and_rest(name, columns)
    with np.errstate(all="ignore"):
        head = np.array(numpys(name)(*columns))
    rest = np.zeros(head.shape)
    for i, row in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        if np.isfinite([*row, head[i]]).all():
            with mp.workprec(200):
                value = _PAIRS[name](*map(mp.mpf, row))
                head[i] = float(value)
                if np.isfinite(head[i]):
                    rest[i] = float((value - float(head[i])) / float(np.spacing(abs(head[i]))))
    return head, rest


def measured(name: str, columns: list[Array], got: Array, head: Array, rest: Array) -> Array:
    """Errors in ULP; of Bessel functions beside the size of the waves, since zeros are many."""
    found = ulp_errors(got, head, rest)
    if name in ("j0", "j1", "y0", "y1"):
        x = columns[0].astype(np.float64)
        waves = 0.3 * np.minimum(1, 1 / np.sqrt(np.maximum(abs(x), 1)))
        unit = np.spacing(abs(head)).astype(np.float64)
        scaled = found * unit / np.maximum(unit, np.spacing(waves.astype(head.dtype)))
        found = np.where(np.isfinite(head), scaled, found)
    return np.asarray(found)


def off(got: Array, right: Array, kind: Any) -> tuple[Array, Array]:
    """Where `got` is not `right` (of a longer format) rounded, and by how many ULP.

    An infinity stands for the number after the last one, as rounding has it.
    """
    info = np.finfo(kind)
    head = right.astype(kind)
    bits = np.uint64 if info.bits == 64 else np.uint32
    at = np.flatnonzero(got.view(bits) != head.view(bits))
    at = at[~(np.isnan(got[at]) & np.isnan(head[at]))]
    y, t, head = got[at], right[at], head[at]
    limit = right.dtype.type(2) ** info.maxexp
    # The spacing of the last number itself is infinite.
    unit = np.spacing(np.minimum(abs(head), np.ldexp(kind(1), info.maxexp - 1))).astype(right.dtype)
    errors = abs(np.clip(y.astype(right.dtype), -limit, limit) - np.clip(t, -limit, limit)) / unit
    wrong = np.isnan(y) | np.isnan(t) | (np.isinf(t) & (y != t)) | ((y == 0) & (head == 0))
    return at, np.where(wrong, np.inf, errors).astype(np.float64)


def numbers(stride: int, end: int = 2**32) -> Iterator[Array]:
    """Every `stride`-th float32 in the order of encodings, in chunks."""
    for start in range(0, end, stride * CHUNK):
        stop = min(end, start + stride * CHUNK)
        yield np.arange(start, stop, stride, np.uint64).astype(np.uint32).view(np.float32)


def judged(
    name: str, dtype: str, stride: int, count: int, judge: Callable[..., Array]
) -> Iterator[tuple[list[Array], Array]]:
    """Arguments with what is right there, in chunks; one side of a symmetry is judged."""
    if dtype == "f64" or ARITY[name] == 2:
        longer = np.float64 if dtype == "f32" else np.longdouble
        for columns in samples(name, dtype, count):
            yield columns, judge(*(c.astype(longer) for c in columns))
        return
    sign = 1.0 if name in EVEN else -1.0
    both = name in (*EVEN, *ODD)
    for x in numbers(stride, 2**31 if both else 2**32):
        right = judge(x.astype(np.float64))
        yield [x], right
        if both:
            yield [-x], sign * right


def samples(name: str, dtype: str, count: int) -> Iterator[list[Array]]:
    for seed in range(-(-count // CHUNK)):
        if ARITY[name] == 2:
            yield pairs(name, dtype, CHUNK, seed)
        elif name in NAMES:
            yield [points(name, dtype, CHUNK, seed)]
        else:
            yield [special_points(name, dtype, CHUNK, seed)]


def sweep(
    name: str, dtype: str, stride: int, count: int, wanted: list[str]
) -> tuple[int, dict[str, Worst]]:
    """How many points there were, and the worst results of each contender."""
    kind = DTYPES[dtype]
    functions = {k: f for k, f in contenders(name, dtype).items() if k in wanted}
    worst = {k: Worst() for k in functions}
    total = 0
    judge = numpys(name) if dtype == "f32" else precise(name)
    with np.errstate(all="ignore"):
        if judge is None:
            columns = next(samples(name, dtype, 1))
            columns = [c[:: -(-c.size // SLOW_POINTS)].copy() for c in columns]
            head, rest = exact(name, columns)
            for k, f in functions.items():
                got = f(*columns)
                plain = _plain(k, columns, head)
                errors = measured(name, columns, got, head, rest)
                worst[k].add(errors[plain], [c[plain] for c in columns], got[plain])
            return columns[0].size, worst
        for columns, right in judged(name, dtype, stride, count, judge):
            total += columns[0].size
            for k, f in functions.items():
                got = f(*columns)
                at, errors = off(got, right, kind)
                given = [c[at] for c in columns]
                kept = _plain(k, given, right[at].astype(kind))
                if worst[k].errors.size == AGAIN:
                    kept &= errors > worst[k].errors[-1]
                if kept.any():
                    worst[k].add(errors[kept], [c[kept] for c in given], got[at][kept])
    return total, worst


def _plain(label: str, columns: list[Array], head: Array) -> Array:
    """Which results count: not JAX's of the least numbers, in or between which it has zeros."""
    if label != "JAX":
        return np.ones(head.shape, np.bool_)
    least = np.finfo(head.dtype).tiny / np.finfo(head.dtype).eps
    return np.asarray(np.all([~(abs(c) < least) | (c == 0) for c in (*columns, head)], axis=0))


def figures() -> dict[str, Any]:
    """What was found so far: "name dtype" -> contender -> ulp, at, points."""
    return json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}


def store(known: dict[str, Any]) -> None:
    """Write the figures, a line for each function."""
    lines = [f"{json.dumps(key)}: {json.dumps(known[key])}" for key in sorted(known)]
    FIGURES.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def record(key: str, found: dict[str, Any]) -> None:
    """Keep figures that are of at least as many points as the known ones."""
    known = figures()
    entry = known.setdefault(key, {})
    for label, figure in found.items():
        if figure["points"] >= entry.get(label, figure)["points"]:
            entry[label] = figure
    store(known)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="*", default=sorted(ARITY), help="functions (default: all)")
    parser.add_argument("--dtype", choices=[*DTYPES], action="append", help="default: both")
    parser.add_argument("--stride", type=int, default=43, help="of float32 numbers; 1: all 2**32")
    parser.add_argument("--points", type=int, default=10_000_000, help="of float64 arguments")
    parser.add_argument("--of", default=",".join(LABELS), help=f"any of {','.join(LABELS)}")
    options = parser.parse_args()
    for name in options.name:
        for dtype in options.dtype or DTYPES:
            start = time.process_time()
            total, worst = sweep(name, dtype, options.stride, options.points, options.of.split(","))
            found: dict[str, Any] = {}
            for label, results in worst.items():
                ulp, at = results.judged_again(name)
                found[label] = {"ulp": round(ulp, 4), "at": at, "points": total}
            record(f"{name} {dtype}", found)
            text = "  ".join(f"{k} {v['ulp']:.4g} ({v['at']})" for k, v in found.items())
            seconds = time.process_time() - start
            print(f"{name} {dtype}, {total:,} points, {seconds:.0f} s: {text}", flush=True)


if __name__ == "__main__":
    main()
