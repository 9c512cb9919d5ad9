"""Native entries against `PythonEntry`, their definition, and CPython's rules of ownership."""

import ctypes
import dataclasses
import gc
import itertools
import pickle
import sys
import threading
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tracejit.codegen.engine import Library, compile_module
from tracejit.ir.dims import Dim, floordiv, maximum, minimum, mod, symbol
from tracejit.runtime import native
from tracejit.runtime.entry_spec import (
    ArrayLeaf,
    CellSource,
    EntrySpec,
    GlobalSource,
    Leaf,
    NpScalarLeaf,
    OutArray,
    OutLeaf,
    OutNpScalar,
    OutObject,
    OutPyScalar,
    Positional,
    ScalarLeaf,
    SizeGuard,
    StaticLeaf,
    k_order,
)
from tracejit.runtime.native import reflect

pytestmark = pytest.mark.skipif(not native.available(), reason=native.why_not())

F8, I8, C16 = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.complex128)
N, M = symbol("n"), symbol("m")
_names = itertools.count()


@native.jit_type
class Jitted(native.JitBase):
    """A jitted function of the tests."""

    tag: Any
    me: Any

    def report(self) -> str:
        return "report"

    def __reduce__(self) -> Any:
        return (_unpickled, (self._slow,))


def _unpickled(slow: Callable[..., Any]) -> Any:
    return Jitted(slow)


def recorder(spec: EntrySpec, status: int = 0) -> tuple[str, Any]:
    """A program that copies its in-slots to a buffer and stores the scalar k + 1 in out-slot k."""
    buffer = (ctypes.c_int64 * max(spec.in_count, 1))()
    lines = ["@buffer = external global i8", "define i32 @program(ptr %in, ptr %out) {"]
    for k in range(spec.in_count):
        lines += [
            f"  %s{k} = getelementptr i64, ptr %in, i64 {k}",
            f"  %d{k} = getelementptr i64, ptr @buffer, i64 {k}",
            f"  %v{k} = load i64, ptr %s{k}",
            f"  store i64 %v{k}, ptr %d{k}",
        ]
    arrays = {
        slot
        for slot, out in zip(spec.out_slots, spec.outputs, strict=False)
        if isinstance(out, OutArray)
    }
    for k in set(range(spec.out_count)) - arrays:
        lines += [
            f"  %o{k} = getelementptr i64, ptr %out, i64 {k}",
            f"  store i64 {k + 1}, ptr %o{k}",
        ]
    return "\n".join([*lines, f"  ret i32 {status}", "}", ""]), buffer


class Linked:
    """A spec with its native entry, the entry's definition in Python, and the recorded slots."""

    def __init__(self, spec: EntrySpec, text: str | None = None, status: int = 0) -> None:
        self.spec = spec
        program, self.buffer = recorder(spec, status)
        self.name = f"entry{next(_names)}"
        glue, symbols = native.entry_ir(spec, "program", self.name)
        if text is None:
            symbols["buffer"] = ctypes.addressof(self.buffer)
        self.library: Library = compile_module(
            text or program,
            symbols,
            ["program", *native.entry_exports(self.name)],
            glue=glue,
            keep=(spec, self.buffer),
        )
        self.native = native.flat_callable(self.library, self.name, spec)
        self.python = native.python_entry(spec, self.library.address("program"))

    def recorded(self) -> list[bytes]:
        """What the last run of the program was given; forgets it."""
        memory = bytes(self.buffer)
        self.buffer[:] = [0] * len(self.buffer)
        parts = [memory[8 * self.spec.size_slot :]]
        for (_, leaf), slot in zip(self.spec.leaves, self.spec.leaf_slots, strict=False):
            # A narrow scalar leaves the rest of its slot undefined.
            size = leaf.dtype.itemsize if isinstance(leaf, NpScalarLeaf) else 8
            parts.append(memory[8 * slot : 8 * slot + size])
        return parts

    def publish(self, function: Any) -> None:
        native.append_entry(function, self.library, self.name, self.spec)

    def both(self, *args: Any, **kwargs: Any) -> Any:
        """The native result, after comparing it and what the program was given with Python's."""
        self.recorded()
        expected, wanted = self.python(*args, **kwargs), self.recorded()
        got, found = self.native(*args, **kwargs), self.recorded()
        assert found == wanted
        assert_same(got, expected, self.spec)
        return got


def assert_same(got: Any, expected: Any, spec: EntrySpec) -> None:
    assert type(got) is type(expected)
    if isinstance(got, (tuple, list)) and spec.result != "single":
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            assert_same(a, b, EntrySpec((), 0, outputs=(OutObject(None),)))
    elif isinstance(got, np.ndarray) and got is not expected:
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        assert got.flags.owndata and got.flags.writeable and got.flags.aligned
        significant = [k for k, size in enumerate(got.shape) if size > 1 and got.size]
        assert [got.strides[k] for k in significant] == [expected.strides[k] for k in significant]
    else:
        assert got is expected or got == expected


def unary(leaf: Leaf, *outputs: Any, sizes: Sequence[str] = (), **rest: Any) -> Linked:
    """An entry of one argument; it returns None unless outputs are given."""
    result = rest.pop("result", "single" if len(outputs) < 2 else "tuple")
    spec = EntrySpec(
        leaves=((Positional(0), leaf),),
        nargs=1,
        sizes=tuple(sizes),
        outputs=outputs or (OutObject(None),),
        result=result,
        **rest,
    )
    return Linked(spec)


class Subclass(np.ndarray[Any, Any]):
    """An array that must not take the native path."""


def odd_arrays() -> list[Any]:
    """Arrays of every layout, and things that are not plain arrays at all."""
    base = np.arange(24.0)
    read_only = np.arange(6.0)
    read_only.flags.writeable = False
    unaligned = np.frombuffer(bytes(49), np.uint8)[1:].view(np.float64)
    described = np.arange(6.0).astype(np.dtype(np.float64, metadata={"unit": "m"}))
    return [
        base,
        base[::2],
        base[::-1],
        base[5:1],
        base[:1],
        base.reshape(4, 6),
        base.reshape(4, 6).T,
        base.reshape(2, 3, 4),
        base.reshape(2, 3, 4).transpose(1, 0, 2),
        base.reshape(4, 6)[:, ::2],
        base.reshape(4, 6)[::-1, ::-1],
        base.reshape(4, 6)[:1],
        base.reshape(4, 6)[:, :1],
        np.asfortranarray(base.reshape(4, 6)),
        np.broadcast_to(base[:6], (4, 6)),
        np.broadcast_to(base[:4, None], (4, 6)),
        np.zeros((0, 6)),
        np.zeros((4, 0)),
        np.array(3.0),
        read_only,
        unaligned,
        described,
        pickle.loads(pickle.dumps(base)),
        base.astype(">f8"),
        base.astype(np.float32),
        base.astype(np.int64),
        base.astype(np.longlong),
        base.astype(np.uint64),
        base.astype(np.complex128),
        np.zeros((4, 6), np.complex128)[:, ::2],
        np.zeros((4, 6), np.complex128).real,
        np.zeros((4, 6), [("a", "i4"), ("b", "f8")])["b"],
        np.zeros(6),
        np.zeros(6, bool),
        np.zeros(6, "m8[s]"),
        np.array([None] * 6),
        base.view(Subclass),
        np.ma.array(base),
        base.data,
        [1.0, 2.0],
        None,
    ]


ARRAY_LEAVES = [
    ArrayLeaf(F8, ("n",)),
    ArrayLeaf(F8, (6,), writeable=True),
    ArrayLeaf(F8, ("n", "m")),
    ArrayLeaf(F8, ("n", 6), "F"),
    ArrayLeaf(F8, (1, "n")),
    ArrayLeaf(F8, (0, "n")),
    ArrayLeaf(F8, ()),
    ArrayLeaf(I8, ("n",)),
    ArrayLeaf(C16, ("n",)),
    ArrayLeaf(np.dtype(np.longlong), ("n",)),
    ArrayLeaf(np.dtype(bool), ("n",)),
    ArrayLeaf(F8, ("n",), "A", ("s",), (0,)),
    ArrayLeaf(F8, ("n",), "A", (-1,), (0,)),
    ArrayLeaf(F8, ("n", "m"), "A", ("s", "t"), (0, 1)),
    ArrayLeaf(F8, ("n", "m"), "A", ("s", "t"), (1, 0)),
    ArrayLeaf(F8, ("n", "m"), "A", (0, "t"), (0, 1)),
    ArrayLeaf(F8, ("n", "m"), "A", ("s", 0), (0, 1)),
    ArrayLeaf(F8, (1, "m"), "A", (6, "t"), (0, 1)),
    ArrayLeaf(F8, ("n", "m", "k"), "A", ("s", "t", "u"), (1, 0, 2)),
    ArrayLeaf(C16, ("n", "m"), "A", ("s", "t"), (0, 1)),
]


@pytest.mark.parametrize("leaf", ARRAY_LEAVES, ids=str)
def test_every_array_is_accepted_or_refused_as_python_does(leaf: ArrayLeaf) -> None:
    names = [name for name in (*leaf.dims, *leaf.strides) if isinstance(name, str)]
    linked = unary(leaf, sizes=names)
    results = [linked.both(array) for array in odd_arrays()]
    assert {id(r) for r in results} == {id(None), id(native.MISS)}


def test_an_array_with_an_equal_dtype_object_hits_and_one_with_metadata_misses() -> None:
    linked = unary(ArrayLeaf(F8, ("n",)), sizes=["n"])
    unpickled = pickle.loads(pickle.dumps(np.arange(3.0)))
    fresh = np.dtype("f8").newbyteorder(">").newbyteorder("<")
    assert linked.both(unpickled.astype(fresh)) is None
    assert linked.both(np.zeros(3, np.dtype("f8", metadata={"a": 1}))) is native.MISS


def test_sizes_bind_at_their_first_occurrence() -> None:
    leaves = tuple(
        (Positional(k), ArrayLeaf(F8, dims)) for k, dims in enumerate((("n", "m"), ("m", "k")))
    )
    spec = EntrySpec(leaves, 2, ("k", "n", "m"), outputs=(OutObject(None),))
    linked = Linked(spec)
    assert linked.both(np.zeros((2, 3)), np.zeros((3, 4))) is None
    assert linked.native(np.zeros((2, 3)), np.zeros((3, 4))) is None
    assert linked.buffer[2:] == [4, 2, 3]
    assert linked.both(np.zeros((2, 3)), np.zeros((2, 3))) is native.MISS
    # Sizes 0 and 1 mean broadcasting or nothing: they have entries of their own.
    assert linked.both(np.zeros((1, 3)), np.zeros((3, 4))) is native.MISS
    assert linked.both(np.zeros((2, 0)), np.zeros((0, 4))) is native.MISS


SCALARS = [
    0,
    1,
    -1,
    2**63 - 1,
    -(2**63),
    2**63,
    -(2**63) - 1,
    10**40,
    True,
    False,
    0.0,
    -0.0,
    1.5,
    float("nan"),
    1j,
    complex(-0.0, 2.5),
    "text",
    "te" + "xt!"[:2],
    (1, 2),
    (1, (2, "a")),
    (True, 2),
    (1.0, 2),
    None,
    np.float64(2.5),
    np.float32(2.5),
    np.float16(2.5),
    np.int8(-3),
    np.int64(-3),
    np.longlong(-3),
    np.uint64(2**64 - 1),
    np.bool_(True),
    np.bool_(False),
    np.complex64(1 + 2j),
    np.complex128(1 - 2j),
    np.array(2.5),
    Ellipsis,
]


class OddInt(int):
    """An int that must not pass for one."""


@pytest.mark.parametrize("kind", ["int", "float", "complex", "bool"])
def test_python_scalars(kind: Any) -> None:
    linked = unary(ScalarLeaf(kind))
    results = [linked.both(value) for value in [*SCALARS, OddInt(3)]]
    hits = [v for v, r in zip(SCALARS, results, strict=False) if r is None]
    assert hits and {type(v).__name__ for v in hits} == {kind}


@pytest.mark.parametrize("code", "? b h i l q B H I L Q e f d F D".split())
def test_numpy_scalars(code: str) -> None:
    dtype = np.dtype(code)
    linked = unary(NpScalarLeaf(dtype))
    assert linked.both(dtype.type(1)) is None
    linked.native(dtype.type(1))
    assert linked.recorded()[1] == dtype.type(1).tobytes()
    for value in SCALARS:
        linked.both(value)


@pytest.mark.parametrize("value", SCALARS, ids=repr)
def test_constants_match_the_same_or_an_equal_object_of_the_same_type(value: Any) -> None:
    linked = unary(StaticLeaf(value))
    assert linked.both(value) is None
    for other in [*SCALARS, OddInt(1), pickle.loads(pickle.dumps(value))]:
        linked.both(other)


def test_an_equal_tuple_with_other_types_is_not_the_constant() -> None:
    linked = unary(StaticLeaf((1, (2, "a"))))
    assert linked.both((1, (2, "".join(["a"])))) is None
    for other in ((True, (2, "a")), (1, (2.0, "a")), (1, (2, "b")), (1, (2,)), (1, [2, "a"])):
        assert linked.both(other) is native.MISS


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


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_k_order_is_numpys(order: tuple[int, ...]) -> None:
    shapes = [(2, 3, 4), (1, 3, 4), (2, 1, 4), (2, 3, 1), (1, 1, 4), (2, 2, 2)]
    for shape in shapes:
        for array in (np.zeros(shape).transpose(order), np.zeros(shape)[::-1].transpose(order)):
            copy = np.positive(array)
            expected = k_order(array.shape, array.strides)
            firm = [k for k in expected if array.shape[k] > 1]
            assert firm == sorted(firm, key=lambda k: -copy.strides[k])
    for shape in ((2, 1, 4), (1, 3, 1), (1, 3, 4)):
        array = np.broadcast_to(np.zeros(shape), (2, 3, 4)).transpose(order)
        copy = np.positive(array)
        expected = k_order(array.shape, array.strides)
        assert list(expected) == sorted(range(3), key=lambda k: -copy.strides[k])


GUARDS: list[tuple[Dim, Any, Dim]] = [
    (N, "==", M),
    (N + 1, "!=", 2 * M),
    (N * M, "<", 40),
    (N - M, "<=", -2),
    (floordiv(N, 3), "==", floordiv(M, 2)),
    (mod(N - M, 4), "==", 1),
    (floordiv(N - M, 4), "<", 0),
    (floordiv(N, M), "<=", mod(N, M)),
    (minimum(N, M), "==", 3),
    (maximum(N, 2 * M), "<=", 9),
]


@pytest.mark.parametrize(("left", "relation", "right"), GUARDS, ids=str)
def test_size_guards(left: Dim, relation: Any, right: Dim) -> None:
    spec = EntrySpec(
        leaves=((Positional(0), ArrayLeaf(F8, ("n", "m"))),),
        nargs=1,
        guards=(SizeGuard(left, relation, right),),
        outputs=(OutObject(None),),
    )
    linked = Linked(spec)
    results = {linked.both(np.zeros(shape)) for shape in itertools.product(range(2, 9), repeat=2)}
    assert results == {None, native.MISS}


def test_sizes_that_do_not_fit_or_are_negative_are_refused() -> None:
    for shape in ((N - 5,), (N, 3 - N), (N * 2**62,), (N * 2**62 * 3, N), (floordiv(N, N - 4),)):
        linked = unary(ArrayLeaf(F8, ("n",)), OutArray(F8, shape))
        assert linked.native(np.zeros(4)) is native.BAIL


def test_a_failed_allocation_raises_and_leaks_nothing() -> None:
    outputs = (OutArray(F8, (N,)), OutArray(F8, (N, 2**42)), OutArray(F8, (N,)))
    linked = unary(ArrayLeaf(F8, ("n",)), *outputs)
    argument = np.zeros(4)
    before = sys.getrefcount(F8), sys.getrefcount(argument)
    for _ in range(50):
        with pytest.raises(MemoryError):
            linked.native(argument)
    after = sys.getrefcount(F8), sys.getrefcount(argument)
    assert before == after
    # More bytes than an address can count: NumPy's own error.
    too_big = unary(ArrayLeaf(F8, ("n",)), OutArray(F8, (N, 2**61), (1, 0)))
    with pytest.raises(ValueError, match="too big|dimension"):
        too_big.native(argument)


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
    leaves: list[Leaf] = [ArrayLeaf(F8, ("n",)), ScalarLeaf("int"), StaticLeaf("mean")]
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
            (GlobalSource(namespace, "scale"), ArrayLeaf(F8, ("n",))),
            (GlobalSource(namespace, "mode"), StaticLeaf(namespace["mode"])),
            (CellSource(cell), ScalarLeaf("float")),
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
    # A captured constant is the very object: an equal one may be of another meaning.
    namespace["mode"] = "".join(["fa", "st"])
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


ADD = """
define i32 @program(ptr %in, ptr %out) {
entry:
  %x = load ptr, ptr %in
  %yp = getelementptr i64, ptr %in, i64 1
  %y = load ptr, ptr %yp
  %np = getelementptr i64, ptr %in, i64 2
  %n = load i64, ptr %np
  %o = load ptr, ptr %out
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %xp = getelementptr double, ptr %x, i64 %i
  %yq = getelementptr double, ptr %y, i64 %i
  %op = getelementptr double, ptr %o, i64 %i
  %a = load double, ptr %xp
  %b = load double, ptr %yq
  %c = fadd double %a, %b
  store double %c, ptr %op
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret i32 0
}
"""


def adder() -> Linked:
    leaf = ArrayLeaf(F8, ("n",))
    spec = EntrySpec(
        leaves=((Positional(0), leaf), (Positional(1), leaf)),
        nargs=2,
        sizes=("n",),
        outputs=(OutArray(F8, (N,)),),
        work=N,
    )
    return Linked(spec, ADD)


def test_threads_share_one_entry_with_and_without_the_gil() -> None:
    function = Jitted(np.add)
    adder().publish(function)
    failures: list[Any] = []

    def work(seed: int) -> None:
        generator = np.random.default_rng(seed)
        for size in [3, 100, 29_999, 40_000, 200_000] * 8:
            x, y = generator.random(size), generator.random(size)
            if not np.array_equal(function(x, y), x + y):
                failures.append(size)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_entries_appear_while_other_threads_call() -> None:
    function = Jitted(lambda value: -value)
    entries = [unary(StaticLeaf(k), OutObject(-k)) for k in range(24)]
    done = threading.Event()
    failures: list[int] = []

    def work() -> None:
        while not done.is_set():
            failures.extend(k for k in range(24) if function(k) != -k)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for linked in entries:
        linked.publish(function)
    done.set()
    for thread in threads:
        thread.join()
    assert failures == []
    function._slow = lambda value: "slow"
    assert [function(k) for k in range(25)] == [-k for k in range(24)] + ["slow"]


def test_the_program_runs_without_the_gil_when_it_works_long() -> None:
    """The program calls Python back: that deadlocks or crashes unless the GIL is free."""
    released: list[bool] = []
    owner = threading.get_ident()
    ready = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)

    def body(given: int, out: int) -> int:
        released.append(threading.get_ident() == owner)
        return 0

    callback = ready(body)
    text = """
    declare i32 @callback(ptr, ptr)
    define i32 @program(ptr %in, ptr %out) {
      %status = call i32 @callback(ptr %in, ptr %out)
      ret i32 %status
    }
    """
    for work in (N * 100_000, 100_000, 10):
        spec = EntrySpec(
            ((Positional(0), ArrayLeaf(F8, ("n",))),), 1, outputs=(OutObject(7),), work=work
        )
        glue, symbols = native.entry_ir(spec, "program", "entry")
        symbols["callback"] = ctypes.cast(callback, ctypes.c_void_p).value or 0
        library = compile_module(text, symbols, native.entry_exports("entry"), glue=glue)
        assert native.flat_callable(library, "entry", spec)(np.zeros(3)) == 7
    assert released == [True] * 3


def test_many_calls_keep_all_reference_counts() -> None:
    x, y = np.arange(8.0), np.ones(8)
    outputs = (OutArray(F8, (N,)), OutLeaf(0), OutNpScalar(F8), OutPyScalar("int"), OutObject(y))
    linked = unary(ArrayLeaf(F8, ("n",)), *outputs, sizes=["n"])
    add, calls = Jitted(np.add), Jitted(lambda *args: None)
    adder().publish(add)
    linked.publish(calls)
    watched = [x, y, F8, np.ndarray, np.float64, linked.spec, linked.library, add, calls]
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


def test_the_type_behaves_like_a_function() -> None:
    function = Jitted(lambda *args, **kwargs: (args, kwargs), None)
    function.tag = 1
    assert function(1, x=2) == ((1,), {"x": 2}) and function.report() == "report"
    assert function.__dict__ == {"tag": 1} and Jitted.__doc__ == "A jitted function of the tests."
    assert isinstance(function, native.JitBase) and Jitted.__name__ == "Jitted"
    assert type(pickle.loads(pickle.dumps(Jitted(len)))) is Jitted

    class Owner:
        method = Jitted(lambda self, *args: (self, args))

    owner = Owner()
    bound = owner.method
    assert bound.__self__ is owner and bound(1) == owner.method(1) == (owner, (1,))
    assert Owner.method.__class__ is Jitted
    # Native entries see the instance as their first argument.
    unary(StaticLeaf(owner), OutObject("native")).publish(Owner.method)
    assert owner.method() == bound() == Owner.method(owner) == "native"


def test_a_subclass_in_python_still_calls() -> None:
    class Child(Jitted):
        pass

    child = Child(len)
    assert child("abc") == 3 and child.report() == "report"
    linked = unary(ScalarLeaf("int"), OutObject("native"))
    linked.publish(child)
    assert child("abc") == 3
    # Where a subclass has no vectorcall of its own CPython calls the slow path: no wrong answer.
    child._slow = lambda value: "native"
    assert child(3) == "native"


def test_cycles_are_collected_with_their_code() -> None:
    def cyclic() -> tuple[weakref.ref[Any], weakref.ref[Any]]:
        function, linked = Jitted(np.add), adder()
        linked.publish(function)
        function.me = function
        function._slow = lambda *args: function
        return weakref.ref(function), weakref.ref(linked.library)

    dead = cyclic()
    gc.collect()
    assert [ref() for ref in dead] == [None, None]


def test_a_plain_class_takes_no_entries() -> None:
    class Plain(native.JitBase):
        pass

    plain = Plain(lambda *args: "slow")
    assert plain(1) == "slow"
    with pytest.raises(TypeError, match="takes no native entries"):
        unary(ScalarLeaf("int")).publish(plain)


def test_everything_but_speed_is_left_where_the_fast_path_is_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = EntrySpec(((Positional(0), ScalarLeaf("int")),), 1, outputs=(OutLeaf(0),))
    library = Linked(spec).library
    monkeypatch.setattr(native, "_environment", lambda: "a reason")
    assert not native.available() and native.why_not() == "a reason"

    @native.jit_type
    class Plain(native.JitBase):
        pass

    entry = native.python_entry(spec, library.address("program"))

    class Owner:
        method = Plain(lambda self, value: entry(value))

    assert Plain(entry)(3) == Owner().method(3) == 3
    assert Plain(entry)(3.0) is native.MISS
    with pytest.raises(RuntimeError, match="a reason"):
        native.entry_ir(spec, "program", "entry")


def test_a_surprising_layout_turns_the_fast_path_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert native.why_not() == ""
    shifted = dataclasses.replace(reflect.reflect_layout(), array_data=24)
    with pytest.raises(reflect.LayoutError, match="an array reads"):
        reflect._check(shifted)
    monkeypatch.setattr("platform.machine", lambda: "vax")
    with pytest.raises(reflect.LayoutError, match="vax"):
        reflect.reflect_layout()


def test_a_spec_is_checked_when_it_is_made() -> None:
    leaf = ArrayLeaf(F8, ("n",))
    with pytest.raises(ValueError, match="no leaf binds: m"):
        EntrySpec(((Positional(0), leaf),), 1, outputs=(OutArray(F8, (M,)),))
    with pytest.raises(ValueError, match="no argument 1"):
        EntrySpec(((Positional(1), leaf),), 1, outputs=(OutObject(None),))
    with pytest.raises(ValueError, match="no leaf 1"):
        EntrySpec(((Positional(0), leaf),), 1, outputs=(OutLeaf(1),))
    with pytest.raises(ValueError, match="exactly one output"):
        EntrySpec(((Positional(0), leaf),), 1)
    with pytest.raises(ValueError, match="layout A"):
        ArrayLeaf(F8, ("n",), "A")
