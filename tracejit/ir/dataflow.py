"""The flat dataflow graph: a program as TensorFlow's Switch / Merge primitives, in sections.

A graph's control regions are gone; values flow through `switch`, `merge`, `enter`, `exit`,
`next_iteration` and `loop_cond` (ops/control/dataflow.py), beside every other op. It has two
readers:

- a compiler walks the sections in order: each is a basic block. `merge` is a phi, whose inputs are
  in the order of the section's predecessors; the other five give their first input another name.
- an executor fires each node when its inputs have arrived, whatever the order. A value on the side
  that was not taken is dead, and a node with a dead input gives dead outputs, but for `merge`,
  which waits for the one input that lives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.graph import Node, Value

__all__ = ["SECTION_KINDS", "DataflowGraph", "Frame", "Section"]

SECTION_KINDS = ("entry", "head", "body", "then", "else", "join", "exit")


@dataclass(frozen=True)
class Frame:
    """Where the iterations of one loop live; the outermost frame is called "" and has no parent.

    In each iteration of a frame's parent the frame has iterations 0, 1, ... of its own. Names are
    unique in a graph.
    """

    name: str = ""
    parent: Frame | None = None

    @property
    def depth(self) -> int:
        """How many loops surround the frame's nodes: 0 outside all loops."""
        return 0 if self.parent is None else self.parent.depth + 1


@dataclass(frozen=True, eq=False)
class Section:
    """A basic block: nodes that run under one condition, in an order that respects their inputs.

    `kind`: "entry" begins the graph, "head" an evaluation of a loop's condition, "body" a loop's
    iteration, "then" and "else" the sides of a branch, "join" what follows a branch and "exit" what
    follows a loop. A condition or a side may itself go on through several sections.

    `successors` and `predecessors` are indices into `DataflowGraph.sections`: none at the end, one
    (always next), or two, then the section ends in a branch on `branch`: to the first
    successor ("then", "body") where it is true, else to the second ("else", "exit"). A section with
    two successors never leads to one with two predecessors, so an edge has a section of its own. A
    head's predecessors are the section that enters the loop and the one that ends its iteration.

    `predicate` of a then, else or body section: the value it runs by, and whether for true or
    false. `pivot` is a value that arrives if and when the section may run: nodes without inputs
    wait for it (None: the section runs always, they may fire at once). `unlikely` is the number of
    the successor that is hardly ever taken, if one is known.
    """

    id: int
    kind: str
    frame: Frame
    nodes: tuple[Node, ...]
    predicate: tuple[Value, bool] | None = None
    branch: Value | None = None
    pivot: Value | None = None
    successors: tuple[int, ...] = ()
    predecessors: tuple[int, ...] = ()
    unlikely: int | None = None


@dataclass(frozen=True, eq=False)
class DataflowGraph:
    """A whole program: `name`, `sizes`, `inputs`, `outputs`, `results` as those of a `Graph`.

    `sections` are in program order, each after its predecessors (the back edge to a head aside).

    Every size symbol has one meaning in the whole graph, but inside fusions, whose regions stay
    closed. A symbol is one of `sizes`, or a node lists it in its `binds`: a `bind_size`, a
    head's `merge` (a size that a loop carries: its value in this iteration) or an `exit` (its last
    value). `size_values` gives the integer value that each bound symbol stands for. A node reads
    symbols by its attributes (`Node.sizes()`) and its types; a symbol of an outer frame is read in
    inner ones as it is.

    `merge` and `exit` have an attribute `shape` where the type of their output names other symbols
    than their inputs' types: an array whose size the loop carries.
    """

    name: str
    sizes: tuple[str, ...]
    inputs: tuple[Value, ...]
    sections: tuple[Section, ...]
    outputs: tuple[Value, ...]
    results: tuple[str, ...]
    size_values: Mapping[str, Value]

    def nodes(self) -> Iterator[tuple[Section, Node]]:
        """Every node with its section, in program order."""
        for section in self.sections:
            for node in section.nodes:
                yield section, node

    def producers(self) -> dict[Value, Node]:
        """The node that defines each value."""
        return {out: node for _, node in self.nodes() for out in node.outputs}
