"""Attributes, classes and elements that entries follow, held against their definition in Python."""

from __future__ import annotations

import collections
import gc
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.runtime.native.native_entries import F8, Linked, N
from tracejit.frontend.capture.guards import Equal, Keys, OfClass, Same, Size
from tracejit.frontend.capture.paths import (
    Attribute,
    Global,
    Item,
    Object,
    Path,
    Positional,
)
from tracejit.runtime import native
from tracejit.runtime.call.entry_spec import (
    ArrayLeaf,
    EntrySpec,
    Leaf,
    OutArray,
    OutLeaf,
    OutObject,
    ScalarLeaf,
    SizeGuard,
)

pytestmark = pytest.mark.skipif(not native.available(), reason=native.why_not())

ARRAY = ArrayLeaf(F8, ("n",))
FIRST = Positional(0)
Point = collections.namedtuple("Point", "x y")


def entry(*leaves: tuple[Path, Leaf], nargs: int = 1, status: int = 0, **rest: Any) -> Linked:
    rest.setdefault("outputs", (OutObject("hit"),))
    return Linked(EntrySpec(leaves=leaves, nargs=nargs, **rest), status=status)


class Holder:
    """Has attributes."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


# Containers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [tuple, list, Point])
def test_sequences(cls: Any) -> None:
    def make(*items: Any) -> Any:
        return cls(*items) if cls is Point else cls(items)

    linked = entry(
        (FIRST, Size(cls, 2)),
        (Item(FIRST, 0), ARRAY),
        (Item(FIRST, 1), Equal("b")),
        sizes=("n",),
    )
    x = np.arange(3.0)
    assert linked.both(make(x, "b")) == "hit"
    assert linked.both(make(np.arange(5.0), "".join(["b"]))) == "hit"
    others = (make(x, "c"), make(x, None), make("b", x), x, None, (x, "b", 1), [x], {0: x, 1: "b"})
    for other in (*others, type("Odd", (list,), {})([x, "b"]), type("Odd", (tuple,), {})((x, "b"))):
        assert linked.both(other) is native.MISS
    for kind in (tuple, list, lambda items: Point(*items)):
        assert (linked.both(kind([x, "b"])) == "hit") == (type(kind([x, "b"])) is cls)


def test_dicts_have_the_same_keys_in_the_same_order() -> None:
    keys = ("w", 1, ("a", 2), None)
    linked = entry(
        (FIRST, Keys(keys)),
        (Item(FIRST, "w"), ARRAY),
        (Item(FIRST, 1), ScalarLeaf("float")),
        (Item(FIRST, None), Equal(None)),
        sizes=("n",),
    )
    x = np.arange(3.0)
    good = {"".join(["w"]): x, 1: 2.0, ("a", 1 + 1): 3, None: None}
    assert linked.both(good) == "hit"
    for key, value in (("w", 1.0), (1, 2), (None, 0)):
        assert linked.both({**good, key: value}) is native.MISS
    bad: list[Any] = [
        {"w": x, True: 2.0, ("a", 2): 3, None: None},
        {"w": x, 1: 2.0, ("a", 2.0): 3, None: None},
        {1: 2.0, "w": x, ("a", 2): 3, None: None},
        {"w": x, 1: 2.0, ("a", 2): 3},
        {**good, "more": 1},
        collections.OrderedDict(good),
        types.MappingProxyType(good),
        {},
    ]
    for other in bad:
        assert linked.both(other) is native.MISS
    # A dict that has lost an entry has a hole before the next.
    holes = {"gone": 1, **good}
    del holes["gone"]
    assert linked.both(holes) == "hit"


def test_nested_and_empty_containers() -> None:
    inner = Item(FIRST, 1)
    b = Item(inner, "b")
    linked = entry(
        (FIRST, Size(list, 2)),
        (Item(FIRST, 0), Size(tuple, 0)),
        (inner, Keys(("a", "b"))),
        (b, Size(list, 1)),
        (Item(b, 0), ARRAY),
        (Item(inner, "a"), Keys(())),
        sizes=("n",),
        outputs=(OutLeaf(4),),
    )
    x = np.arange(3.0)
    assert linked.both([(), {"a": {}, "b": [x]}]) is x
    assert linked.both([(), {"a": {}, "b": [1.0]}]) is native.MISS
    assert linked.both([(), {"a": {}, "b": x}]) is native.MISS
    assert linked.both([(1,), {"a": {}, "b": [x]}]) is native.MISS
    assert linked.both([(), {"a": {1: 1}, "b": [x]}]) is native.MISS


def test_containers_that_must_differ() -> None:
    one = Positional(1)
    leaf = Size(list, 0)
    linked = entry((FIRST, leaf), (one, leaf), nargs=2, distinct=((FIRST, one),))
    a: list[Any] = []
    assert linked.both(a, []) == "hit"
    assert linked.both(a, a) is native.MISS


def test_elements_need_a_container() -> None:
    for leaf in (None, Size(list, 1)):
        leaves: list[Any] = [] if leaf is None else [(FIRST, leaf)]
        with pytest.raises(ValueError, match="no container"):
            entry(*leaves, (Item(FIRST, 1), ARRAY))


# Attributes --------------------------------------------------------------------------------------


def test_attributes_and_classes() -> None:
    linked = entry(
        (FIRST, Same(holder := Holder(w=np.arange(3.0), k=2, inner=Holder(b=1.5)))),
        (FIRST, OfClass(Holder)),
        (Attribute(FIRST, "w"), ARRAY),
        (Attribute(FIRST, "k"), Equal(2)),
        (Attribute(Attribute(FIRST, "inner"), "b"), ScalarLeaf("float")),
        sizes=("n",),
    )
    assert linked.both(holder) == "hit"
    holder.w = np.arange(7.0)
    assert linked.both(holder) == "hit"
    for name, value in (("w", 1.0), ("k", 3), ("inner", None), ("inner", Holder(b=1))):
        old = getattr(holder, name)
        setattr(holder, name, value)
        assert linked.both(holder) is native.MISS
        delattr(holder, name)
        assert linked.both(holder) is native.MISS
        setattr(holder, name, old)
        assert linked.both(holder) == "hit"
    assert linked.both(Holder(**vars(holder))) is native.MISS
    holder.__class__ = type("Other", (Holder,), {})
    assert linked.both(holder) is native.MISS


def test_attributes_are_read_where_the_arguments_fit() -> None:
    reads: list[str] = []

    class Noting:
        @property
        def value(self) -> float:
            reads.append("read")
            return 1.0

    owner = Noting()
    source = Attribute(Object(owner), "value")
    linked = entry((FIRST, ScalarLeaf("float")), (source, ScalarLeaf("float")))
    assert linked.native(1) is native.MISS
    assert not reads
    assert linked.native(1.0) == "hit"
    assert reads == ["read"]


def test_a_container_in_an_attribute() -> None:
    params = Attribute(FIRST, "params")
    w, b = Item(params, "w"), Item(params, "b")
    linked = entry(
        (FIRST, Same(holder := Holder(params={"w": np.arange(3.0), "b": [2.0]}))),
        (params, Keys(("w", "b"))),
        (w, ARRAY),
        (b, Size(list, 1)),
        (Attribute(w, "size"), ScalarLeaf("int")),
        (Item(b, 0), ScalarLeaf("float")),
        sizes=("n",),
    )
    assert linked.both(holder) == "hit"
    holder.params["w"] = np.arange(4.0)
    assert linked.both(holder) == "hit"
    holder.params["b"].append(1)
    assert linked.both(holder) is native.MISS
    holder.params["b"] = [1]
    assert linked.both(holder) is native.MISS


# What Python code may do meanwhile ---------------------------------------------------------------


class Acting:
    """Runs something when its attribute is read."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act

    @property
    def value(self) -> Any:
        return self.act()


def test_code_that_changes_what_was_checked_before() -> None:
    """Each change is seen, and nothing is used that the change has freed."""
    x = np.arange(4.0)
    namespace: dict[str, Any] = {}
    items: list[Any] = []
    state: dict[str, Any] = {}
    actor = Acting(lambda: state["act"]())
    array, found = Item(FIRST, 0), Global(namespace, "w")
    linked = entry(
        (FIRST, Size(list, 1)),
        (array, ARRAY),
        (found, ARRAY),
        (Attribute(Object(actor), "value"), ScalarLeaf("float")),
        sizes=("n",),
        outputs=(OutLeaf(1), OutLeaf(2)),
        result="tuple",
    )

    def rebind() -> float:
        namespace["w"] = np.full(4, 7.0)
        items[0] = np.full(4, 8.0)
        return 1.0

    def shrink() -> float:
        items.clear()
        return 1.0

    def replace() -> float:
        items[0] = 1.0
        gc.collect()
        return 1.0

    def fail() -> float:
        raise AttributeError

    for act, hit in ((rebind, True), (shrink, False), (replace, False), (fail, False)):
        state["act"] = act
        for _ in range(5):
            items[:] = [x.copy()]
            namespace["w"] = x.copy()
            result = linked.native(items)
            assert (result is not native.MISS) == hit
            if hit:
                assert result[0].tolist() == [8.0] * 4
                assert result[1].tolist() == [7.0] * 4


def test_code_that_drops_its_own_object() -> None:
    alive: list[Any] = []

    def die() -> float:
        alive.clear()
        gc.collect()
        return 1.0

    for _ in range(5):
        alive.append(Acting(die))
        source = Object(alive[0])
        values = [(Attribute(source, name), Equal(v)) for name, v in (("value", 1.0),)]
        act = (Attribute(source, "act"), Same(die))
        linked = entry(*values, act, nargs=0)
        assert linked.native() == "hit"
        assert linked.native() is native.MISS


@pytest.mark.parametrize("status", [0, 1])
@pytest.mark.parametrize("bound", [3, 9])
@pytest.mark.parametrize("size", [N, N - 5, N * 2**62])
@pytest.mark.parametrize("wrong", ["", "k", "w", "last"])
def test_no_reference_is_lost_or_gained(status: int, bound: int, size: Any, wrong: str) -> None:
    weights = np.arange(4.0)
    holder = Holder(w=weights, k=[weights, weights], last=(weights,))
    inner = Holder(holder=holder)
    namespace = {"inner": inner}
    outer = Attribute(Global(namespace, "inner"), "holder")
    w, k, last = (Attribute(outer, name) for name in ("w", "k", "last"))
    linked = entry(
        (FIRST, Size(list, 2)),
        (Item(FIRST, 0), ARRAY),
        (k, Size(list, 2)),
        (Item(k, 1), ARRAY),
        (w, ARRAY),
        (last, Size(tuple, 1)),
        (Item(last, 0), ARRAY),
        sizes=("n",),
        guards=(SizeGuard(N, "<", bound),),
        outputs=(OutArray(F8, (size,)), OutLeaf(3), OutLeaf(4)),
        result="tuple",
        status=status,
    )
    given = [weights, None]
    if wrong:
        setattr(holder, wrong, [weights])
    counted = (weights, holder, inner, given, holder.k, holder.last, Holder)
    linked.native(given)
    before = list(map(sys.getrefcount, counted))
    for _ in range(10):
        linked.native(given)
    assert list(map(sys.getrefcount, counted)) == before
