"""Programs on several processes give what they give on one, whatever happens to the processes."""

from __future__ import annotations

import logging
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_same
from tracejit import dist
from tracejit.dist.placed.pool import Workers
from tracejit.dist.transport.link import DistError
from tracejit.errors import FallbackWarning

X = np.random.default_rng(0).standard_normal((6, 6))


def layers(x: Any, a: Any, b: Any) -> Any:
    with tracejit.device("worker:0"):
        h = np.tanh(x @ a)
    with tracejit.device("worker:1"):
        y = np.tanh(h @ b)
        if y.sum() > 0:
            y = y + 1
    return (y**2).sum()


def steps(x: Any, n: int) -> Any:
    y = x[0]
    for k in range(n):
        with tracejit.device("worker:0"):
            y = np.tanh(y * 1.5 + k)
        if k % 3 == 0:
            with tracejit.device("worker:1"):
                y = y + y.sum()
        x[k % len(x)] += y
    return y, x.sum()


def item(x: Any, i: int) -> Any:
    with tracejit.device("worker:0"):
        y = x * 2
        z = y[i]
    x[0] = 5
    return z


def grown(x: Any) -> Any:
    with tracejit.device("worker:0"):
        found = x[x > 0]
    with tracejit.device("worker:1"):
        return np.cumsum(found), len(found)


@pytest.fixture(autouse=True)
def _two() -> None:
    dist.workers(2)


def test_values_are_those_of_one_process() -> None:
    f = tracejit.jit(layers)
    for scale in (1.0, -1.0):
        assert_same(layers(X, X * scale, X), f(X, X * scale, X), parity="order", ulp=8)
    assert f.report().bailouts == 0 and len(f.report().compiles) == 1
    assert_same(layers(X[:4, :4], X[:4, :4], X[:4, :4]), f(X[:4, :4], X[:4, :4], X[:4, :4]), ulp=8)


def test_loops_span_devices_and_arguments_are_stored_into() -> None:
    f = tracejit.jit(steps)
    for n in (7, 0, 4):
        mine, theirs = X.copy(), X.copy()
        assert_same(steps(mine, n), f(theirs, n), parity="order", ulp=8)
        assert_same(mine, theirs, parity="order", ulp=8)
    assert f.report().bailouts == 0


def test_objects_keep_their_state() -> None:
    class Model:
        def __init__(self) -> None:
            self.w, self.steps = np.ones((6, 3)), 0

        def step(self, x: Any) -> Any:
            with tracejit.device("worker:0"):
                y = x @ self.w
            self.w -= 0.1 * (x.T @ y)
            self.steps += 1
            return y.sum()

    plain, placed = Model(), Model()
    step = tracejit.jit(Model.step)
    for _ in range(3):
        assert_same(plain.step(X), step(placed, X), parity="order", ulp=16)
        np.testing.assert_allclose(plain.w, placed.w, rtol=1e-12)
        assert plain.steps == placed.steps
    assert step.report().bailouts == 0 and not step.report().fallbacks


def test_sizes_known_only_at_run_time() -> None:
    f = tracejit.jit(grown)
    for x in (X[0], X[1], np.zeros(3)):
        assert_same(grown(x), f(x))
    assert f.report().bailouts == 0


def test_gradients_run_where_the_values_do() -> None:
    f = tracejit.jit(tracejit.value_and_grad(layers, argnums=(1, 2)))
    plain = tracejit.value_and_grad(layers, argnums=(1, 2))
    expected, found = plain(X, X, X), f(X, X, X)
    assert_same(expected[0], found[0], parity="order", ulp=8)
    for a, b in zip(expected[1], found[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)
    assert f.report().bailouts == 0
    text = f.lower(X, X, X).text("partition")
    # The backward pass of each layer is where the layer is.
    assert text.count("matmul") >= 5 and "# worker:0:" in text and "# worker:1:" in text
    host = text[text.index("# host") : text.index("# worker:0")]
    assert "matmul" not in host


def test_errors_are_the_users_and_nothing_is_stored() -> None:
    f = tracejit.jit(item)
    x = np.arange(3.0)
    assert f(x, 1) == 2.0 and x[0] == 5
    x = np.arange(3.0)
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        f(x, 7)
    assert x[0] == 0
    assert f(x, 2) == 4.0


@pytest.mark.compiles
@pytest.mark.parametrize("stopped", [False, True])
def test_a_lost_worker_costs_one_eager_call(stopped: bool, caplog: Any) -> None:
    f = tracejit.jit(item)
    assert f(np.arange(3.0), 1) == 2.0
    pid = dist.workers().processes[0].pid
    with caplog.at_level(logging.WARNING, "tracejit"):
        if stopped:
            os.kill(pid, signal.SIGSTOP)
            threading.Timer(0.2, lambda: os.kill(pid, signal.SIGKILL)).start()
        else:
            os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
        assert f(np.arange(3.0), 2) == 4.0
        assert f(np.arange(3.0), 2) == 4.0
    assert f.report().bailouts == stopped
    assert ("worker:0 is lost" in caplog.text) == stopped


def test_a_worker_that_is_stopped_is_lost_after_a_time(caplog: Any) -> None:
    with caplog.at_level(logging.WARNING, "tracejit"), dist.Workers(1, silence=1.0) as made:
        made.costs()
        time.sleep(0.6)
        os.kill(made.processes[0].pid, signal.SIGSTOP)
        begun = time.monotonic()
        with pytest.raises(dist.PeerLost):
            made._ask(1, None)
        assert 0.5 < time.monotonic() - begun < 10
        assert "nothing is heard of worker:0 for 1 s" in caplog.text


@pytest.mark.compiles
def test_threads_share_the_workers() -> None:
    f, g = tracejit.jit(layers), tracejit.jit(grown)
    f(X, X, X), g(X[0])
    with ThreadPoolExecutor(4) as pool:
        first = [pool.submit(f, X * k, X, X) for k in range(8)]
        second = [pool.submit(g, X[k % 6]) for k in range(8)]
        for k, found in enumerate(first):
            assert_same(layers(X * k, X, X), found.result(), parity="order", ulp=8)
        for k, found in enumerate(second):
            assert_same(grown(X[k % 6]), found.result())
    assert f.report().bailouts == g.report().bailouts == 0


def test_devices_are_used_where_that_pays() -> None:
    def f(x: Any) -> Any:
        a = np.sin(x) @ x
        a = np.sin(a) @ a
        b = np.cos(x) @ x.T
        b = np.cos(b) @ b
        return a + b

    compiled = tracejit.jit(f, devices=["worker:0"])
    large, small = np.ones((700, 700)) / 700, np.ones((3, 3)) / 3
    assert_same(f(small), compiled(small), parity="order", ulp=16)
    text = compiled.lower(large).text("partition")
    assert text.startswith("# 2 devices") and "matmul" in text[text.index("# worker:0") :]
    assert compiled.lower(small).text("partition").startswith("# 1 devices")


def test_what_shares_state_lies_on_one_device() -> None:
    @tracejit.jit
    def f(x: Any) -> Any:
        with tracejit.device("worker:0"):
            print(x.sum())
        return x

    with pytest.warns(FallbackWarning, match="has effects: it runs on the host"):
        assert_same(f(X), X)


def test_names_of_devices() -> None:
    for name in ("worker", "worker:-1", "gpu", "worker:01", 3):
        with pytest.raises(ValueError, match="a device is"):
            tracejit.device(name)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="a device is"):
            tracejit.jit(devices=[name])  # type: ignore[list-item]
    with tracejit.eager():
        assert_same(tracejit.jit(layers)(X, X, X), layers(X, X, X))


def test_workers_end_with_the_pool() -> None:
    with dist.Workers(1) as found:
        (process,) = found.processes
        assert found.alive
    assert process.poll() == 0 and not found.alive
    with pytest.raises(ValueError, match="at least one"):
        dist.Workers(0)


# How they are started ----------------------------------------------------------------------------


def test_workers_import_nothing_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("numpy", "json", "secrets", "sitecustomize", "tracejit"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    with Workers(1) as found:
        found._ask(1, None)
    assert not (tmp_path / "ran").exists()


def test_the_secret_is_in_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[dict[str, Any]] = []

    class Started(subprocess.Popen[bytes]):
        def __init__(self, command: Any, **options: Any) -> None:
            folder = Path(options["env"]["TRACEJIT_DIST"].rpartition(":")[2])
            secret = folder / "secret"
            modes = [stat.S_IMODE(p.stat().st_mode) for p in (folder, secret)]
            text = secret.read_text()
            told = any(text in x for x in (*command, *options["env"].values()))
            started.append({"modes": modes, "length": len(text), "told": told})
            super().__init__(command, **options)

    monkeypatch.setattr(subprocess, "Popen", Started)
    Workers(1).close()
    assert started == [{"modes": [0o700, 0o600], "length": 64, "told": False}]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("code", ["raise SystemExit(5)", "import os; os.kill(os.getpid(), 9)"])
def test_a_worker_that_ends_at_once_is_noticed(
    count: int, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []

    class Started(subprocess.Popen[bytes]):
        def __init__(self, command: Any, **options: Any) -> None:
            is_last = len(started) == count - 1
            super().__init__([sys.executable, "-c", code] if is_last else command, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Started)
    how = "exit code 5" if "5" in code else "signal 9"
    with pytest.raises(DistError, match=f"worker:{count - 1} ended with {how}"):
        Workers(count)
    assert all(p.poll() is not None for p in started)
