"""What a program's buffer plan means for its user: stores in place, copies, temporaries, bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.analysis.buffer_plan import (
    Allocation,
    BufferPlan,
    Copy,
    byte_count,
    is_update,
)
from tracejit.codegen.analysis.liveness import is_array
from tracejit.codegen.analysis.stack_order import StackUse
from tracejit.errors import Where
from tracejit.ir.dataflow import DataflowGraph
from tracejit.ir.dims import Dim, evaluate, free_symbols
from tracejit.ir.graph import Node, Value, attr_sizes
from tracejit.ops.control.dataflow import Merge
from tracejit.ops.control.effects import Undefined

__all__ = ["Buffers", "Temporary", "memory_use"]

_ALIGN = 64


@dataclass(frozen=True)
class Temporary:
    """Memory of the program's own: how many bytes, for what, and the user's line.

    Several may lie in one `slot`, one after another. One without a slot is a block that grows: its
    size is known only once the program runs.
    """

    why: str
    where: Where | None
    size: Dim
    slot: int | None

    def __str__(self) -> str:
        place = f" at {self.where}" if self.where else ""
        return f"{self.size} bytes: {self.why}{place}"


@dataclass(frozen=True)
class Buffers:
    """Where the arrays of a compiled call lie.

    `in_place` are the lines whose stores write to the array where it lies, `copies` the whole
    arrays that are copied, `temporaries` the program's own memory. `slots`, `saved` and `results`
    are its parts in bytes: of each slot the sizes of which the largest counts, of what is saved for
    the undo of stores, and of results that are new arrays. `sizes` are those of the first call.
    """

    in_place: tuple[Where, ...] = ()
    copies: tuple[Copy, ...] = ()
    temporaries: tuple[Temporary, ...] = ()
    slots: tuple[frozenset[Dim], ...] = ()
    saved: Dim = 0
    results: Dim = 0
    #: The byte counts, as texts, of results whose sizes are known only at run time.
    made_late: tuple[str, ...] = ()
    sizes: Mapping[str, int] | None = None
    #: What is kept for later parts of the program, such as a backward pass.
    stacks: tuple[StackUse, ...] = ()

    def own_bytes(self, sizes: Mapping[str, int] | None = None) -> int:
        """The program's own memory for these sizes, or the first call's; growing blocks aside.

        Raises KeyError for a size that is missing.
        """
        given = self._given(sizes)
        largest = [max(evaluate(d, given) for d in slot) for slot in self.slots]
        padded = [-(-size // _ALIGN) * _ALIGN for size in largest]
        return sum(padded) + evaluate(self.saved, given)

    def result_bytes(self, sizes: Mapping[str, int] | None = None) -> int:
        """The memory of results that are new arrays. Raises KeyError for a size that is missing."""
        return evaluate(self.results, self._given(sizes))

    def _given(self, sizes: Mapping[str, int] | None) -> Mapping[str, int]:
        return (self.sizes or {}) if sizes is None else sizes

    def peak_bytes(self, sizes: Mapping[str, int] | None = None) -> int:
        """What a call allocates at most, blocks that grow, stacks and calls of NumPy aside.

        Raises KeyError for a size that is missing.
        """
        return self.own_bytes(sizes) + self.result_bytes(sizes)

    @property
    def growing(self) -> tuple[str, ...]:
        """The byte counts, as texts, of blocks whose sizes are known only at run time."""
        return tuple(dict.fromkeys(str(t.size) for t in self.temporaries if t.slot is None))

    def lines(self) -> Iterator[str]:
        """For reading: the sum, then stores, copies, temporaries; nothing where there is none."""
        if not (self.in_place or self.copies or self.temporaries or self.results or self.stacks):
            return
        parts = [
            f"{_counted(len(self.in_place), 'store')} in place",
            f"{len(self.copies)} copied",
            f"temporaries {self._text(self.own_bytes, self.saved)}",
            *(f"and up to {text} bytes that grow" for text in self.growing),
            f"results {self._text(self.result_bytes, self.results)}",
            *(f"and results of {text} bytes" for text in self.made_late),
        ]
        yield f"memory: {', '.join(parts)}"
        yield from (f"in place at {where}" for where in self.in_place)
        yield from (f"copies {copy}" for copy in self.copies)
        yield from (f"temporary of {t}" for t in self.temporaries)
        yield from map(str, self.stacks)

    def _text(self, known: Callable[[], int], otherwise: Dim) -> str:
        """A number of bytes in the first call; in terms of the sizes that only the run decides."""
        try:
            return f"{known():,} bytes".replace(",", " ")
        except KeyError:
            return f"{otherwise} bytes"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def memory_use(graph: DataflowGraph, plan: BufferPlan, sizes: Mapping[str, int]) -> Buffers:
    """The summary of a program's plan; `sizes` are those of the first call."""
    results: Dim = 0
    late: list[str] = []
    for k, v in enumerate(graph.outputs):
        written = k < len(graph.results) and graph.results[k].startswith("write ")
        if is_array(v) and not written:
            size = byte_count(v)
            if attr_sizes(size) <= sizes.keys():
                results = results + size
            else:
                late.append(str(size))
    saved: Dim = 0
    for _, size in plan.around:
        saved = saved + size
    return Buffers(
        tuple(_in_place(graph, plan)),
        (*plan.copies, *(copy for copy, _ in plan.around)),
        tuple(_temporaries(graph, plan)),
        tuple(plan.slots),
        saved,
        results,
        tuple(dict.fromkeys(late)),
        dict(sizes),
        tuple(plan.stacks),
    )


def _in_place(graph: DataflowGraph, plan: BufferPlan) -> Sequence[Where]:
    """The lines whose stores go to the array where it lies, an argument perhaps."""
    found: dict[tuple[str, int], Where] = {}
    for _, node in graph.nodes():
        if node.where is None or node.op.renames or isinstance(node.op, Merge):
            continue
        stored = is_update(node) and bool(plan.overwritten(node))
        for v in filter(is_array, node.outputs):
            allocation = plan.of(v)
            stored = stored or allocation is not None and allocation.argument is not None
        if stored:
            found.setdefault((node.where.file, node.where.line), node.where)
    return [found[key] for key in sorted(found)]


def _temporaries(graph: DataflowGraph, plan: BufferPlan) -> Iterator[Temporary]:
    producer = graph.producers()
    scratch = {v: node for node, values in plan.live.scratch.items() for v in values}
    stores = [n for _, n in graph.nodes() if is_update(n)]
    for allocation in dict.fromkeys(plan.allocation.values()):
        if allocation.argument is not None or allocation.output is not None:
            continue
        node, why = _origin(allocation, producer, scratch)
        if why == "an array" and any(_reads_old(n, allocation, plan, producer) for n in stores):
            why = "a store reads what it overwrites"
        where = None if node is None else node.where
        yield Temporary(why, where, _one_size(allocation), allocation.slot)


def _one_size(allocation: Allocation) -> Dim:
    """The size of one of the arrays in it: the simplest."""
    return min(allocation.sizes, key=lambda d: (len(free_symbols(d)), str(d)))


def _origin(
    allocation: Allocation, producer: Mapping[Value, Node], scratch: Mapping[Value, Node]
) -> tuple[Node | None, str]:
    """The node that writes first, and what for."""
    for v in allocation.members:
        if v in scratch:
            return scratch[v], f"working memory of {scratch[v].op.name}"
    nodes = [producer[v] for v in allocation.members if v in producer]
    made = [n for n in nodes if not isinstance(n.op, (Merge, Undefined))]
    if made:
        return made[0], "an array"
    return next(iter(nodes), None), "an array that a loop or a branch hands on"


def _reads_old(
    store: Node, allocation: Allocation, plan: BufferPlan, producer: Mapping[Value, Node]
) -> bool:
    """Whether `allocation` holds new values of a store, made of the array that it changes."""
    if allocation is plan.of(store.outputs[0]):
        return False
    for v in store.inputs:
        if not is_array(v) or plan.of(v) is not allocation:
            continue
        made = producer.get(plan.live.root(v))
        if made is not None and any(
            is_array(x) and plan.together(x, store.outputs[0]) for x in made.inputs
        ):
            return True
    return False
