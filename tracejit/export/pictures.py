"""A compile's graph becomes a picture: DOT for Graphviz, or SVG"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from html import escape
from pathlib import Path
from typing import Any

from tracejit.api import jit
from tracejit.export.graphs import Picture, dataflow_picture, fused_picture, partition_picture
from tracejit.export.layout import Box, Drawing, layout
from tracejit.ir.dataflow import DataflowGraph
from tracejit.runtime.compile.stages import Lowered

__all__ = ["dot", "svg"]

#: Fills of boxes by kind.
_FILLS = {
    "argument": "#e3eefc",
    "result": "#e3eefc",
    "kernel": "#d8f0dc",
    "host": "#fce5c8",
    "flow": "#ece2f8",
    "device0": "#f0f0f0",
    "device1": "#cfe2ff",
    "device2": "#ffe3b3",
    "device3": "#c9f2df",
    "device4": "#fbd3e9",
    "device5": "#dfd3fb",
}
_STYLE = """
text { font: 11px ui-monospace, monospace; fill: #1b1f24; }
rect { fill: #f4f5f7; stroke: #8a929c; }
path { fill: none; stroke: #57606a; }
path.back { stroke-dasharray: 5 3; }
rect.cluster { fill: rgba(128,128,128,.08); stroke-dasharray: 2 3; }
marker path { fill: #57606a; stroke: none; }
"""


def dot(
    function: Callable[..., Any],
    /,
    *args: Any,
    stage: str = "fuse",
    path: str | os.PathLike[str] | None = None,
    **kwargs: Any,
) -> str:
    """The graph of a function for such arguments in the language of Graphviz, written to `path`
    too.

    At the stage "fuse" there is a box for each kernel and call, and clusters for regions of loops
    and branches; at "dataflow" control flow is Switch, Merge, Enter, Exit and NextIteration; at
    "partition" operations have the colours of their devices. Other
    stages are those of `lower(...).graphs`. Nothing is run. Raises TraceError where the call cannot
    be traced, ValueError for a stage that is no graph.
    """
    boxes, arrows, clusters, _ = _picture(jit(function).lower(*args, **kwargs), stage)
    ids = {box.key: f"n{k}" for k, box in enumerate(boxes)}
    out = [
        f"digraph {_quoted(_name(function))} {{",
        '  node [shape=box, style="rounded,filled", fillcolor="#f4f5f7", fontname=monospace];',
    ]

    def inside(path: tuple[Hashable, ...], indent: str) -> None:
        for box in boxes:
            if (box.cluster or ()) == path:
                fill = f", fillcolor={_quoted(_FILLS[box.kind])}" if box.kind in _FILLS else ""
                label, title = _quoted(box.label), _quoted(box.title)
                out.append(f"{indent}{ids[box.key]} [label={label}, tooltip={title}{fill}];")
        for k, (inner, label) in enumerate(clusters.items()):
            if inner[:-1] == path:
                out.append(f"{indent}subgraph cluster_{k} {{")
                out.append(f"{indent}  label={_quoted(label)}; style=dashed;")
                inside(inner, indent + "  ")
                out.append(f"{indent}}}")

    inside((), "  ")
    for arrow in arrows:
        back = ", style=dashed, constraint=false" if arrow.back else ""
        ends = f"{ids[arrow.source]} -> {ids[arrow.target]}"
        out.append(f"  {ends} [tooltip={_quoted(arrow.title)}{back}];")
    return _written("\n".join([*out, "}"]) + "\n", path)


def svg(
    function: Callable[..., Any],
    /,
    *args: Any,
    stage: str = "fuse",
    path: str | os.PathLike[str] | None = None,
    **kwargs: Any,
) -> str:
    """The graph of a function for such arguments as an SVG picture, written to `path` too.

    What it shows and raises is that of `dot`. Values, sizes and lines are shown where the mouse
    rests. The picture needs no other file.
    """
    boxes, arrows, clusters, _ = _picture(jit(function).lower(*args, **kwargs), stage)
    return _written(_svg(layout(boxes, arrows, clusters)), path)


def _picture(lowered: Lowered, stage: str) -> Picture:
    if stage == "partition":
        return partition_picture(lowered.partition[0])
    graph = lowered.graph(stage)
    return dataflow_picture(graph) if isinstance(graph, DataflowGraph) else fused_picture(graph)


def _svg(drawing: Drawing) -> str:
    width, height = (x + 20 for x in drawing.size)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="-10 -10 {width:.0f} {height:.0f}">',
        f"<style>{_STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z"/></marker></defs>',
    ]
    for c in drawing.clusters:
        out.append(
            f'<g><rect class="cluster" x="{c.x:.1f}" y="{c.y:.1f}" width="{c.width:.1f}" '
            f'height="{c.height:.1f}" rx="6"/>'
            f'<text x="{c.x + 6:.1f}" y="{c.y + 14:.1f}">{escape(c.label)}</text></g>'
        )
    for a in drawing.arrows:
        points = " L".join(f"{x:.1f} {y:.1f}" for x, y in a.points)
        kind = ' class="back"' if a.back else ""
        out.append(
            f'<path{kind} d="M{points}" marker-end="url(#tip)">'
            f"<title>{escape(a.title)}</title></path>"
        )
    return "\n".join([*out, *map(_svg_box, drawing.boxes), "</svg>"]) + "\n"


def _svg_box(b: Box) -> str:
    fill = f' style="fill: {_FILLS[b.kind]}"' if b.kind in _FILLS else ""
    return (
        f"<g><title>{escape(b.title)}</title>"
        f'<rect x="{b.x:.1f}" y="{b.y:.1f}" width="{b.width:.1f}" height="{b.height:.1f}" '
        f'rx="4"{fill}/><text x="{b.x + 7:.1f}" y="{b.y + b.height / 2 + 4:.1f}">'
        f"{escape(b.label)}</text></g>"
    )


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _name(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _written(text: str, path: str | os.PathLike[str] | None) -> str:
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text
