"""Calls of a library: the exceptions that reach the user, the stream that they run on, stacks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.codegen.cuda.fake_driver import FakeLibrary
from tracejit.codegen.cuda.driver import CudaDriver
from tracejit.codegen.device.cuda import CudaDevice
from tracejit.codegen.device.simulated import SimulatedDevice
from tracejit.ops.array.linalg import solved
from tracejit.runtime.device.simulated import to_simulated


def failing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Have products on the simulated device fail."""

    def matmul(*operands: Any) -> Any:
        raise error

    @contextmanager
    def working(self: SimulatedDevice) -> Iterator[Any]:
        yield SimpleNamespace(matmul=matmul)

    monkeypatch.setattr(SimulatedDevice, "working", working)


def product(x: Any) -> Any:
    return x @ x


@pytest.mark.compiles
@pytest.mark.parametrize("error", [ValueError("a"), np.linalg.LinAlgError("b")], ids=str)
def test_some_errors_have_the_call_repeated_on_the_host(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    failing(monkeypatch, error)
    jitted = tracejit.jit(product)
    assert jitted(to_simulated(np.eye(3) * 2)).get().tolist() == (np.eye(3) * 4).tolist()
    assert jitted.report().bailouts == 1


@pytest.mark.parametrize(
    "error", [DeprecationWarning("a"), RuntimeError("b"), MemoryError("c"), TypeError("d")], ids=str
)
def test_all_others_reach_the_user(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    failing(monkeypatch, error)
    jitted = tracejit.jit(product)
    with pytest.raises(type(error), match=str(error)):
        jitted(to_simulated(np.eye(3)))
    assert jitted.report().bailouts == 0


class Streams:
    """CuPy's streams: what has been made, and which one is current."""

    def __init__(self, *, protocol: bool) -> None:
        self.made: list[int] = []
        self.current = [0]
        streams = self

        class Stream:
            def __init__(self, ptr: int) -> None:
                self.ptr = ptr

            def __enter__(self) -> None:
                streams.current.append(self.ptr)

            def __exit__(self, *error: object) -> None:
                streams.current.pop()

        def made(ptr: int) -> Stream:
            self.made.append(ptr)
            return Stream(ptr)

        def external(ptr: int) -> Stream:
            if protocol:
                raise DeprecationWarning("ExternalStream is deprecated")
            return made(ptr)

        if protocol:
            Stream.from_external = staticmethod(  # type: ignore[attr-defined]
                lambda x: made(x.__cuda_stream__()[1])
            )
        cupy: Any = ModuleType("cupy")
        cupy.__spec__ = ModuleSpec("cupy", None)
        now: Callable[[], Any] = lambda: Stream(self.current[-1])  # noqa: E731
        cupy.cuda = SimpleNamespace(Stream=Stream, ExternalStream=external, get_current_stream=now)
        self.cupy = cupy


@pytest.mark.parametrize("protocol", [False, True])
def test_cupy_works_on_the_stream_of_the_call(
    monkeypatch: pytest.MonkeyPatch, protocol: bool
) -> None:
    streams = Streams(protocol=protocol)
    cupyx: Any = ModuleType("cupyx")
    cupyx.errstate = lambda **states: nullcontext()
    monkeypatch.setitem(sys.modules, "cupy", streams.cupy)
    monkeypatch.setitem(sys.modules, "cupyx", cupyx)
    device = CudaDevice(CudaDriver(FakeLibrary()))
    one, two = device.for_calls(), device.for_calls()
    one.stream, two.stream = 0x11, 0x22
    for calls in (one, two, one, device):
        with calls.working():
            assert streams.current[-1] == calls.stream
    # Each is made once, and none for what is current already.
    assert streams.made == [0x11, 0x22]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3, 3), (3,)), ((2, 3, 3), (3,)), ((3, 3), (4, 3, 2)), ((5, 1, 3, 3), (4, 3, 2)),
        ((2, 3, 3), (2, 3, 0)), ((0, 3, 3), (3, 2)), ((0, 0), (0, 2)), ((2, 3, 3), (1, 3, 1)),
    ],
)  # fmt: skip
def test_stacks_of_systems_are_broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    class Strict:
        """CuPy's rule: no broadcasting."""

        @staticmethod
        def solve(a: Any, b: Any) -> Any:
            assert a.shape[:-1] == b.shape[:-1] and b.size
            return np.linalg.solve(a, b)

    xp = SimpleNamespace(linalg=Strict, broadcast_to=np.broadcast_to, empty=np.empty)
    rng = np.random.default_rng(0)
    x, y = rng.random(a), rng.random(b)
    want, found = np.linalg.solve(x, y), solved(xp, x, y)
    assert found.shape == want.shape
    np.testing.assert_allclose(found, want)


def test_a_singular_matrix_is_an_error_without_right_sides() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        solved(np, np.zeros((2, 2)), np.zeros((2, 0)))
