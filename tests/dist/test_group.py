"""Collectives give what NumPy gives for the arrays of all, the same to the bit on each process."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.dist.in_threads import on_groups, on_links
from tracejit.dist.transport.group import Group
from tracejit.dist.transport.link import DistError, PeerLost
from tracejit.dist.transport.local import LocalLink

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


def gathered(group: Group) -> Any:
    return group.gather(group.key(), "gather", [np.ones(3)], 24)


X, BIG = np.ones(4), np.ones(100_000)
#: Calls of which no two fit together.
CALLS: dict[str, Callable[[Group], Any]] = {
    "all_reduce": lambda g: g.all_reduce(X),
    "max": lambda g: g.all_reduce(X, "max"),
    "float32": lambda g: g.all_reduce(X.astype(np.float32)),
    "shape": lambda g: g.all_reduce(np.ones((2, 2))),
    "a number": lambda g: g.all_reduce(1.0),
    "large": lambda g: g.all_reduce(BIG),
    "large mean": lambda g: g.all_reduce(BIG, "mean"),
    "list": lambda g: g.all_reduce_list([X, X]),
    "list of dtypes": lambda g: g.all_reduce_list([X, np.float32(1)]),
    "started": lambda g: g.start_all_reduce(X, "min").wait(),
    "started list": lambda g: g.start_all_reduce_list([X, BIG]).wait(),
    "all_gather": lambda g: g.all_gather(X),
    "large all_gather": lambda g: g.all_gather(BIG),
    "reduce_scatter": lambda g: g.reduce_scatter(np.ones(6)),
    "large reduce_scatter": lambda g: g.reduce_scatter(np.ones(60_000)),
    "broadcast": lambda g: g.broadcast(X, what="4"),
    "broadcast of others": lambda g: g.broadcast(X, what="5"),
    "broadcast from the last": lambda g: g.broadcast(BIG, g.size - 1),
    "messages": lambda g: g.all_messages("messages", [X]),
    "barrier": lambda g: g.barrier(),
    "gather": gathered,
    "object": lambda g: g.broadcast(object()),
}


def told(group: Group, call: Callable[[Group], Any]) -> str:
    with pytest.raises(DistError) as caught:
        call(group)
    # What comes behind it is as always.
    assert group.all_reduce(1) == group.size
    return str(caught.value)


def test_any_two_calls_that_do_not_fit_are_told_to_both() -> None:
    pairs = list(itertools.permutations(CALLS, 2))

    def do(group: Group) -> list[str]:
        return [told(group, CALLS[pair[group.rank]]) for pair in pairs]

    for first, second in zip(*on_groups(2, do), strict=True):
        assert first == second and "process 0 calls " in first and ", process 1 calls " in first


@pytest.mark.parametrize("odd", [0, 1, 2])
def test_one_of_three_that_calls_for_something_else(odd: int) -> None:
    names = list(CALLS)

    def do(group: Group) -> list[str]:
        own = [names[k - (group.rank == odd)] for k in range(len(names))]
        return [told(group, CALLS[name]) for name in own]

    others = [str(r) for r in range(3) if r != odd]
    for texts in zip(*on_groups(3, do), strict=True):
        assert len(set(texts)) == 1
        assert f"process {odd} calls " in texts[0]
        assert f"processes {', '.join(others)} call " in texts[0]


def test_the_error_says_what_is_called() -> None:
    def do(group: Group) -> None:
        with pytest.raises(DistError) as caught:
            group.broadcast(X, 1) if group.rank else group.all_reduce(np.ones((2, 3)), "max")
        text = "process 0 calls all_reduce 'max' of float64[2, 3], process 1 calls broadcast"
        assert str(caught.value) == f"{text} from process 1"

    on_groups(2, do)


def test_arguments_that_one_process_refuses_leave_the_order_as_it_is() -> None:
    def do(group: Group) -> None:
        refused: list[tuple[type[Exception], Callable[[], Any]]] = [
            (ValueError, lambda: group.all_reduce(X, "median")),
            (ValueError, lambda: group.start_all_reduce(X, "median")),
            (ValueError, lambda: group.all_reduce_list([X], "median")),
            (ValueError, lambda: group.reduce_scatter(np.ones(5))),
            (TypeError, lambda: group.all_reduce(np.array([None]))),
            (TypeError, lambda: group.all_gather(np.array([None]))),
        ]
        for error, call in refused:
            if group.rank:
                with pytest.raises(error):
                    call()
            assert group.all_reduce(1) == 2

    on_groups(2, do)


def test_what_cannot_be_joined_is_told_to_all() -> None:
    def do(group: Group) -> None:
        with pytest.raises(DistError, match=r"all_reduce 'sum' of datetime64\[D\]\[1\] fails"):
            group.all_reduce(np.array(["2020-01-01"], "datetime64[D]"))
        assert group.all_reduce(1) == 2

    on_groups(2, do)


def test_a_process_that_ends_is_told_to_all() -> None:
    def do(link: LocalLink) -> None:
        group = Group(link)
        if group.rank == 2:
            group.barrier()
            return
        group.barrier()
        with pytest.raises(PeerLost, match="process 2 is lost"):
            group.barrier()
        if group.rank == 0:
            with pytest.raises((PeerLost, TimeoutError)):
                link.receive(1, "over", 10.0)

    on_links(3, do)
