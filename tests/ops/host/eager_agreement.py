"""Derivatives of runs operation by operation, against those of the traced graph."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit
from tests.support.check_grads import is_float, run
from tracejit.errors import Underivable
from tracejit.frontend.tracing.pytree import flatten, unflatten
from tracejit.ir.graph import Graph
from tracejit.transforms.autodiff.reverse import vjp_graph

__all__ = ["check_eagerly"]


def check_eagerly(f: Callable[..., Any], graph: Graph, *args: Any) -> None:
    """Hold `vjp` under `eager()` against the pullback of `graph`, the trace of `f` for `args`.

    A graph that has no derivative says nothing. Raises AssertionError, and LostGradient where the
    eager run does not know what the graph knows.
    """
    active = [is_float(x) for x in args]
    outputs = run(graph, args)
    if not any(active) or not any(map(is_float, outputs)):
        return
    try:
        reverse = vjp_graph(graph, active)
    except Underivable:
        return
    rng = np.random.default_rng(0)
    cotangents = [_random(y, rng) for y in outputs]
    floats = [
        np.asarray(ct)[()] if isinstance(ct, (float, complex)) else ct
        for ct, y in zip(cotangents, outputs, strict=True)
        if is_float(y)
    ]
    expected = run(reverse, [*args, *floats])[len(outputs) :]
    with tracejit.eager(), np.errstate(all="ignore"):
        out, pull = tracejit.vjp(f, *copy.deepcopy(args))
        leaves, tree = flatten((out,), {})
        assert len(leaves) == len(outputs)
        for x, y in zip(leaves, outputs, strict=True):
            assert type(x) is type(y)
            np.testing.assert_allclose(x, y, rtol=1e-5 if _is_single(y) else 1e-11, atol=1e-11)
        found = pull(unflatten(tree, cotangents)[0][0])
    found = [g for g, is_active in zip(found, active, strict=True) if is_active]
    for x, y in zip(found, expected, strict=True):
        assert np.shape(x) == np.shape(y) and np.asarray(x).dtype == np.asarray(y).dtype
        size = np.max(np.abs(y), initial=1.0)
        atol = size * (1e-4 if any(map(_is_single, args)) else 1e-9)
        np.testing.assert_allclose(x, y, rtol=0, atol=atol)


def _is_single(x: Any) -> bool:
    return np.asarray(x).dtype in (np.float32, np.complex64)


def _random(x: Any, rng: np.random.Generator) -> Any:
    dtype, shape = np.asarray(x).dtype, np.shape(x)
    out: Any = rng.uniform(-1, 1, shape)
    if dtype.kind == "c":
        out = out + 1j * rng.uniform(-1, 1, shape)
    out = np.asarray(out).astype(dtype) if dtype.kind in "fc" else np.zeros(shape, dtype)
    if isinstance(x, np.ndarray):
        return out
    return out[()] if isinstance(x, np.generic) else out.item()
