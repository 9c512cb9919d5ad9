"""Functions over batches, and compiled functions in other people's pools."""

from __future__ import annotations

import functools
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit import dist

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
ROOT = Path(__file__).resolve().parents[2]
X = np.arange(2600.0).reshape(1300, 2)


@tracejit.jit
def row_sums(x: Any) -> Any:
    return np.sqrt(x).sum(axis=1)


class Model:
    def __init__(self) -> None:
        self.scale = 3.0

    @tracejit.jit
    def times(self, x: Any) -> Any:
        return self.scale * x


def children() -> list[int]:
    text = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text()
    return [int(pid) for pid in text.split()]


@pytest.mark.parametrize(("workers", "threads"), [(0, None), (1, None), (2, None), (2, False)])
def test_rows_of_arrays(workers: int, threads: bool | None, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    for source in (X, np.load(tmp_path / "x.npy", mmap_mode="r")):
        found = list(
            dist.map_batches(row_sums, source, batch=400, workers=workers, threads=threads)
        )
        assert [len(x) for x in found] == [400, 400, 400, 100]
        np.testing.assert_array_equal(np.concatenate(found), np.sqrt(X).sum(axis=1))
    assert row_sums.report().compiles and not row_sums.report().fallbacks


def test_tuples_dicts_and_iterables() -> None:
    k = 2.0
    pair = tracejit.jit(lambda ab: ab[0] * k + ab[1])
    found = dist.map_batches(pair, (X, X[:, ::-1]), batch=700, workers=1)
    np.testing.assert_array_equal(np.concatenate([*found]), X * k + X[:, ::-1])
    named = dist.map_batches(lambda d: {"s": d["a"] + d["b"]}, {"a": X, "b": X}, batch=1300)
    assert [(d["s"] == 2 * X).all() for d in named] == [True]
    lists = dist.map_batches(lambda x: sum(x), ([k, k + 1] for k in range(20)), workers=2)
    assert list(lists) == [2 * k + 1 for k in range(20)]
    assert list(dist.map_batches(row_sums, X[:0])) == []


def test_what_is_compiled_is_compiled_once() -> None:
    f = tracejit.jit(lambda x: (x * 2, os.getpid()))
    compiled = tracejit.jit(lambda x: x * 2)
    found = dist.map_batches(
        lambda x: (compiled(x), len(compiled.report().compiles), os.getpid()),
        X,
        batch=100,
        workers=2,
    )
    counts = [(count, pid) for _, count, pid in found]
    assert {count for count, _ in counts} == {1} and counts[0][1] == os.getpid()
    assert 1 <= len({pid for _, pid in counts[1:]} - {os.getpid()}) <= 2
    del f


@pytest.mark.parametrize("threads", [False, True])
def test_errors_name_the_batch_and_nothing_is_left(threads: bool) -> None:
    def f(x: Any) -> Any:
        if x[0, 0] == 800:
            raise ValueError("no such row")
        return x

    before = children()
    found = dist.map_batches(f, X, batch=100, workers=2, threads=threads)
    with pytest.raises(ValueError, match="no such row") as caught:
        list(found)
    assert caught.value.__notes__ == ["in batch 4"]
    # Left in the middle, too.
    batches = dist.map_batches(row_sums, X, batch=50, workers=2, threads=threads)
    next(batches), next(batches)
    batches.close()
    assert children() == before


def test_a_killed_process_is_told() -> None:
    def f(x: Any) -> Any:
        if x[0, 0] > 600:
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    with pytest.raises(dist.DistError, match="a process has been lost"):
        list(dist.map_batches(f, X, batch=100, workers=2))


def test_wrong_arguments() -> None:
    for wrong in ({"batch": 0}, {"workers": -1}):
        with pytest.raises(ValueError, match="at least 1"):
            dist.map_batches(row_sums, X, **wrong)
    with pytest.raises(TypeError, match="does not take dtype"):
        dist.map_batches(row_sums, X, dtype=float)
    with pytest.raises(ValueError, match=r"\[3, 1300\] rows"):
        dist.map_batches(row_sums, (X, X[:3]))


# Other people's pools ----------------------------------------------------------------------------


def test_by_name_it_is_the_very_function() -> None:
    assert pickle.loads(pickle.dumps(row_sums)) is row_sums
    again = pickle.loads(pickle.dumps(Model().times))
    np.testing.assert_array_equal(again(X), 3 * X)
    slope = pickle.loads(pickle.dumps(tracejit.vmap(row_sums)))
    np.testing.assert_array_equal(slope(X[None]), row_sums(X)[None])
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(tracejit.jit(lambda x: x))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_the_standard_library(method: str) -> None:
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(1, context) as pool:
        (found,) = pool.map(row_sums, [X])
    np.testing.assert_array_equal(found, row_sums(X))
    if method == "fork":
        with context.Pool(1) as old:
            (found,) = old.map(functools.partial(row_sums), [X])
        np.testing.assert_array_equal(found, row_sums(X))


def test_threads_of_the_standard_library() -> None:
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(row_sums, [X] * 8):
            np.testing.assert_array_equal(found, row_sums(X))


PROGRAM = """
import warnings
import cloudpickle, numpy as np, subprocess, sys, tracejit

warnings.simplefilter("error", tracejit.FallbackWarning)

def helper(x, n):
    for k in range(n):
        x = np.sin(x) if k % 2 else x + 1
    return x

def made(n):
    @tracejit.jit(strict=True)
    def f(x):
        if n > 100:
            return f(x)
        return helper(x, n).sum()
    return f

class Model:
    def __init__(self):
        self.w = 2.0
    @tracejit.jit(strict=True)
    def step(self, x):
        return helper(x, 1) * self.w

x = np.arange(3.0)
some = [made(4), tracejit.jit(lambda x: helper(x, 2), strict=True), Model().step]
some.append(tracejit.grad(made(3)))
data = cloudpickle.dumps((some, x, [f(x) for f in some]))
there = "import pickle, sys, warnings, tracejit, numpy as np;" \\
    "warnings.simplefilter('error', tracejit.FallbackWarning);" \\
    "some, x, expected = pickle.loads(sys.stdin.buffer.read());" \\
    "[np.testing.assert_array_equal(f(x), y) for f, y in zip(some, expected)];" \\
    "print('arrived', some[0].report().compiles[0][0])"
print(subprocess.run([sys.executable, "-c", there], input=data, capture_output=True, check=False))
"""


def test_functions_of_a_program_go_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("cloudpickle", reason="cloudpickle is not installed")
    (tmp_path / "program.py").write_text(PROGRAM)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    found = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")], env=env, capture_output=True, check=False
    )
    assert b"arrived first call" in found.stdout, found


def test_a_pickle_that_comes_again_is_compiled_once() -> None:
    cloudpickle = pytest.importorskip("cloudpickle", reason="cloudpickle is not installed")
    total = np.zeros(3)

    def made(factor: float) -> Any:
        @tracejit.jit(strict=True)
        def f(x: Any) -> Any:
            total[...] = total + x
            return total * factor

        return f

    x = np.ones(3)
    data, other = cloudpickle.dumps(made(2.0)), cloudpickle.dumps(made(3.0))
    first = pickle.loads(data)
    assert first(x).tolist() == [2.0] * 3 and first(x).tolist() == [4.0] * 3
    again = pickle.loads(data)
    # What calls have changed is as it was pickled.
    assert again(x).tolist() == [2.0] * 3 and len(again.report().compiles) == 1
    assert pickle.loads(other)(x).tolist() == [3.0] * 3
    assert again is first and total.tolist() == [0.0] * 3


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_joblib(backend: str) -> None:
    joblib = pytest.importorskip("joblib", reason="joblib is not installed")
    k = 3.0
    f = tracejit.jit(lambda x: (x * k).sum())
    with joblib.Parallel(2, backend=backend) as pool:
        if backend == "multiprocessing":
            found = pool(joblib.delayed(row_sums)(X) for _ in range(2))
            np.testing.assert_array_equal(found, [row_sums(X)] * 2)
        else:
            assert pool(joblib.delayed(f)(X) for _ in range(3)) == [f(X)] * 3


@pytest.mark.parametrize("scheduler", ["threads", "processes", "sync"])
def test_dask(scheduler: str) -> None:
    array = pytest.importorskip("dask.array", reason="dask is not installed")
    k = 2.0
    f = tracejit.jit(lambda x: np.sqrt(x) * k)
    lazy = dist.map_batches(f, array.from_array(X, chunks=(400, 2)))
    assert lazy.dtype == X.dtype and lazy.shape == X.shape
    np.testing.assert_array_equal(lazy.compute(scheduler=scheduler), np.sqrt(X) * k)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_ray() -> None:
    ray = pytest.importorskip("ray", reason="ray is not installed")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        k = 2.0
        f = tracejit.jit(lambda x: x * k)
        # Ray takes functions of Python alone; what they call goes with them.
        task = ray.remote(lambda x: f(x))
        np.testing.assert_array_equal(ray.get(task.remote(X)), X * k)
        data = ray.data.from_numpy(X)
        g = tracejit.jit(lambda d: {"y": d["data"].sum(axis=1)})
        rows = dist.map_batches(g, data, batch=400).to_pandas()["y"]
        np.testing.assert_allclose(np.sort(rows), np.sort(X.sum(axis=1)))
    finally:
        ray.shutdown()
