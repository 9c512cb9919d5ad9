"""What became of each line of the user's program in one compile: from its graph, notes and code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tracejit.base.lazy_dataclass import dataclass
from tracejit.errors import Where

if TYPE_CHECKING:
    from tracejit.ir.graph import Graph, Node

__all__ = ["Line", "compiled_lines", "host_lines"]

#: What goes without saying of a line for which one of these is said.
_TELLS_MORE = ("rolled", "unrolled", "peeled", "branch", "duplicated", "effect")


@dataclass(frozen=True)
class Line:
    """`kind` is one of `frontend.notes.KINDS`. Unpacks to line number, kind and reason."""

    where: Where
    kind: str
    why: str = ""

    @property
    def line(self) -> int:
        """The line's number in its file."""
        return self.where.line

    def __iter__(self) -> Any:
        return iter((self.line, self.kind, self.why))


def compiled_lines(
    graph: Graph,
    notes: Sequence[Any],
    host: Iterable[Node],
    copies: Iterable[Any] = (),
    caller: Where | None = None,
) -> tuple[Line, ...]:
    """The lines of a compile.

    `graph` is the trace, `notes` what the front end said of it, `host` the nodes that the program
    runs through NumPy, `copies` the whole arrays that it copies (with `what` and `where`). What
    is done around the function has the place of its `caller`, and is no line of it.
    """
    found: dict[tuple[str, int, str, str], Line] = {}

    def add(where: Where | None, kind: str, why: str = "") -> None:
        if where is not None and where != caller:
            found.setdefault((where.file, where.line, kind, why), Line(where, kind, why))

    host = list(host)
    for note in notes:
        if note.kind != "host":
            add(note.where, note.kind, note.detail)
    told = {(file, line) for file, line, kind, _ in found if kind in _TELLS_MORE}
    through_numpy = set()
    for where, why in host_lines(host, notes):
        add(where, "host", why)
    for node in host:
        if node.where is not None:
            through_numpy.add((node.where.file, node.where.line, node.op.name))
    for copy in copies:
        add(copy.where, "copied", copy.what)
    for node in _nodes(graph):
        where = node.where
        if where is None or (where.file, where.line) in told:
            continue
        if (where.file, where.line, node.op.name) not in through_numpy:
            add(where, "compiled")
    return tuple(found.values())


def host_lines(host: Iterable[Node], notes: Sequence[Any]) -> list[tuple[Where | None, str]]:
    """Place and reason of each node that a program runs through NumPy, in the order of the code.

    The places of `notes`, which the front end has made of calls, have columns.
    """
    from tracejit.ops.host.call import HostCall

    noted = {(note.where, note.detail): note.where for note in notes if note.kind == "host"}
    out = []
    for node in host:
        why = f"{_spelled(node)} runs through NumPy"
        if isinstance(node.op, HostCall):
            from tracejit.frontend.host.functions import spelled_call

            why = spelled_call(node.attrs)
        out.append((noted.get((node.where, why), node.where), why))
    return out


def _nodes(graph: Graph) -> Iterable[Node]:
    for node in graph.nodes:
        yield node
        for region in node.regions:
            yield from _nodes(region)


def _spelled(node: Node) -> str:
    """An op as a NumPy user would call it, with the dtype that it works on."""
    from tracejit.ir.types import ArrayType, dtype_of

    meaning = getattr(type(node.op).__dict__.get("numpy"), "__name__", "")
    values = [v for v in (*node.inputs, *node.outputs) if isinstance(v.type, ArrayType)]
    dtype = f" of {dtype_of(values[0].type).name}" if values else ""
    return (f"np.{meaning}" if meaning else node.op.name) + dtype
