"""A loop over the lanes of a batch: nodes that run one lane after another.

    y = f(x), x f64[b, n]  ->  y = while_loop(zeros f64[b, m], x):
                                   y = update_slice(y, f(slice(x, i)), i)     for i < b

The nodes are what they are in one lane, so a lane's branches, trip counts, errors and effects are
those of a Python loop over the batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracejit.base.lazy_dataclass import dataclass
from tracejit.errors import GraphError, Unbatchable
from tracejit.ir.batching import may_be_batched, stretched
from tracejit.ir.derivatives import DerivativeBuilder
from tracejit.ir.dims import Dim, symbol
from tracejit.ir.graph import Graph, GraphBuilder, Node, Value
from tracejit.ir.op import OPS
from tracejit.ir.regions import close, copy_node
from tracejit.ir.types import (
    NONE,
    TOKEN,
    ArrayType,
    PyScalar,
    Type,
    dtype_of,
    shape_of,
    type_sizes,
    type_substitute,
)
from tracejit.transforms.batching.plan import effect_tokens

__all__ = ["Table", "run_lanes"]

#: What stands for a value, and whether it has the batch axis.
Table = dict[Value, tuple[Value, bool]]


@dataclass
class _Loop:
    """What a loop over lanes carries and reads."""

    nodes: Sequence[Node]
    size: Dim
    sizes: Mapping[str, Dim]
    #: The values of one lane that are read outside the loop, or carry effects on.
    results: list[Value]
    #: Tokens from outside, which the loop carries as one; none or one.
    tokens: list[Value]
    #: Other values from outside.
    captured: list[Value]


def run_lanes(
    c: DerivativeBuilder,
    nodes: Sequence[Node],
    table: Table,
    sizes: dict[str, Dim],
    size: Dim,
    wanted: Sequence[Value],
) -> None:
    """Record the loop that runs `nodes` for each lane; the table gets those results in `wanted`.

    Raises Unbatchable where one of these has a size that may differ from lane to lane, or no batch.
    """
    made = [v for n in nodes for v in n.outputs]
    own_sizes = {s for n in nodes for s in n.binds}
    outside = dict.fromkeys(v for n in nodes for v in n.inputs if v not in set(made))
    asked = set(wanted)
    loop = _Loop(
        nodes,
        size,
        sizes,
        [v for v in made if v in asked and may_be_batched(v.type)],
        [v for v in outside if v.type == TOKEN],
        [v for v in outside if v.type != TOKEN],
    )
    for v in made:
        if v in asked:
            _check_result(v.type, own_sizes)
    token, stacked = _record(c, loop, table)
    table.update((v, (out, True)) for v, out in zip(loop.results, stacked, strict=True))
    effects = effect_tokens(nodes, loop.tokens)
    for v in made:
        if v in effects and token is not None:
            table[v] = token, False
        elif v.type == NONE and v in asked:
            table[v] = c.op("undefined", kind="none"), False


def _check_result(t: Type, own_sizes: set[str]) -> None:
    if not own_sizes.isdisjoint(type_sizes(t)):
        raise Unbatchable(f"lanes give arrays of sizes of their own ({t}), which cannot be stacked")


def _record(
    c: DerivativeBuilder, loop: _Loop, table: Table
) -> tuple[Value | None, Sequence[Value]]:
    """The loop's node: its token, if it has effects, and the batches of its results."""
    tokens = list(dict.fromkeys(table[v][0] for v in loop.tokens))[:1]
    before = len(c.builder.nodes)
    carried = [*tokens, *(_blank(c, v.type, loop) for v in loop.results)]
    inputs = [*carried, *(table[v][0] for v in loop.captured)]
    counter = c.fresh()
    condition, its_sizes = _condition(c, counter, loop, inputs)
    body, body_sizes = _body(c, counter, loop, table, inputs)
    outs = c.builder.emit(
        OPS["while_loop"],
        inputs,
        {"carried": len(carried), "sizes": ((0, *its_sizes), (0, *body_sizes))},
        regions=(condition, body),
        binds=(c.fresh(),),
    )
    _place(c.builder, before, loop)
    return (outs[0], outs[1:]) if tokens else (None, outs)


def _place(builder: GraphBuilder, before: int, loop: _Loop) -> None:
    """Give the nodes that the loop needs besides the line of its first node."""
    for node in builder.nodes[before:]:
        node.where = node.where or loop.nodes[0].where


def _blank(c: DerivativeBuilder, t: Type, loop: _Loop) -> Value:
    """Zeros for a batch of results, in C order, to be written lane by lane."""
    shape = shape_of(type_substitute(t, loop.sizes))
    return c.full(ArrayType(dtype_of(t), (loop.size, *shape)), 0)


def _condition(
    c: DerivativeBuilder, counter: str, loop: _Loop, inputs: Sequence[Value]
) -> tuple[Graph, tuple[Dim, ...]]:
    """`counter < size`, and the sizes that the region is given."""
    inner = DerivativeBuilder(GraphBuilder("lanes_left"), c.fresh)
    for v in inputs:
        inner.builder.input(v.type)
    lane = inner.op("dim_value", dim=symbol(counter))
    inside = inner.op("py_less", lane, inner.op("dim_value", dim=loop.size))
    return close(inner.builder, (counter,), (inside,))


def _body(
    c: DerivativeBuilder, counter: str, loop: _Loop, table: Table, inputs: Sequence[Value]
) -> tuple[Graph, tuple[Dim, ...]]:
    """One lane: its operands are cut out, and its results written."""
    inner = DerivativeBuilder(GraphBuilder("lane"), c.fresh)
    params = [inner.builder.input(v.type) for v in inputs]
    carried, captured = _split(params, len(params) - len(loop.captured))
    tokens, batches = _split(carried, len(carried) - len(loop.results))
    values = {v: token for v in loop.tokens for token in tokens}
    for v, param in zip(loop.captured, captured, strict=True):
        lane = type_substitute(v.type, loop.sizes)
        values[v] = _cut_out(inner, param, lane, counter) if table[v][1] else param
    last = _run_nodes(inner, loop, values, tokens)
    for k, v in enumerate(loop.results):
        batches[k] = _written(inner, batches[k], values[v], counter)
    _place(inner.builder, 0, loop)
    outputs = [*([last] if last is not None else []), *batches]
    return close(inner.builder, (counter,), outputs, (symbol(counter) + 1,))


def _split(values: Sequence[Value], count: int) -> tuple[list[Value], list[Value]]:
    return list(values[:count]), list(values[count:])


def _run_nodes(
    c: DerivativeBuilder, loop: _Loop, values: dict[Value, Value], tokens: Sequence[Value]
) -> Value | None:
    """Record the nodes of one lane; the token after the last effect, if the loop carries one."""
    sizes = dict(loop.sizes)
    last = tokens[0] if tokens else None
    effects = effect_tokens(loop.nodes, loop.tokens)
    for node in loop.nodes:
        outs = copy_node(c, node, [values[v] for v in node.inputs], sizes)
        for v, out in zip(node.outputs, outs, strict=True):
            if out.type != type_substitute(v.type, sizes):
                raise GraphError(f"{node.op.name}: {v.type} became {out.type} in a lane")
            values[v] = out
            if v in effects:
                last = out
    return last


def _cut_out(c: DerivativeBuilder, batch: Value, t: Type, counter: str) -> Value:
    """A lane of a batch, of just the type of a lane."""
    shape = shape_of(t)
    starts, ones = (symbol(counter), *(0 for _ in shape)), (1,) * (len(shape) + 1)
    part = c.op("slice", batch, start=starts, size=(1, *shape), step=ones)
    part = c.reshape(part, shape)
    if isinstance(t, ArrayType):
        return c.laid_out(part, t)
    element = c.op("element", part)
    return c.op("py_scalar", element, kind=t.kind) if isinstance(t, PyScalar) else element


def _written(c: DerivativeBuilder, batch: Value, v: Value, counter: str) -> Value:
    """A batch with one lane replaced."""
    shape = shape_of(v.type)
    starts, ones = (symbol(counter), *(0 for _ in shape)), (1,) * (len(shape) + 1)
    lane = c.reshape(v, (1, *shape)) if isinstance(v.type, ArrayType) else stretched(c, v, 1)
    return c.op("update_slice", batch, lane, start=starts, size=(1, *shape), step=ones)
