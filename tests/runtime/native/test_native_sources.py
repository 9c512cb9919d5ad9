"""What entries look at outside their arguments, held against their definition in Python."""

from __future__ import annotations

import gc
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.runtime.native.native_entries import F8, Linked, N
from tracejit.frontend.capture.guards import (
    Absent,
    Bound,
    Equal,
    Identical,
    OfCode,
    Same,
    SameMethod,
)
from tracejit.frontend.capture.paths import (
    Attribute,
    Cell,
    Contents,
    Default,
    Global,
    Object,
    Path,
    Positional,
    Reread,
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


def entry(*leaves: tuple[Path, Leaf], nargs: int = 0, **rest: Any) -> Linked:
    rest.setdefault("outputs", (OutObject("hit"),))
    return Linked(EntrySpec(leaves=leaves, nargs=nargs, **rest))


def make_function() -> Any:
    def function(x: Any = 1.5, y: Any = "mode", *, z: Any = 3) -> None: ...

    return function


def test_the_code_of_a_function() -> None:
    function = make_function()
    linked = entry((Object(function), OfCode(function)))
    assert linked.both() == "hit"
    code = function.__code__
    function.__code__ = code.replace(co_name="other")
    assert linked.both() is native.MISS
    function.__code__ = code
    assert linked.both() == "hit"
    del function
    gc.collect()
    assert linked.both() is native.MISS


def test_defaults_count_from_the_end() -> None:
    function = make_function()
    linked = entry(
        (Default(Object(function), -1), Equal("mode")),
        (Default(Object(function), -2), ScalarLeaf("float")),
    )
    for value, hit in (
        ((1.5, "mode"), True),
        ((2.5, "mo" + "de"), True),
        ((0, 2.5, "mode"), True),
        ((2.5, "mode", "mode"), False),
        (("mode",), False),
        ((), False),
        (None, False),
        ((2.5, None), False),
    ):
        function.__defaults__ = value
        assert linked.both() == ("hit" if hit else native.MISS)
    with pytest.raises(ValueError, match="from the end"):
        Default(Object(function), 0)


def test_keyword_defaults() -> None:
    function = make_function()
    linked = entry((Default(Object(function), "z"), Equal(3)))
    for value, hit in (({"z": 3}, True), ({"z": 4}, False), ({"z": True}, False)):
        function.__kwdefaults__ = value
        assert linked.both() == ("hit" if hit else native.MISS)
    for other in ({"y": 3}, None):
        function.__kwdefaults__ = other
        assert linked.both() is native.MISS


def test_the_contents_of_a_function_that_is_known_by_its_code() -> None:
    def make(value: Any) -> Any:
        return lambda: value

    given = Positional(0)
    leaves = (given, OfCode(make(1))), (Contents(given, 0, 1), ScalarLeaf("float"))
    linked = entry(*leaves, nargs=1)
    assert linked.both(make(2.5)) == "hit"
    empty = make(1.5)
    del empty.__closure__[0].cell_contents
    for other in (make(2), empty, lambda: given, make, 1.5):
        assert linked.both(other) is native.MISS


def test_names_that_are_absent() -> None:
    namespace: dict[str, Any] = {}
    linked = entry((Global(namespace, "len"), Absent()))
    assert linked.both() == "hit"
    namespace["len"] = None
    assert linked.both() is native.MISS


class Owner:
    """Something that takes weak references."""

    def method(self) -> None: ...


def test_attributes_that_are_absent() -> None:
    owner = Owner()
    linked = entry((Attribute(Object(owner), "name"), Absent()))
    assert linked.both() == "hit"
    owner.name = None  # type: ignore[attr-defined]
    before = sys.getrefcount(None), sys.getrefcount(owner)
    for _ in range(10):
        assert linked.native() is native.MISS
    assert sys.getrefcount(owner) == before[1]
    assert linked.both() is native.MISS
    del owner.name  # type: ignore[attr-defined]
    assert linked.both() == "hit"

    def fail(_: Any) -> Any:
        raise ValueError

    Owner.name = property(fail)  # type: ignore[attr-defined]
    try:
        assert linked.both() is native.MISS
    finally:
        del Owner.name  # type: ignore[attr-defined]


def test_one_object_at_two_paths() -> None:
    a, b = {"x": [1]}, {"y": [1]}
    first = Global(a, "x")
    linked = entry((first, Same(int)), (Global(b, "y"), Identical(first)))
    a["x"] = b["y"] = int  # type: ignore[assignment]
    assert linked.both() == "hit"
    b["y"] = float  # type: ignore[assignment]
    assert linked.both() is native.MISS


def test_methods_are_made_anew() -> None:
    owner, other = Owner(), Owner()
    bound = entry((Positional(0), Bound(Owner.method)), nargs=1)
    same = entry((Positional(0), SameMethod(owner.method)), nargs=1)
    assert bound.both(owner.method) == same.both(owner.method) == "hit"
    assert bound.both(other.method) == "hit"
    assert same.both(other.method) is native.MISS
    for wrong in (Owner.method, len, owner.__init__, None):
        assert bound.both(wrong) is native.MISS
        assert same.both(wrong) is native.MISS


def test_watched_objects() -> None:
    owner, other = Owner(), Owner()
    linked = entry((Positional(0), Same(owner)), nargs=1)
    alive = entry((Object(owner), Same(owner)))
    assert linked.both(owner) == "hit"
    assert linked.both(other) is native.MISS
    assert linked.both(None) is native.MISS
    assert alive.both() == "hit"
    before = sys.getrefcount(owner)
    linked.native(owner)
    assert sys.getrefcount(owner) == before
    del owner
    gc.collect()
    assert alive.both() is native.MISS
    assert linked.both(other) is native.MISS


NUMBERS = [
    *(0.0, -0.0, 1.0, math.nan, -math.nan, math.inf, 0j, complex(0.0, -0.0), complex(1, math.nan)),
    *(0, 1, True, 2**70, "1", None, np.float64(1.0), np.float32(1.0), np.float32(math.nan)),
    *(np.float16(1.0), np.int8(1), np.uint8(1), np.int64(1), np.bool_(True)),
    *(np.complex64(1.0), np.complex128(1.0), np.complex128(complex(0.0, -0.0)), np.longdouble(1)),
]


@pytest.mark.parametrize("value", NUMBERS, ids=repr)
def test_constants_are_equal_bit_by_bit(value: Any) -> None:
    namespace: dict[str, Any] = {"name": value}
    given = entry((Positional(0), Equal(value)), nargs=1)
    found = entry((Global(namespace, "name"), Equal(value)))
    for other in NUMBERS:
        # Another object with the same bits, where that is possible.
        parts = other.__reduce_ex__(2) if isinstance(other, np.generic) else None
        copy = parts[0](*parts[1]) if parts else other * 1 if type(other) is float else other
        namespace["name"] = copy
        assert given.both(copy) == found.both()
    namespace["name"] = value
    assert found.both() == "hit"
    same = np.float64(1.0).item() + 0.0
    assert (given.both(same) == "hit") == (type(value) is float and value == 1.0)


# Values that Python reads again ------------------------------------------------------------------


def reading(
    values: Callable[[], tuple[Any, ...] | None], *leaves: Leaf, **rest: Any
) -> tuple[Linked, list[str]]:
    """An entry of one float that reads values for these leaves, and a list of the readings."""
    calls: list[str] = []

    def reread() -> tuple[Any, ...] | None:
        calls.append("read")
        return values()

    pairs: list[tuple[Path, Leaf]] = [(Positional(0), ScalarLeaf("float"))]
    pairs += [(Reread(k), leaf) for k, leaf in enumerate(leaves)]
    return entry(*pairs, nargs=1, reread=reread, **rest), calls


def test_values_are_read_where_the_arguments_fit() -> None:
    state: list[Any] = [(np.arange(3.0), 2)]
    linked, calls = reading(lambda: state[0], ArrayLeaf(F8, ("n",)), Equal(2), sizes=("n",))
    assert linked.both(1.0) == "hit"
    assert len(calls) == 2
    assert linked.both(1) is native.MISS
    assert linked.both("x") is native.MISS
    assert len(calls) == 2
    for value in (None, (np.arange(1.0), 2), (np.arange(3.0), 3), ([], 2)):
        state[0] = value
        assert linked.both(1.0) is native.MISS
    state[0] = (np.arange(5.0), 2)
    assert linked.both(1.0) == "hit"


def test_an_error_of_reading_is_a_miss() -> None:
    def fail() -> None:
        raise KeyError

    linked, calls = reading(fail, ArrayLeaf(F8, ("n",)))
    assert linked.native(1.0) is native.MISS
    assert calls == ["read"]


def test_what_was_read_lives_as_long_as_the_program_runs() -> None:
    """Fresh arrays, which nothing else holds; the result is one of them."""
    linked, _ = reading(lambda: (np.full(1000, 7.0),), ArrayLeaf(F8, ("n",)), outputs=(OutLeaf(1),))
    for _ in range(20):
        result = linked.native(1.0)
        assert sys.getrefcount(result) == 2
        assert result.tolist() == [7.0] * 1000


@pytest.mark.parametrize("status", [0, 1])
@pytest.mark.parametrize("bound", [3, 9])
@pytest.mark.parametrize("size", [N, N - 5, N * 2**62])
def test_nothing_read_is_lost(status: int, bound: int, size: Any) -> None:
    array = np.arange(4.0)
    values = (array,)
    namespace = {"array": array}
    leaf = ArrayLeaf(F8, ("n",))
    rest: dict[str, Any] = {
        "sizes": ("n",),
        "guards": (SizeGuard(N, "<", bound),),
        "outputs": (OutArray(F8, (size,)), OutLeaf(0)),
        "result": "tuple",
    }
    paths: list[tuple[Path, Any]] = [
        (Reread(0), lambda: values),
        (Global(namespace, "array"), None),
    ]
    for path, reread in paths:
        spec = EntrySpec(leaves=((path, leaf),), nargs=0, reread=reread, **rest)
        linked = Linked(spec, status=status)
        linked.native()
        before = sys.getrefcount(values), sys.getrefcount(array)
        for _ in range(10):
            linked.native()
        assert (sys.getrefcount(values), sys.getrefcount(array)) == before


def test_a_cell_and_a_value_read_again() -> None:
    with pytest.raises(ValueError, match="read again"):
        EntrySpec(leaves=((Reread(0), ScalarLeaf("int")),), nargs=0, outputs=(OutObject(0),))

    def outer(contents: Any) -> Any:
        return lambda: contents

    cell = outer(2.5).__closure__[0]
    linked, _ = reading(lambda: (4,), ScalarLeaf("int"))
    both = entry((Cell(cell), Equal(2.5)), *linked.spec.leaves[1:], reread=lambda: (4,))
    assert both.both() == "hit"
    cell.cell_contents = 2.0
    assert both.both() is native.MISS


def test_results_that_python_finishes() -> None:
    seen: list[Any] = []

    def finish(values: tuple[Any, ...]) -> Any:
        seen.append(len(values))
        if not values[0].size % 2:
            raise OverflowError("even")
        return [values[1]]

    outputs = (OutArray(F8, (N,)), OutLeaf(0))
    rest: dict[str, Any] = {"sizes": ("n",), "outputs": outputs, "result": "tuple"}
    leaf = ((Positional(0), ArrayLeaf(F8, ("n",))),)
    linked = Linked(EntrySpec(leaves=leaf, nargs=1, finish=finish, **rest))
    x, even = np.arange(3.0), np.arange(4.0)
    for entry_of in (linked.native, linked.python):
        assert entry_of(x)[0] is x
        assert entry_of(1.0) is native.MISS
        with pytest.raises(OverflowError, match="even"):
            entry_of(even)
    before = [sys.getrefcount(o) for o in (x, even, finish)]
    for _ in range(20):
        linked.native(x)
        with pytest.raises(OverflowError):
            linked.native(even)
    assert [sys.getrefcount(o) for o in (x, even, finish)] == before
    assert set(seen) == {2}
    rest["result"] = "list"
    with pytest.raises(ValueError, match="finished"):
        EntrySpec(leaves=leaf, nargs=1, finish=finish, **rest)
