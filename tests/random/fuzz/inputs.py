"""Turns an input's description and the sizes of a run into an argument value."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.support.layouts import LAYOUTS

Sizes = dict[str, int]

DTYPES = {
    "float64": 8,
    "float32": 5,
    "int64": 4,
    "int32": 2,
    "bool": 2,
    "complex128": 2,
    "uint8": 2,
    "complex64": 1,
    "int8": 1,
    "int16": 1,
    "uint16": 1,
    "uint32": 1,
    "uint64": 1,
    "float16": 1,
}
SHAPES: dict[tuple[str | int, ...], float] = {
    ("n",): 6,
    ("n", "m"): 6,
    ("m",): 3,
    ("n", 1): 1,
    (1, "m"): 1,
    ("n", "n"): 2,
    ("n", "m", 3): 1,
    (2, "n", "m"): 2,
    (3,): 1,
    (1,): 1,
    (): 1.5,
    (0,): 0.3,
    ("n", 0): 0.3,
}
FILLS = {"normal": 5, "small": 3, "positive": 3, "special": 2}
#: Layouts that run eagerly are rarer, so that most programs are compiled.
LAYOUT_WEIGHTS = {name: 0.15 if name in ("unaligned", "swapped") else 1.0 for name in LAYOUTS}
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -2.0, np.inf, -np.inf, np.nan, 3.0)


@dataclasses.dataclass(frozen=True)
class Input:
    """One parameter of a generated program.

    `kind` says what the caller passes: an ``array``, a ``numpy`` scalar or a ``python`` number.
    `dims` are sizes by name or number; `layout` names one of `tests.support.layouts`, or is ``c``.
    """

    name: str
    kind: str
    dtype: str
    dims: tuple[str | int, ...]
    fill: str
    layout: str
    seed: int

    def value(self, sizes: Sizes, layout: str | None = None) -> Any:
        """The argument at these sizes, the same each time; `layout` overrides the input's own."""
        shape = tuple(d if isinstance(d, int) else sizes[d] for d in self.dims)
        array = filled(np.random.default_rng([self.seed, *shape]), shape, self.dtype, self.fill)
        if self.kind == "numpy":
            return array[()]
        if self.kind == "python":
            return array.item()
        layout = layout or self.layout
        return LAYOUTS[layout](array) if layout != "c" and array.ndim else array


def filled(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, fill: str) -> np.ndarray:
    """Random contents of a dtype: ordinary, small integers with ties, positive, or extreme."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.asarray(rng.random(shape) < 0.5)
    if kind in "iu":
        info = np.iinfo(dtype)
        low, high = {"small": (-3, 4), "positive": (1, 6)}.get(fill, (-9, 10))
        numbers = rng.integers(max(low, info.min), high, shape)
        if fill == "special":
            extreme = rng.choice(np.array([info.min, info.max, info.max - 1], dtype), shape)
            return np.where(rng.random(shape) < 0.4, extreme, numbers.astype(dtype))
        return np.asarray(numbers).astype(dtype)
    if kind == "c":
        part = "float32" if dtype == "complex64" else "float64"
        real, imag = (filled(rng, shape, part, fill) for _ in range(2))
        out = np.empty(shape, dtype)
        out.real, out.imag = real, imag
        return out
    if fill == "small":
        return np.asarray(rng.integers(-3, 4, shape)).astype(dtype)
    if fill == "positive":
        return np.asarray(rng.uniform(0.1, 3, shape)).astype(dtype)
    numbers = np.asarray(rng.normal(size=shape) * 2).astype(dtype)
    if fill == "special":
        finfo = np.finfo(dtype)
        odd = np.array([*SPECIAL, finfo.max, finfo.tiny, finfo.smallest_subnormal], dtype)
        return np.where(rng.random(shape) < 0.4, rng.choice(odd, shape), numbers)
    return numbers


def weighted(rng: random.Random, table: Mapping[Any, float]) -> Any:
    """One key of a table of weights."""
    return rng.choices(list(table), list(table.values()))[0]


def random_input(rng: random.Random, name: str) -> Input:
    """A random parameter."""
    kind = weighted(rng, {"array": 8, "numpy": 1, "python": 1})
    dtype = weighted(rng, DTYPES)
    if kind == "python":
        dtype = rng.choice(("float64", "float64", "int64", "int64", "bool", "complex128"))
    dims = weighted(rng, SHAPES) if kind == "array" else ()
    layout = weighted(rng, LAYOUT_WEIGHTS) if rng.random() < 0.4 else "c"
    return Input(name, kind, dtype, dims, weighted(rng, FILLS), layout, rng.randrange(2**32))
