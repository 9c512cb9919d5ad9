"""What native entries accept, against `PythonEntry`, their definition."""

import itertools
import pickle
from typing import Any

import numpy as np
import pytest

from tests.runtime.native.native_entries import C16, F8, I8, Linked, M, N, unary
from tracejit.frontend.capture.guards import Equal
from tracejit.frontend.capture.paths import Positional
from tracejit.ir.dims import Dim, floordiv, maximum, minimum, mod
from tracejit.runtime import native
from tracejit.runtime.call.entry_spec import (
    ArrayLeaf,
    EntrySpec,
    NpScalarLeaf,
    OutArray,
    OutObject,
    ScalarLeaf,
    SizeGuard,
    k_order,
)

pytestmark = pytest.mark.skipif(not native.available(), reason=native.why_not())


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
    linked = unary(Equal(value))
    assert linked.both(value) is None
    for other in [*SCALARS, OddInt(1), pickle.loads(pickle.dumps(value))]:
        linked.both(other)


def test_an_equal_tuple_with_other_types_is_not_the_constant() -> None:
    linked = unary(Equal((1, (2, "a"))))
    assert linked.both((1, (2, "".join(["a"])))) is None
    for other in ((True, (2, "a")), (1, (2.0, "a")), (1, (2, "b")), (1, (2,)), (1, [2, "a"])):
        assert linked.both(other) is native.MISS


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
