"""Parameters on several servers: who has what, what is sent, and the same numbers as on one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.dist.test_modes import launched
from tracejit import dist, optim
from tracejit.dist.replicas.changes import Changes
from tracejit.dist.replicas.optimizer_parts import by_leaf, common, part_of, take_common
from tracejit.dist.replicas.shard import Shard
from tracejit.dist.replicas.spans import Span, joined, part, planned
from tracejit.dist.transport.link import DistError

SCRIPT = str(Path(__file__).with_name("server_scripts.py"))
ARRAYS = [
    np.zeros((1000, 8)),
    np.zeros(()),
    np.zeros((3, 4)),
    np.zeros((7, 5000), "f4"),
    np.zeros((0, 3)),
    np.zeros(300),
    np.zeros((2, 100_000), np.int8),
]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_each_number_is_on_one_server_and_all_have_as_many_bytes(count: int) -> None:
    plan = planned(ARRAYS, count)
    assert len(plan) == count
    seen = [np.zeros(x.shape, int) for x in ARRAYS]
    for spans in plan:
        for span in spans:
            if span.stop is None:
                seen[span.leaf] += 1
            else:
                span.of(seen[span.leaf])[...] += 1
    assert all((x == 1).all() for x in seen)
    held = [sum(s.of(ARRAYS[s.leaf]).nbytes for s in spans) for spans in plan]
    # An eighth of a share, and a row of each array that is cut.
    rows = sum(x[0].nbytes for x in ARRAYS if x.ndim and len(x))
    assert max(held) <= sum(held) / count * 1.125 + rows


@pytest.mark.parametrize("count", [1, 3])
def test_what_is_taken_apart_is_joined_again(count: int) -> None:
    rng = np.random.default_rng(0)
    plan = planned(ARRAYS, count)
    dense = [rng.standard_normal(x.shape) for x in ARRAYS]
    parts = [[part(s, dense[s.leaf]) for s in spans] for spans in plan]
    for x, y in zip(dense, joined(plan, parts, len(dense)), strict=True):
        assert np.array_equal(x, y)
    rows = rng.integers(0, 1000, 50)
    gradient = [rows, rng.standard_normal((50, 8)), [1000, 8]]
    found = np.zeros((1000, 8))
    for spans in plan:
        for span in spans:
            if span.leaf == 0:
                mine, values, shape = part(span, gradient)
                assert tuple(shape) == span.of(ARRAYS[0]).shape
                np.add.at(span.of(found), mine, values)
    whole = np.zeros((1000, 8))
    np.add.at(whole, rows, gradient[1])
    assert np.array_equal(whole, found)


@pytest.mark.parametrize("seed", range(5))
def test_rows_that_have_changed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    changes, table = Changes(20), np.zeros(20)
    states = [table.copy()]
    sent = 0
    for version in range(1, 60):
        rows = None if rng.random() < 0.05 else rng.integers(0, 20, rng.integers(0, 6))
        changes.add(version, rows)
        table[slice(None) if rows is None else rows] = rng.random()
        states.append(table.copy())
        since = int(rng.integers(max(-1, version - 5), version + 1))
        had = states[since].copy() if since >= 0 else np.full(20, np.nan)
        found = changes.since(since)
        sent += len(found)
        assert np.array_equal(found, np.unique(found))
        had[found] = table[found]
        assert np.array_equal(had, table)
    assert sent < 60 * 12


def test_an_optimiser_of_a_part_changes_the_state_of_the_whole() -> None:
    params = [np.ones((6, 2)), np.ones(3)]
    whole, same = optim.Adam(params), optim.Adam(params)
    spans = [Span(0, 2, 5), Span(1)]
    mine = part_of(whole, spans)
    grads = [np.arange(12.0).reshape(6, 2), np.ones(3)]
    given = [s.of(p).copy() for s, p in zip(spans, params, strict=True)]
    mine.update(given, [s.of(g) for s, g in zip(spans, grads, strict=True)])
    take_common(whole, common(mine))
    same.update(params, grads)
    assert np.array_equal(given[0], params[0][2:5]) and np.array_equal(given[1], params[1])
    assert np.array_equal(whole.m[0][2:5], same.m[0][2:5]) and not whole.m[0][:2].any()
    assert whole.count == same.count == 1


def test_rows_that_have_changed_are_sent_and_no_others() -> None:
    table = np.zeros((1000, 2))
    whole = optim.AdaGrad([table], lr=1.0)
    shards = [Shard(whole, k, 2) for k in range(2)]
    plan = planned([table], 2)
    for shard, spans in zip(shards, plan, strict=True):
        shard.begin(spans, [s.of(table) for s in spans])

    def send(worker: int, version: int, rows: list[int]) -> None:
        gradient = [np.array(rows), np.ones((len(rows), 2)), [1000, 2]]
        for shard, spans in zip(shards, plan, strict=True):
            shard.take(worker, 0, version, "r", [part(s, gradient) for s in spans])

    def step(version: int, *workers: int) -> None:
        for shard in shards:
            shard.step(version, [(w, 0) for w in workers])

    def answered(worker: int) -> list[int]:
        ((rows, values),) = joined(plan, [shard.answer(worker) for shard in shards], 1)
        assert np.allclose(values, -1)
        return list(rows)

    send(0, 0, [3, 900, 3]), send(1, 0, [7])
    step(1, 0)
    assert answered(0) == [3, 900]
    step(2, 1)
    assert answered(1) == [3, 7, 900]
    send(0, 1, [501])
    step(3, 0)
    assert answered(0) == [7, 501]
    # What has come late has nothing.
    for shard in shards:
        shard.take(2, 1, -1, "r", [])
    ((rows, values),) = joined(plan, [shard.answer(2) for shard in shards], 1)
    assert len(rows) == 1000 and np.count_nonzero(values[:, 0]) == 4
    assert np.array_equal(np.flatnonzero(whole.v[0][:, 0]), [3, 7, 501, 900])


def test_optimisers_that_cannot_be_divided_say_so() -> None:
    class Clipped(optim.Adam):
        def update(self, params: Any, grads: Any) -> None:
            optim.clip_by_global_norm(grads, 1.0)
            super().update(params, grads)

    class Own(Clipped):
        by_leaf = ("decays", "m", "v", "largest")

    params = [np.ones(3)]
    with pytest.raises(DistError, match="Clipped does not say so"):
        part_of(Clipped(params), [Span(0)])
    assert by_leaf(Own) and by_leaf(optim.AdamW) and by_leaf(optim.Accumulated) is None


def test_servers_that_there_cannot_be() -> None:
    for count in (0, 2):
        with pytest.raises(ValueError, match=f"have no {count} servers"):
            dist.data_parallel(print, mode="async", servers=count)
    with pytest.raises(ValueError, match="no 2 servers in the mode 'sync'"):
        dist.data_parallel(print, servers=2)


def trained(folder: Path, name: str, mode: str, processes: int, count: int) -> Any:
    options = ("-n", str(processes), "--mode", mode, "--servers", str(count))
    file = folder / f"{name}-{count}.npy"
    code, lines, err = launched("servers", name, str(file), options=options, script=SCRIPT)
    assert code == 0, err
    assert [line[:12] for line in lines] == [f"[{r}] served {r}" for r in range(processes)]
    assert all(line.endswith("True") for line in lines), lines
    return np.load(file)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", ["adam", "decayed", "rms", "parts"])
@pytest.mark.parametrize("mode", ["backup:0", "async", "async:1"])
def test_several_servers_give_the_numbers_of_one(tmp_path: Path, name: str, mode: str) -> None:
    one = trained(tmp_path, name, mode, 2, 1)
    assert np.array_equal(one, trained(tmp_path, name, mode, 2, 2))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("mode", ["backup:0", "async:2"])
def test_three_servers(tmp_path: Path, mode: str) -> None:
    found = [trained(tmp_path, "adam", mode, 3, count) for count in (1, 2, 3)]
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("none", ("--mode", "backup:0")),
        ("none", ("--mode", "backup:0", "--servers", "2")),
        ("float16", ("--mode", "sync")),
        ("int8", ("--mode", "sync")),
    ],
)
def test_what_goes_on_from_a_checkpoint_is_what_nothing_has_interrupted(
    tmp_path: Path, kind: str, options: tuple[str, ...]
) -> None:
    """Parameters, the state of all servers, and what compression has left out, on all processes."""
    for folder, steps in (("a", (8,)), ("b", (3, 8))):
        for last in steps:
            argv = ("goes_on", str(tmp_path / folder), str(last), kind)
            code, lines, err = launched(*argv, options=("-n", "2", *options), script=SCRIPT)
            assert code == 0, err
            begun = 3 if len(steps) == 2 and last == 8 else 0
            assert lines[0] == f"[0] went on 0 {begun} {last}"
    whole, parts = (np.load(tmp_path / folder / "8.npy") for folder in "ab")
    assert np.array_equal(whole, parts)
