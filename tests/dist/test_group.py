"""Collectives give what NumPy gives for the arrays of all, the same to the bit on each process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.dist.in_threads import on_groups
from tracejit.dist.transport.group import Group
from tracejit.dist.transport.link import DistError

SHAPES = ((), (3,), (4, 5), (0, 2), (100_000,), (300, 401))
JOIN = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}


@pytest.mark.parametrize("size", [1, 2, 3])
def test_all_reduce(size: int) -> None:
    def do(group: Group) -> list[Any]:
        out = []
        for shape in SHAPES:
            for op in JOIN:
                x = np.random.default_rng([group.rank, len(out)]).standard_normal(shape)
                out.append((op, x, group.all_reduce(x, op)))
        return out

    found = on_groups(size, do)
    for rows in zip(*found, strict=True):
        op, first, joined = rows[0]
        want = JOIN[op](np.stack([x for _, x, _ in rows]), axis=0)
        assert joined.shape == first.shape and joined.dtype == first.dtype
        assert np.allclose(joined, want, rtol=1e-13, atol=0 if op in ("max", "min") else 1e-13)
        assert all(y.tobytes() == joined.tobytes() for _, _, y in rows)


def test_dtypes_and_lists() -> None:
    def do(group: Group) -> Any:
        k = group.rank
        values = [np.arange(5) + k, np.float32(k), np.array([True, k == 0]), np.ones((2, 2)) * k]
        return (
            group.all_reduce_list(values),
            group.all_reduce_list(values, "mean"),
            group.all_reduce(values[2], "max"),
        )

    for sums, means, some in on_groups(2, do):
        assert [x.dtype.str for x in sums] == ["<i8", "<f4", "<i8", "<f8"]
        assert [x.dtype.str for x in means] == ["<f8", "<f4", "<f8", "<f8"]
        assert sums[0].tolist() == [1, 3, 5, 7, 9] and sums[1] == 1 and sums[2].tolist() == [2, 1]
        assert means[2].tolist() == [1.0, 0.5] and (means[3] == 0.5).all()
        assert some.tolist() == [True, True]


def test_the_others() -> None:
    def do(group: Group) -> Any:
        x = np.arange(12.0).reshape(6, 2) + group.rank
        assert np.array_equal(
            group.all_gather(x), [np.arange(12.0).reshape(6, 2) + r for r in range(3)]
        )
        part = slice(2 * group.rank, 2 * group.rank + 2)
        assert np.array_equal(group.reduce_scatter(x), group.all_reduce(x)[part])
        with pytest.raises(ValueError, match="no 3 equal parts"):
            group.reduce_scatter(x[:4])
        assert group.broadcast({"a": group.rank, "b": x}, 2)["a"] == 2
        found = group.broadcast(x, 1)
        found += 1
        assert np.array_equal(found, np.arange(12.0).reshape(6, 2) + 2)
        pending = [group.start_all_reduce(np.full(70_000, float(k + group.rank))) for k in range(4)]
        now = group.all_reduce(np.ones(3))
        assert [p.wait()[0] for p in pending] == [3.0, 6.0, 9.0, 12.0] and now[0] == 3

    on_groups(3, do)


def test_memory_is_used_again_when_nobody_has_it() -> None:
    def do(group: Group) -> None:
        values = [np.arange(50_000.0) + group.rank, np.ones((3, 4))]
        kept = group.start_all_reduce_list(values).wait()[1]
        for k in range(5):
            found, ones = group.start_all_reduce_list([v * k for v in values]).wait()
            assert found[1] == 3 * k and ones.shape == (3, 4) and (ones == 2 * k).all()
            del found, ones
        assert (kept == 2).all()
        ((_, rooms),) = group._rooms.items()
        assert len(rooms) <= 4

    on_groups(2, do)


def test_calls_that_do_not_fit_are_told_to_all() -> None:
    def do(group: Group) -> None:
        for mine, op in (
            (np.ones(3 + group.rank), "sum"),
            (np.ones(3), ("sum", "max")[group.rank]),
        ):
            with pytest.raises(DistError, match="process 1 calls for .* where process 0 calls for"):
                group.all_reduce(mine, op)
        big = np.ones(100_000, (np.float32, np.float64)[group.rank])
        with pytest.raises(DistError, match="float32"):
            group.all_reduce(big)
        with pytest.raises(ValueError, match="not 'median'"):
            group.all_reduce(big, "median")

    on_groups(2, do)
