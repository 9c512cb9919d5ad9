"""Whole kernels: machine code against the reference and NumPy, for every way of cutting a loop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.native_kernels import (
    LENGTHS,
    TARGETS,
    Array,
    M,
    N,
    NativeKernel,
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
from tracejit.codegen.reference import OutOfRange, run_kernel
from tracejit.ir.dims import Dim, floordiv, minimum, mod, symbol
from tracejit.ir.kernel import (
    Carry,
    Const,
    Expr,
    For,
    IndexValue,
    Kernel,
    Let,
    Param,
    ScanLoop,
    Store,
    Var,
)
from tracejit.ir.types import DTYPES

# Elementwise loops and their accesses.


@pytest.mark.sampled(10)
@every_target
@pytest.mark.parametrize("dtype", [name for name in DTYPES if name[0] != "c"])
def test_elementwise_on_every_dtype_and_length(dtype: str, target: str) -> None:
    operation = "logical_xor" if dtype == "b1" else "add"
    expr = call(operation, load("a", P, dtype=dtype), load("b", P, dtype=dtype), dtype=dtype)
    k = kernel(
        [*inputs(dtype, dtype), output(dtype)], For("i", N, (Store("out", (P,), expr),), True)
    )
    for n in LENGTHS:
        a, b = values(dtype, n), values(dtype, n, 1)
        out = run_both(k, target, {"a": a, "b": b, "out": np.zeros_like(a)}, {"n": n, "m": 0})
        want = a ^ b if dtype == "b1" else a + b
        assert same_bits(out["out"], want)


@pytest.mark.sampled(12)
@every_target
@pytest.mark.parametrize("given", ["f64", "f32", "i64", "u8", "b1"])
@pytest.mark.parametrize("gives", ["b1", "f64", "u8"])
def test_results_of_another_size_than_their_operands(given: str, gives: str, target: str) -> None:
    a, b = load("a", P, dtype=given), load("b", P, dtype=given)
    less = call("less", a, b, dtype="b1")
    expr = less if gives == "b1" else call("cast", less, dtype=gives)
    k = kernel(
        [*inputs(given, given), output(gives)], For("i", N, (Store("out", (P,), expr),), True)
    )
    for n in LENGTHS:
        x, y = values(given, n), values(given, n, 1)
        want = (x < y).astype(DTYPES[gives])
        out = run_both(k, target, {"a": x, "b": y, "out": np.zeros_like(want)}, {"n": n, "m": 0})
        assert same_bits(out["out"], want)


ACCESSES: dict[str, tuple[Dim, Callable[[Array, int], Array]]] = {
    "forward": (P, lambda a, n: a[:n]),
    "shifted": (P + 3, lambda a, n: a[3 : 3 + n]),
    "reversed": (N - 1 - P, lambda a, n: a[:n][::-1]),
    "every other": (2 * P, lambda a, n: a[: 2 * n : 2]),
    "odd ones": (2 * P + 1, lambda a, n: a[1 : 2 * n : 2]),
    "every third": (3 * P + 1, lambda a, n: a[1 : 3 * n : 3]),
    "every fourth": (4 * P + 3, lambda a, n: a[3 : 4 * n : 4]),
    "every fifth": (5 * P, lambda a, n: a[: 5 * n : 5]),
    "backwards by two": (2 * N - 2 * P, lambda a, n: a[2 : 2 * n + 2 : 2][::-1]),
    "broadcast": (symbol("m"), lambda a, n: np.full(n, a[2])),
    "runtime stride": (P * M, lambda a, n: a[: 2 * n : 2]),
    "wrapped around": (mod(P, M), lambda a, n: np.resize(a[:2], n)),
    "repeated": (floordiv(P, M), lambda a, n: np.repeat(a, 2)[:n]),
    "clamped": (minimum(P, M), lambda a, n: a[np.minimum(np.arange(n), 2)]),
}


@pytest.mark.sampled(40, kind=lambda access, **_: access)
@every_target
@pytest.mark.parametrize("dtype", ("f64", "f32", "i16", "b1", "f16"))
@pytest.mark.parametrize("access", ACCESSES)
def test_every_access(access: str, dtype: str, target: str) -> None:
    index, expected = ACCESSES[access]
    body = (Store("out", (P,), load("a", index, dtype=dtype)),)
    k = kernel([Param("a", dtype, (N,)), output(dtype)], For("i", N, body, True))
    for n in (0, 1, 5, 8, 17, 40, 129):
        a = values(dtype, 5 * n + 4)
        out = run_both(k, target, {"a": a, "out": np.zeros(n, a.dtype)}, {"n": n, "m": 2})
        assert same_bits(out["out"], expected(a, n))


@every_target
@pytest.mark.parametrize("dtype", ("f64", "i8", "b1"))
def test_every_store(dtype: str, target: str) -> None:
    """Stores forward, reversed, and spread out; what lies between is left alone."""
    for index, place in (
        (P, lambda n: slice(0, n)),
        (N - 1 - P, lambda n: slice(n - 1, None, -1) if n else slice(0, 0)),
        (2 * P + 1, lambda n: slice(1, 2 * n, 2)),
        (3 * P, lambda n: slice(0, 3 * n, 3)),
    ):
        body = (Store("out", (index,), load("a", P, dtype=dtype)),)
        k = kernel([Param("a", dtype, (N,)), output(dtype, 3 * N)], For("i", N, body, True))
        for n in (0, 1, 6, 16, 33, 70):
            a, before = values(dtype, n), values(dtype, 3 * n, 1)
            out = run_both(k, target, {"a": a, "out": before}, {"n": n, "m": 0})
            want = before.copy()
            spots = np.zeros(3 * n, np.int64)
            spots[: 3 * n] = np.arange(3 * n)
            want[spots[:n][::-1] if index == N - 1 - P else spots[place(n)]] = a
            assert same_bits(out["out"], want)


@every_target
def test_both_parts_of_complex_numbers(target: str) -> None:
    """A product of complex arrays: buffers with a last axis of two."""
    pairs = [Param(name, "f64", (N, 2)) for name in "ab"]
    ar, ai = load("a", P, 0), load("a", P, 1)
    br, bi = load("b", P, 0), load("b", P, 1)
    real = call("subtract", call("multiply", ar, br), call("multiply", ai, bi))
    imag = call("add", call("multiply", ar, bi), call("multiply", ai, br))
    body = (Store("out", (P, 0), real), Store("out", (P, 1), imag))
    k = kernel([*pairs, output("f64", N, 2)], For("i", N, body, True))
    for n in (0, 1, 5, 16, 21):
        a, b = values("f64", 2 * n), values("f64", 2 * n, 1)
        out = run_both(k, target, {"a": a, "b": b, "out": np.zeros(2 * n)}, {"n": n, "m": 0})
        want = a.view(complex) * b.view(complex)
        assert np.allclose(out["out"].view(complex), want, rtol=1e-14)


@every_target
def test_two_axes_with_a_row_and_a_column_broadcast(target: str) -> None:
    """Explicit strides, a value that belongs to the outer loop, a stencil over three columns."""
    params = [
        Param("a", "f64", (M, N + 2)),
        Param("row", "f64", (M,), (symbol("s"),)),
        Param("column", "f64", (N,)),
        output("f64", M, N),
    ]
    total = call("add", load("a", Q, P), call("add", load("a", Q, P + 1), load("a", Q, P + 2)))
    scaled = call("multiply", total, call("exp", load("row", Q)))
    body = Store("out", (Q, P), call("add", scaled, load("column", P)))
    inner = For("i", N, (body,), True)
    k = Kernel("k", tuple(params), ("n", "m", "s"), (), (For("j", M, (inner,)),))
    for m, n in ((0, 3), (3, 0), (1, 1), (4, 8), (3, 21)):
        a, row, column = values("f64", m * (n + 2)), np.zeros(5 * m), values("f64", n, 1)
        sizes = {"n": n, "m": m, "s": 5}
        buffers = {"a": a, "row": row, "column": column, "out": np.zeros(m * n)}
        out = run_both(k, target, buffers, sizes)["out"].reshape(m, n)
        rows = a.reshape(m, n + 2)
        want = rows[:, :n] + (rows[:, 1 : n + 1] + rows[:, 2 : n + 2]) + column
        assert same_bits(out, want)


@every_target
def test_scalars_come_by_value(target: str) -> None:
    scalars = (Var("x", "f64"), Var("flag", "b1"), Var("half", "f16"), Var("u", "u8"))
    chosen = call("select", Var("flag", "b1"), Var("x", "f64"), load("a", P))
    more = call("add", chosen, call("cast", Var("half", "f16")))
    body = Store("out", (P,), call("add", more, call("cast", Var("u", "u8"))))
    k = kernel([*inputs("f64"), output()], For("i", N, (body,), True), scalars=scalars)
    a = values("f64", 21)
    for flag in (False, True):
        given = {"x": 2.5, "flag": flag, "half": 0.1, "u": 200}
        out = run_both(k, target, {"a": a, "out": np.zeros(21)}, {"n": 21, "m": 0}, given)
        assert same_bits(out["out"], np.where(flag, 2.5, a) + float(np.float16(0.1)) + 200)


@every_target
def test_index_values_and_lets(target: str) -> None:
    """Positions as numbers, and a shared intermediate."""
    i = call("cast", IndexValue(3 * P + N), dtype="f64")
    body = (
        Let("t", "f64", call("multiply", load("a", P), i)),
        Store("out", (P,), call("add", Var("t", "f64"), Var("t", "f64"))),
    )
    k = kernel([*inputs("f64"), output()], For("i", N, body, True))
    for n in LENGTHS:
        a = values("f64", n)
        out = run_both(k, target, {"a": a, "out": np.zeros(n)}, {"n": n, "m": 0})
        assert same_bits(out["out"], 2 * (a * (3.0 * np.arange(n) + n)))


@every_target
def test_a_shared_expression_is_written_once(target: str) -> None:
    """Also where it reads what the kernel stores, and may not leave the loop."""
    expr: Expr = load("out", P)
    for _ in range(40):
        expr = call("add", expr, expr)
    k = kernel([output()], For("i", N, (Store("out", (P,), expr),), True))
    native = NativeKernel(k, TARGETS[target])
    assert len(native.text.splitlines()) < 2000
    for n in LENGTHS:
        a = values("f64", n)
        assert native({"out": a}, {"n": n, "m": 0}) == 0
        assert same_bits(a, values("f64", n) * 2.0**40)


@every_target
def test_unaligned_buffers_and_aliased_inputs(target: str) -> None:
    expr = call("subtract", load("a", P), load("b", P))
    k = kernel([*inputs("f64", "f64"), output()], For("i", N, (Store("out", (P,), expr),), True))
    memory = values("f64", 60)
    out = np.zeros(61)[1:]
    assert compiled(k, target)({"a": memory[1:], "b": memory, "out": out}, {"n": 59, "m": 0}) == 0
    assert same_bits(out[:59], memory[1:] - memory[:-1])


# Checked indices.


def gather_kernel() -> Kernel:
    place = Let(
        "g", "i64", call("wrap_index", load("b", P, dtype="i64"), IndexValue(M), dtype="i64")
    )
    body = (place, Store("out", (P,), load("a", symbol("g"))))
    params = [Param("a", "f64", (M,)), Param("b", "i64", (N,)), output()]
    return kernel(params, For("i", N, body, True))


@every_target
def test_gather(target: str) -> None:
    k = gather_kernel()
    rng = np.random.default_rng(0)
    for n in LENGTHS:
        a, b = values("f64", 11), rng.integers(-11, 11, n)
        out = run_both(k, target, {"a": a, "b": b, "out": np.zeros(n)}, {"n": n, "m": 11})
        assert same_bits(out["out"], a[b])


@every_target
def test_out_of_range_is_reported_and_not_touched(target: str) -> None:
    k = gather_kernel()
    for n in (1, 8, 21):
        for position in (0, n // 2, n - 1):
            for bad, size in ((11, 11), (-12, 11), (2**62, 11), (-(2**63), 11), (0, 0)):
                b = np.zeros(n, np.int64)
                b[position] = bad
                # The page behind an empty array is not ours to read: a null pointer stands for it.
                a = values("f64", size)
                buffers = {"a": a, "b": b, "out": np.zeros(n)}
                assert compiled(k, target)(buffers, {"n": n, "m": size}) == 1
                with pytest.raises(OutOfRange):
                    run_kernel(k, buffers, {"n": n, "m": size})


@every_target
def test_a_hoisted_check_does_not_fire_without_iterations(target: str) -> None:
    """The index belongs to no loop; the inner loop may still be empty."""
    checked = call("wrap_index", Var("at", "i64"), IndexValue(M), dtype="i64")
    body = (Let("g", "i64", checked), Store("out", (Q, P), load("a", symbol("g"))))
    params = [Param("a", "f64", (M,)), output("f64", 2, N)]
    nest = For("j", 2, (For("i", N, body, True),))
    run = compiled(kernel(params, nest, scalars=(Var("at", "i64"),)), target)
    buffers = {"a": np.zeros(1), "out": np.zeros(20)}
    assert run(buffers, {"n": 0, "m": 1}, {"at": 5}) == 0
    assert run(buffers, {"n": 10, "m": 1}, {"at": 5}) == 1
    assert run(buffers, {"n": 10, "m": 1}, {"at": -1}) == 0


# Scans.


@every_target
@pytest.mark.parametrize("in_lanes", (False, True))
def test_scans(in_lanes: bool, target: str) -> None:
    """Running sum and Fibonacci-like recurrence along one axis, over the other in lanes or not."""
    place = (Q, P) if in_lanes else (P, Q)
    step = call("add", Var("s", "f64"), load("a", *place))
    body = (
        Let("t", "f64", step),
        Store("out", place, call("add", Var("t", "f64"), Var("b", "f64"))),
    )
    carries = (
        Carry("s", "f64", Const(0.0, "f64"), Var("t", "f64")),
        Carry("b", "f64", Const(1.0, "f64"), Var("s", "f64")),
    )
    scan = ScanLoop("j", M, body, carries)
    shape = (M, N) if in_lanes else (N, M)
    k = kernel([Param("a", "f64", shape), output("f64", *shape)], For("i", N, (scan,), in_lanes))
    for m, n in ((0, 3), (1, 1), (4, 9), (6, 20)):
        a = values("f64", m * n).reshape((m, n) if in_lanes else (n, m))
        out = run_both(k, target, {"a": a.ravel(), "out": np.zeros(m * n)}, {"n": n, "m": m})
        axis = 0 if in_lanes else 1
        total = np.cumsum(a, axis=axis)
        before = np.roll(total, 1, axis=axis)
        if m:
            # The second carry is the first one's previous value: 1, then 0, then the sums.
            first = (0, slice(None)) if in_lanes else (slice(None), 0)
            second = (1, slice(None)) if in_lanes else (slice(None), 1)
            before[first] = 1.0
            if m > 1:
                shifted = np.roll(total, 2, axis=axis)
                before = np.where(np.ones_like(a, bool), shifted, 0)
                before[first] = 1.0
                before[second] = 0.0
        assert np.allclose(out["out"].reshape(a.shape), total + before)


def test_a_scan_that_stores_to_computed_places_keeps_the_last_one() -> None:
    """A scatter: of equal indices the last one wins."""
    place = Let(
        "g", "i64", call("wrap_index", load("b", P, dtype="i64"), IndexValue(M), dtype="i64")
    )
    scan = ScanLoop("i", N, (place, Store("out", (symbol("g"),), load("a", P))), ())
    k = kernel([Param("a", "f64", (N,)), Param("b", "i64", (N,)), output("f64", M)], scan)
    a, b = values("f64", 40), np.random.default_rng(1).integers(-7, 7, 40)
    out = run_both(k, "host", {"a": a, "b": b, "out": np.zeros(7)}, {"n": 40, "m": 7})["out"]
    want = np.zeros(7)
    want[b] = a
    assert same_bits(out, want)


def test_names_of_dtypes_are_free() -> None:
    """The tenth loop of a generated kernel may well be called i8."""
    body = Store("out", (symbol("i8"),), call("cast", IndexValue(symbol("i8")), dtype="i8"))
    k = kernel([output("i8")], For("i8", N, (body,), True))
    out = run_both(k, "host", {"out": np.zeros(21, np.int8)}, {"n": 21, "m": 0})["out"]
    assert same_bits(out, np.arange(21, dtype=np.int8))


def test_names_need_not_be_ascii() -> None:
    """Python's identifiers reach the kernel; one access is a vector's, one a gather's."""
    total = call("add", load("größe", P), call("add", load("größe", mod(P, 3)), Var("é", "f64")))
    k = kernel(
        [Param("größe", "f64", (N,)), output()],
        For("i", N, (Store("out", (P,), total),), True),
        scalars=(Var("é", "f64"),),
    )
    a = values("f64", 21)
    out = run_both(k, "host", {"größe": a, "out": np.zeros(21)}, {"n": 21, "m": 0}, {"é": 0.5})
    assert same_bits(out["out"], a + (a[np.arange(21) % 3] + 0.5))


def test_a_buffer_that_is_written_is_read_anew() -> None:
    """A value read before a store is not taken for the one after it."""
    again = call("add", load("out", P), Const(1.0, "f64"))
    body = (Store("out", (P,), again), Store("out", (P,), call("add", again, load("a", P))))
    k = kernel([*inputs("f64"), output()], For("j", 2, (For("i", N, body, True),)))
    a = values("f64", 21)
    out = run_both(k, "host", {"a": a, "out": np.zeros(21)}, {"n": 21, "m": 0})["out"]
    assert same_bits(out, (((((0.0 + 1.0) + 1.0) + a) + 1.0) + 1.0) + a)
