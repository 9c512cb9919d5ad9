"""Stores at a place of data into a part of an array, against NumPy: places, checks, orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.written import written

#: Statements; `k` and `m` are ints of the run, `out` has three axes, `v` as many numbers as fit.
STORES = [
    "out[k, 1:3] = x[k]",
    "out[k, 1:3] += x[k]",
    "out[k, ::2, 1:] *= 2.0",
    "out[k, ::-1, 0] = x[m]",
    "out[k, 1, 1:] = x[m]",
    "out[k, 1, ::-2] -= x[m]",
    "out[1:3, k] = x[m]",
    "out[1:3, k, ::2] += x[m]",
    "out[:, 1:, k] = x[m]",
    "out[-2:, m, k] = x[k]",
    "out[1:, k, m] += 1.0",
    "out[k, :2][1] = x[m]",
    "out[k][1:3] = x[m]",
    "out[1:][k] = x[m]",
    "out[1:, 1:][m, k] = x[k]",
    "out[k, m, 1:3] = out[m, k, :2]",
    "out[k, 1:3, None] = x[k]",
    "out[k, 1:2, 1:] = x[m]",
    "out[k, 1:3].fill(x[m])",
    "np.copyto(out[k, :2], x[m])",
    "out[k, :n // 2] = x[m]",
    "out[k, n // 3:, 1] += x[m]",
    "out[k, 2:2] = x[m]",
    "out[k, :n - 4] += x[m]",
    "out[1:1, k, 1:] = x[m]",
    "out[len(out):, k] = x[m]",
    "out[k, 1:3] += x[k]; out[m, 1:3] += out[k, 1:3]; out[k, 0:2] = 3.0",
    "w = out[:, 1:3]; w[k] = x[m]; w[m] += 1.0",
    "w = out.T[1:]; w[k, m] += x[k]",
    "w = out[:, ::-1]; w[k, 1:] = x[m]",
    "out.flat[k * 3 + m] = x[k]",
    "out.flat[k] += x[m]",
    "r = out.ravel(); r[k * 2 + m] = x[m]",
    "r = out.reshape(-1); r[m * 5 + k] += x[m]",
    "r = out.reshape(len(out), -1); r[k, 2:5] = x[m]",
    "np.put(out, k + m, x[k])",
    "np.put(out, [k, m], [x[k], 1.0])",
    "out[k, [0, 2]] = x[m]",
    "out[k, 1:3][:, 0] += x[m]",
    "out[::-1][k, m] = x[k]",
    "out[::-1][k] -= x[m]",
    "out[1:, :2][k, m] += x[m]",
    "out[1:-1, ::-1][k] *= x[m]",
    "out[2::-2, 1:][k, m, 1:] = x[m]",
    "out[1:, 1:][[k, m]] = x[m]",
    "out[1:, ::2][[k, m], [m, 0]] += x[m]",
    "out[1:, :, ::-1][:, k, m] = x[k]",
    "out[::-1].T[k, m] = x[m]",
    "out[1:, 1:].transpose(2, 0, 1)[k, m] += x[m]",
    "out[1:, 1:][::-1, ::2][k, m] = x[m]",
    "out[1:, 1:][k:, m:][0, 0] = x[m]",
    "out[2:2][k] = x[m]",
    "out[1:][np.uint64(abs(k)), m] = x[m]",
    "out[1:][np.array([k, m], np.int8)] = x[m]",
    "out[::-1][k, m] = x[k]; s = out[::-1][m, k] + out[k, m, 0]; out[1:][m] += s",
]
LOOPS = {
    "loop": "    for i in range(len(ks)):\n        k, m = ks[i], ms[i]\n        {}\n",
    "while": "    i = 0\n    while i < len(ks) and x[i % 3] < 9:\n        k, m = ks[i], ms[i]\n"
    "        {}\n        i += 1\n",
    "once": "    k, m = ks[0], ms[0]\n    {}\n",
    "branch": "    for k, m in zip(ks, ms):\n        if x[m] > 0:\n            {}\n",
}
ORDERS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "C": np.copy,
    "F": np.asfortranarray,
    "gaps": lambda a: np.repeat(a, 2, axis=2)[:, :, ::2],
    "back": lambda a: a[::-1].copy()[::-1],
    "moved": lambda a: a.transpose(2, 0, 1).copy().transpose(1, 2, 0),
}


def made(loop: str, store: str) -> Callable[..., Any]:
    body = LOOPS[loop].format(store)
    source = f"def f(out, x, ks, ms, n):\n{body}    return len(out)\n"
    return written(source, f"<{store} in a {loop}>", np=np)


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    try:
        return f(*args)
    except (IndexError, ValueError) as e:
        return type(e), str(e)


@pytest.mark.sampled(54)
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("loop", LOOPS)
def test_stores_are_those_of_numpy(loop: str, store: str) -> None:
    plain = made(loop, store)
    f = tracejit.jit(plain)
    rng = np.random.default_rng(5)
    for lay in ORDERS.values():
        for places in ((0, 3), (-3, 3), (0, 3), (2, 5), (-6, 1)):
            shape = tuple(rng.integers(3, 6, 3))
            x, out = rng.uniform(-1, 2, 3), rng.uniform(-9, 9, shape)
            ks, ms = rng.integers(*places, 6), rng.integers(0, 3, 6)
            ours, theirs = lay(out), lay(out)
            assert outcome(f, ours, x, ks, ms, 4) == outcome(plain, theirs, x, ks, ms, 4)
            np.testing.assert_array_equal(ours, theirs)
    assert not f.report().fallbacks or store in ("out[k, 1:3, None] = x[k]",)
