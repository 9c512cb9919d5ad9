"""Results that are views, made by native entries: where they lie, and what keeps them."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.runtime.native.native_entries import C16, F8, I8, N, unary
from tests.runtime.native.test_native_publish import counting
from tests.support.compare import assert_same
from tests.support.layouts import LAYOUTS
from tracejit.ir.dims import symbol
from tracejit.runtime import native
from tracejit.runtime.call.entry_spec import (
    ArrayLeaf,
    Container,
    OutArray,
    OutLeaf,
    OutNpScalar,
    OutPyScalar,
    OutView,
)

pytestmark = pytest.mark.skipif(not native.available(), reason=native.why_not())

F = Callable[..., Any]
X = np.arange(24.0).reshape(4, 6)

VIEWS: dict[str, F] = {
    "transpose": lambda x: x.T,
    "reversed": lambda x: x[::-1],
    "part": lambda x: x[1:-1, ::2],
    "row": lambda x: x[1],
    "column": lambda x: x[:, -1],
    "nothing": lambda x: x[2:2],
    "an element as an array": lambda x: x[1, 2, ...],
    "reshape": lambda x: x.reshape(2, -1, 2),
    "ravel": lambda x: np.ravel(x),
    "reshape of rows": lambda x: x[::2].reshape(2, 2, 3),
    "reshape in Fortran order": lambda x: np.reshape(x, (8, 3), order="F"),
    "flip": lambda x: np.flip(x),
    "rot90": lambda x: np.rot90(x),
    "diagonal": lambda x: np.diagonal(x),
    "a diagonal above": lambda x: np.diagonal(x, 2)[1:],
    "a diagonal below, backwards": lambda x: np.diagonal(x, -1)[::-1],
    "no diagonal": lambda x: np.diagonal(x, 7),
    "a diagonal of stacked matrices": lambda x: np.diagonal(x[None], 1, 1, 2),
    "a diagonal to store into": lambda x: np.einsum("ii->i", x[:, :4]),
    "diag": lambda x: np.diag(x, 1),
    "real part": lambda x: np.real(x),
    "imaginary part": lambda x: np.imag(x)[1:],
    "expand_dims": lambda x: np.expand_dims(x, (0, 3)),
    "new axes": lambda x: x[:, None, 1:, None],
    "squeeze": lambda x: np.squeeze(x[:, :1]),
    "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "moveaxis": lambda x: np.moveaxis(x[..., None], 0, 1),
    "atleast_3d": lambda x: np.atleast_3d(x),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 4, 6)),
    "broadcast_to of a row": lambda x: np.broadcast_to(x[:1], (3, 6))[1:],
    "broadcast_arrays": lambda x: np.broadcast_arrays(x[0], x),
    "split": lambda x: np.split(x, 2),
    "hsplit": lambda x: np.hsplit(x, [2, 4]),
    "meshgrid": lambda x: np.meshgrid(x[0], x[:, 0], copy=False),
    "several": lambda x: (x[1:], x[:-1], x),
    "rows": lambda x: tuple(x),
    "with a new array": lambda x: (x[1:], x + 1, None),
    "of a new array": lambda x: (x + 1)[1:, ::2],
    "beside its base": lambda x: [(y := x + 1), y.T, y[0], x.T],
    "one array twice": lambda x: ((y := x[1:]), [y, y], (z := x * 2, z)),
    "in containers": lambda x: {"a": x.T, "b": [x[1:], (x, {3: x + 1})], None: "text", "c": ()},
    "view": lambda x: (x.view(), x[1:].view(np.ndarray), x.view(x.dtype)),
    "of views": lambda x: x.T[::-1].reshape(2, -1, 4)[..., ::-1],
    "of what is stored into": lambda x: _stored(x).T,
}


def _stored(x: Any) -> Any:
    y = x[:2]
    z = y + 1
    z[0] = 7
    return z


def _arrays(result: Any) -> list[Any]:
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        return [x for item in result for x in _arrays(item)]
    return [result] if isinstance(result, np.ndarray) else []


def assert_same_views(expected: Any, got: Any, *given: Any) -> None:
    """The same values in the same places, with the same flags and bases."""
    assert_same(expected, got)
    pairs = list(zip(_arrays(expected), _arrays(got), strict=True))
    for old, new in pairs:
        assert type(new) is np.ndarray and new.dtype is old.dtype
        # Reading the flag itself ends the warning of it.
        for name in ("_writeable_no_warn", "c_contiguous", "f_contiguous", "aligned"):
            assert getattr(old.flags, name) == getattr(new.flags, name), name
        long = [k for k, n in enumerate(old.shape) if n > 1 and old.size]
        assert [new.strides[k] for k in long] == [old.strides[k] for k in long]
        if any(np.may_share_memory(old, x) for x in given) and old.size:
            assert new.base is old.base and new.ctypes.data == old.ctypes.data
    for k, (old, new) in enumerate(pairs):
        for other_old, other_new in pairs[:k]:
            assert (old is other_old) == (new is other_new)
            assert np.may_share_memory(old, other_old) == np.may_share_memory(new, other_new)


@pytest.mark.sampled(18)
@pytest.mark.parametrize("name", VIEWS)
def test_views_are_those_of_numpy_without_python(name: str) -> None:
    f = VIEWS[name]
    layouts = [LAYOUTS[k] for k in ("fortran", "strided", "reversed_rows", "inner_block")]
    for values in X, X * (1 + 2j), X.astype(np.int16):
        jitted = tracejit.jit(f)
        with counting(jitted) as calls:
            for layout in (np.copy, *layouts, LAYOUTS["read_only"]):
                x = layout(values)
                for _ in range(3):
                    assert_same_views(f(x), jitted(x), x)
                known = len(calls)
                jitted(x)
                assert len(calls) == known, jitted.report()
        assert not jitted.report().fallbacks


@pytest.mark.parametrize("name", ["transpose", "part", "diag", "new axes", "in containers", "flip"])
def test_one_entry_makes_views_of_all_sizes(name: str) -> None:
    f = VIEWS[name]
    jitted = tracejit.jit(f)
    for shape in ((4, 6), (5, 7), (3, 8), (30, 5)):
        for layout in (np.copy, LAYOUTS["strided"]):
            x = layout(np.arange(float(np.prod(shape))).reshape(shape))
            assert_same_views(f(x), jitted(x), x)
    with counting(jitted) as calls:
        for shape in ((6, 6), (3, 7), (9, 4)):
            x = np.arange(float(np.prod(shape))).reshape(shape)
            assert_same_views(f(x), jitted(x), x)
            x = LAYOUTS["strided"](x)
            assert_same_views(f(x), jitted(x), x)
    assert not calls, jitted.report()


def test_empty_arrays_and_arrays_without_axes() -> None:
    for f in (lambda x: x.T, lambda x: x[..., None], lambda x: (x.reshape(-1), x[...])):
        jitted = tracejit.jit(f)
        for x in (np.zeros((0, 3)), np.zeros((3, 0)), np.array(2.5), np.array(1j)):
            for _ in range(2):
                assert_same_views(f(x), jitted(x), x)


def test_a_warning_stays_with_views_of_repeated_elements() -> None:
    jitted = tracejit.jit(lambda x: (np.broadcast_arrays(x[0], x)[0], x.T))
    for x in (X.copy(), np.broadcast_arrays(X[0], X)[0]):
        for _ in range(2):
            repeated, other = jitted(x)
            with pytest.warns(DeprecationWarning):
                repeated[0] = repeated[0]
            if x.strides[0] == 0:
                with pytest.warns(DeprecationWarning):
                    other[0] = other[0]


def _pick(x: Any, i: Any) -> Any:
    return x[i], x[:, i, ...], x[1:][i][::2]


def test_indices_known_at_run_time() -> None:
    jitted = tracejit.jit(_pick)
    for i in (0, 1, 2, -1, -3, np.int64(1), np.uint8(2)):
        for x in (X, X[:, ::2], X.T):
            assert_same_views(_pick(x, i), jitted(x, i), x)
    with counting(jitted) as calls:
        for i in (0, 2, -2, np.int64(-1)):
            assert_same_views(_pick(X, i), jitted(X, i), X)
        assert not calls and not jitted.report().bailouts
        for i in (3, -4, 2**40, np.int64(3)):
            for f in (_pick, jitted):
                with pytest.raises(IndexError):
                    f(X, i)
    trusting = tracejit.jit(bounds_check=False)(lambda x, i: x[i])
    for i in (0, 1, 2, 3):
        trusting(X, i)
    with pytest.raises(IndexError):
        trusting(X, 4)


def _head(x: Any) -> Any:
    n = int(x[0, 0]) + 1
    return x[:n], x[0, n:][::-1], np.broadcast_to(x[0, 0], (n, 2))


def test_sizes_known_at_run_time() -> None:
    jitted = tracejit.jit(_head)
    assert_same_views(_head(X), jitted(X), X)
    with counting(jitted) as calls:
        for n in (0, 1, 3, 20):
            assert_same_views(_head(X + n), jitted(X + n))
        assert not calls and not jitted.report().bailouts
        for f in (_head, jitted):
            with pytest.raises(ValueError, match="negative|non-negative"):
                f(X - 5)


def test_a_view_that_is_too_large_is_refused() -> None:
    jitted = tracejit.jit(lambda x, n: np.broadcast_to(x, (n, n, 4)))
    for n in (2, 3, 4):
        jitted(X[0, :4], n)
    for n in (2**31, 2**40, 2**62):
        for f in (jitted, jitted.__wrapped__):
            with pytest.raises(ValueError):
                f(X[0, :4], n)


HELD = X.copy()


def _of_held() -> Any:
    return HELD[1:].T


def test_a_view_keeps_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    array = X.copy()
    monkeypatch.setattr(sys.modules[__name__], "HELD", array)
    jitted = tracejit.jit(_of_held)
    with counting(jitted) as calls:
        for _ in range(3):
            view = jitted()
    assert len(calls) == 1 and view.base is array
    monkeypatch.undo()
    base = weakref.ref(array)
    del array
    gc.collect()
    assert base() is view.base and np.array_equal(view, X[1:].T)
    del view
    assert base() is None
    f = lambda x: (x + 1)[::-1]  # noqa: E731
    jitted = tracejit.jit(f)
    for _ in range(2):
        view, expected = jitted(X), f(X)
    counts = sys.getrefcount(view.base), sys.getrefcount(expected.base)
    assert counts[0] == counts[1] and view.base.flags.owndata
    base = weakref.ref(view.base)
    del view
    assert base() is None


@pytest.mark.parametrize("name", ["transpose", "real part", "beside its base", "in containers"])
def test_many_calls_keep_all_reference_counts(name: str) -> None:
    x, z = X.copy(), X[1:] * 1j
    jitted = tracejit.jit(VIEWS[name])
    for _ in range(3):
        jitted(x), jitted(z)
    watched = [x, z, F8, C16, np.ndarray, None, jitted]
    gc.collect()
    before = [sys.getrefcount(obj) for obj in watched]
    blocks = sys.getallocatedblocks()
    for _ in range(50_000):
        jitted(x)
        jitted(z)
    grown = sys.getallocatedblocks() - blocks
    after = [sys.getrefcount(obj) for obj in watched]
    assert all(abs(a - b) < 50 for a, b in zip(after, before, strict=True))
    assert [after[k] for k in (0, 1, 6)] == [before[k] for k in (0, 1, 6)]
    assert grown < 200


def test_threads_share_an_entry() -> None:
    f = VIEWS["in containers"]
    jitted = tracejit.jit(f)
    x = X.copy()
    for _ in range(2):
        jitted(x)
    before = sys.getrefcount(x)
    wrong = []

    def work() -> None:
        for _ in range(2000):
            result = jitted(x)
            if result["a"].base is not x or result["b"][1][0] is not x:
                wrong.append(result)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and sys.getrefcount(x) == before


# Entries by themselves ---------------------------------------------------------------------------


def test_views_of_an_entry_are_those_of_its_definition() -> None:
    views = [
        OutView(0, None, (N,), (8,)),
        OutView(0, None, (N, 2), (-8, 0), N * 8 - 8, False),
        OutView(0, np.dtype(np.float32), (N - 1,), (8,), 4),
        OutView(0, None, (), (), 16, None),
        OutView(1, None, (3, N), (8, 24)),
        OutView(0, None, (symbol("late"),), (8,), sizes=(("late", 2),)),
        OutView(0, None, (1,), (8,), picks=((2, N, 8), (3, N, 8))),
    ]
    outputs = [OutLeaf(0), OutArray(F8, (N, 3)), OutPyScalar("int"), OutNpScalar(I8), *views]
    tree = Container(
        dict,
        (4, Container(list, (5, 4, Container(tuple, (6, 0)))), 7, Container(dict, ()), 8, 9, 10),
        ("a", "b", 3, None, 2.5, True, b"c"),
    )
    linked = unary(ArrayLeaf(F8, ("n",)), *outputs, result=tree)
    x = np.arange(9.0)
    result = linked.both(x)
    assert result["a"] is result["b"][1] and result["b"][2][1] is x
    assert result["a"].base is x and result[2.5].base.flags.owndata
    # The program stores 2 and 3 in these slots.
    assert result[True].shape == (2,) and result[b"c"].tolist() == [5.0]
    watched = x, F8, x.dtype
    before = [sys.getrefcount(obj) for obj in watched]
    blocks = sys.getallocatedblocks()
    for _ in range(2000):
        linked.native(x)
        assert linked.native(x[:3]) is native.BAIL
    assert [sys.getrefcount(obj) for obj in watched] == before
    assert sys.getallocatedblocks() - blocks < 200


def test_sizes_found_late_that_do_not_fit_are_numpys_error() -> None:
    late = symbol("late")
    for shape in ((late * 3 * 2**61,), (late - 4,), (2, late * 2**59)):
        view = OutView(0, None, shape, (0,) * len(shape), sizes=(("late", 2),))
        numbers = OutPyScalar("complex"), OutPyScalar("int")
        linked = unary(ArrayLeaf(F8, ("n",)), OutLeaf(0), *numbers, view, result=3)
        x = np.arange(9.0)
        before = sys.getrefcount(x)
        for _ in range(20):
            # The program stores 3: the size is negative, or far more than 64 bits or memory have.
            with pytest.raises(ValueError):
                linked.native(x)
        assert sys.getrefcount(x) == before


def test_code_grows_by_as_much_with_each_view() -> None:
    def lines(count: int) -> int:
        views = [OutView(0, None, (N,), (8,)) for _ in range(count)]
        spec = unary(ArrayLeaf(F8, ("n",)), OutLeaf(0), *views, result="list").spec
        return native.entry_ir(spec, "program", "entry")[0].count("\n")

    few, more, most = lines(10), lines(30), lines(50)
    assert most - more == more - few
