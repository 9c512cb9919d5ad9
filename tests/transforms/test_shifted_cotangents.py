"""Cotangents of slices that overlap, shifted along several axes: sums of whole numbers, exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit.ir.graph import Graph

Box = tuple[slice, ...]


def star(shape: tuple[int, ...], reach: int = 1) -> list[Box]:
    """The boxes of a stencil: the middle, and shifted by `reach` along each axis."""
    boxes = [tuple(slice(reach, n - reach) for n in shape)]
    for axis, n in enumerate(shape):
        for at in (0, 2 * reach):
            box = list(boxes[0])
            box[axis] = slice(at, n - 2 * reach + at)
            boxes.append(tuple(box))
    return boxes


def some(shape: tuple[int, ...], seed: int) -> list[Box]:
    """Boxes anywhere, of which many overlap."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(rng.integers(2, 9)):
        ends = [sorted(rng.choice(n + 1, 2, replace=False)) for n in shape]
        if rng.random() < 0.7:
            ends = [(rng.integers(0, 4), n - rng.integers(0, 4)) for n in shape]
        found.append(tuple(slice(int(a), int(b)) for a, b in ends))
    return found


def gradient(shape: tuple[int, ...], boxes: list[Box], weights: list[Any]) -> Any:
    """The compiled gradient of sum(w[k] * x[boxes[k]]), and the one added up box by box."""

    def loss(x: Any, *w: Any) -> Any:
        y = x * 1.0
        s = 0.0
        for box, weight in zip(boxes, w, strict=True):
            s = s + np.sum(weight * y[box])
        return s

    want = np.zeros(shape)
    for box, weight in zip(boxes, weights, strict=True):
        want[box] += weight
    return tracejit.grad(loss), want


def weights_of(shape: tuple[int, ...], boxes: list[Box]) -> list[Any]:
    rng = np.random.default_rng(len(boxes))
    return [rng.integers(-9, 10, np.empty(shape)[box].shape).astype(float) for box in boxes]


CASES = {
    "star-2": ((130, 110), star((130, 110))),
    "star-3": ((40, 30, 20), star((40, 30, 20), 2)),
    "small": ((12, 15), star((12, 15))),
    **{f"some-{k}": ((120, 130), some((120, 130), k)) for k in range(8)},
    **{f"some-3-{k}": ((30, 26, 25), some((30, 26, 25), k)) for k in range(4)},
}


@pytest.mark.sampled(15)
@pytest.mark.parametrize("name", CASES)
def test_sums_over_boxes(name: str) -> None:
    shape, boxes = CASES[name]
    weights = weights_of(shape, boxes)
    found, want = gradient(shape, boxes, weights)
    x = np.zeros(shape)
    assert np.array_equal(found(x, *weights), want)
    assert not found.report().fallbacks


def large_updates(graph: Graph, least: int) -> int:
    """How many updates there are of so many elements at least."""
    return sum(
        (n.op.name == "update_slice" and n.inputs[1].type.size >= least)  # type: ignore[union-attr]
        + sum(large_updates(r, least) for r in n.regions)
        for n in graph.nodes
    )


@pytest.mark.parametrize("name, passes", [("star-2", 1), ("star-3", 1), ("small", 2)])
def test_large_arrays_are_passed_over_once(name: str, passes: int) -> None:
    shape, boxes = CASES[name]
    found, want = gradient(shape, boxes, weights_of(shape, boxes))
    graph = found.lower(np.zeros(shape), *weights_of(shape, boxes)).graphs["fuse"]
    assert large_updates(graph, want.size // 4) == passes


def two_arrays_in_turns(u: Any, v: Any, w: Any) -> Any:
    u, v = u * 1.0, v * 1.0
    for _ in range(3):
        v[1:-1, 1:-1] = u[1:-1, 1:-1] + u[2:, 1:-1] - u[:-2, 1:-1] + u[1:-1, 2:] - u[1:-1, :-2]
        u[1:-1, 1:-1] = v[1:-1, 1:-1] + v[2:, 1:-1] - v[:-2, 1:-1] + v[1:-1, 2:] - v[1:-1, :-2]
    return np.sum(w * u)


def test_what_a_stencil_overwrites_is_not_cleared_first() -> None:
    shape = (130, 110)
    u, w = np.zeros(shape), np.random.default_rng(6).integers(-9, 10, shape).astype(float)
    found = tracejit.grad(two_arrays_in_turns, argnums=(0, 1))
    by_u, by_v = found(u, u, w)
    # It is linear: one number at some place gives the derivative by that.
    for place in ((0, 7), (1, 1), (5, 109), (129, 50), (64, 64), (128, 3)):
        unit = np.zeros(shape)
        unit[place] = 1.0
        assert by_u[place] == two_arrays_in_turns(unit, u, w)
        assert by_v[place] == two_arrays_in_turns(u, unit, w)
    # In each step back: two sums, and the zeros of one array.
    graph = found.lower(u, u, w).graphs["fuse"]
    backward = [n for n in graph.nodes if n.op.name == "while_loop"][-1]
    assert large_updates(backward.regions[1], w.size // 2) == 3
