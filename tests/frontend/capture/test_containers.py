"""Arguments as leaves and a tree: the tree tells apart what Python tells apart."""

from __future__ import annotations

import copy
import dataclasses
import gc
import weakref
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.frontend.capture import capture_samples as samples
from tests.support.compare import assert_same
from tracejit.errors import TraceError
from tracejit.frontend.tracing.pytree import flatten, unflatten

X = np.array([0.5, -1.5, 2.25])


def test_flatten_and_unflatten() -> None:
    point = samples.Point(X, [1, None])
    args = ({"a": X, "b": (1.5, point)}, samples.Config(1.0, X), "s", np.float32(2))
    leaves, tree = flatten(args, {"k": 3})
    again, same = flatten(copy.deepcopy(args), {"k": 4})
    assert tree == same and hash(tree) == hash(same) and len(again) == len(leaves) == tree.count
    rebuilt, named = unflatten(tree, leaves)
    assert_same(args, rebuilt)
    assert named == {"k": 3}


def test_trees_tell_apart_what_python_tells_apart() -> None:
    class Odd:
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = object.__hash__

    odd = Odd()
    variants: list[Any] = [
        [X, X],
        (X, X),
        [X, [X]],
        {"a": X, "b": X},
        {"b": X, "a": X},
        {1: X},
        {True: X},
        {1.0: X},
        {(1, "a"): X},
        {(True, "a"): X},
        {(1, samples.Mode.FAST): X},
        "a",
        b"a",
        None,
        slice(0, 1),
        slice(0, True),
        samples.Config(1.0, X),
        samples.Config(1.0, X, "b"),
        samples.Point(X, X),
        samples.Mode.FAST,
        samples.Mode.SLOW,
        [odd],
        np.dtype("f4"),
        np.float32,
        len,
    ]
    trees = [flatten((v,), {})[1] for v in variants]
    for k, a in enumerate(trees):
        assert [a == b for b in trees] == [k == m for m in range(len(trees))]
    # Objects are told apart by what is read of them.
    assert flatten((odd,), {})[1] == flatten((Odd(),), {})[1]


@dataclasses.dataclass
class Holder:
    items: Any


def test_what_flatten_refuses() -> None:
    shared = [X]
    cyclic: list[Any] = [X]
    cyclic.append(cyclic)
    holder = Holder(X)
    for bad in (
        (shared, shared),
        cyclic,
        {"a": shared, "b": [shared]},
        (holder, holder),
        np.array(["a"]),
        np.array([None]),
        np.zeros(2, "M8[s]"),
        np.zeros(2, np.longdouble),
        np.zeros(2, ">f8"),
        np.ma.masked_array(X),
        np.zeros(2, [("a", "f8")]),
        np.str_("a"),
    ):
        with pytest.raises(TraceError) as caught:
            flatten((bad,), {})
        assert caught.value.code == "TJ003"


@pytest.mark.parametrize("cls", [list, tuple])
def test_no_method_of_an_argument_is_called_while_it_is_compiled(cls: Any) -> None:
    calls = []

    class Noted(cls):  # type: ignore[misc]
        def __iter__(self) -> Any:
            calls.append(1)
            return super().__iter__()

    compiled = tracejit.jit(samples.second_of_two)
    for count in range(3):
        assert_same(compiled(Noted([1.0, X])), X + 1)
        assert not calls, count


def test_an_argument_object_dies_with_its_owner() -> None:
    model = samples.Model(X, 1.0)
    tree = flatten((model,), {})[1]
    assert tree == flatten((model,), {})[1]
    alive = weakref.ref(model)
    del model
    gc.collect()
    assert alive() is None
    assert tree == flatten((samples.Model(X, 1.0),), {})[1]


SCALES = {"factor": 2.0}
_NAMES = globals()


def rescaled(x: Any) -> Any:
    before = SCALES["factor"] * x
    _NAMES["SCALES"] = {"factor": 5.0}
    return before, SCALES["factor"] * x


def rescaled_in(names: Any, x: Any) -> Any:
    before = SCALES["factor"] * x
    names["SCALES"] = {"factor": 5.0}
    return before, SCALES["factor"] * x


def test_the_names_of_a_module_as_a_dict_run_eagerly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_NAMES, "SCALES", SCALES)
    first = dict(SCALES)
    for f, given in ((rescaled, ()), (rescaled_in, (_NAMES,))):
        jitted = tracejit.jit(f)
        for _ in range(3):
            _NAMES["SCALES"] = first
            assert jitted(*given, 3.0) == (6.0, 15.0)
        assert not jitted.report().variants


KEYED: dict[Any, float] = {}


def keys_and_first(x: Any) -> Any:
    return {k: x[0] + v for k, v in KEYED.items()}


def test_keys_that_are_equal_and_of_other_types_are_other_keys() -> None:
    jitted = tracejit.jit(keys_and_first)
    x = np.arange(3.0)
    for keys in [(1, 2)], [(True, 2)], [("a", (1,))], [("a", (True,))], [1], [True], [(1, 2)]:
        KEYED.clear()
        KEYED.update(dict.fromkeys(keys, 0.0))
        assert repr(jitted(x)) == repr(keys_and_first(x))
    assert jitted.report().fallbacks == []
