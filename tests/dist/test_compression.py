"""Compressed gradients: what is left out comes later, and what is not finite is not hidden."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.dist.in_threads import on_groups
from tracejit import dist
from tracejit.dist.compression import KINDS, Compressor, decoded, encoded
from tracejit.dist.transport.group import Group
from tracejit.dist.transport.link import DistError

EACH = pytest.mark.parametrize("kind", KINDS)
SHAPES = ((3, 4), (), (0,), (500,))


@EACH
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding(kind: str, dtype: Any) -> None:
    rng = np.random.default_rng(1)
    for size in (1e-300, 1e-45, 1e-40, 1e-38, 1e-9, 1.0, 7e4, 1e30, 3e38, 1e308):
        with np.errstate(all="ignore"):
            v = (rng.uniform(-1, 1, 1000) * dtype(size)).astype(dtype)
        if not np.isfinite(v).all():
            continue
        q, scale = encoded(v, kind)
        off = abs(decoded(q, scale) - v).max()
        room = max(abs(v).max(), np.finfo(dtype).tiny * 127)
        assert q.dtype == KINDS[kind] and off <= room * (
            2.0**-11 if kind == "float16" else 0.51 / 127
        )
    for wrong in (np.inf, -np.inf, np.nan):
        q, scale = encoded(np.array([1, wrong, 2], dtype), kind)
        assert np.isnan(decoded(q, scale)).all()


@EACH
@pytest.mark.parametrize("size", [1, 3])
def test_all_that_is_left_out_comes_later(kind: str, size: int) -> None:
    def do(group: Group) -> Any:
        rng, made = np.random.default_rng(group.rank), Compressor(kind)
        whole = [np.zeros(s) for s in SHAPES]
        found = [np.zeros(s) for s in SHAPES]
        sent = []
        for _ in range(20):
            given = [
                np.asarray(rng.standard_normal(s)) * 10.0 ** rng.integers(-9, 1) for s in SHAPES
            ]
            pending = made.start(group, 0, given)
            for total, g in zip(whole, given, strict=True):
                total += g
                g += 1  # it has been copied
            sent.append(pending.wait())
            for total, g in zip(found, sent[-1], strict=True):
                total += g
        (left,) = made.left.values()
        means = [group.all_reduce(x - e, "mean") for x, e in zip(whole, left, strict=True)]
        for mean, total, e in zip(means, found, left, strict=True):
            np.testing.assert_allclose(total, mean, rtol=1e-9, atol=1e-12)
            assert e.size < 2 or abs(e).max() > 0
        return b"".join(y.tobytes() for part in sent for y in part)

    assert len(set(on_groups(size, do))) == 1


@EACH
def test_what_is_not_finite_is_seen_by_all(kind: str) -> None:
    def do(group: Group) -> None:
        made, x = Compressor(kind), np.linspace(0, 1, 7, dtype=np.float32)
        made.start(group, 0, [x, x]).wait()
        ((_, before),) = made.left.values()
        bad = np.where(np.arange(7) == 3, np.float32(np.inf), x) if group.rank == 1 else x
        good, lost = made.start(group, 0, [x, bad]).wait()
        assert np.isfinite(good).all() and np.isnan(lost).all()
        if group.rank == 1:
            ((_, after),) = made.left.values()
            assert np.array_equal(before, after)
        assert all(np.isfinite(y).all() for y in made.start(group, 0, [x, x]).wait())

    on_groups(2, do)


def test_others_that_call_for_something_else() -> None:
    def do(group: Group) -> None:
        made = Compressor(("int8", "float16")[group.rank])
        with pytest.raises(DistError, match="calls mean in int8 of "):
            made.start(group, 0, [np.ones(3)]).wait()

    on_groups(2, do)
    with pytest.raises(ValueError, match="float16 or int8, not 'int4'"):
        Compressor("int4")
    with pytest.raises(ValueError, match="float16 or int8, not 'int4'"):
        dist.data_parallel(print, compression="int4")
    with pytest.raises(ValueError, match="a bucket holds bytes, not 0"):
        dist.data_parallel(print, bucket=0)
