"""What is exchanged with other processes is started as soon as it can be computed.

    g1 = h(g2); w2 = k(g2); a = start(w2)   ->      w2 = k(g2); a = start(w2); g1 = h(g2)

The exchange goes on while the program computes what comes behind it. What only a start reads is
computed directly in front of it, once all that it is made of is there. A start stays behind all
other effects that it is behind, so that all processes start in the same order, and behind all that
may end the run: nothing is sent that the program, repeated from its beginning, would not send.
"""

from __future__ import annotations

from collections import deque
from dataclasses import field

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import type_sizes
from tracejit.ops.host.exchange import EXCHANGED_FOR_GOOD, starts
from tracejit.passes.analysis.effects import may_bail
from tracejit.passes.analysis.order import updated_by
from tracejit.passes.analysis.regions import copied, with_nodes

__all__ = ["early_starts"]


def early_starts(graph: Graph) -> Graph:
    """`graph` with starts, and what only they read, directly behind what they need."""
    if not any(map(starts, graph.nodes)):
        return graph
    return with_nodes(graph, _for_good(_Mover(graph).moved()))


def _for_good(nodes: list[Node]) -> list[Node]:
    """The last exchanges, behind which nothing else may end the run, keep no copies for a
    repetition: where they fail themselves, as when a process is lost, they fail again.
    """
    found = list(nodes)
    for k in reversed(range(len(nodes))):
        node = nodes[k]
        if node.op.exchanges and not starts(node):
            found[k] = copied(node, attrs={**node.attrs, "function": EXCHANGED_FOR_GOOD})
        elif may_bail(node):
            break
    return found


@dataclass(eq=False)
class _Block:
    """Nodes that move together."""

    nodes: list[Node] = field(default_factory=list)
    #: The values and sizes that they need and that are not there yet.
    missing: set[object] = field(default_factory=set)


class _Mover:
    def __init__(self, graph: Graph) -> None:
        self.graph, self.nodes = graph, list[Node]()
        self.bails = {node for node in graph.nodes if not starts(node) and may_bail(node)}
        self.made = {x for node in graph.nodes for x in (*node.outputs, *node.binds)}
        self.blocks = self._blocks()
        #: By what they need: the blocks that do not have all yet.
        self.waiting: dict[object, list[_Block]] = {}
        for block in dict.fromkeys(self.blocks.values()):
            own = {v for node in block.nodes for v in node.outputs}
            block.missing = {x for node in block.nodes for x in self._needs(node)} - own
            for x in block.missing:
                self.waiting.setdefault(x, []).append(block)
        self.done: set[Node] = set()
        self.there: set[object] = set()

    def _blocks(self) -> dict[Node, _Block]:
        """For each node that only a start reads, directly or not, the block that it moves with."""
        readers: dict[Value, set[Node]] = {}
        for node in self.graph.nodes:
            for v in node.inputs:
                readers.setdefault(v, set()).add(node)
        results, found = set(self.graph.outputs), dict[Node, _Block]()
        for node in reversed(self.graph.nodes):
            users = set[Node]().union(*(readers.get(v, ()) for v in node.outputs))
            if len(users) != 1 or node in self.bails or starts(node) or node.binds:
                continue
            (user,) = users
            movable = starts(user) or user in found
            if movable and results.isdisjoint(node.outputs) and not any(updated_by(node)):
                block = found[node] = found[user] if user in found else _Block()
                block.nodes.insert(0, node)
        return found

    def _needs(self, node: Node) -> set[object]:
        """The values and sizes that other nodes make for one."""
        sizes = node.sizes().union(*(type_sizes(v.type) for v in node.outputs))
        return {*node.inputs, *sizes} & self.made

    def moved(self) -> list[Node]:
        """The nodes in their new order."""
        # The starts, each with how many nodes in front of it may end the run.
        left, count = deque[tuple[Node, int]](), 0
        for node in self.graph.nodes:
            count += node in self.bails
            if starts(node):
                left.append((node, count))
        count = 0
        for node in self.graph.nodes:
            self._do(node)
            count += node in self.bails
            while left and left[0][1] <= count and self._needs(left[0][0]) <= self.there:
                self._do(left.popleft()[0])
        return self.nodes

    def _do(self, node: Node) -> None:
        """Have a node here, and behind it what waits for it alone."""
        if node in self.done:
            return
        self.done.add(node)
        self.nodes.append(node)
        made = (*node.outputs, *node.binds)
        self.there.update(made)
        for x in made:
            for block in self.waiting.get(x, ()):
                block.missing.discard(x)
                if not block.missing:
                    for inner in block.nodes:
                        self._do(inner)
