"""Calls with arrays of the simulated device: what comes back, what is changed, what is refused."""

from __future__ import annotations

import gc
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit.codegen.cuda.simulator import simulator
from tracejit.errors import DeviceError, FallbackError, FallbackWarning
from tracejit.runtime.device.simulated import SimulatedArray, to_simulated


def line(n: int = 5) -> Any:
    return np.arange(float(n))


def twice(x: Any) -> Any:
    return x * 2


def test_results_stay_on_the_device() -> None:
    jitted = tracejit.jit(twice)
    there = to_simulated(line())
    result = jitted(there)
    assert isinstance(result, SimulatedArray)
    assert (result.dtype, result.shape) == (np.float64, (5,))
    assert result.get().tolist() == [0, 2, 4, 6, 8]
    # The same function, with an array of the host.
    assert jitted(line()).tolist() == [0, 2, 4, 6, 8]
    assert len(jitted.report().variants) == 2


def test_scalars_stay_on_the_device_and_python_numbers_do_not() -> None:
    @tracejit.jit
    def f(x: Any) -> Any:
        return x.sum(), float(x.max()), x.shape[0]

    total, largest, size = f(to_simulated(line()))
    assert isinstance(total, SimulatedArray) and total.shape == () and total.get() == 10
    assert (largest, size) == (4.0, 5) and type(largest) is float


def test_results_are_what_they_are_of_arguments() -> None:
    @tracejit.jit
    def f(x: Any, y: Any) -> Any:
        y += 1
        return x, x[1:4], y, (y[::-1],)

    x, y = to_simulated(line()), to_simulated(line())
    a, b, c, (d,) = f(x, y)
    assert a is x and c is y
    assert y.get().tolist() == [1, 2, 3, 4, 5] and d.get().tolist() == [5, 4, 3, 2, 1]
    x.set(line() + 10)
    assert b.get().tolist() == [11, 12, 13]


def test_views_of_any_strides_are_taken_as_they_lie() -> None:
    whole = to_simulated(np.arange(24.0).reshape(4, 6))
    part = whole[::-2, 1::2]

    @tracejit.jit
    def f(x: Any) -> Any:
        x[0] = -1
        return x.sum(axis=0)

    expected = np.arange(24.0).reshape(4, 6)[::-2, 1::2].copy()
    expected[0] = -1
    assert f(part).get().tolist() == expected.sum(axis=0).tolist()
    assert whole.get()[3].tolist() == [18, -1, 20, -1, 22, -1]


def test_arrays_of_the_host_beside_some_of_the_device_are_refused() -> None:
    jitted = tracejit.jit(lambda x, y: x + y)
    with pytest.raises(DeviceError, match=r"float64\[5\].*beside arrays on a device"):
        jitted(to_simulated(line()), line())
    assert jitted(line(), line()).tolist() == [0, 2, 4, 6, 8]


def test_moved_arrays_come_back_as_numpys() -> None:
    @tracejit.jit(device="cuda-sim")
    def f(x: Any, y: Any) -> Any:
        x[1:] = y[:-1]
        return x, x.sum(), y[::2], np.float32(3)

    x, y = line(), line() + 10
    a, total, view, number = f(x, y)
    assert a is x and x.tolist() == [0, 10, 11, 12, 13]
    assert type(total) is np.float64 and total == 46
    assert view.base is not None and np.shares_memory(view, y)
    assert type(number) is np.float32


def test_arguments_that_share_memory_do_so_on_the_device() -> None:
    def f(x: Any, y: Any) -> Any:
        x[:] = x + 1
        return y * 2

    memory = line(8)
    expected = memory.copy()
    want = f(expected[:5], expected[3:])
    got = tracejit.jit(f, device="cuda-sim")(memory[:5], memory[3:])
    assert got.tolist() == want.tolist() and memory.tolist() == expected.tolist()


def test_read_only_arrays_are_not_written() -> None:
    @tracejit.jit(device="cuda-sim")
    def f(x: Any) -> Any:
        x[0] = 1
        return x

    x = line()
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        f(x)
    assert x[0] == 0


def test_what_runs_on_the_host_says_so_and_is_right() -> None:
    def deep(x: Any, n: int) -> Any:
        return x if n == 0 else deep(x + 1, n - 1)

    def f(items: list[Any], box: dict[str, Any]) -> Any:
        items.append(items[0] * 2)
        box["sum"] = items[1].sum()
        return items[0]

    jitted = tracejit.jit(f)
    items, box = [to_simulated(line())], {"x": to_simulated(line())}
    with pytest.warns(FallbackWarning, match="runs on the host"):
        result = jitted(items, box)
    assert result is items[0] and len(items) == 2
    assert items[1].get().tolist() == [0, 2, 4, 6, 8]
    assert float(box["sum"]) == 20
    with pytest.raises(FallbackError):
        tracejit.jit(f, strict=True)([to_simulated(line())], {"x": 1})
    assert deep(1, 1) == 2


@dataclass
class Pair:
    a: Any
    b: Any


def test_containers_and_instances() -> None:
    @tracejit.jit
    def f(p: Any, d: Any) -> Any:
        return Pair(p.b, p.a + d["x"][0]), {"y": d["x"][1]}

    one, two = to_simulated(line()), to_simulated(line() + 1)
    pair, found = f(Pair(one, two), {"x": (one, two)})
    assert pair.a is two and found["y"] is two
    assert pair.b.get().tolist() == (2 * line()).tolist()


WEIGHTS = np.array([1.0, 2.0, 3.0, 4.0, 5.0])


def test_arrays_from_outside_are_moved() -> None:
    @tracejit.jit
    def f(x: Any) -> Any:
        return x * WEIGHTS

    assert f(to_simulated(line())).get().tolist() == [0, 2, 6, 12, 20]
    WEIGHTS[1] = 10.0
    try:
        assert f(to_simulated(line())).get().tolist() == [0, 10, 6, 12, 20]
    finally:
        WEIGHTS[1] = 2.0


class Layer:
    def __init__(self, w: Any) -> None:
        self.w, self.steps = w, 0

    def forward(self, x: Any) -> Any:
        return x * self.w


def test_attributes_on_the_device() -> None:
    @tracejit.jit
    def step(layer: Any, x: Any) -> Any:
        y = layer.forward(x)
        layer.w -= y * 0.5
        return y.sum()

    layer = Layer(to_simulated(line() + 1))
    w, x = layer.w, to_simulated(line())
    expected = line() + 1
    for _ in range(3):
        y = line() * expected
        expected -= y * 0.5
        assert step(layer, x).get() == y.sum()
        assert layer.w is w and w.get().tolist() == expected.tolist()
    assert len(step.report().variants) == 1 and not step.report().fallbacks

    @tracejit.jit
    def method(layer: Any) -> Any:
        return layer.w * 2

    assert method(layer).get().tolist() == (expected * 2).tolist()
    layer.w = to_simulated(line(3))
    assert method(layer).get().tolist() == [0, 2, 4]


def test_exceptions_leave_what_numpy_leaves() -> None:
    def f(x: Any, k: Any) -> Any:
        x[0] = 7
        y = x[k]
        x[1] = 8
        return y

    jitted = tracejit.jit(f)
    x, k = to_simulated(line()), to_simulated(np.array([1, 9]))
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        jitted(x, k)
    assert x.get().tolist() == [7, 1, 2, 3, 4]
    assert jitted(x, to_simulated(np.array([1, 0]))).get().tolist() == [1, 7]


def test_memory_is_given_back_and_its_end_is_no_crash() -> None:
    device = simulator()
    jitted = tracejit.jit(lambda x: np.sort(x) + x.sum(), device="cuda-sim")
    jitted(line())
    gc.collect()
    before = device.allocated
    for _ in range(3):
        jitted(line())
    gc.collect()
    assert device.allocated == before
    there = to_simulated(line())
    on_device = tracejit.jit(lambda x: np.sort(x) + x.sum())
    on_device(there)
    gc.collect()
    used = sum(block.size for block in device._blocks.values())
    # Without room for arguments, for results, for temporaries.
    for f, x, room in ((jitted, line(), 0), (on_device, there, 8), (on_device, there, 100)):
        device.capacity, capacity = used + room, device.capacity
        try:
            with pytest.raises(MemoryError, match="simulated device"):
                f(x)
        finally:
            device.capacity = capacity
    assert jitted(line()).tolist() == (line() + 10).tolist()
    assert on_device(there).get().tolist() == (line() + 10).tolist()


def test_threads() -> None:
    jitted = tracejit.jit(lambda x: x + x.sum(), device="cuda-sim")
    found: dict[int, Any] = {}

    def work(k: int) -> None:
        for _ in range(5):
            found[k] = jitted(line() + k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(4):
        x = line() + k
        assert found[k].tolist() == (x + x.sum()).tolist()


def test_the_report_tells_of_launches_waits_and_round_trips() -> None:
    @tracejit.jit(device="cuda-sim")
    def f(x: Any) -> Any:
        while x.sum() > 1:
            x = x / 2
        return np.median(np.unique(x))

    f(line())
    (compiled,) = f.report().variants
    assert compiled.trips.waits and compiled.trips.launches
    text = str(f.report())
    assert "round trip" in text and "wait: the host needs" in text
    assert compiled.trips.counts[0] > 0


def test_without_a_gpu_it_is_said_what_to_do() -> None:
    jitted = tracejit.jit(twice, device="cuda")
    try:
        result = jitted(line())
    except DeviceError as e:
        assert "cuda-sim" in str(e)
    else:
        assert result.tolist() == [0, 2, 4, 6, 8]


def test_a_device_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="no device metal; there are cpu, cuda, cuda-sim"):
        tracejit.jit(twice, device="metal")


def test_the_environment_may_name_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_DEVICE", "cuda-sim")
    jitted = tracejit.jit(twice)
    assert jitted(line()).tolist() == [0, 2, 4, 6, 8]
    assert jitted.report().variants[0].trips is not None
    assert tracejit.jit(twice, device="cpu")(line()).tolist() == [0, 2, 4, 6, 8]
