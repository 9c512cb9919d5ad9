"""Boxes do not overlap, arrows lead down, and what belongs together is framed."""

from __future__ import annotations

import itertools
import random

import numpy as np

import tracejit
from tracejit.export.graphs import dataflow_picture, fused_picture
from tracejit.export.layout import Arrow, Box, Drawing, layout


def check(drawing: Drawing) -> None:
    by_key = {b.key: b for b in drawing.boxes}
    layers = {b.y: [o for o in drawing.boxes if o.y == b.y] for b in drawing.boxes}
    for row in layers.values():
        row.sort(key=lambda b: b.x)
        for a, b in itertools.pairwise(row):
            assert a.x + a.width < b.x
    for arrow in drawing.arrows:
        source, target = by_key[arrow.source], by_key[arrow.target]
        assert arrow.back or source.y < target.y
        assert arrow.points[0][1] == source.y + source.height and arrow.points[-1][1] == target.y
        assert source.x <= arrow.points[0][0] <= source.x + source.width


def test_random_graphs() -> None:
    rng = random.Random(3)
    for count in (1, 2, 7, 60):
        boxes = [Box(k, "x" * rng.randrange(20)) for k in range(count)]
        pairs = [(rng.randrange(count), rng.randrange(count)) for _ in range(2 * count)]
        check(layout(boxes, [Arrow(a, b) for a, b in pairs if a != b]))
    assert layout([], []).size == (0.0, 0.0)


def test_a_loop_is_framed_and_every_node_is_drawn() -> None:
    def f(x, n):
        while x.sum() < n:
            x = x * 2.0 if x[0] > 0 else x + 1
        return x

    lowered = tracejit.jit(f).lower(np.ones(5), 9.0)
    boxes, arrows, clusters, nodes = dataflow_picture(lowered.dataflow)
    drawing = layout(boxes, arrows, clusters)
    check(drawing)
    drawn = [node for node in nodes.values() if node is not None]
    assert drawn == [node for _, node in lowered.dataflow.nodes()]
    (frame,) = drawing.clusters
    inside = [b for b in boxes if b.cluster is not None]
    assert inside and all(frame.x < b.x and frame.y < b.y for b in inside)
    for b in boxes:
        over = frame.x < b.x + b.width and b.x < frame.x + frame.width
        assert (b in inside) == (over and frame.y < b.y + b.height and b.y < frame.y + frame.height)
    assert any(a.back for a in arrows)
    fused, fused_arrows, fused_clusters, _ = fused_picture(lowered.fused)
    assert {"while_loop: condition", "while_loop: body"} <= set(fused_clusters.values())
    check(layout(fused, fused_arrows, fused_clusters))
