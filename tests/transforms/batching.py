"""Batched graphs against a Python loop over their lanes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tests.support.compare import assert_same
from tracejit.errors import Bailout
from tracejit.ir.dims import Dim
from tracejit.ir.evaluate import evaluate
from tracejit.ir.graph import Graph
from tracejit.ir.types import ArrayType, NpScalar, PyScalar, Type
from tracejit.ir.verify import verify
from tracejit.transforms.batching.batch import batch_graph


def fresh_names() -> Callable[[], str]:
    """Names of sizes that no graph here has."""
    count = itertools.count()
    return lambda: f"z{next(count)}"


def type_of(x: Any) -> Type:
    """The type of a concrete value, with its layout."""
    if isinstance(x, np.ndarray):
        order = tuple(sorted(range(x.ndim), key=lambda a: -abs(x.strides[a])))
        return ArrayType(x.dtype, x.shape, order)
    return NpScalar(x.dtype) if isinstance(x, np.generic) else PyScalar(type(x).__name__)


def stacked(values: Sequence[Any]) -> np.ndarray:
    """The batch of lanes, those of Python numbers as an i64, f64, c128 or b1."""
    return np.stack([np.asarray(v) for v in values])


def lane_of(batch: Any, t: Type, k: int) -> Any:
    """Lane k of a batch as a value of type `t`."""
    if isinstance(t, ArrayType):
        return batch[k, ...]
    return batch[k].item() if isinstance(t, PyScalar) else batch[k]


def compare(
    graph: Graph,
    lanes: Sequence[Sequence[Any]],
    batched: Sequence[bool],
    run: Callable[..., tuple[Any, ...]] = evaluate,
    size: Dim | None = None,
    **allowed: Any,
) -> Graph:
    """Check the batched graph against the lanes, each by itself; gives the batched graph.

    `lanes` are the operands of each; those that are not `batched` are taken from the first.
    """
    dim = len(lanes) if size is None else size
    made, flags = batch_graph(graph, batched, dim, fresh_names())
    verify(made, "trace")
    given = [
        stacked([lane[k] for lane in lanes]) if flag else lanes[0][k]
        for k, flag in enumerate(batched)
    ]
    sizes = {s: len(lanes) if s == str(size) else None for s in made.sizes}
    own = [
        [x if flag else y for x, y, flag in zip(lane, lanes[0], batched, strict=True)]
        for lane in lanes
    ]
    known = None if None in sizes.values() else sizes
    arguments = (given,) if run is not evaluate else (given, known)
    try:
        expected = [evaluate(graph, lane) for lane in own]
    except Bailout:
        with pytest.raises(Bailout):
            run(made, *arguments)
        return made
    outs = run(made, *arguments)
    for k, (out, flag) in enumerate(zip(outs, flags, strict=True)):
        for j, lane in enumerate(expected):
            found = lane_of(out, graph.outputs[k].type, j) if flag else out
            assert_same(lane[k], found, where=f"result {k} of lane {j}", **allowed)
    return made
