"""The graphs of a compile become drawings for the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracejit.errors import Where
from tracejit.export.graphs import Picture, dataflow_picture, fused_picture, partition_picture
from tracejit.export.layout import layout
from tracejit.runtime.compile.stages import Lowered

__all__ = ["drawings"]


def drawings(lowered: Lowered, place: Callable[[Where | None], int]) -> list[dict[str, Any]]:
    """The fused graph and the flat one. `place` gives the number of a place on the page."""
    cut = []
    if "partition" in lowered.stages:
        placement, _ = lowered.partition
        say = f"Where operations run: {', '.join(placement.devices)}."
        cut.append(_drawn("partition", say, partition_picture(placement), place))
    return [
        *cut,
        _drawn(
            "fusion",
            "Kernels and calls, and the arrays between them.",
            fused_picture(lowered.fused),
            place,
        ),
        _drawn(
            "dataflow",
            "Control flow as data: Switch, Merge, Enter, Exit and NextIteration.",
            dataflow_picture(lowered.dataflow),
            place,
        ),
    ]


def _drawn(
    name: str, say: str, picture: Picture, place: Callable[[Where | None], int]
) -> dict[str, Any]:
    boxes, arrows, clusters, nodes = picture
    drawing = layout(boxes, arrows, clusters)
    return {
        "name": name,
        "say": say,
        "nodes": [
            {
                "id": k,
                "x": round(b.x, 1),
                "y": round(b.y, 1),
                "w": round(b.width, 1),
                "h": b.height,
                "label": b.label,
                "kind": b.kind,
                "title": b.title,
                "at": place(node.where) if (node := nodes[b.key]) is not None else -1,
            }
            for k, b in enumerate(drawing.boxes)
        ],
        "edges": [
            {
                "points": [[round(x, 1), round(y, 1)] for x, y in a.points],
                "title": a.title,
                "back": a.back,
            }
            for a in drawing.arrows
        ],
        "clusters": [
            {"label": c.label, "x": c.x, "y": c.y, "w": c.width, "h": c.height}
            for c in drawing.clusters
        ],
    }
