"""Runs the passes in order; checking, dumping and timing are the only hooks between them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

from tracejit.errors import GraphError
from tracejit.ir.graph import Graph
from tracejit.ir.text.syntax import name_values
from tracejit.ir.verify import Verified
from tracejit.ir.verify import verify as verify_graph
from tracejit.passes.control.simplify_control import simplify_control
from tracejit.passes.control.tape_fields import tape_fields
from tracejit.passes.fusion.compressed import compressed
from tracejit.passes.fusion.early_checks import early_checks
from tracejit.passes.fusion.early_starts import early_starts
from tracejit.passes.fusion.fuse import fuse
from tracejit.passes.fusion.hoist_reads import hoist_reads
from tracejit.passes.fusion.pair_products import pair_products
from tracejit.passes.loops.distribute import distribute
from tracejit.passes.loops.hoist_checks import hoist_checks
from tracejit.passes.loops.licm import licm
from tracejit.passes.loops.load_forwarding import load_forwarding
from tracejit.passes.loops.loops_at_once import loops_at_once
from tracejit.passes.simplify.barriers import remove_barriers
from tracejit.passes.simplify.contractions import contractions
from tracejit.passes.simplify.cse import cse
from tracejit.passes.simplify.dce import dce
from tracejit.passes.simplify.fold import fold
from tracejit.passes.simplify.inline import inline_calls
from tracejit.passes.simplify.matmul_forms import matmul_forms
from tracejit.passes.simplify.scalarize import scalarize
from tracejit.passes.simplify.shared_factors import shared_factors
from tracejit.passes.simplify.signed_zeros import signed_zeros
from tracejit.passes.simplify.simplify import simplify
from tracejit.passes.simplify.sorting_networks import sorting_networks

__all__ = ["PASSES", "Observe", "Pass", "pass_named", "run_passes"]

Pass: TypeAlias = Callable[[Graph], Graph]
#: Called with the stage's name, the graph after it and the seconds it took.
Observe: TypeAlias = Callable[[str, Graph, float], None]

PASSES: tuple[Pass, ...] = (
    inline_calls,  # first: no other pass knows them
    loops_at_once,  # before anything tells iterations apart
    simplify,  # removes work, and brings constants next to what uses them
    fold,  # what simplify left with constant operands
    simplify_control,  # known predicates and captured constants, once there are constants to know
    hoist_reads,  # what simplify has read past updates; single reads are to stay in front
    scalarize,  # single elements need no arrays: fewer nodes for the rest, and no kernels
    sorting_networks,  # before dead code: often a few of what is sorted are read
    cse,  # after folding, since equal constants are then one value
    dce,  # drops what the three have left unread
    shared_factors,  # once equal matrices are one value, and nothing is left unread
    tape_fields,  # once all that is left reads what it pops
    licm,  # after dead code, which would look like work to save
    remove_barriers,  # after cse, and what moves nodes next to their twins
    hoist_checks,  # after all that could make an index certain, or leave the loop
    load_forwarding,  # once all places are known that can be
    pair_products,  # when it is known what else reads a matrix; a sum, not a product, can fuse
    matmul_forms,  # once an operand is either computed here or lies in memory
    contractions,  # once no product has another form, and nothing moves views any more
    signed_zeros,  # once nothing moves products away from their sums
    distribute,  # when sums have their last form
    early_checks,  # once it is known which indices are left, and nothing moves nodes any more
    compressed,  # once it is known which masks and arrays are left to lie in memory
    fuse,  # when the graph is smallest: what is one loop nest
    early_starts,  # last: nothing moves nodes any more
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
    known = Verified()
    if verify:
        verify_graph(graph, "trace", known)
    if observe is not None:
        name_values(graph)
    for step in passes:
        name = step.__name__
        start = time.perf_counter()
        graph = step(graph)
        seconds = time.perf_counter() - start
        if observe is not None:
            observe(name, graph, seconds)
        if verify:
            try:
                verify_graph(graph, name, known)
            except GraphError as error:
                raise GraphError(f"after the pass {name}: {error}") from None
    return graph


def pass_named(name: str) -> Pass:
    """The pass called `name`. Raises KeyError."""
    return {step.__name__: step for step in PASSES}[name]
