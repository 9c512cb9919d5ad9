"""Pins: the devices that a program names for its nodes, and whether there are any."""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.base.placing import HOST
from tracejit.ir.graph import Graph, Node
from tracejit.ir.regions import nested

__all__ = ["is_placed", "pins_of"]


def pins_of(nodes: Sequence[Node]) -> set[str]:
    """The devices that nodes, and those in their regions, are pinned to."""
    found = (n.where.device for n in nested(nodes) if n.where is not None)
    return {device for device in found if device}


def is_placed(graph: Graph, devices: Sequence[str]) -> bool:
    """Whether a program is for devices other than the host."""
    return bool({*devices, *pins_of(graph.nodes)} - {HOST})
