"""Loops of elementwise code become one kernel, with the loop inside of each thread.

    for _ in range(n): x, y = x * x - y * y + a, 2 * x * y + b

The loop counts, and an iteration is one fusion: new elements of all that it carries, each made of
the old ones at the same place. Then no element needs any other, and each thread takes its own
through all iterations, in registers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tracejit.codegen.cuda.structure import symbols_of
from tracejit.codegen.device.parallel import LoweredLoop
from tracejit.codegen.lowering.collapse import map_dims
from tracejit.codegen.lowering.fusion import lower_fusion
from tracejit.ir.dims import Dim, free_symbols, substitute
from tracejit.ir.graph import Graph, Node
from tracejit.ir.kernel import (
    Call,
    Carry,
    Expr,
    For,
    Kernel,
    Let,
    Load,
    ScanLoop,
    Stmt,
    Store,
    Var,
)
from tracejit.ir.types import ArrayType
from tracejit.ops.array.creation import Constant
from tracejit.ops.control.regions import WhileLoop
from tracejit.passes.loops.parallel import as_parallel, trips_of

__all__ = ["element_loops", "lower_element_loop"]


def element_loops(graph: Graph) -> Graph:
    """The graph with such loops as `parallel_loop`s."""
    nodes: list[Node] = []
    changed = False
    for node in graph.nodes:
        if isinstance(node.op, WhileLoop) and _is_elementwise(node):
            nodes += as_parallel(node)
            changed = True
            continue
        if node.op.kind == "control" and node.regions:
            regions = tuple(map(element_loops, node.regions))
            if any(a is not b for a, b in zip(regions, node.regions, strict=True)):
                node = Node(
                    node.op, node.inputs, node.attrs, node.outputs, regions, node.binds, node.where
                )
                changed = True
        nodes.append(node)
    return replace(graph, nodes=tuple(nodes)) if changed else graph


def _is_elementwise(node: Node) -> bool:
    if trips_of(node) is None:
        return False
    try:
        return lower_element_loop(as_parallel(node)[0], {}) is not None
    except Exception:
        return False


def lower_element_loop(node: Node, strides: Mapping[int, tuple[Dim, ...]]) -> LoweredLoop | None:
    """The kernel of a `parallel_loop` whose body is one fusion; None for any other."""
    (body,) = node.regions
    carried = node.attrs["carried"]
    fusions = [n for n in body.nodes if n.op.kind == "fusion"]
    others = [n for n in body.nodes if n.op.kind != "fusion"]
    if len(fusions) != 1 or not all(isinstance(n.op, Constant) for n in others) or not carried:
        return None
    (fusion,) = fusions
    outputs = body.outputs
    if set(outputs) != set(fusion.outputs) or len(set(outputs)) != carried:
        return None
    (region,) = fusion.regions
    outer = {v: k for k, v in enumerate(body.inputs)}
    if any(v not in outer for v in fusion.inputs):
        return None
    places = {
        r: s
        for v, r in zip(fusion.inputs, region.inputs, strict=True)
        if (s := strides.get(outer[v])) is not None
    }
    for k, out in enumerate(outputs):
        # A result lies as what it takes the place of.
        s = strides.get(k)
        if s is not None:
            places[region.outputs[fusion.outputs.index(out)]] = s
    kernel = lower_fusion(region, places)
    table = dict(zip(region.sizes, fusion.attrs["sizes"][0], strict=True))
    sizes = dict(zip(body.sizes[1:], node.attrs["sizes"][0][1:], strict=True))
    dims = {s: substitute(d, sizes) for s, d in table.items()}
    if body.sizes[0] in set[str]().union(*map(free_symbols, dims.values())):
        return None
    arrays = [v for v in fusion.inputs if isinstance(v.type, ArrayType)]
    scalars = [v for v in fusion.inputs if not isinstance(v.type, ArrayType)]
    inputs = [p.name for p in kernel.params if not p.output]
    results = [p.name for p in kernel.params if p.output]
    if len(inputs) != len(arrays) or len(results) != len(fusion.outputs):
        return None
    read = dict(zip(arrays, inputs, strict=True))
    wrote = dict(zip(fusion.outputs, results, strict=True))
    feedback = [(read.get(body.inputs[k]), wrote[out]) for k, out in enumerate(outputs)]
    inner = tuple(map_dims(s, lambda d: substitute(d, dims)) for s in kernel.body)
    looped = _looped(inner, feedback, node.attrs["trips"], set(results))
    if looped is None:
        return None
    # What is not carried is read; what is carried is read and written where it lies.
    names = [*(name for _, name in feedback)]
    kept = [(v, read[v]) for v in arrays if v not in body.inputs[:carried]]
    by_name = {p.name: p for p in kernel.params}
    params = [replace(by_name[n], output=True) for n in names] + [by_name[n] for _, n in kept]
    params = [replace(p, shape=tuple(substitute(d, dims) for d in p.shape)) for p in params]
    made = Kernel("loop", tuple(params), (), kernel.scalars, looped)
    made = replace(made, sizes=tuple(sorted(_free(made, node.attrs["trips"]))))
    buffers = [*range(carried), *(outer[v] for v, _ in kept)]
    return LoweredLoop(made, tuple(buffers), tuple(outer[v] for v in scalars))


def _free(kernel: Kernel, trips: Dim) -> set[str]:
    bound = {v.name for v in kernel.scalars}
    stack: list[Stmt] = list(kernel.body)
    while stack:
        s = stack.pop()
        if isinstance(s, (For, ScanLoop)):
            bound.add(s.var)
            stack += s.body
        elif isinstance(s, Let):
            bound.add(s.name)
    found = symbols_of(kernel.body) | free_symbols(trips)
    for p in kernel.params:
        for d in p.shape:
            found |= free_symbols(d)
    return found - bound


def _looped(
    body: Sequence[Stmt],
    feedback: Sequence[tuple[str | None, str]],
    trips: Dim,
    results: set[str],
) -> tuple[Stmt, ...] | None:
    """The nest with the loop inside; None where an element needs more than itself."""
    loops: list[For] = []
    while len(body) == 1 and isinstance(body[0], For):
        loops.append(body[0])
        body = body[0].body
    stores = {s.buffer: s for s in body if isinstance(s, Store)}
    if not all(isinstance(s, (Let, Store)) for s in body) or set(stores) != results:
        return None
    if len(stores) != sum(isinstance(s, Store) for s in body):
        return None
    carries: list[Carry] = []
    fed: dict[str, tuple[tuple[Dim, ...], Var]] = {}
    for old, new in feedback:
        s = stores[new]
        # Halves are rounded when they are stored: what is carried is not.
        if s.expr.dtype == "f16":
            return None
        name = f"{new}_c"
        init = Load(new, s.index, s.expr.dtype)
        carries.append(Carry(name, s.expr.dtype, init, s.expr))
        if old is not None:
            fed[old] = s.index, Var(name, s.expr.dtype)
    made: dict[int, Expr] = {}
    bad = False

    def expr(e: Expr) -> Expr:
        nonlocal bad
        if id(e) not in made:
            found = e
            if isinstance(e, Load) and e.buffer in fed:
                index, var = fed[e.buffer]
                bad |= e.index != index
                found = var
            elif isinstance(e, Load) and e.buffer in results:
                bad = True
            elif isinstance(e, Call):
                found = replace(e, args=tuple(map(expr, e.args)))
            made[id(e)] = found
        return made[id(e)]

    lets = tuple(replace(s, expr=expr(s.expr)) for s in body if isinstance(s, Let))
    carries = [replace(c, next=expr(c.next)) for c in carries]
    if bad:
        return None
    scan = ScanLoop("step", trips, lets, tuple(carries))
    ends = [
        Store(new, stores[new].index, Var(c.name, c.dtype))
        for (_, new), c in zip(feedback, carries, strict=True)
    ]
    out: tuple[Stmt, ...] = (scan, *ends)
    for loop in reversed(loops):
        out = (replace(loop, body=out, vector=False),)
    return out
