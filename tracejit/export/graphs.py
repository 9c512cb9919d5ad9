"""Fused graphs and flat dataflow graphs become boxes and arrows."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator

from tracejit.export.layout import Arrow, Box
from tracejit.inspect.fusion_map import why_not_fused
from tracejit.ir.dataflow import DataflowGraph, Frame
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import ArrayType
from tracejit.passes.partition.place import Placement

__all__ = ["DEVICES", "Picture", "dataflow_picture", "fused_picture", "partition_picture"]

#: How many devices have colours of their own.
DEVICES = 6

_Path = tuple[Hashable, ...]
Picture = tuple[list[Box], list[Arrow], dict[_Path, str], dict[Hashable, Node | None]]


class _Drawer:
    def __init__(self) -> None:
        self.boxes: list[Box] = []
        self.arrows: list[Arrow] = []
        self.clusters: dict[_Path, str] = {}
        self.nodes: dict[Hashable, Node | None] = {}
        #: The box that makes a value, and those who read it before it was made.
        self.maker: dict[Value, Hashable] = {}
        self.waiting: list[tuple[Value, Hashable]] = []

    def box(self, key: Hashable, label: str, kind: str, title: str, cluster: _Path | None) -> None:
        self.boxes.append(Box(key, label, kind, title, cluster=cluster))

    def read(self, v: Value, key: Hashable) -> None:
        if v in self.maker:
            self.arrows.append(Arrow(self.maker[v], key, _carried(v)))
        else:
            self.waiting.append((v, key))

    def node(self, node: Node, cluster: _Path | None, why: str = "") -> None:
        key = len(self.boxes)
        label, kind = _label(node), _kind(node)
        inner = [n.op.name for r in node.regions for n in r.nodes] if kind == "kernel" else []
        outputs = ", ".join(f"{v.name}: {v.type}" for v in node.outputs)
        why = why and f"not one kernel with what reads it: {why}"
        title = "\n".join(x for x in (outputs, ", ".join(inner), str(node.where or ""), why) if x)
        self.box(key, label, kind, title, cluster)
        self.nodes[key] = node
        for v in node.inputs:
            self.read(v, key)
        for v in node.outputs:
            self.maker[v] = key

    def finish(self) -> Picture:
        for v, key in self.waiting:
            if v in self.maker:
                self.arrows.append(Arrow(self.maker[v], key, _carried(v), back=True))
        return self.boxes, self.arrows, self.clusters, self.nodes


def _carried(v: Value) -> str:
    """A value with its type, and an array of known size with its bytes."""
    text = f"{v.name}: {v.type}"
    if isinstance(v.type, ArrayType) and all(isinstance(n, int) for n in v.type.shape):
        size = math.prod(n for n in v.type.shape if isinstance(n, int)) * v.type.dtype.itemsize
        return f"{text}, {format(size, '_').replace('_', ' ')} bytes"
    return text


def _kind(node: Node) -> str:
    if node.op.kind == "fusion":
        return "kernel"
    if node.op.kind == "dataflow":
        return "flow"
    return "host" if "function" in node.attrs or node.op.name.startswith("host") else ""


def _label(node: Node) -> str:
    if node.op.kind != "fusion":
        return node.op.name
    names = dict.fromkeys(n.op.name for r in node.regions for n in r.nodes)
    told = [n for n in names if n not in ("constant", "broadcast_to", "reshape")]
    text = " ".join(told or names)
    return f"kernel: {text[:40]}{'...' if len(text) > 40 else ''}"


def fused_picture(graph: Graph) -> Picture:
    """A fused graph: a box for each kernel or call, regions of loops and branches as clusters."""
    d = _Drawer()

    def inside(g: Graph, cluster: _Path | None) -> None:
        for node in g.nodes:
            if node.op.kind == "fusion" or not node.regions:
                d.node(node, cluster, why_not_fused(g, node) if node.op.kind == "fusion" else "")
                continue
            for k, region in enumerate(node.regions):
                key = (*(cluster or ()), (id(node), k))
                names = [r.name for r in node.regions]
                d.clusters[key] = f"{node.op.name}: {names[k]}"
                for v, given in zip(region.inputs, _given(node, region), strict=False):
                    if given in d.maker:
                        d.maker[v] = d.maker[given]
                inside(region, key)
            d.node(node, cluster)
            for region in node.regions:
                for v in region.outputs:
                    if v in d.maker and d.maker[v] != d.maker[node.outputs[0]] and node.outputs:
                        d.arrows.append(Arrow(d.maker[v], d.maker[node.outputs[0]], _carried(v)))

    _ends(d, graph.inputs, "argument")
    inside(graph, None)
    _results(d, graph.outputs)
    return d.finish()


def partition_picture(placement: Placement) -> Picture:
    """A graph on several devices: a box for each node, by its device."""
    d = _Drawer()
    numbers = {device: k for k, device in enumerate(placement.devices)}

    def inside(g: Graph, cluster: _Path | None) -> None:
        for node in g.nodes:
            for k, region in enumerate(node.regions):
                key = (*(cluster or ()), (id(node), k))
                d.clusters[key] = f"{node.op.name}: {region.name}"
                for v, given in zip(region.inputs, _given(node, region), strict=False):
                    if given in d.maker:
                        d.maker[v] = d.maker[given]
                inside(region, key)
            d.node(node, cluster)
            device = placement.nodes[node]
            box = d.boxes[-1]
            box.label, box.kind = f"{box.label} @ {device}", f"device{numbers[device] % DEVICES}"

    _ends(d, placement.graph.inputs, "argument")
    inside(placement.graph, None)
    _results(d, placement.graph.outputs)
    return d.finish()


def _given(node: Node, region: Graph) -> Iterator[Value]:
    """What is given to a region's inputs: the last inputs of its node."""
    yield from node.inputs[len(node.inputs) - len(region.inputs) :]


def dataflow_picture(graph: DataflowGraph) -> Picture:
    """A flat graph: a box for each node, loops as clusters."""
    d = _Drawer()
    _ends(d, graph.inputs, "argument")
    for section in graph.sections:
        path = _loops(section.frame)
        if path:
            d.clusters.setdefault(path, f"loop {path[-1]}")
        for node in section.nodes:
            d.node(node, path or None)
    _results(d, graph.outputs)
    return d.finish()


def _loops(frame: Frame | None) -> _Path:
    """The names of the loops around what is in a frame, the outermost first."""
    return () if frame is None or not frame.name else (*_loops(frame.parent), frame.name)


def _ends(d: _Drawer, values: tuple[Value, ...], kind: str) -> None:
    for v in values:
        key = len(d.boxes)
        d.box(key, f"{v.name}: {v.type}", kind, kind, None)
        d.nodes[key] = None
        d.maker[v] = key


def _results(d: _Drawer, values: tuple[Value, ...]) -> None:
    for k, v in enumerate(values):
        key = len(d.boxes)
        d.box(key, f"result {k}: {v.type}", "result", "result", None)
        d.nodes[key] = None
        d.read(v, key)
