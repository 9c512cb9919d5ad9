"""Batches of all kinds of sources, by whoever makes them, and epochs that are resumed."""

from __future__ import annotations

import collections
import gc
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.data import sources
from tests.data.sources import Counter, Squares
from tracejit import data

#: Who makes batches. Forks start in no time; the others have tests of their own.
MAKERS: dict[str, dict[str, Any]] = {
    "inline": {},
    "a thread": {"threads": 1},
    "threads": {"threads": 3},
    "a process": {"workers": 1, "start_method": "fork"},
    "processes": {"workers": 2, "start_method": "fork", "prefetch": 3},
}
Pair = collections.namedtuple("Pair", "x y")


class Row(list[Any]):
    """A list of another class."""


def equal(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        found, expected = list(found.values()), list(expected.values())
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for x, y in zip(found, expected, strict=True):
            equal(x, y)
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    else:
        assert found == expected


def maps(folder: Path) -> dict[str, Any]:
    np.save(folder / "x.npy", np.arange(46.0).reshape(23, 2))
    mapped = np.load(folder / "x.npy", mmap_mode="r")
    return {"a": mapped[1:], "b": mapped[:-1, 1], "c": np.asarray(mapped)[:0:-1]}


X, Y = np.arange(46.0).reshape(23, 2), np.arange(23)
OBJECTS = np.array(["a", None, 3] * 4)
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "array": (X, {"shuffle": True, "seed": 1}),
    "columns": (Pair(X[::-1], Y), {"shuffle": True, "seed": 2, "drop_last": True}),
    "maps": (maps, {"shuffle": True, "seed": 3}),
    "in order": ((X, Y), {}),
    "transformed": ((X.astype(np.float32), Y), {"transform": sources.noisy, "seed": 4}),
    "objects": ((OBJECTS, Y[:12]), {}),
    "items": (Squares(23), {"shuffle": True, "seed": 5, "transform": sources.noisy}),
    "mixed": ([np.int8(1), 2, 3.5, np.float32(4)] * 3, {}),
    "list": ([(k, str(k), k > 3) for k in range(7)], {}),
    "sampled": (Squares(23), {"sampler": lambda n, rng: rng.integers(n, size=12)}),
    "collated": (Squares(23), {"collate": sources.halved}),
    "whole": (Squares(5), {"batch": None}),
    "function": (np.sqrt, {"length": 23}),
    "stream": (sources.words, {"batch": 7}),
    "shuffled stream": (sources.words, {"buffer": 8, "shuffle": True, "seed": 6}),
}


@pytest.mark.parametrize("name", CASES)
def test_batches_do_not_depend_on_who_makes_them(name: str, tmp_path: Path) -> None:
    source, options = CASES[name]
    source = maps(tmp_path) if source is maps else source
    options = {"batch": 5, **options}
    expected: Any = None
    for maker in MAKERS.values():
        with data.Loader(source, **options, **maker) as loader:
            found = [list(loader), list(loader)]
        expected = expected or found
        equal(found, expected)
    if "stream" not in name:
        assert len(expected[0]) == len(loader)
    drawn = "shuffle" in options or "sampler" in options or name == "transformed"
    assert (str(expected[0]) != str(expected[1])) == drawn


def test_an_epoch_has_each_sample_once() -> None:
    loader = data.Loader((X, Y), 5, shuffle=np.random.default_rng(0))
    for _ in range(2):
        x, y = (np.concatenate(parts) for parts in zip(*loader, strict=True))
        np.testing.assert_array_equal(np.sort(y), Y)
        np.testing.assert_array_equal(x, X[y])
    loader = data.Loader((X, Y), 5, drop_last=True)
    assert [len(y) for _, y in loader] == [5] * len(loader) == [5] * 4
    stream = data.Loader(sources.words, 7, shuffle=True, buffer=8)
    assert sorted(n for batch in stream for n in batch["numbers"][:, 0]) == list(range(40))


@pytest.mark.parametrize("maker", MAKERS)
def test_batches_are_no_part_of_the_source(maker: str) -> None:
    kept = X.copy()
    with data.Loader(kept, 5, **MAKERS[maker]) as loader:
        for _ in range(2):
            found = []
            for x in loader:
                x += 1
                found.append(x)
            np.testing.assert_array_equal(np.concatenate(found), X + 1)
    np.testing.assert_array_equal(kept, X)


def test_a_transform_cannot_change_the_source() -> None:
    def stores(row: Any) -> Any:
        row += 1
        return row

    with pytest.raises(data.LoaderError, match="sample 0, transform: .*read-only"):
        next(iter(data.Loader(X, 5, transform=stores)))


@pytest.mark.parametrize("maker", MAKERS)
def test_a_resumed_run_has_the_batches_that_were_not_given_out(maker: str) -> None:
    def loader(name: str) -> data.Loader:
        source: Any = {"items": Squares(23), "stream": sources.words, "counter": Counter(23)}[name]
        options: dict[str, Any] = {"shuffle": np.random.default_rng(0)} if name == "items" else {}
        options |= {"transform": sources.noisy} if name == "items" else {}
        return data.Loader(source, 5, **options, **MAKERS[maker])

    for name in ("items", "stream", "counter"):
        first = loader(name)
        expected = [*first, *first]
        count = len(expected) // 2
        first.close()
        for given in (2, count, count + 1):
            stopped = loader(name)
            left = _taken(stopped, given)
            state = stopped.state_dict()
            stopped.close()
            resumed = loader(name)
            resumed.seed = -1
            resumed.load_state_dict(state)
            while resumed.epoch < 2:
                left += resumed
            equal(left, expected)
            resumed.close()


def _taken(loader: data.Loader, count: int) -> list[Any]:
    found: list[Any] = []
    while True:
        for batch in loader:
            found.append(batch)
            if len(found) == count:
                return found


def test_states() -> None:
    loader = data.Loader(Squares(23), 5, shuffle=True)
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    assert state == {
        "epoch": 0,
        "position": 1,
        "seed": loader.seed,
        "batch": 5,
        "samples": 23,
        "source": None,
    }
    with pytest.raises(ValueError, match="batch: 5 in the state, 6 in this"):
        data.Loader(Squares(23), 6).load_state_dict(state)
    with pytest.raises(ValueError, match="samples: 23 in the state, 24 in this"):
        data.Loader(Squares(24), 5).load_state_dict(state)
    assert json.loads(json.dumps(state)) == state
    # A loop that was left, other than one that was resumed, is over.
    assert len(list(loader)) == 5 and (loader.epoch, loader.position) == (2, 0)
    late = iter(loader)
    next(iter(loader))
    for old in (iterator, late):
        with pytest.raises(RuntimeError, match="another loop"):
            next(old)


def test_one_number_is_drawn_of_a_generator() -> None:
    ours, theirs = np.random.default_rng(5), np.random.default_rng(5)
    loader = data.Loader(X, 5, shuffle=ours)
    list(loader)
    assert loader.seed == theirs.integers(2**63)
    assert ours.bit_generator.state == theirs.bit_generator.state


@pytest.mark.parametrize("maker", MAKERS)
def test_what_cannot_be_read_is_named(maker: str) -> None:
    options = MAKERS[maker]
    with data.Loader(Squares(23, {12: "raise"}), 5, **options) as loader:
        given = []
        with pytest.raises(data.LoaderError, match=r"sample 12: OSError: no file 12.png") as caught:
            for batch in loader:
                given.append(batch)
        assert len(given) == 2 and caught.value.index == 12
        assert isinstance(caught.value.__cause__, OSError)
        if "process" in maker:
            assert "in worker" in str(caught.value) and "__getitem__" in str(caught.value)
        # The next epoch begins as if nothing had been.
        assert len(next(iter(loader))[1]) == 5
    for source, text, index in (
        (Squares(9, {7: "unlike"}), r"sample 7 has an array of the shape \(5,\) where", 7),
        ([1, 2, (3, 4)], "sample 2 has .*tuple", 2),
        (sources.breaking, "sample 5: OSError: the line is dead", 5),
        ([np.ma.masked_array([1, 2])], "sample 0: TypeError: masked", 0),
    ):
        with data.Loader(source, 9, **options) as loader:
            with pytest.raises(data.LoaderError, match=text) as caught:
                list(loader)
            assert caught.value.index == index


def test_arguments_that_make_no_sense() -> None:
    for source, options, error, text in (
        (X, {"batch": 0}, ValueError, "batch is at least 1"),
        (X, {"workers": 1, "threads": 1}, ValueError, "either workers or threads"),
        (X, {"shuffle": 3}, TypeError, "shuffle is a NumPy generator"),
        (X, {"seed": -1}, ValueError, "a seed is from 0"),
        ((X, Y[1:]), {}, ValueError, "arrays of one length"),
        (([1, 2], [3, 4]), {}, TypeError, "a list holds samples"),
        (np.ma.masked_array([1, 2]), {}, TypeError, "plain arrays"),
        (np.sqrt, {}, TypeError, "needs `length=`"),
        (3, {}, TypeError, "int has no items"),
        (sources.words, {"sampler": len}, ValueError, "no indices"),
    ):
        with pytest.raises(error, match=text):
            data.Loader(source, **options)
    with pytest.raises(IndexError, match="from 0 to 22"):
        len(data.Loader(X, sampler=lambda n, rng: np.array([n])))
    with pytest.raises(TypeError, match="stream"):
        len(data.Loader(sources.words))
    once = data.Loader(iter(range(4)), 2)
    assert len(list(once)) == 2
    with pytest.raises(ValueError, match="one epoch only"):
        list(once)


def test_collate() -> None:
    equal(data.collate([1, 2.5]), np.array([1.0, 2.5]))
    equal(
        data.collate([{"a": 1, "b": "x"}, {"b": "y", "a": 2}]),
        {"a": np.array([1, 2]), "b": ["x", "y"]},
    )
    equal(data.collate([Pair(True, None)] * 2), Pair(np.array([True, True]), [None, None]))
    equal(data.collate([np.float32(1), np.int8(2)]), np.array([1, 2], np.float32))
    mixed = [{"a": np.int8(1), "b": "x"}, {"b": "y", "a": 2.5}, {"a": 3, "b": None}]
    equal(data.collate(mixed), {"a": np.array([1, 2.5, 3]), "b": ["x", "y", None]})
    equal(data.collate([[X, 1]] * 2), [np.stack([X, X]), np.array([1, 1])])
    equal(data.collate([Row([1, X])] * 2), [np.array([1, 1]), np.stack([X, X])])
    with pytest.raises(
        data.LoaderError, match="sample 1 has a tuple of 1 where sample 0 has a list of 1"
    ):
        data.collate([[1], (1,)])
    with pytest.raises(
        data.LoaderError, match="sample 1 has a ndarray where .* an array of numbers"
    ):
        data.collate([1, np.array("x", object)])


@pytest.mark.parametrize("maker", MAKERS)
def test_a_loop_that_is_left(maker: str) -> None:
    loader = data.Loader((X, Y), 2, **MAKERS[maker])
    for start in range(3):
        for k, (_, y) in enumerate(loader):
            np.testing.assert_array_equal(y, Y[2 * k : 2 * k + 2])
            if k == start:
                break
    assert (loader.epoch, loader.position) == (2, 3)
    del loader
    gc.collect()
