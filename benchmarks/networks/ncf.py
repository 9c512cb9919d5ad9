"""Neural collaborative filtering: two tables of embeddings, updated at the rows of the batch."""

import dataclasses
import functools

import numpy as np

import tracejit

from .model import Arrays, Model, normal, relu, sgd, weights, zeros

TABLES = ("users", "items")


def network(tables, p, user, item):
    h = np.concatenate([tables["users"][user], tables["items"][item]], axis=1)
    h = relu(h @ p["w1"] + p["b1"])
    h = relu(h @ p["w2"] + p["b2"])
    return (h @ p["w3"] + p["b3"])[:, 0]


def forward(p, user, item):
    return network(p, p, user, item)


def loss(tables, p, user, item, clicked):
    z = network(tables, p, user, item)
    return np.mean(np.maximum(z, 0) - z * clicked + np.log1p(np.exp(-np.abs(z))))


gradient = tracejit.value_and_grad(loss, argnums=(0, 1), sparse_rows=0)


def step(p, state, user, item, clicked):
    tables = {k: p[k] for k in TABLES}
    dense = {k: p[k] for k in p if k not in TABLES}
    value, (rows, g) = gradient(tables, dense, user, item, clicked)
    for k in tables:
        rows[k].add_to(p[k], -1e-2)
    sgd(dense, g, 1e-2)
    return value


def make(rng: np.random.Generator, small: bool, rows: int = 100_000) -> tuple[Arrays, list, object]:
    batch, size = (4, 3) if small else (1024, 32)
    rows = 10 if small else rows
    p = {"users": normal(rng, rows, size), "items": normal(rng, rows // 2, size)}
    p |= {"w1": weights(rng, 2 * size, 2 * size), "b1": zeros(2 * size)}
    p |= {"w2": weights(rng, 2 * size, size), "b2": zeros(size)}
    p |= {"w3": weights(rng, size, 1), "b3": zeros(1)}
    inputs = [rng.integers(0, rows, batch), rng.integers(0, rows // 2, batch)]
    return p, inputs, rng.integers(0, 2, batch).astype(np.float32)


MODEL = Model("ncf", "rows of tables", forward, step, make, kind="binary")
#: Two tables of a million and half a million rows, measured only where asked for.
LARGE = dataclasses.replace(MODEL, name="ncf_1m", make=functools.partial(make, rows=1_000_000))
