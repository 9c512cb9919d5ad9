"""A traced graph becomes pieces: calls inlined, dead code dropped, nodes placed, edges cut."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tracejit.ir.graph import Graph, Node, replay
from tracejit.ir.regions import nested
from tracejit.ir.text.syntax import print_graph
from tracejit.ops.array.creation import Constant
from tracejit.ops.control.effects import StartToken
from tracejit.ops.host.transfer import Recv, Send
from tracejit.passes.partition.costs import Costs, bytes_of
from tracejit.passes.partition.cut import Piece, cut
from tracejit.passes.partition.place import Placement, place
from tracejit.passes.partition.schedule import schedule
from tracejit.passes.simplify.dce import dce
from tracejit.passes.simplify.inline import inline_calls

__all__ = ["edge_of", "partition", "print_pieces"]


def partition(
    graph: Graph, sizes: Mapping[str, int], devices: Sequence[str], costs: Costs | None = None
) -> tuple[Placement, list[Piece]]:
    """Where the nodes of a graph run for some sizes, and its pieces.

    What is not pinned runs on `devices`, or one that something is pinned to, or the host. Raises
    GraphError where what shares state is pinned to several devices.
    """
    known = {s: sizes[s] for s in graph.sizes}
    whole = dce(inline_calls(replay(graph, sizes=known) if known else graph))
    found = place(whole, devices, costs)
    where = found.nodes.__getitem__
    ordered = schedule(whole, where, costs or Costs()) if len(found.devices) > 1 else whole
    return found, cut(ordered, where, found.inputs, found.outputs)


def edge_of(node: Node) -> tuple[str, str] | None:
    """Of a `send` or `recv`: the key of its edge, and the other device."""
    if not isinstance(node.op, (Send, Recv)):
        return None
    (_, key), (_, device) = node.attrs["arguments"][:2]
    return key, device


_CALL = re.compile(
    r'(send|recv)\((\w+(?:, \w+)?), function="[^"]*", '
    r'arguments=\(\("constant", "(\w+)"\), \("constant", "([\w:]+)"\).*types=\(.*?\)\)'
    r"(?=, token|$)"
)
_SHORT = {"send": r'send(\2, edge="\3", to="\4")', "recv": r'recv(\2, edge="\3", source="\4")'}


def print_pieces(placement: Placement, pieces: Sequence[Piece]) -> str:
    """The text of all pieces, each with what it sends; seconds are those of the costs."""
    us, greedy = placement.seconds * 1e6, placement.greedy_seconds * 1e6
    out = [f"# {len(pieces)} devices, about {us:.0f} us a run ({greedy:.0f} us placed greedily)"]
    for piece in pieces:
        out += ["", f"# {piece.device}: {'; '.join(_summary(piece))}"]
        for line in print_graph(piece.graph).splitlines():
            code, comment, where = line.partition("  # ")
            out.append(_CALL.sub(lambda m: m.expand(_SHORT[m[1]]), code.rstrip()) + comment + where)
    return "\n".join(out) + "\n"


def _summary(piece: Piece) -> Iterator[str]:
    nodes = list(nested(piece.graph.nodes))
    own = [n for n in nodes if edge_of(n) is None and not isinstance(n.op, (Constant, StartToken))]
    yield f"{len(own)} nodes"
    for node in nodes:
        found = edge_of(node)
        if found is not None and isinstance(node.op, Send):
            yield f"sends {found[0]} to {found[1]} ({bytes_of(node.inputs[1].type)} bytes)"
