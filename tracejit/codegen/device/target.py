"""What a device is to the compiler: the driver's functions, and kernels made of printed source."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field
from typing import Any, Protocol

import numpy as np

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.cuda.launches import Launch, Limits
from tracejit.ir.graph import Node

__all__ = ["COUNTED", "Device", "Nodes", "NotAGraph", "Trips", "entered"]


class Device(Protocol):
    """A device that programs are compiled for."""

    #: "cuda" or "cuda-sim".
    name: str
    limits: Limits

    def enter(self) -> int | None:
        """Have this thread work on the device; what `leave` is to be given."""
        ...

    def leave(self, before: int | None) -> None:
        """Have this thread work on what it did before."""
        ...

    def symbols(self) -> Mapping[str, int]:
        """The addresses of the driver's functions, by their names."""
        ...

    def define(self, launch: Launch) -> int:
        """The handle of a launch's kernel, as the driver's launch takes it."""
        ...

    def constant(self, array: np.ndarray[Any, Any]) -> tuple[int, Any]:
        """The address of a copy of an array on the device, and what keeps it there."""
        ...

    #: The compute capability that kernels are compiled for.
    capability: tuple[int, int]
    #: Whether there is an array package for `working` and `array`.
    has_routines: bool
    #: Whether the driver has graphs with conditional nodes.
    has_graphs: bool

    def working(self) -> AbstractContextManager[Any]:
        """Around calls of the device's array package, which it gives, on the stream."""
        ...

    def array(
        self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any
    ) -> Any:
        """Memory of the device as an array of that package; strides in bytes."""
        ...

    def failed(self, status: int, b: int = 0, c: int = 0) -> int:
        """Raise what a driver's function that gave this status means."""
        ...

    #: The stream of the present call, for one call at a time: see `for_calls`.
    stream: int

    def for_calls(self) -> Device:
        """The same device with a stream of its own, for calls that wait for each other.

        A stream may be gone when its caller's call has ended, so that calls beside each other must
        not see each other's.
        """
        ...

    def stream_cell(self) -> int:
        """The address of the word that holds the stream, which programs load when they begin."""
        ...


class NotAGraph(Exception):
    """A loop does what no node of a graph does."""


class Nodes(Protocol):
    """What launches and copies are added to in place of a stream: a CUDA graph."""

    def node(self, handle: int, shape: Sequence[str], threads: Sequence[str], params: str) -> None:
        """Add a launch."""
        ...

    def copy(self, target: str, source: str, size: str) -> None:
        """Add a copy of memory."""
        ...

    def release_later(self, place: str, block: str) -> None:
        """Give a block back once the graph is launched."""
        ...


#: What native code counts, in this order.
COUNTED = ("launches", "waits", "to host", "to device")


@dataclass
class Trips:
    """What a program does on a device: in its text, and how often its runs have done it so far."""

    #: Nodes that run on the host, whose arrays go there and back.
    host: list[Node] = field(default_factory=list)
    #: Nodes for which the host waits; None stands for checked indices, at the end.
    waits: list[Node | None] = field(default_factory=list)
    #: Nodes that are calls of a library.
    routines: list[Node] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    #: How many loops are graphs.
    graphs: int = 0
    #: Runs have launched so many kernels, waited so often, copied so many bytes to and from the
    #: host: native code counts.
    counts: Any = field(default_factory=ctypes.c_int64 * len(COUNTED))

    def lines(self) -> list[str]:
        """What the report says."""
        launched, waited, there, back = self.counts
        head = f"{_many(len(self.launches), 'launch')}, {_many(len(self.waits), 'wait')}"
        head += f", {_many(len(self.routines), 'library call')}"
        head += f", {_many(len(self.host), 'round trip')} in the program"
        if self.graphs:
            head += f", {_many(self.graphs, 'loop')} run by the device"
        runs = f"so far {_many(launched, 'launch')}, {_many(waited, 'wait')}, "
        runs += f"{there} bytes from the device, {back} bytes to it"
        out = [f"device: {head}", f"        {runs}"]
        for node in self.host:
            out.append(f"        round trip: {node.op.name}{_at(node)} runs on the host")
        for waiting in self.waits:
            why = "checked indices" if waiting is None else f"{waiting.op.name}{_at(waiting)}"
            if waiting is None or waiting not in self.host:
                out.append(f"        wait: the host needs {why}")
        return list(dict.fromkeys(out))


def _many(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 'es' if what.endswith('ch') else 's'}"


def _at(node: Node) -> str:
    return "" if node.where is None else f" ({node.where})"


@contextmanager
def entered(device: Device) -> Iterator[None]:
    """Have this thread work on a device, for as long as the block."""
    before = device.enter()
    try:
        yield
    finally:
        device.leave(before)
