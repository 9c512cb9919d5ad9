"""Programs on several devices: cut when sizes are known, and run by the processes that have them.

An entry checks the arguments as that of any program does. What the pieces give becomes the user's
result as always; where one of them cannot go on, the call is repeated as plain Python, and nothing
has been stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.base.late import TOOLS
from tracejit.base.locks import long_lock
from tracejit.base.placing import HOST
from tracejit.errors import Bailout, GraphError, TraceError
from tracejit.frontend.tracing.pytree import TreeDef
from tracejit.ir.graph import Graph
from tracejit.passes.partition.cut import Piece
from tracejit.passes.partition.pieces import partition
from tracejit.passes.partition.pins import pins_of
from tracejit.passes.partition.units import Units
from tracejit.passes.simplify.inline import inline_calls
from tracejit.runtime.call.entry_spec import EntrySpec
from tracejit.runtime.compile.results import make_results
from tracejit.runtime.compile.stages import Traced, spec_of
from tracejit.runtime.compile.variant import Variant
from tracejit.runtime.native import BAIL
from tracejit.runtime.native.python_entry import PythonEntry

__all__ = ["PlacedEntry", "placed_variant"]

#: Sizes that a program is cut for, before the oldest are forgotten.
_SIZES = 64


def placed_variant(traced: Traced, arguments: TreeDef, devices: Sequence[str]) -> Variant:
    """What answers calls of a traced function. Raises TraceError where pins contradict."""
    spec = spec_of(traced, traced.outputs)
    try:
        Units(inline_calls(traced.graph))
    except GraphError as e:
        raise TraceError("TJ033", str(e)) from None
    inputs = [k for k, t in enumerate(traced.specialization.types) if t is not None]
    variant = Variant(traced, spec, arguments, "", None, make_results(traced))
    variant._entry = PlacedEntry(spec, traced.graph, inputs, devices)
    return variant


class PlacedEntry(PythonEntry):
    """A callable of a spec's arguments that runs a graph in pieces: a result, MISS or BAIL."""

    def __init__(
        self, spec: EntrySpec, graph: Graph, inputs: Sequence[int], devices: Sequence[str]
    ) -> None:
        self.spec, self.graph, self.inputs, self.devices = spec, graph, inputs, devices
        self._lock = long_lock()
        self._pieces: dict[tuple[int, ...], list[Piece]] = {}

    def _run(
        self,
        memory: bytearray,
        objects: Sequence[Any],
        shapes: list[tuple[int, ...]],
        sizes: dict[str, int],
    ) -> Any:
        values = [objects[k] for k in self.inputs]
        run = TOOLS["run_pieces"]
        try:
            found = run(self._cut(sizes), values, len(self.graph.outputs))
        except Bailout:
            return BAIL
        results = []
        for result, x in zip(self.graph.results, found, strict=True):
            kind, _, number = result.partition(" ")
            if kind == "write":
                np.copyto(values[int(number)], x)
            else:
                results.append(x)
        return self._made(results, sizes)

    def _cut(self, sizes: Mapping[str, int]) -> list[Piece]:
        key = tuple([sizes[s] for s in self.graph.sizes])
        with self._lock:
            found = self._pieces.get(key)
            if found is None:
                if len(self._pieces) >= _SIZES:
                    self._pieces.pop(next(iter(self._pieces)))
                names = sorted({*self.devices, *pins_of(self.graph.nodes)} - {HOST})
                costs = TOOLS["costs_of_devices"](names)
                cut = partition(self.graph, sizes, self.devices, costs)
                found = self._pieces[key] = cut[1]
            return found
