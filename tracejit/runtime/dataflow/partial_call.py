"""`f.partial(...)`: some results of a call, by the executor, which computes only what they need."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tracejit.frontend.capture.captured import Call
from tracejit.frontend.tracing.pytree import (
    LEAF,
    Alternative,
    Identity,
    Shared,
    Static,
    TreeDef,
    flatten,
    is_made,
)
from tracejit.runtime.compile.results import Results
from tracejit.runtime.compile.specialize import lower_call
from tracejit.runtime.compile.stages import Traced
from tracejit.runtime.dataflow.executor import Firing, Run, run_dataflow

__all__ = ["inputs_of", "partial_call", "result_of"]


def partial_call(
    owner: Any, args: Any, kwargs: Any, outputs: Sequence[int], workers: int | None
) -> Run:
    """The results `outputs` of a call of a jitted function; `Jitted.partial` says the rest."""
    lowered = lower_call(owner, args, kwargs)
    traced = lowered.traced
    leaves, inputs = inputs_of(owner, traced, args, kwargs)
    results = Results.of(traced)
    times: list[Firing] = []

    def values(numbers: Sequence[int]) -> list[Any]:
        """The results' leaves of these numbers, both sides of alternatives counted."""
        written = _written(traced, numbers)
        needed = sorted({*_outputs(traced, numbers), *written.values()})
        run = run_dataflow(lowered.dataflow, inputs, outputs=needed, workers=workers)
        times.extend(run.times)
        computed = dict(zip(needed, run.outputs, strict=True))
        made = [computed.get(k) for k in range(len(traced.outputs))]
        given = list(leaves)
        for leaf, k in written.items():
            given[leaf] = computed[k]
        return results.some(numbers, made, given)

    for k in outputs:
        if k < 0:
            raise ValueError(f"there is no result {k}")
    leaves_of_result = _results(traced.tree, lambda k: bool(values([k])[0]))
    # What follows the last one asked for may be behind alternatives: it is not looked at.
    found = list(itertools.islice(leaves_of_result, max(outputs, default=-1) + 1))
    for k in outputs:
        if k >= len(found):
            raise ValueError(f"there is no result {k} among {len(found)}")
    asked = [found[k] for k in outputs]
    computed = iter(values([x.number for x in asked if isinstance(x, _Leaf)]))
    chosen = tuple(next(computed) if isinstance(x, _Leaf) else x for x in asked)
    return Run(chosen, times)


def inputs_of(owner: Any, traced: Traced, args: Any, kwargs: Any) -> tuple[list[Any], list[Any]]:
    """All leaves of a call, captured ones included, and those that are inputs of its graph."""
    bound = owner._signature(follow_wrapped=False).bind(*args, **kwargs)
    leaves, _ = flatten(bound.args, bound.kwargs)
    if traced.capture is not None:
        captured = traced.capture.reread(Call(leaves, (bound.args, bound.kwargs)))
        assert not isinstance(captured, str), captured
        leaves = [*leaves, *captured]
    types = traced.specialization.types
    return leaves, [x for x, t in zip(leaves, types, strict=True) if t is not None]


def result_of(traced: Traced, leaves: list[Any], outputs: Sequence[Any]) -> Any:
    """The user's result of a call with these leaves, from all outputs of its graph."""
    given = list(leaves)
    for leaf, k in _written(traced, range(len(traced.plans))).items():
        given[leaf] = outputs[k]
    return Results.of(traced)(outputs, given)


class _Leaf(NamedTuple):
    number: int


def _outputs(traced: Traced, numbers: Sequence[int]) -> Iterator[int]:
    """The graph's outputs that these leaves of the result are made from."""
    for k in numbers:
        plan = traced.plans[k]
        if plan.same_as is not None:
            yield from _outputs(traced, [plan.same_as])
        elif plan.index is not None:
            yield plan.index
        yield from plan.operands


def _written(traced: Traced, numbers: Sequence[int]) -> dict[int, int]:
    """By leaf that these results are, or are views of: the output that holds what it becomes."""
    leaves = {_plan(traced, k).leaf for k in numbers}
    traced_leaves = [k for k, t in enumerate(traced.specialization.types) if t is not None]
    found = {}
    for output, result in enumerate(traced.graph.results):
        kind, _, number = result.partition(" ")
        if kind == "write" and traced_leaves[int(number)] in leaves:
            found[traced_leaves[int(number)]] = output
    return found


def _plan(traced: Traced, number: int) -> Any:
    plan = traced.plans[number]
    return plan if plan.same_as is None else _plan(traced, plan.same_as)


def _results(tree: TreeDef, holds: Callable[[int], bool]) -> Iterator[Any]:
    """The results in order: leaves, constants as they are; of alternatives the side chosen."""
    at = 0

    def walk(node: Any) -> Iterator[Any]:
        nonlocal at
        if node is LEAF:
            at += 1
            yield _Leaf(at - 1)
        elif isinstance(node, Static):
            yield node.value
        elif isinstance(node, Identity):
            yield node.get()
        elif is_made(node):
            at += node.count
            yield from map(_Leaf, range(at - node.count, at))
        elif isinstance(node, Shared):
            yield from walk(node.node)
        elif isinstance(node, Alternative):
            at += 1
            first = holds(at - 1)
            at += 0 if first else node.counts[0]
            yield from walk(node.first if first else node.second)
            at += node.counts[1] if first else 0
        else:
            for child in node[2]:
                yield from walk(child)

    yield from walk(tree.root)
