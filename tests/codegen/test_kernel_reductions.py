"""Reductions of kernels: machine code against the reference and NumPy, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_same
from tests.support.native_kernels import (
    TARGETS,
    Array,
    M,
    N,
    P,
    Q,
    call,
    compiled,
    every_target,
    inputs,
    kernel,
    load,
    output,
    run_both,
    same_bits,
    values,
)
from tracejit.codegen.kernel.function import emit_kernel
from tracejit.codegen.llvm.text import Module
from tracejit.codegen.reference import print_kernel
from tracejit.ir.dims import Dim, symbol
from tracejit.ir.kernel import (
    Call,
    Const,
    Expr,
    For,
    IndexValue,
    Kernel,
    Let,
    Load,
    Param,
    Reduce,
    Store,
    Target,
    Var,
)
from tracejit.ir.types import DTYPES

# Reductions.

SIZES = (0, 1, 2, 7, 8, 9, 63, 64, 65, 100, 1023, 1024, 1025, 2048, 3200, 5 * 1024 + 17)


def reduction(combine: str, dtype: str, vector: bool, lanes: int = 64, block: int = 1024) -> Kernel:
    """out[()] = combine(a)."""
    result = "i64" if combine.startswith("arg") else dtype
    target = Target("r", combine, result, load("a", P, dtype=dtype))
    reduce = Reduce("i", N, (), (target,), lanes, block, vector)
    return kernel([*inputs(dtype), output(result, 1)], reduce, Store("out", (0,), Var("r", result)))


def whole(combine: str, a: Array) -> Any:
    """NumPy's reduction in the dtype of `a`."""
    if combine in ("sum", "prod"):
        with np.errstate(all="ignore"):
            return getattr(np, combine)(a, dtype=a.dtype)
    return getattr(np, combine)(a)


@pytest.mark.sampled(24, kind=lambda combine, dtype, **_: combine + dtype)
@every_target
@pytest.mark.parametrize("vector", (True, False))
@pytest.mark.parametrize("dtype", ("f64", "f32", "f16", "i64", "u8"))
@pytest.mark.parametrize("combine", ("sum", "prod"))
def test_sums_and_products(combine: str, dtype: str, vector: bool, target: str) -> None:
    k = reduction(combine, dtype, vector)
    for n in SIZES:
        a = values(dtype, n)
        if combine == "prod" and a.dtype.kind == "f":
            a = (1 + a / 64).astype(a.dtype)
        out = run_both(k, target, {"a": a, "out": np.zeros(1, a.dtype)}, {"n": n, "m": 0})["out"]
        if a.dtype.kind == "f":
            eps = float(np.finfo(a.dtype).eps)
            if combine == "sum":
                exact = a.astype(np.longdouble).sum()
                assert abs(float(out[0] - exact)) <= 40 * eps * float(np.abs(a).sum()) + 1e-30
            elif dtype != "f16":
                exact = a.astype(np.longdouble).prod()
                assert abs(float(out[0] / exact) - 1) <= n * eps
        else:
            assert out[0] == whole(combine, a)


@pytest.mark.sampled(6)
@every_target
@pytest.mark.parametrize("vector", (True, False))
@pytest.mark.parametrize("name, dtype", (("bitwise_xor", "u16"), ("fmax", "f64"), ("gcd", "i32")))
def test_scalar_functions_with_an_identity(
    name: str, dtype: str, vector: bool, target: str
) -> None:
    identity = float("-inf") if dtype == "f64" else 0
    term = Target("r", name, dtype, load("a", P, dtype=dtype), identity)
    reduce = Reduce("i", N, (), (term,), vector=vector)
    k = kernel([*inputs(dtype), output(dtype, 1)], reduce, Store("out", (0,), Var("r", dtype)))
    for n in SIZES[:-3]:
        a = values(dtype, n) // 2 * 2
        out = run_both(k, target, {"a": a, "out": np.zeros(1, a.dtype)}, {"n": n, "m": 0})["out"]
        assert out[0] == getattr(np, name).reduce(a, initial=identity)


@pytest.mark.sampled(24, kind=lambda combine, dtype, **_: combine + dtype)
@every_target
@pytest.mark.parametrize("dtype", ("f64", "f32", "f16", "i64", "i8", "u16", "b1"))
@pytest.mark.parametrize("combine", ("min", "max", "argmin", "argmax"))
def test_extremes(combine: str, dtype: str, target: str) -> None:
    """With ties and NaN; positions are of the first occurrence."""
    k = reduction(combine, dtype, vector=True)
    for n in SIZES[1:-2]:
        a = values(dtype, n)
        tied = {"f": np.round, "b": np.invert}.get(a.dtype.kind, lambda x: x % 3)
        cases = [a, np.zeros_like(a), tied(a)]
        for spot in range(0, n, 700):
            extreme = np.zeros_like(a)
            extreme[spot:] = 1
            cases += [extreme, 1 - extreme if a.dtype.kind != "b" else ~extreme]
        if a.dtype.kind == "f":
            for spot in (0, n // 2, n - 1):
                with_nan = a.copy()
                with_nan[spot:] = np.nan
                cases += [with_nan, np.full_like(a, -np.inf), np.full_like(a, np.inf)]
        for case in cases:
            result = np.zeros(1, np.int64 if combine.startswith("arg") else a.dtype)
            buffers = {"a": case, "out": result}
            assert compiled(k, target)(buffers, {"n": n, "m": 0}) == 0
            assert same_bits(result[0:1], np.array([whole(combine, case)]), zero_signs=False)


@pytest.mark.sampled(12)
@every_target
@pytest.mark.parametrize("combine", ("any", "all", "min", "max"))
def test_truth(combine: str, target: str) -> None:
    k = reduction(combine, "b1", vector=True)
    for n in SIZES[:-2]:
        last = np.arange(n) == n - 1
        for a in (np.zeros(n, bool), np.ones(n, bool), values("b1", n), last, ~last):
            if n == 0 and combine in ("min", "max"):
                continue
            out = run_both(k, target, {"a": a, "out": np.zeros(1, bool)}, {"n": n, "m": 0})
            assert out["out"][0] == whole(combine, a)


@pytest.mark.sampled(6)
@every_target
@pytest.mark.parametrize("lanes, block", ((1, 1024), (1, 8), (8, 32), (2, 1024), (128, 256)))
@pytest.mark.parametrize("vector", (True, False))
def test_any_lanes_and_blocks(lanes: int, block: int, vector: bool, target: str) -> None:
    """The order follows the parameters, not the width: the reference has the same bits."""
    k = reduction("sum", "f32", vector, lanes, block)
    for n in (0, 1, 31, 32, 33, 64, 96, 257, 1100):
        a = values("f32", n)
        run_both(k, target, {"a": a, "out": np.zeros(1, np.float32)}, {"n": n, "m": 0})


@every_target
def test_no_sum_is_a_negative_zero(target: str) -> None:
    k = reduction("sum", "f64", vector=True)
    for n in (0, 1, 5, 70, 2000):
        a = np.full(n, -0.0)
        out = run_both(k, target, {"a": a, "out": np.ones(1)}, {"n": n, "m": 0})["out"]
        assert out[0] == 0 and not np.signbit(out[0])


@pytest.mark.sampled(6)
@every_target
@pytest.mark.parametrize("heavy", (False, True))
def test_several_targets_over_a_body(heavy: bool, target: str) -> None:
    """Sum, maximum, position and truth of one pass that also stores; light and heavy bodies."""
    x: Expr = load("a", P)
    for _ in range(12 if heavy else 1):
        x = call("multiply", call("add", x, Const(0.25, "f64")), Const(0.75, "f64"))
    body = (Let("x", "f64", x), Store("out", (P,), Var("x", "f64")))
    targets = (
        Target("total", "sum", "f64", Var("x", "f64")),
        Target("narrow", "sum", "f32", Var("x", "f64")),
        Target("top", "max", "f64", Var("x", "f64")),
        Target("where", "argmin", "i64", Var("x", "f64")),
        Target(
            "positive", "all", "b1", call("greater", Var("x", "f64"), Const(0, "f64"), dtype="b1")
        ),
    )
    names = {t.name: "b1" if t.combine == "all" else t.dtype for t in targets}
    outputs = [Param(f"o_{name}", dtype, (), output=True) for name, dtype in names.items()]
    stores = [Store(f"o_{name}", (), Var(name, dtype)) for name, dtype in names.items()]
    reduce = Reduce("i", N, body, targets, vector=True)
    k = kernel([*inputs("f64"), output(), *outputs], reduce, *stores)
    for n in (1, 7, 64, 65, 1024, 2100):
        a = values("f64", n)
        buffers = {"a": a, "out": np.zeros(n)}
        buffers |= {f"o_{name}": np.zeros(1, DTYPES[dtype]) for name, dtype in names.items()}
        out = run_both(k, target, buffers, {"n": n, "m": 0})
        assert out["o_top"][0] == out["out"].max()
        assert out["o_where"][0] == out["out"].argmin()
        assert np.isclose(out["o_total"][0], out["out"].sum())


@pytest.mark.sampled(4)
@every_target
@pytest.mark.parametrize("lanes", (1, 4, 64))
def test_reduction_inside_lanes(lanes: int, target: str) -> None:
    """Over the outer axis: each lane of the enclosing loop has a reduction of its own."""
    targets = (
        Target("total", "sum", "f64", load("a", Q, P)),
        Target("where", "argmax", "i64", load("a", Q, P)),
    )
    reduce = Reduce("j", M, (), targets, lanes=lanes, block=128)
    mean = call("divide", Var("total", "f64"), call("cast", IndexValue(M)))
    body = (reduce, Store("out", (P,), mean), Store("spot", (P,), Var("where", "i64")))
    params = [Param("a", "f64", (M, N)), output(), Param("spot", "i64", (N,), output=True)]
    k = kernel(params, For("i", N, body, True))
    for m, n in ((1, 3), (5, 1), (3, 8), (130, 21), (300, 33)):
        a = values("f64", m * n)
        buffers = {"a": a, "out": np.zeros(n), "spot": np.zeros(n, np.int64)}
        out = run_both(k, target, buffers, {"n": n, "m": m})
        assert np.allclose(out["out"], a.reshape(m, n).mean(axis=0))
        assert np.array_equal(out["spot"], a.reshape(m, n).argmax(axis=0))


@every_target
def test_reduction_inside_a_scalar_loop(target: str) -> None:
    """Over the inner axis, one row at a time, and a value that uses the result twice."""
    reduce = Reduce("i", N, (), (Target("s", "sum", "f64", load("a", Q, P)),), vector=True)
    square = call("multiply", Var("s", "f64"), Var("s", "f64"))
    k = kernel(
        [Param("a", "f64", (M, N)), output("f64", M)],
        For("j", M, (reduce, Store("out", (Q,), square))),
    )
    for m, n in ((0, 4), (3, 0), (2, 3), (5, 64), (3, 1500)):
        a = values("f64", m * n)
        out = run_both(k, target, {"a": a, "out": np.ones(m)}, {"n": n, "m": m})
        assert np.allclose(out["out"], a.reshape(m, n).sum(axis=1) ** 2)


@pytest.mark.sampled(40)
@every_target
@pytest.mark.parametrize("lanes", (64, 4, 1))
@pytest.mark.parametrize("size", (1, 2, 3, 4, 7, 8, 9, 16, 30, 63, 64, 77, 130))
def test_short_last_axis(size: int, lanes: int, target: str) -> None:
    """Up to 8 are written out, while the rows run in lanes; of more, the last vectors of a row."""
    x = load("a", Q, P, dtype="f32")
    scaled = call("multiply", x, call("cast", IndexValue(P + 1), dtype="f32"), dtype="f32")
    targets = (
        Target("total", "sum", "f32", scaled),
        Target("top", "max", "f32", x),
        Target("spot", "argmin", "i64", x),
    )
    reduce = Reduce("i", size, (), targets, lanes, 64, vector=True)
    names = {"total": "f32", "top": "f32", "spot": "i64"}
    stores = [Store(f"o_{name}", (Q,), Var(name, dtype)) for name, dtype in names.items()]
    outputs = [Param(f"o_{name}", dtype, (M,), output=True) for name, dtype in names.items()]
    k = kernel([Param("a", "f32", (M, size)), *outputs], For("j", M, (reduce, *stores)))
    for m in (0, 1, 5, 16, 37):
        a = values("f32", m * size)
        a[3::7] = np.nan
        a[5::11] = -0.0
        buffers = {"a": a} | {f"o_{name}": np.zeros(m, DTYPES[d]) for name, d in names.items()}
        out = run_both(k, target, buffers, {"n": 0, "m": m})
        rows = a.reshape(m, size)
        assert np.array_equal(out["o_spot"], rows.argmin(axis=1) if m else np.zeros(0, np.int64))
        assert same_bits(out["o_top"], rows.max(axis=1), zero_signs=False)


@pytest.mark.sampled(8)
@every_target
@pytest.mark.parametrize("size", (None, 5, 12, 16, 30, 40, 64))
@pytest.mark.parametrize("heavy", (False, True))
def test_the_end_of_a_row(size: int | None, heavy: bool, target: str) -> None:
    """Fewer elements than lanes are left over, of a size that is known or not."""
    term = x = load("a", P)
    for _ in range(12 if heavy else 1):
        term = call("multiply", term, call("add", x, Const(0.5, "f64")))
    targets = (Target("s", "sum", "f64", term), Target("top", "max", "f64", x))
    reduce = Reduce("i", N if size is None else size, (), targets, vector=True)
    stores = [Store("out", (0,), Var("s", "f64")), Store("most", (0,), Var("top", "f64"))]
    k = kernel(
        [
            Param("a", "f64", (reduce.size,)),
            output("f64", 1),
            Param("most", "f64", (1,), output=True),
        ],
        reduce,
        *stores,
    )
    for n in (1, 3, 8, 9, 31, 56, 63, 65, 100, 520) if size is None else (size,):
        a = values("f64", n)
        a[::5] = -0.0
        buffers = {"a": a, "out": np.zeros(1), "most": np.zeros(1)}
        out = run_both(k, target, buffers, {"n": n, "m": 0})
        assert out["most"][0] == a.max()


@every_target
def test_nested_reductions(target: str) -> None:
    """A product of row sums: the inner reduction runs in the body of the outer one."""
    inner = Reduce("i", N, (), (Target("s", "sum", "f64", load("a", Q, P)),), vector=True)
    outer = Reduce("j", M, (inner,), (Target("p", "prod", "f64", Var("s", "f64")),), lanes=1)
    k = kernel(
        [Param("a", "f64", (M, N)), output("f64", 1)], outer, Store("out", (0,), Var("p", "f64"))
    )
    for m, n in ((0, 2), (1, 1), (3, 70)):
        a = values("f64", m * n)
        out = run_both(k, target, {"a": a, "out": np.ones(1)}, {"n": n, "m": m})
        assert np.allclose(out["out"][0], a.reshape(m, n).sum(axis=1).prod())


def test_known_sizes_leave_out_what_they_do_not_need() -> None:
    """No remainder for whole multiples, no errors of additions for one block."""
    target = TARGETS["512-masked"]
    texts = []
    for size in (64, 65, 2048):
        reduce = Reduce("i", size, (), (Target("s", "sum", "f64", load("a", P)),), vector=True)
        k = kernel(
            [Param("a", "f64", (size,)), output("f64", 1)],
            reduce,
            Store("out", (0,), Var("s", "f64")),
        )
        module = Module(target)
        emit_kernel(k, module, target)
        texts.append(module.text())
    assert ["masked" in text for text in texts] == [False, True, True]
    assert ["fsub" in text for text in texts] == [False, False, True]


@every_target
@pytest.mark.parametrize(
    ("lanes", "block", "vector"), ((1, 32, False), (8, 32, False), (8, 32, True))
)
def test_quotients_of_the_position(lanes: int, block: int, vector: bool, target: str) -> None:
    """b walks by rows of 5 elements and m columns; blocks begin within rows."""
    place = 7 * symbol("q") + P - 5 * symbol("q") + symbol("p")
    term = Call("multiply", (load("a", P), Load("b", (place,), "f64")), "f64")
    reduce = Reduce(
        "i",
        N,
        (),
        (Target("s", "sum", "f64", term),),
        lanes,
        block,
        vector,
        (("q", 5), ("p", M)),
    )
    store = Store("out", (0,), Var("s", "f64"))
    longer = Param("b", "f64", (3 * N + 8,))
    k = kernel([*inputs("f64"), longer, output("f64", 1)], reduce, store)
    for n, m in ((0, 3), (1, 1), (4, 2), (33, 6), (100, 40), (257, 1)):
        a, b = values("f64", n), values("f64", 3 * n + 8)
        run_both(k, target, {"a": a, "b": b, "out": np.zeros(1)}, {"n": n, "m": m})


def test_the_print_is_plain_python() -> None:
    k = reduction("sum", "f64", vector=True)
    assert print_kernel(k) == (
        "def k(a, out, n, m):\n"
        "    def terms(i):\n"
        "        pass\n"
        "        return (a[i],)\n"
        "    r, = reduce(terms, n, [('sum', np.float64)], lanes=64, block=1024)  # vector\n"
        "    out[0] = r\n"
    )


@every_target
@pytest.mark.parametrize("combine", ["max", "argmax"])
def test_positions_of_two_loops_that_are_the_same_number(combine: str, target: str) -> None:
    """Both loops stand at 0 first, the outer one in lanes."""

    def at(a: Dim, b: Dim) -> Expr:
        same = call("equal", IndexValue(a), IndexValue(b), dtype="b1")
        return call("cast", same, dtype="f64")

    term = call("add", at(1 - P, Q), call("multiply", at(P, Q), Const(2.0, "f64")))
    result = "i64" if combine == "argmax" else "f64"
    reduce = Reduce("j", 2, (), (Target("r", combine, result, term),))
    loop = For("i", 2, (reduce, Store("out", (P,), Var("r", result))), vector=True)
    out = np.zeros(2, DTYPES[result])
    got = run_both(kernel([output(result, 2)], loop), target, {"out": out}, {"n": 0, "m": 0})
    np.testing.assert_array_equal(got["out"], [0, 1] if combine == "argmax" else [2, 2])


def _positive(x: Any) -> Any:
    y = x > 0
    return y, np.any(y), np.all(y)


def _rows_positive(x: Any) -> Any:
    y = x > 0
    return y, np.any(y, axis=1), y.argmax(axis=1)


def _some(x: Any, i: Any) -> Any:
    return np.any(x[i] > 0)


def _first(x: Any, i: Any) -> Any:
    return np.argmax(x[i] > 0)


def test_what_is_stored_on_the_way_is_stored_whole() -> None:
    x = np.arange(60_000).reshape(20, 3000) % 7 - 3
    for f in (_positive, _rows_positive):
        for v in (x, x[:, ::2], np.asfortranarray(x)):
            assert_same(f(v), tracejit.jit(f)(v))


@pytest.mark.parametrize("f", [_some, _first])
def test_an_index_out_of_range_is_found_behind_what_decides(f: Any) -> None:
    jitted, x = tracejit.jit(f), np.ones(5)
    i = np.zeros(9000, np.int64)
    assert_same(f(x, i), jitted(x, i))
    i[-1] = 5
    with pytest.raises(IndexError):
        jitted(x, i)


@pytest.mark.sampled(18)
@every_target
@pytest.mark.parametrize("dtype", ("b1", "u8", "f64"))
@pytest.mark.parametrize("bound", (True, False))
def test_counts_of_truths(dtype: str, bound: bool, target: str) -> None:
    a = load("a", P, dtype=dtype)
    truth = a if dtype == "b1" else call("not_equal", a, Const(0, dtype), dtype="b1")
    number = call("cast", truth, dtype="i64")
    body = (Store("kept", (P,), truth), Let("t", "i64", number)) if bound else ()
    term = Target("r", "sum", "i64", Var("t", "i64") if bound else number)
    params = (*inputs(dtype), Param("kept", "b1", (N,), output=True), output("i64", 1))
    k = kernel(
        params, Reduce("i", N, body, (term,), vector=True), Store("out", (0,), Var("r", "i64"))
    )
    for n in SIZES:
        x = values(dtype, n) if dtype == "b1" else values(dtype, n) // 2
        buffers = {"a": x, "kept": np.zeros(n, bool), "out": np.zeros(1, np.int64)}
        out = run_both(k, target, buffers, {"n": n, "m": 0})
        assert out["out"][0] == np.count_nonzero(x)
        assert np.array_equal(out["kept"], x != 0) or not bound


def _decisions(x: Any, y: Any) -> Any:
    products = x @ y.T, np.linalg.vecdot(x, y), np.linalg.vecdot(x, y, axis=0)
    return (
        products,
        np.any(x & y, axis=0),
        np.all(x | y, axis=1),
        x.argmax(axis=0),
        x.argmin(axis=1),
    )


@pytest.mark.parametrize("share", (0.0, 0.03, 0.5, 1.0))
def test_truths_decide_soon_or_late_however_they_lie(share: float) -> None:
    jitted, draw = tracejit.jit(_decisions), np.random.default_rng(4)
    for shape in ((3, 5), (40, 130), (130, 33)):
        x, y = draw.random((2, *shape)) < share
        for lay in (np.array, np.asfortranarray, lambda a: np.repeat(a, 2, axis=-1)[:, ::2]):
            assert_same(_decisions(lay(x), lay(y)), jitted(lay(x), lay(y)))
