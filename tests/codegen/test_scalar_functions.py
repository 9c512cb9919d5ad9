"""Every scalar function of the kernels against NumPy, on every dtype, width and awkward value."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import special

from tests.support.native_kernels import TARGETS, NativeKernel, same_bits
from tracejit.codegen.llvm.engine import compile_module, host_target
from tracejit.codegen.llvm.text import FunctionBuilder, Module
from tracejit.codegen.scalar import functions as scalar_functions
from tracejit.ir.dims import floordiv, maximum, minimum, mod, symbol
from tracejit.ir.kernel import Call, Const, Expr, For, IndexValue, Kernel, Load, Param, Store, Var
from tracejit.ir.types import DTYPES

INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
FLOATS = ("f16", "f32", "f64")

EXACT_UNARY = {
    "b1": "logical_not invert absolute",
    "i": "negative positive absolute sign square invert bitwise_count floor ceil trunc "
    "isnan isinf isfinite",
    "f": "negative positive absolute fabs sign square reciprocal sqrt floor ceil trunc rint "
    "isnan isinf isfinite signbit deg2rad rad2deg",
}
EXACT_BINARY = {
    "b1": "logical_and logical_or logical_xor add multiply bitwise_and bitwise_or bitwise_xor "
    "maximum minimum equal not_equal less less_equal greater greater_equal",
    "i": "add subtract multiply floor_divide remainder fmod bitwise_and bitwise_or bitwise_xor "
    "left_shift right_shift gcd lcm maximum minimum fmax fmin power "
    "equal not_equal less less_equal greater greater_equal",
    "f": "add subtract multiply divide floor_divide remainder fmod copysign nextafter heaviside "
    "maximum minimum fmax fmin equal not_equal less less_equal greater greater_equal",
}
ROUNDED_UNARY = (
    "exp log sin cos tanh exp2 expm1 log2 log10 log1p tan arcsin arccos arctan sinh cosh arcsinh "
    "arccosh arctanh cbrt erf erfc"
)
ROUNDED_BINARY = "power arctan2 hypot logaddexp logaddexp2"


def _group(dtype: str) -> str:
    return dtype if dtype == "b1" else "f" if dtype in FLOATS else "i"


def awkward(dtype: str) -> np.ndarray[Any, Any]:
    """Values of a dtype at which functions tend to go wrong."""
    kind = DTYPES[dtype]
    if dtype == "b1":
        return np.array([False, True])
    if dtype in INTEGERS:
        info = np.iinfo(kind)
        values = [0, 1, 2, 3, 7, 12, 63, 64, 100, info.max, info.max - 1, info.min, info.min + 1]
        values += [-1, -2, -7, -12] if dtype[0] == "i" else []
        return np.array([v for v in values if info.min <= v <= info.max], kind)
    limits = np.finfo(kind)
    positive = [0.0, 0.3, 0.5, 1.0, 1.5, 2.5, 3.0, 10.75, 1000.0, np.inf]
    positive += [float(limits.tiny), float(limits.smallest_subnormal), float(limits.max)]
    return np.array([*positive, *(-p for p in positive), np.nan], kind)


def expected(fn: str, args: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """NumPy's answer."""
    function = getattr(special if fn in ("erf", "erfc") else np, fn)
    with np.errstate(all="ignore"):
        return np.asarray(function(*args))


def name_of(dtype: np.dtype[Any]) -> str:
    """The text's name of a dtype."""
    return next(name for name, d in DTYPES.items() if d == dtype)


def run_all(
    calls: Sequence[tuple[str, str, str]], inputs: Sequence[np.ndarray[Any, Any]], target: str
) -> list[np.ndarray[Any, Any]]:
    """Each (output dtype, function, its arguments' buffers "ab") in one kernel over the inputs."""
    n = symbol("n")
    params = [Param(b, name_of(x.dtype), (n,)) for b, x in zip("abc", inputs, strict=False)]
    loads = {p.name: Load(p.name, (symbol("i"),), p.dtype) for p in params}
    stores = []
    outputs = {}
    for k, (dtype, fn, arguments) in enumerate(calls):
        call = Call(fn, tuple(loads[a] for a in arguments), dtype)
        stores.append(Store(f"o{k}", (symbol("i"),), call))
        outputs[f"o{k}"] = np.zeros(len(inputs[0]), DTYPES[dtype])
        params.append(Param(f"o{k}", dtype, (n,), output=True))
    loop = For("i", n, tuple(stores), vector=True)
    kernel = Kernel("k", tuple(params), ("n",), (), (loop,))
    buffers = dict(zip("abc", inputs, strict=False)) | outputs
    assert NativeKernel(kernel, TARGETS[target])(buffers, {"n": len(inputs[0])}) == 0
    return list(outputs.values())


def check_exact(dtype: str, names: str, arity: int, target: str) -> None:
    """All these functions give NumPy's bits on all combinations of awkward values."""
    values = awkward(dtype)
    inputs = [
        np.array(c, values.dtype)
        for c in zip(*itertools.product(values, repeat=arity), strict=True)
    ]
    # The third column serves integer powers, whose exponent is not negative.
    columns = [*inputs, np.where(inputs[-1] > 0, inputs[-1], 0).astype(values.dtype)]
    calls, wanted = [], []
    for fn in names.split():
        if not scalar_functions.supports(fn, [dtype]):
            continue
        letters = "ac" if fn == "power" else "ab"[:arity]
        wanted.append(expected(fn, [columns["abc".index(letter)] for letter in letters]))
        calls.append((name_of(wanted[-1].dtype), fn, letters))
    assert len(calls) >= len(names.split()) - 1
    for (_, fn, _), got, want in zip(calls, run_all(calls, columns, target), wanted, strict=True):
        # The sign of a zero is not part of what max and min promise.
        signs = fn not in ("maximum", "minimum", "fmax", "fmin")
        bad = [
            row
            for row in zip(*columns, got, want, strict=True)
            if not same_bits(np.array(row[-2]), np.array(row[-1]), signs)
        ]
        assert same_bits(got, want, signs), (fn, dtype, bad[:5])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ("b1", *INTEGERS, *FLOATS))
def test_exact_unary(dtype: str, target: str) -> None:
    check_exact(dtype, EXACT_UNARY[_group(dtype)], 1, target)


@pytest.mark.sampled(36, kind=lambda dtype, **_: dtype)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ("b1", *INTEGERS, *FLOATS))
def test_exact_binary(dtype: str, target: str) -> None:
    check_exact(dtype, EXACT_BINARY[_group(dtype)], 2, target)


def ulps(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The distance in units in the last place of `want`; 0 where both are NaN or equal."""
    with np.errstate(all="ignore"):
        unit = np.spacing(np.abs(np.where(np.isfinite(want), want, 1)))
        distance = np.abs(got - want) / unit
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    return np.where(same, 0, np.where(np.isnan(distance), np.inf, distance))


def rounded_truth(fn: str, args: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """The exact value rounded to the arguments' dtype, or nearly: computed in a wider format."""
    kind = args[0].dtype
    if fn in ("erf", "erfc"):
        # Beyond 1000 both are constant in every format here, and mpmath's numbers overflow.
        exact = [getattr(mpmath, fn)(float(x)) for x in np.clip(args[0], -1000, 1000)]
        with np.errstate(all="ignore"):
            rounded = np.array([float(x) for x in exact]).astype(kind)
        # mpmath has one zero; erf is odd.
        return np.copysign(rounded, args[0]) if fn == "erf" else rounded
    wide = np.longdouble if kind == np.float64 else np.float64
    with np.errstate(all="ignore"):
        return expected(fn, [x.astype(wide) for x in args]).astype(kind)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("target", ("host", "128", "scalar"))
@pytest.mark.parametrize("dtype", FLOATS)
def test_rounded(dtype: str, target: str) -> None:
    """Transcendental functions keep close to NumPy's in the next wider format, zeros signed."""
    rng = np.random.default_rng(5)
    kind = DTYPES[dtype]
    scale = np.array([1e-3, 1.0, 30.0]).repeat(40)
    values = np.concatenate([awkward(dtype), (rng.standard_normal(120) * scale).astype(kind)])
    others = np.concatenate([values[::-1], values[3:], values[:3]])
    columns = [np.concatenate([values, values]), others]
    calls = [(dtype, fn, "a") for fn in ROUNDED_UNARY.split()]
    calls += [(dtype, fn, "ab") for fn in ROUNDED_BINARY.split()]
    for (_, fn, letters), got in zip(calls, run_all(calls, columns, target), strict=True):
        want = rounded_truth(fn, columns[: len(letters)])
        off = ulps(got, want)
        if fn.startswith("logaddexp"):
            # Where the larger argument cancels the logarithm, the result is small against both.
            with np.errstate(all="ignore"):
                larger = np.spacing(np.maximum(abs(columns[0]), abs(columns[1])))
                off = np.where(abs(got - want) <= larger / 16, 0, off)
        worst = int(np.argmax(off))
        # Within 1 ULP of the truth is within 1 of its rounding, 2 beside a power of 2.
        arguments = [float(c[worst]) for c in columns[: len(letters)]]
        assert off[worst] <= 2, (fn, arguments, got[worst], want[worst], off[worst])
        zero = want == 0
        assert np.array_equal(np.signbit(got[zero]), np.signbit(want[zero])), fn


def test_cube_roots_keep_close_to_numpys() -> None:
    """Also where the C library's last two bits are wrong, beside subnormals and the largest."""
    rng = np.random.default_rng(2)
    values = rng.uniform(-1, 1, 20000) * 2.0 ** rng.integers(-1074, 1024, 20000)
    values = np.concatenate([awkward("f64"), values])
    (got,) = run_all([("f64", "cbrt", "a")], [values], "host")
    want = np.cbrt(values)
    assert ulps(got, want).max() <= 2
    assert np.array_equal(np.signbit(got[want == 0]), np.signbit(want[want == 0]))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", ("b1", *INTEGERS, *FLOATS))
def test_cast(source: str, target: str) -> None:
    """Conversions to every dtype, on the values that the target can hold."""
    values = awkward(source)
    if source in FLOATS:
        more = np.array([-1.9, -0.6, 254.9, 127.6, 32767.4, 65504.0, 65519.0, 65520.0])
        values = np.concatenate(
            [values, more[: None if source != "f16" else -2].astype(values.dtype)]
        )
    others = ("b1", *INTEGERS, *FLOATS)
    calls = [(dtype, "cast", "a") for dtype in others]
    for dtype, got in zip(others, run_all(calls, [values], target), strict=True):
        with np.errstate(all="ignore"):
            want = values.astype(DTYPES[dtype])
        if source in FLOATS and dtype in INTEGERS:
            info = np.iinfo(DTYPES[dtype])
            # Comparing in a format that holds both ends exactly.
            wide = np.trunc(values.astype(np.longdouble))
            fits = (wide >= info.min) & (wide <= info.max)
            got, want = got[fits], want[fits]
        assert same_bits(got, want), (source, dtype)


def test_cast_out_of_range_is_defined() -> None:
    """Beyond an integer's range the result is x86's, the same in lanes and in the remainder."""
    values = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30] * 5)
    for dtype, bits in (("i32", 32), ("i64", 64)):
        for target in TARGETS:
            (got,) = run_all([(dtype, "cast", "a")], [values], target)
            assert (got == -(1 << (bits - 1))).all(), (dtype, target)


def test_f64_to_f16_rounds_once() -> None:
    """Doubles just beside the middle of two halves must not be rounded twice."""
    halves = np.arange(0x0001, 0x7BFF, 37, dtype=np.uint16).view(np.float16)
    above = np.nextafter(halves, np.float16(np.inf)).astype(np.float64)
    middle = (halves.astype(np.float64) + above) / 2
    values = np.concatenate([np.nextafter(middle, 0), middle, np.nextafter(middle, np.inf)])
    values = np.concatenate([values, -values])
    for target in ("host", "scalar"):
        (got,) = run_all([("f16", "cast", "a")], [values], target)
        assert same_bits(got, values.astype(np.float16))


@pytest.mark.parametrize("pair", ("i64 u64", "u64 i64", "i8 u8"))
def test_comparison_of_signed_with_unsigned(pair: str) -> None:
    a, b = (awkward(dtype) for dtype in pair.split())
    grid = [np.array(c) for c in zip(*itertools.product(a, b), strict=True)]
    columns = [c.astype(x.dtype) for c, x in zip(grid, (a, b), strict=True)]
    names = "equal not_equal less less_equal greater greater_equal".split()
    results = run_all([("b1", fn, "ab") for fn in names], columns, "host")
    for fn, got in zip(names, results, strict=True):
        assert same_bits(got, expected(fn, columns)), fn


@pytest.mark.parametrize("target", ("host", "256", "128"))
@pytest.mark.parametrize("dtype", INTEGERS)
def test_divisions_near_multiples(dtype: str, target: str) -> None:
    """Dividends of all magnitudes beside multiples of their divisors, small ones together."""
    rng = np.random.default_rng(4)
    info = np.iinfo(DTYPES[dtype])
    high = info.bits - 1
    y = np.floor(2.0 ** rng.uniform(0, high / 2, 4000)).astype(DTYPES[dtype])
    n = np.floor(2.0 ** rng.uniform(0, high / 2, 4000)).astype(DTYPES[dtype])
    with np.errstate(all="ignore"):
        x = n * y
        columns = [np.concatenate([x, x - 1, x + 1, 0 - x, 0 - y]), np.tile(y, 5)]
        columns = [np.concatenate([c, c]) for c in columns]
        columns[1][20000:] = 0 - columns[1][20000:]
    order = np.argsort(np.abs(columns[0].astype(np.float64)), kind="stable")
    columns = [c[order] for c in columns]
    names = ("floor_divide", "remainder", "fmod")
    results = run_all([(dtype, fn, "ab") for fn in names], columns, target)
    for fn, got in zip(names, results, strict=True):
        assert same_bits(got, expected(fn, columns)), fn


@pytest.mark.parametrize("target", ("host", "128", "scalar"))
@pytest.mark.parametrize("dtype", FLOATS)
def test_remainders_are_exact(dtype: str, target: str) -> None:
    """Quotients beside an integer, beside the limit of the short way, and far beyond it."""
    rng = np.random.default_rng(3)
    kind = DTYPES[dtype]
    y = np.abs(rng.standard_normal(4000)).astype(kind) + kind.type(0.01)
    n = np.floor(10 ** rng.uniform(0, 18 if dtype == "f64" else 4, 4000))
    with np.errstate(all="ignore"):
        x = (n * y).astype(kind)
    columns = [
        np.concatenate([x, np.nextafter(x, kind.type(0)), -x, -np.nextafter(x, kind.type(0))]),
        np.concatenate([y, y, y, -y]),
    ]
    # Groups of small quotients, so that whole vectors take the short way.
    order = np.argsort(np.abs(columns[0].astype(np.float64) / columns[1]), kind="stable")
    columns = [c[order] for c in columns]
    names = ("fmod", "remainder", "floor_divide")
    results = run_all([(dtype, fn, "ab") for fn in names], columns, target)
    for fn, got in zip(names, results, strict=True):
        assert same_bits(got, expected(fn, columns)), fn


def test_division_by_constants() -> None:
    """A literal divisor is code of its own."""
    values = np.concatenate([awkward("i64"), np.arange(-20, 20)])
    n, i = symbol("n"), symbol("i")
    for divisor, fn in itertools.product((-7, -1, 0, 1, 3), ("floor_divide", "remainder", "fmod")):
        call = Call(fn, (Load("a", (i,), "i64"), Const(divisor, "i64")), "i64")
        loop = For("i", n, (Store("o", (i,), call),), vector=True)
        params = (Param("a", "i64", (n,)), Param("o", "i64", (n,), output=True))
        out = np.zeros_like(values)
        native = NativeKernel(Kernel("k", params, ("n",), (), (loop,)), TARGETS["host"])
        native({"a": values, "o": out}, {"n": values.size})
        assert same_bits(out, expected(fn, [values, np.array(divisor)])), (divisor, fn)


def test_expression_and_size_emitters() -> None:
    """Program-level code: expressions over bound names, sizes with Python's division."""
    n = symbol("n")
    dims = [floordiv(n, 3), mod(n, 3), minimum(n, 4), maximum(n, 4), n * n - 2 * n + 1, 7]
    fb = FunctionBuilder(Module(host_target()), "entry", [("ptr", "%out"), ("i64", "%n")])
    env = {"n": "%n"}
    for k, dim in enumerate(dims):
        address = fb.emit(f"getelementptr i64, ptr %out, i64 {k}")
        fb.line(f"store i64 {scalar_functions.emit_dim(fb, dim, env)}, ptr {address}")
    expr = Call("add", (Var("x", "i64"), IndexValue(n + 1)), "i64")
    address = fb.emit(f"getelementptr i64, ptr %out, i64 {len(dims)}")
    env["x"] = fb.emit("mul i64 %n, 10")
    fb.line(f"store i64 {scalar_functions.emit_expr(fb, expr, env)}, ptr {address}")
    fb.ret()
    fb.finish()
    text = fb.module.text().replace("define internal", "define")
    library = compile_module(text, {}, ["entry"])
    entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(library.address("entry"))
    for n_value in (-7, -1, 0, 1, 5, 9):
        out = np.zeros(len(dims) + 1, np.int64)
        entry(out.ctypes.data, n_value)
        want = [n_value // 3, n_value % 3, min(n_value, 4), max(n_value, 4), (n_value - 1) ** 2, 7]
        assert out.tolist() == [*want, 10 * n_value + n_value + 1]


@pytest.mark.parametrize("further", [False, True])
def test_what_is_unlikely_is_chosen_all_the_same(further: bool) -> None:
    """One choice after the other, with expressions that are shared across the branches."""
    x, y = Var("x", "f64"), Var("y", "f64")

    def chosen(a: Expr, b: Expr) -> Expr:
        product = Call("multiply", (a, b), "f64")
        condition = Call("unlikely", (Call("isnan", (product,), "b1"),), "b1")
        if further:
            is_zero = Call("equal", (a, Const(0.0, "f64")), "b1")
            condition = Call("logical_and", (condition, is_zero), "b1")
        other = Call("add", (Call("negative", (a,), "f64"), Call("square", (b,), "f64")), "f64")
        return Call("select", (condition, other, product), "f64")

    first = chosen(x, y)
    second = chosen(first, Call("square", (y,), "f64"))
    literal = Call("select", (Call("unlikely", (Const(True, "b1"),), "b1"), y, second), "f64")
    fb = FunctionBuilder(Module(host_target()), "entry", [("ptr", "%out"), ("ptr", "%in")])
    env = {"x": fb.emit("load double, ptr %in")}
    env["y"] = fb.emit(f"load double, ptr {fb.emit('getelementptr double, ptr %in, i64 1')}")
    known: dict[object, str] = {}
    for k, expr in enumerate((second, first, literal, Call("square", (y,), "f64"))):
        address = fb.emit(f"getelementptr double, ptr %out, i64 {k}")
        value = scalar_functions.emit_expr(fb, expr, env, known=known)
        fb.line(f"store double {value}, ptr {address}")
    fb.ret()
    fb.finish()
    text = fb.module.text().replace("define internal", "define")
    assert text.count("br i1") == 2, "what is computed with the result need not wait"
    library = compile_module(text, {}, ["entry"])
    entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(library.address("entry"))

    def wanted(a: float, b: float) -> float:
        chosen = np.isnan(a * b) and (a == 0 or not further)
        return -a + b * b if chosen else a * b

    numbers = np.array([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 1e-320])
    for a, b in itertools.product(numbers, numbers):
        out = np.zeros(4)
        entry(out.ctypes.data, np.array([a, b]).ctypes.data)
        with np.errstate(all="ignore"):
            p = wanted(a, b)
            assert same_bits(out, np.array([wanted(p, b * b), p, b, b * b])), (a, b)


def test_unknown_functions_are_refused() -> None:
    assert not scalar_functions.supports("frobnicate", ["f64"])
    assert not scalar_functions.supports("add", ["c128", "c128"])
    with pytest.raises(NotImplementedError, match="frobnicate"):
        run_all([("f64", "frobnicate", "a")], [np.zeros(3)], "host")
