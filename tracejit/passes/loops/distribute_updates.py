"""Updates of columns that a loop makes one after another are made in front of it, all at once.

    while_loop(i < n; a){ a -> b = update_slice(a, a[:m, i] + c[:m] * d[i], :m, i); ... b ... }
    ->  a' = update_slice(a, a[:m, 0:n] + c[:m] * d[0:n], :m, 0:n)
        while_loop(i < n; a'){ a' -> ... a' ... }

One by itself an update strides through memory. Nothing in the loop may read or store the column
before the update does, whether in its own iteration or in one before; what reads or stores it
afterwards finds it as it was. Where a store of one element is in its way, that is made first, all
at once as well.
"""

from __future__ import annotations

from tracejit.ir.dims import Dim
from tracejit.ir.graph import Attrs, GraphBuilder, Node, Value
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType
from tracejit.ops.array.indexing import UpdateSlice
from tracejit.ops.array.items import ReadItem
from tracejit.ops.array.shape import Slice
from tracejit.passes.analysis.counted_loops import LEAST, CountedLoop, Formula, place
from tracejit.passes.analysis.regions import copied, with_nodes, with_values, without
from tracejit.passes.loops.batch_iterations import Lines, in_front

__all__ = ["update_ahead"]

#: More ops side by side are not worth a second look at the loop.
_MOST_NODES = 16


def update_ahead(builder: GraphBuilder, loop: CountedLoop, taken: set[str]) -> Node:
    """The loop without an update that is made in front, by nodes in `builder`; else as it was."""
    for number in range(loop.carried):
        for node in loop.stores(number) or ():
            formula = _formula(loop, number, node)
            if formula is not None:
                return _made_ahead(builder, loop, number, node, formula, taken)
    return loop.node


def _formula(loop: CountedLoop, number: int, node: Node) -> Formula | None:
    """What a store stores, if it can be made in front and that pays.

    That of an element pays where it is in the way of a column's.
    """
    if isinstance(node.op, UpdateSlice):
        formula = _line(loop, number, node)
    else:
        stores = loop.stores(number) or []
        later = stores[: stores.index(node)]
        if not any(_length(loop, number, s) is not None for s in later):
            return None
        formula = _element(loop, number, node)
    return formula if formula is not None and _first(loop, number, node, formula) else None


def _length(loop: CountedLoop, number: int, node: Node) -> Dim | None:
    """How long the columns are that an update stores, if it pays to store rows instead."""
    if not isinstance(node.op, UpdateSlice):
        return None
    size = node.attrs["size"]
    long = [a for a, d in enumerate(size) if d != 1]
    moving = loop.moves(node.attrs["start"])
    if len(long) != 1 or moving is None or moving[0] in (None, long[0]):
        return None
    length: Dim = size[long[0]]
    if isinstance(length, int) and length < LEAST:
        return None
    return length if loop.pays(loop.body.inputs[number], *moving) else None


def _line(loop: CountedLoop, number: int, node: Node) -> Formula | None:
    """What an update of a column stores, if that is known in front of the loop."""
    length = _length(loop, number, node)
    if length is None:
        return None
    formula = Formula(length)
    if not loop.learn(node.inputs[1], formula) or len(formula.nodes) > _MOST_NODES:
        return None
    lines = [c for c in formula.columns.values() if c.along is not None and c.across is not None]
    return formula if all(loop.pays(c.array, c.across, c.step) for c in lines) else None


def _element(loop: CountedLoop, number: int, node: Node) -> Formula | None:
    """The same of what an element of a row is set to."""
    at = place(node)
    moving = loop.moves(at["start"]) if at is not None else None
    if moving is None or not loop.pays(loop.body.inputs[number], *moving):
        return None
    formula = Formula(1)
    known = loop.learn_number(node.inputs[1], formula) and formula.columns
    return formula if known and len(formula.nodes) <= _MOST_NODES else None


def _first(loop: CountedLoop, number: int, update: Node, formula: Formula) -> bool:
    """Whether an update is the first that reads or stores its elements, but for its own reads."""
    stores = loop.stores(number)
    assert stores is not None
    versions = [s.outputs[0] for s in reversed(stores)]
    at = place(update)
    assert at is not None
    if not all(loop.apart(s, at) for s in stores):
        return False
    own = _only_for(loop, update, formula)
    before = True
    for version, store in zip(
        [loop.body.inputs[number], *versions], [*reversed(stores), None], strict=True
    ):
        for reader in loop.readers.get(version, []):
            if reader in own:
                continue
            if reader is store and version not in reader.inputs[1:]:
                if before and store is not update and not loop.apart(reader, at, later=False):
                    return False
                continue
            if not isinstance(reader.op, (Slice, ReadItem)) or version in reader.inputs[1:]:
                return False
            if not loop.apart(reader, at):
                return False
            if before and not loop.apart(reader, at, later=False):
                return False
        before = before and store is not update
    # What else leaves an iteration is another array, which has memory of its own.
    last = versions[-1]
    outputs = loop.body.outputs
    return outputs.count(last) == 1 and not any(
        v in outputs for v in (loop.body.inputs[number], *versions[:-1])
    )


def _only_for(loop: CountedLoop, update: Node, formula: Formula) -> set[Node]:
    """The nodes that only make what an update stores."""
    nodes = formula.reading(loop.producer)
    own: set[Node] = {update}
    for node in reversed([n for n in loop.body.nodes if n in nodes]):
        readers = [r for v in node.outputs for r in loop.readers.get(v, [])]
        if own.issuperset(readers) and not any(v in loop.body.outputs for v in node.outputs):
            own.add(node)
    return own - {update}


def _made_ahead(
    builder: GraphBuilder,
    loop: CountedLoop,
    number: int,
    update: Node,
    formula: Formula,
    taken: set[str],
) -> Node:
    array, at = loop.body.inputs[number], place(update)
    assert isinstance(array.type, ArrayType) and at is not None
    across, step = loop.moves(at["start"]) or (None, 0)
    assert across is not None
    along = [a for a, d in enumerate(at["size"]) if d != 1]

    def some(b: GraphBuilder, arrays: dict[Value, Value]) -> list[Value]:
        lines = Lines(b, loop, arrays, turned=along < [across])
        matrix = lines.write(update.inputs[1], formula)
        size = [loop.start(d) for d in at["size"]]
        steps = list(at["step"])
        size[across], steps[across] = loop.trips, step
        attrs: Attrs = {
            "start": tuple(map(loop.start, at["start"])),
            "size": tuple(size),
            "step": tuple(steps),
        }
        matrix = b.one(OPS["reshape"], (matrix,), shape=tuple(size))
        store = OPS["update_slice"]
        return list(b.emit(store, (arrays[array], matrix), attrs, where=update.where))

    def none(_: GraphBuilder, arrays: dict[Value, Value]) -> list[Value]:
        return [arrays[array]]

    (after,) = in_front(builder, loop, [formula], (array,), taken, some, none)
    node = loop.node
    body = with_nodes(loop.body, (n for n in loop.body.nodes if n is not update))
    body = with_values(body, {update.outputs[0]: update.inputs[0]})
    # A loop that does nothing else hands its array on as it is.
    inputs = (*node.inputs[:number], after, *node.inputs[number + 1 :])
    made = {v for n in formula.reading(loop.producer) for v in n.outputs}
    body = without(body, {n for n in body.nodes if not made.isdisjoint(n.outputs)})
    return copied(node, inputs=inputs, regions=(node.regions[0], body))
