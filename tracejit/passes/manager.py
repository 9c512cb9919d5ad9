"""Runs the passes in order; checking, dumping and timing are the only hooks between them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

from tracejit.errors import GraphError
from tracejit.ir.graph import Graph, Node
from tracejit.ir.text.print import name_values
from tracejit.ir.types import ArrayType
from tracejit.ir.verify import Verified
from tracejit.ir.verify import verify as verify_graph
from tracejit.passes.fusion.fuse import fuse
from tracejit.passes.late import late
from tracejit.passes.simplify.cse import cse
from tracejit.passes.simplify.dce import dce
from tracejit.passes.simplify.fold import fold
from tracejit.passes.simplify.simplify import simplify

__all__ = ["PASSES", "Observe", "Pass", "pass_named", "run_passes"]

Pass: TypeAlias = Callable[[Graph], Graph]
#: Called with the stage's name, the graph after it and the seconds it took.
Observe: TypeAlias = Callable[[str, Graph, float], None]


def _gives_number(node: Node) -> bool:
    """Returns True if the first operand is an array and the first result is none."""
    ends = (*node.inputs[:1], *node.outputs[:1])
    return [isinstance(v.type, ArrayType) for v in ends] == [True, False]


def _updates(node: Node) -> bool:
    return node.op.updates


def _is_product(node: Node) -> bool:
    return node.op.sums and node.op.kind == "library"


PASSES: tuple[Pass, ...] = (
    # first: no other pass knows them
    late("simplify.inline.inline_calls"),
    # before anything tells iterations apart
    late("loops.loops_at_once.loops_at_once"),
    # removes work, and brings constants next to what uses them
    simplify,
    # what simplify left with constant operands
    fold,
    # known predicates and captured constants, once there are constants to know
    late("control.simplify_control.simplify_control"),
    # what simplify has read past updates; single reads are to stay in front
    late("fusion.hoist_reads.hoist_reads", _updates),
    # single elements need no arrays: fewer nodes for the rest, and no kernels
    late("simplify.scalarize.scalarize", lambda node: node.op.updates or _gives_number(node)),
    # before dead code: often a few of what is sorted are read
    late("simplify.sorting_networks.sorting_networks", lambda node: node.op.sorts),
    # after folding, since equal constants are then one value
    cse,
    # drops what the three have left unread
    dce,
    # once equal matrices are one value, and nothing is left unread
    late("simplify.shared_factors.shared_factors", lambda node: node.op.factors),
    # once all that is left reads what it pops
    late("control.tape_fields.tape_fields", lambda node: node.op.kind == "stack"),
    # after dead code, which would look like work to save
    late("loops.licm.licm"),
    # after cse, and what moves nodes next to their twins
    late("simplify.barriers.remove_barriers", lambda node: node.op.opaque),
    # after all that could make an index certain, or leave the loop
    late("loops.hoist_checks.hoist_checks"),
    # once all places are known that can be
    late("loops.load_forwarding.load_forwarding"),
    # when it is known what else reads a matrix; a sum, not a product, can fuse
    late("fusion.pair_products.pair_products", _is_product),
    # once an operand is either computed here or lies in memory
    late("simplify.matmul_forms.matmul_forms", _is_product),
    # once no product has another form, and nothing moves views any more
    late(
        "simplify.contractions.contractions",
        lambda node: node.op.sums or node.op.fused == "index" and node.op.checks_index,
    ),
    # once nothing moves products away from their sums
    late("simplify.signed_zeros.signed_zeros", lambda node: node.op.term),
    # when sums have their last form
    late("loops.distribute.distribute"),
    # once it is known which indices are left, and nothing moves nodes any more
    late("fusion.early_checks.early_checks", _updates, regions=False, writes=True),
    # once it is known which masks and arrays are left to lie in memory
    late("fusion.compressed.compressed", lambda node: node.binds),
    # when the graph is smallest: what is one loop nest
    fuse,
    # last: nothing moves nodes any more
    late("fusion.early_starts.early_starts", lambda node: node.op.exchanges, regions=False),
)


def run_passes(
    graph: Graph,
    *,
    verify: bool,
    observe: Observe | None = None,
    passes: Sequence[Pass] = PASSES,
) -> Graph:
    """`graph` after every pass. With `verify`, it is checked before the first and after each.

    Raises GraphError for a graph that is not well formed; the message names the pass.
    """

    known, stage = Verified(), "trace"
    if verify:
        verify_graph(graph, stage, known)
    if observe is not None:
        name_values(graph)
    for step in passes:
        name = step.__name__
        stage = "fused" if step is fuse else stage
        start = time.perf_counter()
        graph = step(graph)
        seconds = time.perf_counter() - start
        if observe is not None:
            observe(name, graph, seconds)
        if verify:
            try:
                verify_graph(graph, stage, known)
            except GraphError as error:
                raise GraphError(f"after the pass {name}: {error}") from None
    return graph


def pass_named(name: str) -> Pass:
    """The pass called `name`. Raises KeyError."""
    return {step.__name__: step for step in PASSES}[name]
