"""Stores in generated loops are made where the array lies, or the report says that they are not."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.written import written

#: What the caller's array is made of zeros by, where it is given.
GIVEN: dict[str, Callable[[int], np.ndarray]] = {
    "given": lambda n: np.zeros((n, 5)),
    "given with gaps": lambda n: np.zeros((n + 1, 11))[:n, 1:11:2],
    "given transposed, with gaps": lambda n: np.zeros((10, n + 2)).T[1:-1, ::2],
    "given backwards": lambda n: np.zeros((n, 5))[::-1],
}
ARRAYS = {
    **dict.fromkeys(GIVEN, ""),
    "computed length": "    out = np.zeros((n0[0], 5))\n",
    "like": "    out = np.zeros_like(base)\n",
    "Fortran order": "    out = np.zeros((len(idx), 5), order='F')\n",
    "copy": "    out = base.copy()\n",
}
LOOPS = {
    "counted": ("    for i in range(len(idx)):", "j = i % 5"),
    "backwards": ("    for i in range(len(idx) - 1, 0, -1):", "j = 1"),
    "enumerated": ("    for i, k in enumerate(idx):", "j = k % 5"),
    "tested": ("    i = -1\n    while i < n0[0] - 1:\n        i += 1", "j = i % 5"),
    "left": (
        "    for i in range(len(idx)):\n        if base[i, 0] > 1e9:\n            break",
        "j = 2",
    ),
    "bounds from data": (
        "    for i in range(len(idx)):",
        "for j in range(lo[i], hi[i]):",
    ),
}
STORES = {
    "element": "out[i, j] = v",
    "chain": "out[i][j] += v",
    "row": "row = out[i]; row[j] += v",
    "column": "w = out[:, 1]; w[i] += v",
    "place from data": "out[idx[i], j] += v",
    "row from data": "row = out[idx[i]]; row[j] += v",
    "negative": "out[-i - 1, j] = v",
    "transposed": "out.T[j, i] = v",
    "after a read": "out[i, j] = out[i - 1, j] + v",
    "two": "out[i, j], out[i, 0] = v, v + 1",
    "whole row": "out[i] = v",
    "swapped": "out[i, 0], out[i, 1] = out[i, 1], out[i, 0]",
    "flat": "out.flat[i * 5 + j] = v",
    "part of a row": "out[i, 1:3] = v",
    "part of a row from data": "out[idx[i], ::2] += v",
    "part filled": "out[idx[i], -3:].fill(v)",
    "put": "np.put(out, idx[i] * 5 + j, v)",
    "reversed": "out[::-1][i, j] = v",
    "part of columns": "out[1:, :3][idx[i] - 1, j % 3] = v",
    "part of columns, a row": "out[1:, :3][idx[i] - 1] = v",
    "every second row": "out[::2][idx[i] // 2] += v",
    "reversed, transposed": "out[::-1].T[j, i] = v",
    "transposed, reversed": "out.T[:, ::-1][j, i] += v",
}
#: Stores that may copy: into a part of all elements, or a row of one, at a place from data.
COPYING = {
    "part of all": "out.reshape(-1)[::2][idx[i]] = v",
    "reversed, transposed, a row": "row = out[::-1].T[j]; row[i] = v",
}


def made(array: str, loop: str, store: str) -> Callable[..., Any]:
    head, inner = LOOPS[loop]
    body = f"        {inner}\n"
    pad = " " * (12 if inner.startswith("for") else 8)
    lines = f"{pad}v = base[i, j]\n{pad}{store}\n"
    given = "out, " if array in GIVEN else ""
    begin = f"def f({given}base, idx, n0, lo, hi):\n{ARRAYS[array]}{head}\n"
    source = f"{begin}{body}{lines}    return out\n"
    return written(source, f"<{store} in a loop {loop} over {array}>", np=np)


def arguments(array: str, n: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(n)
    base, idx = rng.uniform(0, 5, (n, 5)), rng.permutation(n)
    rest = (base, idx, np.array([n]), rng.integers(0, 2, n), rng.integers(3, 5, n))
    return (GIVEN[array](n), *rest) if array in GIVEN else rest


def copied(f: Any) -> bool:
    """Whether the report says of any variant that a loop copies."""
    variants = f.report().variants
    return any("in each iteration" in str(c) for v in variants for c in v.buffers.copies)


@pytest.mark.sampled(81)
@pytest.mark.parametrize(
    ("array", "loop", "store"), list(itertools.product(ARRAYS, LOOPS, [*STORES, *COPYING]))
)
def test_stores_take_no_copies(array: str, loop: str, store: str) -> None:
    plain = made(array, loop, (STORES | COPYING)[store])
    f = tracejit.jit(plain, strict=True)
    for n in (20, 30, 50):
        np.testing.assert_array_equal(f(*arguments(array, n)), plain(*arguments(array, n)))
    if store not in COPYING:
        assert not copied(f)
        few, many = arguments(array, 1000), arguments(array, 16_000)
        assert seconds(f, many) < 4 * 16 * max(seconds(f, few), 20e-6)


def test_a_copy_in_a_loop_is_told() -> None:
    plain = made("Fortran order", "tested", COPYING["part of all"])
    f = tracejit.jit(plain)
    for n in (20, 30, 50):
        np.testing.assert_array_equal(
            f(*arguments("Fortran order", n)), plain(*arguments("Fortran order", n))
        )
    assert copied(f)


def seconds(f: Any, args: tuple[Any, ...]) -> float:
    """The least of a few calls, in seconds of the processor."""
    f(*args)
    found = []
    for _ in range(5):
        start = time.process_time()
        f(*args)
        found.append(time.process_time() - start)
    return min(found)
