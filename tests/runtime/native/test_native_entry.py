"""What native entries return, and CPython's rules of ownership."""

import gc
import sys
import types
from typing import Any

import numpy as np
import pytest

from tests.runtime.native.native_entries import C16, F8, I8, Jitted, Linked, N, adder, unary
from tracejit.codegen.llvm.engine import compile_module
from tracejit.frontend.capture.guards import Equal
from tracejit.frontend.capture.paths import Cell, Global, Positional
from tracejit.ir.dims import floordiv
from tracejit.runtime import native
from tracejit.runtime.call.entry_spec import (
    ArrayLeaf,
    EntrySpec,
    Leaf,
    OutArray,
    OutLeaf,
    OutNpScalar,
    OutObject,
    OutPyScalar,
    ScalarLeaf,
)

pytestmark = pytest.mark.skipif(not native.available(), reason=native.why_not())


OUTPUTS = [
    OutArray(F8, (N,)),
    OutArray(I8, (N, 3)),
    OutArray(np.dtype(bool), (3, N), (1, 0)),
    OutArray(F8, (2, N, 5), (1, 2, 0)),
    OutArray(F8, (0, N, 5), (1, 2, 0)),
    OutArray(C16, ()),
    OutArray(np.dtype(np.float16), (N * N, N - 2)),
    OutPyScalar("int"),
    OutPyScalar("float"),
    OutPyScalar("bool"),
    OutPyScalar("complex"),
    OutObject(None),
    OutObject("constant"),
    OutLeaf(0),
    *(OutNpScalar(np.dtype(code)) for code in "?bhilBHILefdFD"),
]


@pytest.mark.parametrize("output", OUTPUTS, ids=str)
def test_single_results(output: Any) -> None:
    linked = unary(ArrayLeaf(F8, ("n",)), output)
    argument = np.zeros(4)
    result = linked.both(argument)
    if isinstance(output, OutLeaf):
        assert result is argument


@pytest.mark.parametrize("result", ["tuple", "list"])
def test_all_results_at_once(result: str) -> None:
    linked = unary(ArrayLeaf(F8, ("n",)), *OUTPUTS, result=result)
    results = linked.both(np.zeros(4))
    assert len(results) == len(OUTPUTS)
    assert linked.both(np.zeros(1)) is native.MISS
    assert unary(ArrayLeaf(F8, ("n",)), OutLeaf(0), result=result).both(np.zeros(4)) is not None


def test_sizes_that_do_not_fit_or_are_negative_are_refused() -> None:
    for shape in ((N - 5,), (N, 3 - N), (N * 2**62,), (N * 2**62 * 3, N), (floordiv(N, N - 4),)):
        linked = unary(ArrayLeaf(F8, ("n",)), OutArray(F8, shape))
        assert linked.native(np.zeros(4)) is native.BAIL


def test_a_failed_allocation_leads_to_bail_and_leaks_nothing() -> None:
    outputs = (OutArray(F8, (N,)), OutArray(F8, (N, 2**42)), OutArray(F8, (N,)))
    linked = unary(ArrayLeaf(F8, ("n",)), *outputs)
    argument = np.zeros(4)
    gc.collect()  # What earlier tests left in cycles refers to the dtype, too.
    before = sys.getrefcount(F8), sys.getrefcount(argument)
    for _ in range(50):
        assert linked.both(argument) is native.BAIL
    gc.collect()
    after = sys.getrefcount(F8), sys.getrefcount(argument)
    assert before == after
    # More bytes than an address can count.
    too_big = unary(ArrayLeaf(F8, ("n",)), OutArray(F8, (N, 2**61), (1, 0)))
    assert too_big.both(argument) is native.BAIL


def test_a_program_that_refuses_leads_to_bail() -> None:
    spec = EntrySpec(
        leaves=((Positional(0), ArrayLeaf(F8, ("n",))),),
        nargs=1,
        outputs=(OutArray(F8, (N,)), OutLeaf(0), OutPyScalar("int")),
        result="tuple",
    )
    linked = Linked(spec, status=1)
    argument = np.zeros(4)
    assert linked.both(argument) is native.BAIL
    calls: list[Any] = []
    function = Jitted(lambda *a: calls.append("slow"), lambda *a: calls.append(a))
    linked.publish(function)
    before = sys.getrefcount(argument)
    function(argument)
    assert len(calls) == 1 and calls.pop()[0] is argument
    after = sys.getrefcount(argument)
    assert after == before
    function([1.0])
    assert calls == ["slow"]


def test_keywords_and_wrong_counts_go_to_the_slow_path() -> None:
    linked = unary(ArrayLeaf(F8, ("n",)), OutLeaf(0), sizes=["n"])
    calls: list[Any] = []
    function = Jitted(lambda *args, **kwargs: calls.append((args, kwargs)))
    linked.publish(function)
    x = np.zeros(3)
    assert function(x) is x and function(*[x]) is x and calls == []
    function(x=x)
    function(x, x)
    function()
    function(*[x], k=1)
    assert calls == [((), {"x": x}), ((x, x), {}), ((), {}), ((x,), {"k": 1})]


def test_keywords_of_an_entry_are_those_of_the_call_in_its_order() -> None:
    leaves: list[Leaf] = [ArrayLeaf(F8, ("n",)), ScalarLeaf("int"), Equal("mean")]
    spec = EntrySpec(
        leaves=tuple((Positional(k), leaf) for k, leaf in enumerate(leaves)),
        nargs=1,
        sizes=("n",),
        outputs=(OutLeaf(1),),
        keywords=("axis", "mode"),
    )
    linked, x = Linked(spec), np.zeros(3)
    assert linked.both(x, axis=7, mode="mean") == 7
    assert linked.both(x, axis=5, mode="mean") == 5
    for args, kwargs in (
        ((x, 7, "mean"), {}),
        ((x, 7), {"mode": "mean"}),
        ((x,), {"mode": "mean", "axis": 7}),
        ((x,), {"axis": 7}),
        ((x,), {"axis": 7, "mode": "mean", "k": 1}),
        ((x,), {"axes": 7, "mode": "mean"}),
        ((x,), {"axis": 7.0, "mode": "mean"}),
        ((), {"axis": 7, "mode": "mean"}),
    ):
        assert linked.both(*args, **kwargs) is native.MISS
    # One program serves several entries: this one takes the same arguments by position.
    other = EntrySpec(spec.leaves, 3, spec.sizes, outputs=spec.outputs)
    glue, symbols = native.entry_ir(other, "program", "again")
    symbols["program"] = linked.library.address("program")
    exports = native.entry_exports("again")
    library = compile_module("", symbols, exports, glue=glue, keep=linked.library)
    function = Jitted(lambda *args, **kwargs: "slow")
    linked.publish(function)
    native.append_entry(function, library, "again", other)
    assert function(x, axis=7, mode="mean") == function(x, 7, "mean") == 7
    assert function(x, 7, mode="mean") == "slow"


def test_captured_values_are_read_at_each_call() -> None:
    namespace: dict[str, Any] = {"scale": np.ones(3), "mode": "fast"}
    cell = types.CellType(2.5)
    spec = EntrySpec(
        leaves=(
            (Global(namespace, "scale"), ArrayLeaf(F8, ("n",))),
            (Global(namespace, "mode"), Equal(namespace["mode"])),
            (Cell(cell), ScalarLeaf("float")),
        ),
        nargs=0,
        sizes=("n",),
        outputs=(OutLeaf(0),),
    )
    linked = Linked(spec)
    assert linked.both() is namespace["scale"]
    namespace["scale"] = np.ones(5)
    cell.cell_contents = -1.0
    before = sys.getrefcount(namespace["scale"])
    for _ in range(10):
        linked.native()
    after = sys.getrefcount(namespace["scale"])
    assert after == before
    assert linked.buffer[2] == 5
    assert linked.both() is namespace["scale"]
    cell.cell_contents = 1
    assert linked.both() is native.MISS
    del cell.cell_contents
    assert linked.both() is native.MISS
    cell.cell_contents = 1.0
    namespace["mode"] = "".join(["fa", "st"])
    assert linked.both() is namespace["scale"]
    namespace["mode"] = "slow"
    assert linked.both() is native.MISS
    del namespace["mode"]
    assert linked.both() is native.MISS


def test_entries_are_tried_in_the_order_of_their_publication() -> None:
    leaves: list[Leaf] = [ArrayLeaf(F8, ("n",)), ScalarLeaf("float"), ScalarLeaf("int")]
    entries = [unary(leaf, OutObject(name)) for name, leaf in zip("abc", leaves, strict=True)]
    function = Jitted(lambda *args: "slow")
    assert function(1) == "slow"
    for linked in entries:
        linked.publish(function)
    assert [function(v) for v in (np.zeros(3), 1.0, 1, "x", True)] == [
        "a",
        "b",
        "c",
        "slow",
        "slow",
    ]
    with pytest.raises(ValueError, match="published before"):
        entries[1].publish(function)


def test_many_calls_keep_all_reference_counts() -> None:
    x, y = np.arange(8.0), np.ones(8)
    outputs = (OutArray(F8, (N,)), OutLeaf(0), OutNpScalar(F8), OutPyScalar("int"), OutObject(y))
    linked = unary(ArrayLeaf(F8, ("n",)), *outputs, sizes=["n"])
    add, calls = Jitted(np.add), Jitted(lambda *args: None)
    adder().publish(add)
    linked.publish(calls)
    watched = [x, y, F8, np.ndarray, np.float64, linked.spec, linked.library, add, calls]
    gc.collect()
    before = [sys.getrefcount(obj) for obj in watched]
    blocks = sys.getallocatedblocks()
    for _ in range(20_000):
        add(x, y)
        calls(x)
        add(x, x[:1])
        calls(None)
    grown = sys.getallocatedblocks() - blocks
    assert [sys.getrefcount(obj) for obj in watched] == before
    assert grown < 200


def test_nested_calls_of_one_entry() -> None:
    depth = 0

    def slow(a: Any, b: Any) -> Any:
        nonlocal depth
        depth += 1
        return jitted(np.asarray(a) if depth == 20 else a, b)

    jitted: Any = Jitted(slow)
    adder().publish(jitted)
    assert np.array_equal(jitted([1.0] * 4, np.ones(4)), np.full(4, 2.0)) and depth == 20
    jitted._slow = lambda *args: jitted(*args)
    with pytest.raises(RecursionError):
        jitted([1.0], np.ones(1))
