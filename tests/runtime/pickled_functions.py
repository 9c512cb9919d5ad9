"""Functions that other processes import, and scripts that define their own."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import tracejit


@tracejit.jit
def total(x: Any) -> Any:
    return np.sin(x).sum()


def plain(x: Any) -> Any:
    return (x * x).sum()


def weighted(x: Any, w: float) -> Any:
    return (x * w).sum()


slope = tracejit.grad(plain)


class Scale:
    def __init__(self, k: float) -> None:
        self.k = k

    @tracejit.jit
    def times(self, x: Any) -> Any:
        return self.k * x

    def plain_times(self, x: Any) -> Any:
        return self.k * x

    def __call__(self, x: Any) -> Any:
        return self.k + x


def environment() -> dict[str, str]:
    """Fallbacks would be seen in what a process prints, and checks of graphs take time."""
    return {k: v for k, v in os.environ.items() if k != "TRACEJIT_VERIFY"}


SCRIPT = """
import multiprocessing, os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
import numpy as np
import tracejit


@tracejit.jit
def f(x):
    return np.cos(x).sum()


def plain(x):
    return (x * x).sum()


class Model:
    def __init__(self, k):
        self.k = k

    @tracejit.jit
    def times(self, x):
        return self.k * x.sum()


def compiled(f, x):
    f(x)
    inner = getattr(f, "func", f)
    return os.getpid(), len(inner.report().compiles), len(inner.report().fallbacks)


ALL = f, tracejit.jit(plain), tracejit.grad(plain), partial(f), Model(2.0).times

if __name__ == "__main__":
    x = np.arange(4.0)
    want = [g(x).tolist() for g in ALL]
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            tasks = [pool.submit(g, x) for g in ALL]
            assert [t.result().tolist() for t in tasks] == want
            counts = {r for g in ALL for r in pool.map(compiled, [g] * 3, [x] * 3)}
            print(method, len({p for p, *_ in counts}), {c[1:] for c in counts})
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print([y.item() for y in pool.map(ALL[1], [x, x + 1])])
    with ThreadPoolExecutor(2) as threads:
        print(list(threads.map(f, [x, x])) == [f(x)] * 2)
"""

PRINTED = """\
fork 1 {(1, 0)}
spawn 1 {(1, 0)}
forkserver 1 {(1, 0)}
[14.0, 30.0]
True
"""

CELL = """
@tracejit.jit
def even(n):
    return True if n == 0 else odd(n - 1)


@tracejit.jit
def odd(n):
    return False if n == 0 else even(n - 1)


def half(x):
    if x.ndim > 1:
        raise ValueError("half of nothing")
    return x / 2


class Model:
    def __init__(self, k):
        self.k = k

    @tracejit.jit
    def __call__(self, x):
        return self.k * half(x).sum()
"""

READER = """
import pickle, sys, traceback
import numpy as np
even, model = pickle.load(open(sys.argv[1], "rb"))
print(even(4), even(3), model(np.ones(3)))
print(even.report().fallbacks, type(model).__call__.report().fallbacks)
try:
    model(np.ones((2, 2)))
except ValueError as error:
    last = traceback.extract_tb(error.__traceback__)[-1]
    print(last.filename)
    print(last.line.split('"')[1])
"""
