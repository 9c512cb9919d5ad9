"""The order of a program whose parts run at the same time: by a simulation of its devices.

A device that would wait runs what it can instead; of several nodes it takes the one that came first
in the program. Of a step of several micro-batches, whose layers lie on several devices, this makes
a pipeline: a device begins the next micro-batch while the last is on other devices, and prefers
the backward pass of an earlier one as soon as it can go on (one forward, one backward: Narayanan et
al., PipeDream, 2019). All pieces keep the order that is found, so they come to their end.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

from tracejit.ir.graph import Graph, Node
from tracejit.ir.regions import nested
from tracejit.ir.types import type_sizes
from tracejit.passes.analysis.effects import is_barrier
from tracejit.passes.analysis.regions import with_nodes
from tracejit.passes.partition.costs import Costs

__all__ = ["schedule"]


def schedule(graph: Graph, place: Callable[[Node], str], costs: Costs) -> Graph:
    """`graph` with its nodes in the order in which they would begin. Regions keep theirs."""
    needs = _needs(graph, place)
    readers: dict[int, list[int]] = {k: [] for k in range(len(needs))}
    for k, found in enumerate(needs):
        for j in found:
            readers[j].append(k)
    nodes = graph.nodes
    device = [_home(node, place) for node in nodes]
    seconds = [_seconds(node, costs) for node in nodes]
    missing = [len(found) for found in needs]
    ready = [0.0] * len(nodes)
    #: By device: what can run there, by its number; and what will be able to, by when.
    runnable: dict[str, list[int]] = {d: [] for d in device}
    coming: dict[str, list[tuple[float, int]]] = {d: [] for d in device}
    free = dict.fromkeys(device, 0.0)
    for k, count in enumerate(missing):
        if not count:
            heapq.heappush(coming[device[k]], (0.0, k))
    order: list[tuple[float, int]] = []
    while True:
        starts = []
        for d, waiting in coming.items():
            while waiting and waiting[0][0] <= free[d]:
                heapq.heappush(runnable[d], heapq.heappop(waiting)[1])
            if runnable[d]:
                starts.append((free[d], d))
            elif waiting:
                starts.append((waiting[0][0], d))
        if not starts:
            break
        start, d = min(starts)
        while coming[d] and coming[d][0][0] <= start:
            heapq.heappush(runnable[d], heapq.heappop(coming[d])[1])
        k = heapq.heappop(runnable[d])
        order.append((start, k))
        end = free[d] = start + seconds[k]
        for j in readers[k]:
            there = end
            if device[j] != d:
                there += max([costs.transfer(v.type) for v in nodes[k].outputs], default=0.0)
            ready[j] = max(ready[j], there)
            missing[j] -= 1
            if not missing[j]:
                heapq.heappush(coming[device[j]], (ready[j], j))
    # Times rise along with dependencies; numbers settle what takes no time.
    return with_nodes(graph, [nodes[k] for _, k in sorted(order)])


def _needs(graph: Graph, place: Callable[[Node], str]) -> list[set[int]]:
    """By node, the numbers of those that make what it reads, sizes included, and of what may end
    the run in front of it on its device.
    """
    maker: dict[object, int] = {}
    last: dict[str, int] = {}
    out = []
    for k, node in enumerate(graph.nodes):
        sizes = node.sizes().union(*(type_sizes(v.type) for v in node.outputs))
        for inner in nested([n for r in node.regions for n in r.nodes]):
            sizes |= inner.sizes()
        found = {maker[x] for x in (*node.inputs, *sizes) if x in maker}
        device = _home(node, place)
        if device in last:
            found.add(last[device])
        if is_barrier(node):
            found |= set(last.values())
            last[device] = k
        out.append(found)
        maker |= dict.fromkeys((*node.outputs, *node.binds), k)
    return out


def _home(node: Node, place: Callable[[Node], str]) -> str:
    """Where a node runs; one on several devices where the first node in it does."""
    for inner in nested([n for r in node.regions for n in r.nodes]):
        if not inner.regions:
            return place(inner)
    return place(node)


def _seconds(node: Node, costs: Costs) -> float:
    if not node.regions:
        return costs.node(node)
    inner = nested([n for r in node.regions for n in r.nodes])
    return sum(costs.node(n) for n in inner if not n.regions)
