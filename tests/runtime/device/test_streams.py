"""The stream of a call: that of its caller's library, whatever other threads do meanwhile."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit.codegen.cuda.simulator import simulator
from tracejit.codegen.device.simulated import simulated_device
from tracejit.runtime.device.calls import DeviceCalls
from tracejit.runtime.device.simulated import SimulatedLibrary, to_simulated

_Launch = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3
)


class Streams:
    """The streams that threads work on, and those that launches were given."""

    def __init__(self) -> None:
        self._now = threading.local()
        self.launched: list[tuple[str, int]] = []
        plain = _Launch(simulator().symbols()["cuLaunchKernel"])

        def launch(*args: Any) -> int:
            self.launched.append((threading.current_thread().name, args[8] or 0))
            status: int = plain(*args)
            return status

        self.symbol = _Launch(launch)

    @property
    def present(self) -> int:
        """The stream of this thread."""
        return getattr(self._now, "stream", 0)

    @present.setter
    def present(self, stream: int) -> None:
        self._now.stream = stream


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> Streams:
    made = Streams()
    monkeypatch.setitem(simulator()._made, "cuLaunchKernel", made.symbol)
    monkeypatch.setattr(SimulatedLibrary, "stream", lambda self: made.present)
    return made


def in_thread(name: str, work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, name=name)
    thread.start()
    return thread


def test_a_thread_does_not_move_the_launches_of_another(
    streams: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, other_ended = threading.Event(), threading.Event()
    plain = DeviceCalls.captured

    def captured(self: DeviceCalls, values: Any) -> Any:
        if threading.current_thread().name == "a":
            # The call knows its stream by now, and its program has not begun.
            began.set()
            assert other_ended.wait(30)
        return plain(self, values)

    monkeypatch.setattr(DeviceCalls, "captured", captured)
    x, table = to_simulated(np.ones(3)), to_simulated(np.arange(3.0))
    first, second = tracejit.jit(lambda x: x + table), tracejit.jit(lambda x: x * 2)
    first(x), second(x)
    streams.launched.clear()
    results = {}

    def work(f: Any, stream: int) -> None:
        streams.present = stream
        results[stream] = f(x).get().tolist()

    a = in_thread("a", lambda: work(first, 0x11))
    assert began.wait(30)
    in_thread("b", lambda: work(second, 0x22)).join()
    other_ended.set()
    a.join()
    assert streams.launched == [("b", 0x22), ("a", 0x11)]
    assert results == {0x11: [1, 2, 3], 0x22: [2, 2, 2]}


def test_a_call_leaves_the_stream_as_it_was(streams: Streams) -> None:
    x = to_simulated(np.ones(3))
    jitted = tracejit.jit(lambda x: x * 2)
    streams.present = 0x11
    assert jitted(x).get().tolist() == [2, 2, 2]
    (calls,) = jitted._devices.values()
    calls.device.stream = 0x33  # that of a call outside of this one
    jitted(x)
    assert calls.device.stream == 0x33
    assert [stream for _, stream in streams.launched] == [0x11, 0x11]


def test_the_stream_of_calls_is_no_state_of_the_device() -> None:
    device = simulated_device()
    one, two = device.for_calls(), device.for_calls()
    one.stream = 0x11
    assert (device.stream, one.stream, two.stream) == (0, 0x11, 0)
    assert len({d.stream_cell() for d in (device, one, two)}) == 3
