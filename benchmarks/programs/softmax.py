"""Attention scores to weights: exponentials over the last axis that add up to 1."""

from typing import Any

import numpy as np

from .program import Program

SIZES = {
    "S": {"batch": 2, "heads": 3, "queries": 9, "keys": 11},
    "T": {"batch": 3, "heads": 2, "queries": 7, "keys": 13},
    "M": {"batch": 16, "heads": 8, "queries": 256, "keys": 256},
    "L": {"batch": 32, "heads": 16, "queries": 480, "keys": 480},
}


def initialize(batch: int, heads: int, queries: int, keys: int) -> dict[str, Any]:
    """scores: float32 (batch, heads, queries, keys)."""
    rng = np.random.default_rng(42)
    return {"scores": 8.0 * rng.random((batch, heads, queries, keys), dtype=np.float32)}


def softmax(scores: np.ndarray) -> np.ndarray:
    """The weights, float32 (batch, heads, queries, keys)."""
    largest = np.max(scores, axis=-1, keepdims=True)
    weights = np.exp(scores - largest)
    total = np.sum(weights, axis=-1, keepdims=True)
    return weights / total


PROGRAM = Program(
    name="softmax", kernel=softmax, initialize=initialize, sizes=SIZES, kind="no loop", rtol=1e-5
)
