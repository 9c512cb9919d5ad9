"""Boxes and arrows become a drawing in layers: places of boxes, bends of arrows.

After Sugiyama, Tagawa and Toda (1981): each box is below those that its arrows come from; arrows
over several layers pass through empty boxes; the order in a layer is by medians of neighbours; then
boxes move towards their neighbours as far as there is room. What is in a cluster is laid out by
itself, and is then one large box to what is around it.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["Arrow", "Box", "Cluster", "Drawing", "layout"]

#: Between boxes of a layer, and between layers.
_GAP, _RISE = 16.0, 34.0
_HEIGHT, _LETTER = 22.0, 6.9
#: Between a frame and what is in it, and the height of its title.
_EDGE, _TITLE = 12.0, 24.0
_SWEEPS = 6
#: Arrows over more layers are drawn straight: making room for them would cost the most of all.
_LONG = 24

_Path = tuple[Hashable, ...]


@dataclass
class Box:
    """A box with its label and what it stands for; `x`, `y` is its upper left corner.

    `cluster` names the clusters that it is in, the outermost first.
    """

    key: Hashable
    label: str
    kind: str = ""
    title: str = ""
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    height: float = _HEIGHT
    cluster: _Path | None = None


@dataclass
class Arrow:
    """An arrow from one box to another; `back` ones go up and do not make layers."""

    source: Hashable
    target: Hashable
    title: str = ""
    back: bool = False
    points: list[tuple[float, float]] = field(default_factory=list)


@dataclass
class Cluster:
    """A frame around boxes that belong together."""

    label: str
    x: float
    y: float
    width: float
    height: float


@dataclass
class Drawing:
    """Boxes and arrows in their places."""

    boxes: list[Box]
    arrows: list[Arrow]
    clusters: list[Cluster]

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        right = max([b.x + b.width for b in self.boxes], default=0.0)
        bottom = max([b.y + b.height for b in self.boxes], default=0.0)
        return right, bottom


def layout(
    boxes: Sequence[Box], arrows: Sequence[Arrow], clusters: Mapping[_Path, str] | None = None
) -> Drawing:
    """Give boxes and arrows their places; `clusters` are labels of the boxes' clusters.

    Arrows that are not `back` must not lead in a circle; those that would are made `back`.
    """
    for b in boxes:
        b.width = max(b.width, 14 + _LETTER * len(b.label))
    paths = {b.key: b.cluster or () for b in boxes}
    frames, levels = _frames(boxes, clusters or {}), dict[_Path, _Level]()
    for b in boxes:
        for k in range(len(paths[b.key]) + 1):
            level = levels.setdefault(paths[b.key][:k], _Level())
            item = _item(b, k, frames)
            level.boxes.setdefault(item.key, item)
    by_key, pairs = {b.key: b for b in boxes}, []
    for a in arrows:
        depth = _common(paths[a.source], paths[a.target])
        ends = [_item(by_key[key], depth, frames).key for key in (a.source, a.target)]
        between = Arrow(ends[0], ends[1], back=a.back)
        levels[paths[a.source][:depth]].arrows.append(between)
        pairs.append((a, between))
    # Inner clusters first, whose sizes are needed around them; then their places, from outside.
    for path in sorted(levels, key=len, reverse=True):
        width, height = levels[path].place()
        if path:
            frames[path].width = max(frames[path].width, width + 2 * _EDGE)
            frames[path].height = height + _TITLE + _EDGE
    for path in sorted(levels, key=len):
        if path:
            levels[path].move(frames[path].x + _EDGE, frames[path].y + _TITLE)
    for a, between in pairs:
        source, target = by_key[a.source], by_key[a.target]
        start = source.x + source.width / 2, source.y + source.height
        a.back = between.back
        a.points = _bends([start, *between.points[1:-1], (target.x + target.width / 2, target.y)])
    shown = [Cluster(f.label, f.x, f.y, f.width, f.height) for f in frames.values()]
    return Drawing(list(boxes), list(arrows), shown)


def _frames(boxes: Sequence[Box], labels: Mapping[_Path, str]) -> dict[_Path, Box]:
    """A box for each cluster that has boxes in it, or in a cluster inside it."""
    paths = {p[:k]: None for b in boxes if (p := b.cluster) for k in range(1, len(p) + 1)}
    names = {p: labels.get(p, "") for p in paths}
    return {p: Box(("frame", p), name, width=20 + _LETTER * len(name)) for p, name in names.items()}


def _item(box: Box, depth: int, frames: Mapping[_Path, Box]) -> Box:
    """What stands for a box at a depth: a frame around it, or itself."""
    path = box.cluster or ()
    return frames[path[: depth + 1]] if len(path) > depth else box


def _common(a: _Path, b: _Path) -> int:
    """How many clusters two boxes are both in."""
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))
    return sum(1 for _ in same)


@dataclass
class _Level:
    """What lies directly in one cluster: boxes, frames, and the arrows between them."""

    boxes: dict[Hashable, Box] = field(default_factory=dict)
    arrows: list[Arrow] = field(default_factory=list)

    def place(self) -> tuple[float, float]:
        """Give all of it places from 0, 0; width and height."""
        boxes = list(self.boxes.values())
        rank = _ranks(boxes, self.arrows)
        layers, chains = _layers(boxes, self.arrows, rank)
        _order(layers, chains)
        x = _places(layers, chains, {b.key: b.width for b in boxes})
        spans, y = list[tuple[float, float]](), 0.0
        for row in layers:
            height = max([self.boxes[k].height for k in row if k in self.boxes], default=0.0)
            spans.append((y, y + height))
            y += height + _RISE
        for b in boxes:
            b.x, b.y = x[b.key] - b.width / 2, spans[rank[b.key]][0]
        for a in self.arrows:
            a.points = _points(a, self.boxes, chains.get(id(a), ()), x, spans)
        corners = [(b.x + b.width, b.y + b.height) for b in boxes]
        corners += [point for a in self.arrows for point in a.points]
        return max(c[0] for c in corners), max(c[1] for c in corners)

    def move(self, right: float, down: float) -> None:
        """Move all of it."""
        for b in self.boxes.values():
            b.x, b.y = b.x + right, b.y + down
        for a in self.arrows:
            a.points = [(x + right, y + down) for x, y in a.points]


def _ranks(boxes: Sequence[Box], arrows: Sequence[Arrow]) -> dict[Hashable, int]:
    """The layer of each box: one below the lowest of those that lead to it."""
    place = {b.key: k for k, b in enumerate(boxes)}
    into: dict[Hashable, list[Arrow]] = {b.key: [] for b in boxes}
    for a in arrows:
        # Boxes come in an order in which values are made.
        a.back = a.back or place[a.source] >= place[a.target]
        if not a.back:
            into[a.target].append(a)
    rank: dict[Hashable, int] = {}
    for b in boxes:
        rank[b.key] = max([rank[a.source] + 1 for a in into[b.key]], default=0)
    # What nothing leads to stands right above what reads it.
    out: dict[Hashable, list[int]] = {}
    for b in reversed(boxes):
        if not into[b.key] and b.key in out:
            rank[b.key] = min(out[b.key]) - 1
        for a in into[b.key]:
            out.setdefault(a.source, []).append(rank[b.key])
    lowest = min(rank.values(), default=0)
    return {key: r - lowest for key, r in rank.items()}


def _layers(
    boxes: Sequence[Box], arrows: Sequence[Arrow], rank: Mapping[Hashable, int]
) -> tuple[list[list[Hashable]], dict[int, list[Hashable]]]:
    """The keys of each layer, and for each arrow the keys that it passes, ends included."""
    layers: list[list[Hashable]] = [[] for _ in range(max(rank.values(), default=-1) + 1)]
    for b in boxes:
        layers[rank[b.key]].append(b.key)
    chains = {}
    for a in arrows:
        if a.back or rank[a.target] - rank[a.source] > _LONG:
            continue
        between = [(id(a), r) for r in range(rank[a.source] + 1, rank[a.target])]
        for key in between:
            layers[key[1]].append(key)
        chains[id(a)] = [a.source, *between, a.target]
    return layers, chains


def _neighbours(
    chains: Iterable[Sequence[Hashable]],
) -> tuple[dict[Hashable, list[Hashable]], dict[Hashable, list[Hashable]]]:
    above: dict[Hashable, list[Hashable]] = {}
    below: dict[Hashable, list[Hashable]] = {}
    for chain in chains:
        for a, b in zip(chain, chain[1:], strict=False):
            above.setdefault(b, []).append(a)
            below.setdefault(a, []).append(b)
    return above, below


def _order(layers: list[list[Hashable]], chains: Mapping[int, Sequence[Hashable]]) -> None:
    above, below = _neighbours(chains.values())
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        near, rows = (above, layers[1:]) if down else (below, layers[-2::-1])
        before = (layers[0] if down else layers[-1]) if layers else []
        for row in rows:
            place = {key: k for k, key in enumerate(before)}
            own = {key: k for k, key in enumerate(row)}
            row.sort(key=lambda key: _median([place[n] for n in near.get(key, ())], own[key]))
            before = row


def _median(found: list[int], otherwise: float) -> float:
    if not found:
        return otherwise
    found.sort()
    k = len(found) // 2
    return float(found[k]) if len(found) % 2 else (found[k - 1] + found[k]) / 2


def _places(
    layers: Sequence[Sequence[Hashable]],
    chains: Mapping[int, Sequence[Hashable]],
    widths: Mapping[Hashable, float],
) -> dict[Hashable, float]:
    """The middle of each key, in order and with room between."""
    x: dict[Hashable, float] = {}
    for row in layers:
        right = 0.0
        for key in row:
            width = widths.get(key, 2.0)
            x[key] = right + width / 2
            right += width + _GAP
    above, below = _neighbours(chains.values())
    for sweep in range(_SWEEPS):
        for near, rows in ((above, layers), (below, list(reversed(layers)))):
            for row in rows:
                wanted = [
                    sum(x[n] for n in near[key]) / len(near[key]) if near.get(key) else x[key]
                    for key in row
                ]
                _settle(row, wanted, x, widths, leftwards=sweep % 2 == 1)
    left = min([x[key] - widths.get(key, 2.0) / 2 for row in layers for key in row], default=0.0)
    return {key: value - left for key, value in x.items()}


def _settle(
    row: Sequence[Hashable],
    wanted: Sequence[float],
    x: dict[Hashable, float],
    widths: Mapping[Hashable, float],
    leftwards: bool,
) -> None:
    """Move the keys of a layer to where they are wanted, each at a distance from the next."""
    sign = -1 if leftwards else 1
    order = range(len(row) - 1, -1, -1) if leftwards else range(len(row))
    edge = None
    for k in order:
        half = widths.get(row[k], 2.0) / 2
        place = sign * wanted[k]
        if edge is not None:
            place = max(place, edge + half)
        x[row[k]] = sign * place
        edge = place + half + _GAP


def _points(
    a: Arrow,
    boxes: Mapping[Hashable, Box],
    chain: Sequence[Hashable],
    x: Mapping[Hashable, float],
    spans: Sequence[tuple[float, float]],
) -> list[tuple[float, float]]:
    source, target = boxes[a.source], boxes[a.target]
    start = source.x + source.width / 2, source.y + source.height
    end = target.x + target.width / 2, target.y
    if a.back:
        side = max(source.x + source.width, target.x + target.width) + 14
        low, high = source.y + source.height + 8, target.y - 8
        return [start, (start[0], low), (side, low), (side, high), (end[0], high), end]
    middle = [(x[key], y) for key in chain[1:-1] for y in spans[key[1]]]  # type: ignore[index]
    return [start, *middle, end]


def _bends(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points without those on a line with their neighbours."""
    found = points[:1]
    for (x, y), (x_next, y_next) in zip(points[1:], points[2:], strict=False):
        x_before, y_before = found[-1]
        if abs((x - x_before) * (y_next - y) - (x_next - x) * (y - y_before)) > _HEIGHT:
            found.append((x, y))
    return found + points[-1:]
