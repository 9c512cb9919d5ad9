"""A batch of each op gives what a Python loop over its lanes gives."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tracejit.ops  # noqa: F401 - fills the registry
from tests.transforms.batching import compare, type_of
from tracejit.ir.dims import symbol
from tracejit.ir.graph import Graph, GraphBuilder
from tracejit.ir.op import OPS, Op

PLAIN = [
    name
    for name, op in sorted(OPS.items())
    if not hasattr(op, "evaluate_regions")
    and op.kind not in ("call", "dataflow", "effect", "stack")
]
#: Samples that are tried of each op, at most.
SAMPLES = 14
MATRICES = ("inv", "cholesky", "solve", "triangular_solve", "lu_diagonal", "lu_factor")


def graph_of(op: Op, inputs: Sequence[Any], attrs: dict[str, Any]) -> Graph:
    """The graph of one node."""
    builder = GraphBuilder("f")
    values = [builder.input(type_of(x)) for x in inputs]
    if op.name == "bind_size":
        builder.emit(op, values, attrs, binds=("s",))
        return builder.build(builder.emit(OPS["dim_value"], [], {"dim": symbol("s")}))
    return builder.build(builder.emit(op, values, attrs))


def variants(op: Op, samples: Sequence[Any], number: int, k: int) -> list[Any]:
    """Three operands like operand k of a sample, for three lanes."""
    x = samples[number][0][k]
    if isinstance(x, np.ndarray):
        if op.name in MATRICES:
            return [x, x * 2, x + x.dtype.type(1) * (k == 1)]
        return [np.roll(x.ravel(), j).reshape(x.shape) for j in range(3)]
    alike = [
        s[k]
        for s, attrs in samples
        if len(s) > k and type_of(s[k]) == type_of(x) and attrs.keys() == samples[number][1].keys()
    ]
    if op.name in ("gather", "scatter", "scatter_apply", "read_item", "write_item", "host_call"):
        alike = [x] if op.name == "host_call" else [x, type(x)(0), type(x)(-1)]
        return [alike[j % len(alike)] for j in range(3)]
    start = next(i for i, y in enumerate(alike) if y is x or repr(y) == repr(x))
    return [alike[(start + j) % len(alike)] for j in range(3)]


def tolerance(op: Op) -> dict[str, Any]:
    """How far a lane of a batch may be from the lane by itself."""
    match = re.fullmatch(r"(\w+)(?:\((\d+)\))?", op.parity)
    assert match
    if match[1] == "order":
        return {"parity": "order", "ulp": 64}
    # A lane's Python number is NumPy's in a batch: 2 ulp, and one more for the vectors' code.
    return {"parity": "ulp", "ulp": int(match[2]) + 3} if match[1] == "ulp" else {}


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", PLAIN)
def test_batches_of_each_op_are_its_lanes(name: str) -> None:
    op = OPS[name]
    with np.errstate(all="ignore"):
        samples = list(op.samples())
    step = max(1, len(samples) // SAMPLES)
    for number in range(0, len(samples), step):
        inputs, attrs = samples[number]
        with np.errstate(all="ignore"):
            operands = [variants(op, samples, number, k) for k in range(len(inputs))]
        lanes = list(zip(*operands, strict=True))
        for flags in itertools.product((True, False), repeat=len(inputs)):
            if any(flags):
                size = symbol("b") if number % 2 else None
                compare(graph_of(op, inputs, attrs), lanes, flags, size=size, **tolerance(op))
