"""Sharded tables, rows of gradients, and tables that are larger than what is read of them."""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit import nn
from tracejit.ir.regions import nested


def test_partition_and_stitch_are_inverse() -> None:
    data, places = np.arange(24.0).reshape(4, 2, 3), np.array([[2, 0], [1, 2], [0, 0], [2, 1]])
    parts = nn.dynamic_partition(data, places, 4)
    assert [len(p) for p in parts] == [3, 2, 3, 0]
    assert np.array_equal(parts[1], data[[1, 3], [0, 1]])
    indices = nn.dynamic_partition(np.arange(8).reshape(4, 2), places, 4)
    assert np.array_equal(nn.dynamic_stitch(indices, parts), data.reshape(8, 3))
    # The later one of two counts, and a row that nobody has is 0.
    found = nn.dynamic_stitch(
        [np.array(3), np.array([[0, 3]])], [np.ones(2), np.full((1, 2, 2), 7)]
    )
    assert found.tolist() == [[7, 7], [0, 0], [0, 0], [7, 7]]
    with pytest.raises(IndexError, match=r"partition that is not in 0 \.\.\. 1"):
        nn.dynamic_partition(data, places, 2)
    with pytest.raises(IndexError, match="index below 0"):
        nn.dynamic_stitch([np.array([0, -1])], [np.ones(2)])


@pytest.mark.parametrize("count", [1, 3, 4])
@pytest.mark.parametrize("strategy", ["mod", "div"])
def test_shards_are_one_table(strategy: str, count: int) -> None:
    table = np.random.default_rng(0).normal(size=(11, 2))
    shards = nn.sharded(table, count, strategy)
    ids = np.array([[0, 10, 3], [4, 4, 7]])
    assert np.array_equal(nn.embedding(shards, ids, strategy), table[ids])
    assert np.array_equal(nn.embedding(shards, np.arange(11), strategy), table)
    for bad in (11, -1):
        with pytest.raises(IndexError, match=r"id that is not in 0 \.\.\. 10"):
            nn.embedding(shards, np.array([bad]), strategy)
    with pytest.raises(ValueError, match="'mod' or 'div', not 'hash'"):
        nn.embedding(shards, ids, "hash")
    if count > 1:
        with pytest.raises(ValueError, match="shard 0 of"):
            nn.embedding([shards[0][:1], *shards[1:]], ids, strategy)


def loss(shards: Any, ids: Any, wanted: Any) -> Any:
    return ((nn.embedding(shards, ids, "div") - wanted) ** 2).sum()


@tracejit.jit(strict=True)
def step(shards: Any, squares: Any, ids: Any, wanted: Any) -> Any:
    """A step of Adagrad, of gradients that are clipped."""
    value, gradients = tracejit.value_and_grad(loss, sparse_rows=True)(shards, ids, wanted)
    norm = np.sqrt(sum([g.norm() ** 2 for g in gradients]))
    for table, square, g in zip(shards, squares, gradients, strict=True):
        once = g.scaled(1 / np.maximum(norm, 1)).summed()
        square[once.rows] += once.values**2
        table[once.rows] -= 0.1 * once.values / (np.sqrt(square[once.rows]) + 1e-8)
    return value


def test_steps_change_the_rows_that_are_read_and_no_others() -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(1001, 4)).astype(np.float32)
    shards = nn.sharded(table, 3, "div")
    squares, square = [np.zeros_like(t) for t in shards], np.zeros_like(table)
    for n in (5, 9, 20, 30):
        ids, wanted = rng.integers(0, 1001, (n, 2)), np.zeros((n, 2, 4), np.float32)
        ids[0] = 7
        with tracejit.eager():
            gradients = tracejit.grad(loss, sparse_rows=True)(shards, ids, wanted)
        assert sum(len(g.rows) for g in gradients) == 2 * n
        value = step(shards, squares, ids, wanted)
        dense = np.zeros_like(table)
        np.add.at(dense, ids, 2 * (table[ids] - wanted))
        assert np.isclose(value, ((table[ids] - wanted) ** 2).sum(), rtol=1e-5)
        whole = np.concatenate([g.dense() for g in gradients])
        assert np.allclose(whole, dense, rtol=1e-6)
        dense /= max(np.linalg.norm(dense), 1)
        square += dense**2
        before = table.copy()
        table -= 0.1 * dense / (np.sqrt(square) + 1e-8)
        after = np.concatenate(shards)
        assert np.allclose(after, table, rtol=1e-5, atol=1e-7)
        others = np.setdiff1d(np.arange(1001), ids)
        assert np.array_equal(after[others], before[others])
        table = after
    assert len(step.report().compiles) == 2 and "undone" not in str(step.report())
    graph = step.lower(shards, squares, ids, wanted).graphs["hoist_checks"]
    made = [
        n for n in nested(graph.nodes) if n.op.name not in ("scatter", "scatter_apply", "reshape")
    ]
    sizes = {getattr(v.type, "shape", ())[:1] for n in made for v in n.outputs}
    assert not sizes & {(334,), (333,)}


def test_plain_numpy_gives_the_same() -> None:
    table = np.random.default_rng(1).normal(size=(1001, 4)).astype(np.float32)
    ids, wanted = np.array([[0, 1000], [19, 0], [500, 8]]), np.ones((3, 2, 4), np.float32)
    states = [[nn.sharded(x, 3, "div") for x in (table, np.zeros_like(table))] for _ in range(2)]
    value = step(*states[0], ids, wanted)
    with tracejit.eager():
        same = step(*states[1], ids, wanted)
    assert np.isclose(value, same, rtol=1e-6)
    for found, plain in zip(*states, strict=True):
        assert np.allclose(np.concatenate(found), np.concatenate(plain), rtol=1e-5, atol=1e-7)


@tracejit.jit(strict=True)
def descend(table: Any, ids: Any) -> Any:
    value, g = tracejit.value_and_grad(lambda t: ((t[ids] - 1) ** 2).sum(), sparse_rows=True)(table)
    g.add_to(table, -0.5)
    return value


def test_a_step_touches_the_pages_of_the_rows_that_it_reads(tmp_path: Path) -> None:
    rows, width = 1 << 20, 64
    file = np.memmap(tmp_path / "table", np.float32, "w+", shape=(rows, width))
    with pytest.raises(tracejit.errors.FallbackError, match=r"np\.asarray of it"):
        descend(file, np.array([5]))
    table = np.asarray(file)
    ids = np.array([5, rows - 1, 300_000, 5])
    assert descend(table, ids) == 4 * width
    assert "undone" not in str(descend.report())
    # Rows 5 and 5 again: (0 - 1) twice by half of twice the difference.
    assert np.all(table[ids] == np.array([2, 1, 1, 2])[:, None])
    file.flush()
    found = os.stat(tmp_path / "table")
    assert found.st_size == rows * width * 4
    assert found.st_blocks * 512 <= 64 * mmap.PAGESIZE < found.st_size // 1000
    again = np.memmap(tmp_path / "table", np.float32, "r", shape=(rows, width))
    assert again[rows - 1].sum() == width and not again[4].any()
