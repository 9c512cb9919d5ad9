"""CUDA graphs of the simulated device: nodes of kernels and copies, WHILE and IF nodes with bodies.

    cuGraphCreate, cuGraphAddKernelNode, cuGraphAddNode, ..., cuGraphLaunch

A launch runs the nodes one after the other, as each waits for others that were added before it.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from tracejit.base.lazy_dataclass import dataclass

__all__ = ["SimulatedGraphs"]

_p, _u, _z = ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t
_OK, _INVALID_VALUE = 0, 1
# CUgraphNodeType, CUgraphConditionalNodeType, CUmemorytype
_MEMCPY, _CONDITIONAL, _IF, _WHILE, _ON_DEVICE = 1, 13, 0, 1, 2
#: Copies of parameters have room for any number.
_WIDEST = 8


@dataclass
class _Graph:
    number: int
    #: What each node does, by its number; nodes are in an order that respects what they wait for.
    nodes: dict[int, Callable[[], None]] = field(default_factory=dict)
    #: What keeps the memory that the driver gives out.
    keep: list[Any] = field(default_factory=list)


class SimulatedGraphs:
    """The driver's functions for graphs; `launch` runs a kernel and `copy` copies on the device."""

    def __init__(
        self,
        launch: Callable[..., int],
        copy: Callable[[int, int, int, int], int],
        parameters: Callable[[int], int],
    ) -> None:
        self._launch, self._copy, self._parameters = launch, copy, parameters
        self._numbers = itertools.count(1)
        self._graphs: dict[int, _Graph] = {}
        self._ready: dict[int, _Graph] = {}
        #: Conditions by their handles, and the graph that each belongs to.
        self.conditions: dict[int, bool] = {}
        self._owners: dict[int, _Graph] = {}
        #: How many graphs were launched, and what their nodes were in the end.
        self.launched = 0

    @property
    def alive(self) -> int:
        """How many graphs have not been destroyed."""
        return len(self._graphs) + len(self._ready)

    def functions(self) -> dict[str, tuple[Callable[..., int], tuple[Any, ...]]]:
        """The functions with the types of their parameters."""
        return {
            "cuCtxGetCurrent": (self._context, (_p,)),
            "cuGraphAddKernelNode_v2": (self._add_kernel, (_p, _p, _p, _z, _p)),
            "cuGraphAddNode_v2": (self._add, (_p, _p, _p, _p, _z, _p)),
            "cuGraphConditionalHandleCreate": (self._handle, (_p, _p, _p, _u, _u)),
            "cuGraphCreate": (self._create, (_p, _u)),
            "cuGraphDestroy": (self._destroy, (_p,)),
            "cuGraphExecDestroy": (self._destroy_ready, (_p,)),
            "cuGraphInstantiateWithFlags": (self._instantiate, (_p, _p, ctypes.c_ulonglong)),
            "cuGraphLaunch": (self._run, (_p, _p)),
        }

    def set_condition(self, handle: Any, holds: Any) -> None:
        """What kernels call."""
        self.conditions[int(handle)] = bool(holds)

    def _context(self, out: int) -> int:
        _put(out, 1)
        return _OK

    def _new(self) -> _Graph:
        graph = _Graph(next(self._numbers))
        self._graphs[graph.number] = graph
        return graph

    def _create(self, out: int, flags: int) -> int:
        _put(out, self._new().number)
        return _OK

    def _handle(self, out: int, graph: int, context: int, default: int, flags: int) -> int:
        if context != 1:
            return _INVALID_VALUE
        handle = next(self._numbers) << 32
        self._owners[handle] = self._graphs[graph]
        _put(out, handle)
        return _OK

    def _place(
        self, out: int, graph: int, waits: int, count: int, do: Callable[[], None]
    ) -> _Graph:
        """Add a node. Raises KeyError for one that waits for a node of another graph."""
        found = self._graphs[graph]
        for before in (ctypes.c_uint64 * count).from_address(waits) if count else ():
            found.nodes[before]
        number = next(self._numbers)
        found.nodes[number] = do
        _put(out, number)
        return found

    def _add_kernel(self, out: int, graph: int, waits: int, count: int, params: int) -> int:
        words = (ctypes.c_uint64 * 9).from_address(params)
        f, shape = words[0], list((ctypes.c_uint32 * 7).from_address(params + 8))
        given = words[5]
        # Parameters are read when a node is added.
        size = self._parameters(f)
        pointers = (ctypes.c_uint64 * size).from_address(given) if size else ()
        held = [ctypes.create_string_buffer(ctypes.string_at(at, _WIDEST)) for at in pointers]
        table = (ctypes.c_uint64 * max(size, 1))(*map(ctypes.addressof, held))

        def do() -> None:
            assert held is not None
            if self._launch(f, *shape, 0, ctypes.addressof(table), 0) != _OK:
                raise ValueError("a kernel of a graph has an impossible shape")

        self._place(out, graph, waits, count, do)
        return _OK

    def _add(self, out: int, graph: int, waits: int, data: int, count: int, params: int) -> int:
        words = list((ctypes.c_uint64 * 32).from_address(params))
        if words[0] == _MEMCPY:
            target, source, size = words[21], words[10], words[26]
            if words[8] != _ON_DEVICE or words[19] != _ON_DEVICE or words[27:29] != [1, 1]:
                return _INVALID_VALUE
            self._place(out, graph, waits, count, lambda: self._copied(target, source, size))
            return _OK
        kind, room = words[3] & 0xFFFFFFFF, words[3] >> 32
        if words[0] != _CONDITIONAL or kind not in (_IF, _WHILE) or room != 1 or words[5] != 1:
            return _INVALID_VALUE
        handle, body = words[2], self._new()
        if self._owners.get(handle) is not self._graphs[graph]:
            return _INVALID_VALUE

        def do() -> None:
            while self.conditions[handle]:
                _run_all(body)
                if kind == _IF:
                    break

        around = self._place(out, graph, waits, count, do)
        bodies = (ctypes.c_uint64 * 1)(body.number)
        around.keep += [bodies, body]
        (ctypes.c_uint64 * 32).from_address(params)[4] = ctypes.addressof(bodies)
        return _OK

    def _copied(self, target: int, source: int, size: int) -> None:
        self._copy(target, source, size, 0)

    def _instantiate(self, out: int, graph: int, flags: int) -> int:
        number = next(self._numbers)
        self._ready[number] = self._graphs[graph]
        _put(out, number)
        return _OK

    def _run(self, ready: int, stream: int) -> int:
        self.launched += 1
        _run_all(self._ready[ready])
        return _OK

    def _destroy_ready(self, ready: int) -> int:
        del self._ready[ready]
        return _OK

    def _destroy(self, graph: int) -> int:
        gone: Sequence[Any] = [self._graphs.pop(graph)]
        while gone:
            self._owners = {h: g for h, g in self._owners.items() if g not in gone}
            gone = [x for g in gone for x in g.keep if isinstance(x, _Graph)]
            for inner in gone:
                del self._graphs[inner.number]
        return _OK


def _run_all(graph: _Graph) -> None:
    for do in graph.nodes.values():
        do()


def _put(at: int, value: int) -> None:
    ctypes.c_uint64.from_address(at).value = value
