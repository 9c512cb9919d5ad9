"""What a checkpoint can hold comes back as it was, in the same arrays and objects."""

from __future__ import annotations

import hashlib
import io
import os
import random
import socket
import sqlite3
import tempfile
import threading
from collections import deque
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_same
from tracejit import checkpoint, nn


class Pair(NamedTuple):
    a: Any
    b: Any


class Slots:
    __slots__ = ("_count", "rest", "w")

    def __init__(self, seed: int) -> None:
        self.w, self._count = np.full(2, float(seed)), seed


class Counter:
    """Has more than attributes, and says itself what its state is."""

    def __init__(self, seed: int) -> None:
        self.items, self.seen = iter(range(seed)), {(1, "a"): np.arange(seed)}

    def state_dict(self) -> dict[str, Any]:
        return {"seen": self.seen}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.seen = state["seen"]


ARRAYS = {
    **{dtype: np.arange(5).astype(dtype) for dtype in "?bBhHiIlLqQefdFD"},
    "large": np.arange(3, dtype=">f8"),
    "long": np.arange(3, dtype=np.longdouble),
    "days": np.array(["2020-01-01", "NaT"], "M8[D]"),
    "texts": np.array(["ab", "c"]),
    "rows": np.array([(1, 2.5)], [("a", "i4"), ("b", "f8", (1,))]),
    "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "every other": np.arange(12.0).reshape(2, 6)[:, ::2],
    "none": np.zeros((0, 3)),
    "one": np.array(2.5),
    "nan": np.array([np.nan, -0.0, np.inf]),
}


def tree(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    x = SimpleNamespace(
        arrays={name: a.copy() if seed else np.zeros_like(a) for name, a in ARRAYS.items()},
        tied=[rng, np.full(3, seed * 1.0)],
        streams=(
            rng,
            np.random.Generator(np.random.MT19937(seed)),
            np.random.RandomState(seed),
            random.Random(seed),
            np.random.Philox(seed),
        ),
        numbers=[seed, seed / 3, complex(seed, -1), seed * 10**40, seed > 0, float("inf"), None],
        texts={"a": f"\ud800{seed}", b"b": b"\xff" * seed, 3: Path(f"x{seed}"), (1, "2"): ()},
        scalars=[
            np.float32(seed / 3),
            np.datetime64(seed, "D"),
            np.str_("u" * seed),
        ],
        slots=[Slots(seed), Slots(seed)],
        pair=Pair(np.full(2, seed), seed),
        sets={seed, "s"},
        fixed=frozenset({seed}),
        recent=deque([seed], maxlen=4),
        history=[0.5] * seed,
        act=np.tanh,
        dtype=np.float32,
        counter=Counter(seed),
    )
    x.again, x.itself = x.tied, x
    return x


def test_all_kinds_of_values(tmp_path: Path) -> None:
    old, new = tree(3), tree(0)
    for stream in (old.streams[0], *old.streams[1:3]):
        stream.standard_normal(3)
        stream.random(3, **({} if stream is old.streams[2] else {"dtype": np.float32}))
    old.streams[0].integers(9, dtype=np.int32)
    old.streams[3].gauss(0, 1)
    checkpoint.save(tmp_path, step=1, x=old, k=7)
    places = [*new.arrays.values(), *new.streams, *new.slots, new.tied, new.recent, new.pair.a]
    found = checkpoint.restore(tmp_path, x=new, k=0)
    assert found.step == 1 and found.values["k"] == 7 and found.values["x"] is new
    after = [*new.arrays.values(), *new.streams, *new.slots, new.tied, new.recent, new.pair.a]
    assert [*map(id, places)] == [*map(id, after)]
    assert new.again is new.tied and new.tied[0] is new.streams[0] and new.itself is new
    for name, array in ARRAYS.items():
        assert new.arrays[name].dtype == array.dtype, name
        assert new.arrays[name].tobytes() == array.tobytes(), name
    for name in ("numbers", "texts", "fixed", "recent", "history"):
        assert repr(getattr(new, name)) == repr(getattr(old, name)), name
    # The order of a set depends on how it has come about.
    assert type(new.sets) is type(old.sets) and {*map(repr, new.sets)} == {*map(repr, old.sets)}
    for a, b in zip(old.scalars, new.scalars, strict=True):
        assert type(a) is type(b) and a == b
    assert new.tied[1].tolist() == [3.0] * 3 and new.pair.b == 3 and new.pair.a.tolist() == [3, 3]
    assert new.slots[1]._count == 3 and new.slots[0].w.tolist() == [3.0, 3.0]
    assert new.counter.seen[1, "a"].tolist() == [0, 1, 2]
    for a, b in zip(old.streams[:4], new.streams[:4], strict=True):
        draw = "random" if isinstance(a, random.Random) else "standard_normal"
        assert [getattr(a, draw)() for _ in range(9)] == [getattr(b, draw)() for _ in range(9)]
    assert new.streams[0].integers(9, dtype=np.int32) == old.streams[0].integers(9, dtype=np.int32)
    assert new.streams[4].random_raw() == old.streams[4].random_raw()


def test_code_stays_what_the_program_has_made_it(tmp_path: Path) -> None:
    def codes() -> Any:
        f = [np.tanh, nn.relu, np.float32, np.dtype("f4"), partial(np.sum, axis=0), cache(len)]
        return [*f, *(make(nn.relu) for make in (tracejit.jit, tracejit.remat, tracejit.grad))]

    old, new = codes(), codes()
    kept = [*new]
    checkpoint.save(tmp_path, step=1, f=old)
    checkpoint.restore(tmp_path, f=new)
    assert all(a is b for a, b in zip(kept, new, strict=True))
    for k in range(len(new)):
        with pytest.raises(checkpoint.MismatchError, match=f"f.{k} is .* in the checkpoint"):
            checkpoint.restore(tmp_path, f=[*new[:k], np.exp, *new[k + 1 :]])


def test_children_of_a_stream_go_on(tmp_path: Path) -> None:
    old, new = np.random.default_rng(5), np.random.default_rng(5)
    old.spawn(2)
    checkpoint.save(tmp_path, step=1, rng=old)
    checkpoint.restore(tmp_path, rng=new)
    assert old.spawn(1)[0].random() == new.spawn(1)[0].random()


def test_what_is_made_late_is_made(tmp_path: Path) -> None:
    """None, numbers and what has nothing in it are places for arrays, also for shared ones."""
    m = np.arange(3.0)
    old = {"m": m, "list": [m, {"a": m, "rng": np.random.default_rng(1)}], "t": (m, 1)}
    new: dict[str, Any] = {"m": None, "list": [], "t": 0}
    checkpoint.save(tmp_path, step=1, opt=old)
    checkpoint.restore(tmp_path, opt=new)
    assert new["m"] is new["list"][0] is new["list"][1]["a"] is new["t"][0]
    assert new["m"].tolist() == [0, 1, 2] and new["list"][1]["rng"].random() == 0.5118216247002567


@pytest.mark.parametrize("trained", [True, False])
def test_modes_are_restored(tmp_path: Path, trained: bool) -> None:
    rng = np.random.default_rng(0)
    old, new = nn.BatchNorm(2), nn.Dropout(0.5, rng)
    new.eval()
    for k, (a, b) in enumerate([(nn.Dropout(0.5, rng), new), (nn.BatchNorm(2), old)]):
        checkpoint.save(tmp_path / str(k), step=1, net=a if trained else a.eval())
        checkpoint.restore(tmp_path / str(k), net=b)
        assert b.training is trained


def test_refused_before_anything_is_written(tmp_path: Path) -> None:
    bad = {"a": {"it": iter([])}, "o": np.array([None]), "e": {object(): 1}, "l": [1, print]}
    with open(__file__) as file, pytest.raises(checkpoint.StorageError) as error:
        checkpoint.save(tmp_path / "run", step=1, x=bad, file=file)
    text = str(error.value)
    assert "x.a.it is a builtins.list_iterator" in text and "file is a _io.TextIOWrapper" in text
    assert "x.o is a numpy.ndarray of the dtype object" in text and "x.l" not in text
    assert "x.e has a object as a key" in text and not (tmp_path / "run").exists()


class Bytes(io.BytesIO):
    """Has attributes, and more."""


class Named(Slots):
    """Slots of a base class, a table of attributes and of weak references."""

    __slots__ = ("__dict__", "__private", "__weakref__")


T = TypeVar("T")


class Of(Generic[T]):
    """Is made from a class of `typing`."""


class Closing:
    """Is told when it ends, and made before that."""

    def __init__(self) -> None:
        self.made = True

    def __del__(self) -> None:
        assert self.made


def opened(mode: str, **options: Any) -> Callable[[], Any]:
    return lambda: open(__file__, mode, **options)


#: Objects of classes written in C, which keep what no attribute has.
IN_C: dict[str, Callable[[], Any]] = {
    "text": opened("r"),
    "bytes": opened("rb"),
    "unbuffered": opened("rb", buffering=0),
    "temporary": tempfile.TemporaryFile,
    "named": tempfile.NamedTemporaryFile,
    "BytesIO": io.BytesIO,
    "its subclass": Bytes,
    "StringIO": io.StringIO,
    "socket": socket.socket,
    "lock": threading.Lock,
    "local": threading.local,
    "database": lambda: sqlite3.connect(":memory:"),
    "generator": lambda: (k for k in range(3)),
    "digest": hashlib.sha256,
    "ellipsis": lambda: ...,
    "exception": lambda: ValueError(1),
    "result": lambda: os.stat(__file__),
}


@pytest.mark.parametrize("name", IN_C)
def test_what_has_more_than_attributes_is_refused(name: str, tmp_path: Path) -> None:
    made = IN_C[name]()
    try:
        with pytest.raises(checkpoint.StorageError, match="no checkpoint can hold this:\n    x.a"):
            checkpoint.save(tmp_path / "run", step=1, x={"a": made})
    finally:
        if hasattr(made, "close"):
            made.close()


@pytest.mark.filterwarnings("error")
def test_what_has_attributes_alone_is_saved(tmp_path: Path) -> None:
    made = [Named(2), Of[int](), Closing(), object(), SimpleNamespace(a=1), Slots(3)]
    made[0].other = 5
    checkpoint.save(tmp_path, step=1, x=made)
    new = [Named(7), Of[int](), Closing(), object(), SimpleNamespace(a=2), Slots(4)]
    checkpoint.restore(tmp_path, x=new)
    assert (new[0].other, new[0].w.tolist(), new[4].a, new[5]._count) == (5, [2.0, 2.0], 1, 3)


def test_compiled_programs_keep_their_arrays(tmp_path: Path) -> None:
    """A compiled step goes on from the restored values, without another compile."""
    rng = np.random.default_rng(0)
    net, x = nn.Linear(3, 2, rng), rng.random((4, 3)).astype(np.float32)

    @tracejit.jit(strict=True)
    def step(net: Any, x: Any) -> Any:
        net.weight -= np.float32(0.1) * x.sum(0)
        return net(x)

    checkpoint.save(tmp_path, step=0, net=net)
    first = [step(net, x).copy() for _ in range(2)]
    assert checkpoint.restore(tmp_path, net=net).path.name == "step-00000000.1"
    second = [step(net, x) for _ in range(2)]
    assert_same(first, second, "exact", ulp=0)
    assert len(step.report().variants) == 1


def test_the_name_still_means_rematerialise() -> None:
    @tracejit.jit(strict=True)
    def slope(x: Any) -> Any:
        return tracejit.grad(lambda y: tracejit.checkpoint(np.sin)(y).sum())(x)

    x = np.linspace(0.0, 1.0, 5)
    assert "remat" in [n.op.name for n in slope.lower(x).graphs["trace"].nodes]
    assert np.allclose(slope(x), np.cos(x))
    assert np.allclose(tracejit.grad(tracejit.checkpoint(lambda y: np.sin(y).sum()))(x), np.cos(x))
