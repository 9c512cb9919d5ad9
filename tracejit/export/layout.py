"""Boxes and arrows become a drawing in layers: places of boxes, bends of arrows.

After Sugiyama, Tagawa and Toda (1981): each box is below those that its arrows come from; arrows
over several layers pass through empty boxes; the order in a layer is by medians of neighbours; then
boxes move towards their neighbours as far as there is room.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["Arrow", "Box", "Cluster", "Drawing", "layout"]

#: Between boxes of a layer, and between layers.
_GAP, _RISE = 16.0, 34.0
_HEIGHT, _LETTER = 22.0, 6.9
_SWEEPS = 6


@dataclass
class Box:
    """A box with its label and what it stands for; `x`, `y` is its upper left corner."""

    key: Hashable
    label: str
    kind: str = ""
    title: str = ""
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    height: float = _HEIGHT
    cluster: Hashable = None


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
    boxes: Sequence[Box], arrows: Sequence[Arrow], clusters: Mapping[Hashable, str] | None = None
) -> Drawing:
    """Give boxes and arrows their places; `clusters` are labels of the boxes' clusters.

    Arrows that are not `back` must not lead in a circle; those that would are made `back`.
    """
    for b in boxes:
        b.width = max(b.width, 14 + _LETTER * len(b.label))
    rank = _ranks(boxes, arrows)
    layers, chains = _layers(boxes, arrows, rank)
    _order(layers, chains)
    x = _places(layers, chains, {b.key: b.width for b in boxes})
    for b in boxes:
        b.x, b.y = x[b.key] - b.width / 2, rank[b.key] * (_HEIGHT + _RISE)
    by_key = {b.key: b for b in boxes}
    for a in arrows:
        a.points = _points(a, by_key, chains.get(id(a), ()), x)
    return Drawing(list(boxes), list(arrows), _clusters(boxes, clusters or {}))


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
        if a.back:
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
) -> list[tuple[float, float]]:
    source, target = boxes[a.source], boxes[a.target]
    start = source.x + source.width / 2, source.y + source.height
    end = target.x + target.width / 2, target.y
    if a.back:
        side = max(source.x + source.width, target.x + target.width) + 14
        low, high = source.y + source.height + 8, target.y - 8
        return [start, (start[0], low), (side, low), (side, high), (end[0], high), end]
    middle = [(x[key], key[1] * (_HEIGHT + _RISE) + _HEIGHT / 2) for key in chain[1:-1]]  # type: ignore[index]
    return [start, *middle, end]


def _clusters(boxes: Sequence[Box], labels: Mapping[Hashable, str]) -> list[Cluster]:
    out = []
    for key, label in labels.items():
        inside = [b for b in boxes if b.cluster == key]
        if inside:
            left, top = min(b.x for b in inside) - 10, min(b.y for b in inside) - 18
            right = max(b.x + b.width for b in inside) + 10
            bottom = max(b.y + b.height for b in inside) + 10
            out.append(Cluster(label, left, top, right - left, bottom - top))
    return out
