"""Neighbouring short reductions folded together: native code and the reference, bit for bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

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
    kernel,
    load,
    output,
    run_both,
    values,
)
from tracejit.codegen.affine import Offsets
from tracejit.codegen.kernel.row_reduce import plan_rows
from tracejit.ir.dims import Dim, floordiv, mod, symbol
from tracejit.ir.kernel import (
    Expr,
    For,
    IndexValue,
    Kernel,
    Let,
    Load,
    Param,
    Reduce,
    Stmt,
    Store,
    Target,
    Var,
)
from tracejit.ir.types import DTYPES

#: Lengths of rows and numbers of rows around the multiples of every width.
LENGTHS = (9, 12, 15, 16, 17, 27, 31, 32, 33, 48, 64)
COUNTS = (0, 1, 3, 4, 7, 8, 11, 16, 17, 27, 40)


def rows(
    length: int,
    dtype: str = "f32",
    combine: str = "sum",
    result: str = "",
    term: Expr | None = None,
    after: tuple[Stmt, ...] = (),
    count: Dim = N,
    **more: object,
) -> For:
    """out[i] = combine(a[i, :]) for i in range(n)."""
    term = load("a", P, Q, dtype=dtype) if term is None else term
    result = result or dtype
    target = Target("r", combine, result, term)
    reduce = Reduce("j", length, (), (target,), vector=True)
    reduce = replace(reduce, **more)  # type: ignore[arg-type]
    return For("i", count, (reduce, *(after or (Store("out", (P,), Var("r", result)),))))


def of_rows(loop: For, dtype: str = "f32", result: str = "", **shapes: tuple[Dim, ...]) -> Kernel:
    """The kernel of such a loop: `a` has its rows, `b` is as long as one."""
    (reduce, *_) = loop.body
    assert isinstance(reduce, Reduce)
    sizes: dict[str, tuple[Dim, ...]] = {"a": (loop.size, reduce.size), "b": (reduce.size,)}
    params = [Param(name, dtype, shape) for name, shape in {**sizes, **shapes}.items()]
    return kernel([*params, output(result or dtype, loop.size)], loop)


def is_grouped(k: Kernel, target: str = "512-masked") -> bool:
    (loop,) = k.body
    assert isinstance(loop, For)
    return plan_rows(loop, Offsets(k), TARGETS[target]) is not None


def check(k: Kernel, target: str, n: int, length: int, seed: int = 0) -> Array:
    """Compare with the reference; the result."""
    dtypes = {p.name: DTYPES[p.dtype] for p in k.params}
    a = values(k.params[0].dtype, n * length, seed)
    b = values(k.params[0].dtype, length, seed + 1)
    if a.dtype.kind == "f":
        a[:: max(1, len(a) // 5)] = -0.0
    buffers = {"a": a, "b": b, "out": np.zeros(n, dtypes["out"])}
    return run_both(k, target, buffers, {"n": n, "m": n})["out"]


@pytest.mark.sampled(10)
@every_target
@pytest.mark.parametrize("length", LENGTHS)
def test_any_length_and_number_of_rows(length: int, target: str) -> None:
    k = of_rows(rows(length))
    assert is_grouped(k)
    for n in COUNTS:
        check(k, target, n, length)


@pytest.mark.sampled(8)
@every_target
@pytest.mark.parametrize("count", COUNTS[1:])
def test_a_known_number_of_rows(count: int, target: str) -> None:
    """The last ones may be a group too, of which some lanes have no row."""
    k = of_rows(rows(16, count=count))
    assert is_grouped(k) == (count >= 8)
    check(k, target, count, 16)


@pytest.mark.sampled(10, kind=lambda combine, **_: combine)
@every_target
@pytest.mark.parametrize(
    ("dtype", "result", "combine"),
    [
        ("f64", "f64", "sum"),
        ("f32", "f64", "sum"),
        ("f16", "f32", "sum"),
        ("i32", "i32", "sum"),
        ("i64", "i64", "prod"),
        ("f32", "f32", "min"),
        ("f64", "f64", "max"),
        ("u16", "u16", "max"),
        ("f16", "f16", "max"),
    ],
)
def test_every_combination(dtype: str, result: str, combine: str, target: str) -> None:
    for length in (16, 27):
        k = of_rows(rows(length, dtype, combine, result), dtype, result)
        for n in (5, 16, 39):
            check(k, target, n, length)


@every_target
def test_no_sum_of_a_row_is_a_negative_zero(target: str) -> None:
    for length in (16, 20, 64):
        k = of_rows(rows(length))
        a, out = np.full(32 * length, -0.0, np.float32), np.zeros(32, np.float32)
        a[:length] = np.where(np.arange(length) % 2, 1.0, -1.0)[::-1]
        got = run_both(k, target, {"a": a, "b": a, "out": out}, {"n": 32, "m": 0})["out"]
        assert not np.signbit(got[1:]).any()


@every_target
def test_special_values(target: str) -> None:
    k = of_rows(rows(16))
    rng = np.random.default_rng(4)
    some = np.array([0.0, -0.0, 1e38, -1e38, np.inf, -np.inf, np.nan, 1e-45, 1.0], np.float32)
    for _ in range(20):
        a = rng.choice(some, 48 * 16, p=[0.2, 0.2, 0.1, 0.1, 0.02, 0.02, 0.02, 0.14, 0.2])
        out = np.zeros(48, np.float32)
        run_both(k, target, {"a": a, "b": a, "out": out}, {"n": 48, "m": 0})


@every_target
def test_a_body_and_what_follows(target: str) -> None:
    """Terms of the row, of the element and of both; the result is computed with, per row."""
    length, x, y = 24, Var("x", "f32"), Var("y", "f32")
    body = (
        Let(
            "x",
            "f32",
            call("multiply", load("a", P, Q, dtype="f32"), load("b", Q, dtype="f32"), dtype="f32"),
        ),
        Let("y", "f32", call("add", x, load("a", P, 0, dtype="f32"), dtype="f32")),
    )
    place = call("cast", IndexValue(P), dtype="f32")
    row = call("multiply", Var("r", "f32"), place, dtype="f32")
    after = (
        Let("z", "f32", call("subtract", row, load("a", P, 1, dtype="f32"), dtype="f32")),
        Store("out", (P,), Var("z", "f32")),
    )
    k = of_rows(rows(length, term=call("multiply", x, y, dtype="f32"), after=after, body=body))
    assert is_grouped(k)
    for n in COUNTS:
        check(k, target, n, length)


@every_target
def test_several_targets(target: str) -> None:
    """Results that a row has two of, in two buffers."""
    length, x = 16, load("a", P, Q, dtype="f32")
    targets = (Target("r", "sum", "f32", x), Target("s", "max", "f32", x))
    after = (
        Store("out", (P,), Var("r", "f32")),
        Store("more", (N - 1 - P,), Var("s", "f32")),
    )
    loop = rows(length, after=after, targets=targets)
    k = kernel(
        [Param("a", "f32", (N, length)), output("f32"), Param("more", "f32", (N,), output=True)],
        loop,
    )
    assert is_grouped(k)
    for n in COUNTS:
        a, out = values("f32", n * length), np.zeros(n, np.float32)
        run_both(k, target, {"a": a, "out": out, "more": out.copy()}, {"n": n, "m": 0})


@every_target
def test_places_that_are_divided(target: str) -> None:
    """Rows of windows: where a row lies is a quotient and a remainder of its number."""
    length = 16
    term = Load("a", (floordiv(P, 5) * 3 + mod(P, 5), Q), "f32")
    k = of_rows(rows(length, term=term))
    assert is_grouped(k)
    for n in COUNTS:
        check(k, target, n, length)


@every_target
def test_rows_in_an_outer_loop(target: str) -> None:
    """out[m, i] = sum(a[i, :] * c[m, :]), and the rows are gathered."""
    length, outer = 16, symbol("l")
    place = Let("p", "i64", call("add", IndexValue(Q), IndexValue(0 * Q), dtype="i64"))
    term = call(
        "multiply",
        load("a", P, symbol("p"), dtype="f32"),
        load("c", outer, Q, dtype="f32"),
        dtype="f32",
    )
    inner = rows(
        length, term=term, body=(place,), after=(Store("out", (outer, P), Var("r", "f32")),)
    )
    k = kernel(
        [
            Param("a", "f32", (N, length)),
            Param("c", "f32", (M, length)),
            output("f32", M, N),
        ],
        For("l", M, (inner,)),
    )
    for n, m in ((3, 2), (16, 3), (40, 1), (18, 4), (16, 0)):
        a, c, out = values("f32", n * length), values("f32", m * length, 1), values("f32", n * m)
        run_both(k, target, {"a": a, "c": c, "out": out}, {"n": n, "m": m})


X = load("a", P, Q, dtype="f32")
NOT_GROUPED = {
    "written out": of_rows(rows(8)),
    "longer": of_rows(rows(65)),
    "of unknown length": of_rows(rows(M)),  # type: ignore[arg-type]
    "positions": of_rows(rows(16, combine="argmax", result="i64"), result="i64"),
    "chained": of_rows(rows(16, combine="prod")),
    "blocks": of_rows(rows(16, lanes=8, block=8)),
    "one place": of_rows(rows(16, after=(Store("out", (0,), Var("r", "f32")),))),
    "truths": of_rows(rows(16, "b1", "any"), "b1"),
    "a loop behind": of_rows(rows(16, after=(For("l", 3, (Store("out", (P,), X),)),))),
    "a checked index": of_rows(
        rows(
            16,
            term=call("add", X, Var("x", "f32"), dtype="f32"),
            body=(
                Let("p", "i64", call("wrap_index", IndexValue(Q), IndexValue(N), dtype="i64")),
                Let("x", "f32", load("b", symbol("p"), dtype="f32")),
            ),
        )
    ),
}


@pytest.mark.parametrize("case", NOT_GROUPED)
def test_other_rows_run_by_themselves(case: str) -> None:
    assert not is_grouped(NOT_GROUPED[case])


@pytest.mark.parametrize(("target", "width"), [("512-masked", 16), ("256", 8), ("128", 4)])
def test_results_are_stored_as_vectors(target: str, width: int) -> None:
    text = compiled(of_rows(rows(16)), target).text
    assert f"store <{width} x float>" in text
    # Each instruction of a fold serves as many lanes as there are.
    assert text.count("fadd <2 x float>") <= 1
