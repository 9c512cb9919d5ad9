"""Passes that are imported for the graphs that have what they change, and leave others alone."""

from __future__ import annotations

from collections.abc import Callable

from tracejit.base.late import imported
from tracejit.ir.graph import Graph, Node

__all__ = ["LatePass", "late"]


class LatePass:
    """The pass of a name in a module of `tracejit.passes`.

    A graph in which no node meets the condition it gives back as it is, without importing the
    module. A condition that a pass may ignore costs time, one that it lacks a rewrite.
    """

    def __init__(self, module: str, name: str, meets: Callable[[Node], bool], writes: bool) -> None:
        self.__name__ = name
        self._module, self._meets, self._writes = module, meets, writes

    @property
    def function(self) -> Callable[[Graph], Graph]:
        """The pass itself."""
        found: Callable[[Graph], Graph] = getattr(imported(self._module), self.__name__)
        return found

    def is_for(self, graph: Graph) -> bool:
        """Whether the graph may have what the pass changes."""
        if self._writes and any(kind.startswith("write") for kind in graph.results):
            return True
        return any(map(self._meets, graph.nodes))

    def __call__(self, graph: Graph) -> Graph:
        return self.function(graph) if self.is_for(graph) else graph


def late(
    place: str,
    changes: Callable[[Node], object] = lambda node: False,
    *,
    regions: bool = True,
    writes: bool = False,
) -> LatePass:
    """The pass `folder.module.name` for graphs with nodes that it may change.

    With `regions` it is also for all nodes that have regions, and those that control them; with
    `writes` for graphs that store into an input.
    """
    module, _, name = place.rpartition(".")

    def meets(node: Node) -> bool:
        return bool(changes(node)) or regions and (bool(node.regions) or node.op.kind == "control")

    return LatePass(f"tracejit.passes.{module}", name, meets, writes)
