"""Every op of the registry becomes groups of cases: a node with attributes, operands to run it on.

    for group in cases(full=False): ...

An elementwise op runs, for each combination of dtypes that its samples have, on all pairs of
special values (zeros of both signs, infinities, NaN, subnormals, extremes), in each of `FORMS`:
sizes static and symbolic, axes of 0 and 1, tails of vectors, 0-d arrays, NumPy scalars, operands
that lie reversed, with gaps, broadcast or in Fortran order. Any other op runs on its samples, with
sizes static and symbolic, as they lie in memory and laid out otherwise.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from tests.support import sampling
from tracejit.errors import Bailout
from tracejit.ir.op import OPS, Op
from tracejit.ir.types import dtype_name
from tracejit.ops.array.elementwise import Elementwise

__all__ = ["Group", "Run", "cases", "groups_of", "is_a_function_of_values", "special"]

#: The samples of a group whose code depends on their shapes.
_CHUNK = 4
#: The groups of an op with samples in one slice.
_MOST_IN_A_SLICE = 5

#: Operands, and the attributes beside them.
Run = tuple[Sequence[Any], dict[str, Any]]


@dataclass(eq=False)
class Group:
    """Runs of one op, of which those of one signature share their code."""

    name: str
    op: Op
    #: Sizes of at least this are symbols; None: no size is.
    symbols_from: int | None
    runs: Callable[[], Iterable[Run]]
    #: Names the samples that it is a form of.
    samples: str = ""


def is_a_function_of_values(op: Op) -> bool:
    """Whether a graph of this op alone can be run: what it does is to give values for values.

    Other ops run regions, act on the world, or are parts of a larger construct.
    """
    return not hasattr(op, "evaluate_regions") and op.kind not in (
        "call",
        "dataflow",
        "effect",
        "stack",
    )


def cases(full: bool = False) -> list[Group]:
    """The groups of all ops: every one, or this run's slice, in which each op has some."""
    functions = [OPS[name] for name in sorted(OPS) if is_a_function_of_values(OPS[name])]
    return [group for op in functions for group in groups_of(op, full)]


def groups_of(op: Op, full: bool = False) -> list[Group]:
    """The groups of one op: every one, or this run's slice."""
    found = list(_elementwise(op) if isinstance(op, Elementwise) else _sampled(op))
    if full or sampling.full():
        return found
    if isinstance(op, Elementwise):
        # What is one function of elements is held in all lanes by `native_scalars` besides.
        return sampling.sampled(found, len(found), name=lambda g: g.name)
    # Each sample in one of its forms, or some samples.
    forms: dict[str, list[Group]] = {}
    for group in found:
        forms.setdefault(group.samples, []).append(group)
    parts = -(-len(forms) // _MOST_IN_A_SLICE)
    out = []
    for name, groups in forms.items():
        k = (zlib.crc32(name.encode()) + (sampling.seed or 0)) % (parts * len(groups))
        out += groups[k : k + 1]
    return out or found[:1]


def samples_of(op: Op) -> list[Run]:
    """The op's own samples."""
    with np.errstate(all="ignore"):
        return list(op.samples())


# Special values ---------------------------------------------------------------------------------


@cache
def special(dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Values of a dtype at which functions tend to go wrong; complex ones in all pairs of some."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values = [0, 1, 2, 3, 5, 7, 31, 64, 100, info.max, info.max - 1, info.min, info.min + 1]
        values += [info.max // 2 + 1] + ([-1, -2, -3, -7, -64] if dtype.kind == "i" else [])
        return np.array(sorted(set(values), key=lambda v: (abs(v), v)), dtype)
    part = np.finfo(dtype)
    tiny, large = float(part.smallest_subnormal), float(part.max)
    few = [0.0, 1.0, 2.5, np.inf, large, tiny]
    positive = [*few, 0.3, 0.5, 1.5, 2.0, 3.0, 10.75, 100.0, float(part.tiny), float(part.eps)]
    if dtype.kind == "f":
        return np.array([v for x in positive for v in (x, -x)] + [np.nan], dtype)
    parts = np.array([v for x in few[:5] for v in (x, -x)] + [tiny, np.nan], part.dtype)
    out = np.empty((len(parts), len(parts)), dtype)
    out.real, out.imag = parts[:, None], parts[None, :]
    return out.ravel()


def _columns(op: Op, dtypes: Sequence[np.dtype[Any]], sample: Run) -> Arrays:
    """Combinations of special values that the op takes, one array an operand, and its sample.

    Floats that the integer type of the result cannot hold have no meaning in NumPy.
    """
    inputs, attrs = sample
    values = [special(d) for d in dtypes]
    if np.prod([len(v) for v in values]) <= 4000:
        places = np.indices([len(v) for v in values]).reshape(len(values), -1)
    else:
        count = np.arange(13 * len(values[0]))
        places = np.array([count * 7**k + k * count // len(values[0]) for k in range(len(values))])
    columns = [v[at % len(v)] for v, at in zip(values, places, strict=True)]
    try:
        with np.errstate(all="ignore"):
            (out,) = op.evaluate(columns, attrs)
    except Bailout:
        columns, out = [x[:0] for x in columns], np.zeros(0)
    if out.dtype.kind in "iu" and dtypes[0].kind in "fc":
        info, whole = np.iinfo(out.dtype), np.trunc(columns[0].real.astype(np.longdouble))
        fits = (whole >= info.min) & (whole <= info.max)
        columns = [c[fits] for c in columns]
    flat = [np.atleast_1d(x).ravel() for x in inputs]
    return [np.concatenate(pair) for pair in zip(columns, flat, strict=True)]


# Elementwise ops --------------------------------------------------------------------------------

TAILS = (0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 130)
Arrays = list[Any]


def _windows(columns: Arrays, size: int, most: int = 24) -> Iterator[Arrays]:
    """Runs of `size` elements that cover the columns, or `most` of them."""
    length = len(columns[0])
    count = min(-(-length // max(size, 1)), most)
    for k in range(count):
        at = (k * max(length // count, 1) + np.arange(size)) % length
        yield [c[at] for c in columns]


def _some(columns: Arrays, *sizes: int, each: int = 2) -> Iterator[Arrays]:
    for size in sizes:
        yield from itertools.islice(_windows(columns, size), each)


def _gaps(x: np.ndarray[Any, Any], step: int) -> np.ndarray[Any, Any]:
    """The same elements, `step` apart along every axis."""
    memory = np.zeros(tuple(n * abs(step) for n in x.shape), x.dtype)
    view = memory[tuple(slice(None, None, step) for _ in x.shape)]
    view[...] = x
    return view


def _of_any_size(columns: Arrays) -> Iterator[Arrays]:
    yield from _some(columns, *TAILS)
    yield columns


def _spread(step: int) -> Callable[[Arrays], Iterator[Arrays]]:
    def runs(columns: Arrays) -> Iterator[Arrays]:
        for window in (*_some(columns, 2, 3, 8, 17, 33), columns):
            yield [_gaps(c, step) for c in window]

    return runs


def _mixed_steps(columns: Arrays) -> Iterator[Arrays]:
    """The first operand is dense, the others lie two apart, backwards."""
    for first, *rest in _some(columns, 2, 7, 17, 64):
        yield [first, *(_gaps(c, -2) for c in rest)]


def _broadcast(columns: Arrays) -> Iterator[Arrays]:
    """The last operand is one element for all."""
    for *rest, last in _some(columns, 2, 9, 17, 65, each=8):
        yield [*rest, np.broadcast_to(last[:1], last.shape)]


def _matrices(rows: int, orders: str) -> Callable[[Arrays], Iterator[Arrays]]:
    def runs(columns: Arrays) -> Iterator[Arrays]:
        for window in _some(columns, *(rows * width for width in (2, 5, 9, 17))):
            whole = [c.reshape(rows, -1) for c in window]
            yield [np.array(c, order=o) for c, o in zip(whole, orders * 2, strict=False)]  # type: ignore[call-overload]

    return runs


def _with_an_axis_of_one(columns: Arrays) -> Iterator[Arrays]:
    for k, window in enumerate(_some(columns, 1, 9, each=8)):
        yield [c.reshape((-1, 1) if k % 2 else (1, -1)) for c in window]


def _rows_apart(columns: Arrays) -> Iterator[Arrays]:
    """Rows without gaps that lie apart from each other."""
    for window in _some(columns, *(3 * width for width in (2, 7, 16, 17))):
        rows = [c.reshape(3, -1) for c in window]
        yield [np.pad(c, ((0, 0), (0, 3)))[:, : c.shape[1]] for c in rows]


def _zero_d(columns: Arrays) -> Iterator[Arrays]:
    for k in range(0, len(columns[0]), max(1, len(columns[0]) // 150)):
        yield [c[k : k + 1].reshape(()) for c in columns]


def _scalars(columns: Arrays) -> Iterator[Arrays]:
    for arrays in _zero_d(columns):
        yield [c[()] for c in arrays]


#: Name -> (sizes from which on they are symbols, the operands).
FORMS: dict[str, tuple[int | None, Callable[[Arrays], Iterator[Arrays]]]] = {
    "of any size": (0, _of_any_size),
    **{f"of {n}": (None, lambda columns, n=n: _windows(columns, n))
       for n in (0, 1, 2, 3, 4, 7, 8, 9, 16, 17, 33, 64)},
    "0-d": (None, _zero_d),
    "of scalars": (None, _scalars),
    "reversed": (2, _spread(-1)),
    "with gaps": (2, _spread(2)),
    "reversed with gaps": (2, _spread(-3)),
    "dense beside strided": (2, _mixed_steps),
    "with a broadcast operand": (2, _broadcast),
    "in C order": (2, _matrices(3, "CC")),
    "in Fortran order": (2, _matrices(4, "FF")),
    "in mixed orders": (2, _matrices(5, "CF")),
    "with an axis of one": (2, _with_an_axis_of_one),
    "with rows apart": (2, _rows_apart),
}  # fmt: skip


def _elementwise(op: Op) -> Iterator[Group]:
    """Each loop of the op in each form."""
    seen = set()
    for inputs, attrs in samples_of(op):
        dtypes = tuple(np.asarray(x).dtype for x in inputs)
        texts = [*map(dtype_name, dtypes), *(f"{k}={v}" for k, v in attrs.items())]
        title = f"{op.name}({', '.join(texts)})"
        if title in seen:
            continue
        seen.add(title)
        columns = cache(partial(_columns, op, dtypes, (inputs, attrs)))
        for form, (symbols_from, made) in FORMS.items():

            def runs(made: Any = made, columns: Any = columns, attrs: Any = attrs) -> Iterator[Run]:
                return ((inputs, attrs) for inputs in made(columns()))

            yield Group(f"{title} {form}", op, symbols_from, runs)


# Other ops --------------------------------------------------------------------------------------


def _sampled(op: Op) -> Iterator[Group]:
    """The samples by their number of operands, dtypes and ranks, in each layout."""
    kinds: dict[str, list[Run]] = {}
    for inputs, attrs in samples_of(op):
        texts = [f"{dtype_name(x.dtype)}[{x.ndim}]" if isinstance(x, np.ndarray)
                 else type(x).__name__ for x in inputs]  # fmt: skip
        kinds.setdefault(f"{op.name}({', '.join(texts)})", []).append((inputs, attrs))
    for title, samples in kinds.items():
        if not any(isinstance(x, np.ndarray) and x.ndim for xs, _ in samples for x in xs):
            yield Group(title, op, None, lambda samples=samples: samples, title)
            continue
        chunks = range(0, len(samples), _CHUNK)
        for layout, symbols_from, k in itertools.product(LAYOUTS, (None, 0), chunks):

            def runs(few: Any = samples[k : k + _CHUNK], layout: Any = layout) -> Iterator[Run]:
                for inputs, attrs in few:
                    yield [LAYOUTS[layout](x) if np.ndim(x) else x for x in inputs], attrs

            form = "" if symbols_from is None else " of any size"
            yield Group(f"{title} {layout}{form}, {k}", op, symbols_from, runs, f"{title} {k}")


def _rolled(x: Any) -> Any:
    """The last axis outermost in memory, backwards."""
    return np.moveaxis(np.moveaxis(x, -1, 0)[::-1].copy()[::-1], 0, -1)


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "as it lies": lambda x: x,
    "in C order": lambda x: np.array(x, order="C"),
    "in Fortran order": lambda x: np.array(x, order="F"),
    "with gaps": lambda x: _gaps(x, 2),
    "reversed": lambda x: _gaps(x, -1),
    "rolled": _rolled,
}
