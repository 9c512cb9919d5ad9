"""Python's own arithmetic on traced numbers: compiled functions give what Python gives, bit by bit.

Nothing here falls back to Python silently: a call is repeated eagerly only where Python raises, or
where a result leaves 64 bits.
"""

from __future__ import annotations

import cmath
import functools
import math
import operator
import sys
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_same
from tracejit.frontend.python import reductions as folds
from tracejit.frontend.python.call_table import CALLS

pytestmark = pytest.mark.compiles

INF, NAN = math.inf, math.nan
FLOATS = (0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 0.3, -2.7, 3.0, 20.25, 709.5, 711.0, -745.5, 1e-9, 1e300)
FLOATS = (*FLOATS, 5e-324, 2.0**53, -1e22, INF, -INF, NAN)
X = np.array([3.0, -1.0, 2.0, 0.5, 4.0, -7.0, 9.0, 1.0, 1.0, 2.0, 5.0, 2.0, 8.0])


def outcome(f: Callable[..., Any], args: Sequence[Any]) -> tuple[str, Any]:
    try:
        return "gives", f(*args)
    except (ArithmeticError, ValueError, TypeError) as e:
        return "raises", f"{type(e).__name__}: {e}"


def agree(
    f: Callable[..., Any], calls: Sequence[Sequence[Any]], *, ulp: float = 0, repeats: int = 0
) -> None:
    """Compiled, `f` does what it does in Python.

    `repeats` calls, besides those that raise, are repeated eagerly.
    """
    jitted = tracejit.jit(f)
    raised = 0
    for args in calls:
        how, expected = outcome(f, args)
        found, actual = outcome(jitted, args)
        assert (how, type(expected)) == (found, type(actual)), f"{args}: {expected!r}, {actual!r}"
        if how == "raises":
            raised += 1
            assert expected == actual, args
        else:
            assert_same(expected, actual, "ulp" if ulp else "exact", ulp=ulp, where=f"{args}")
    report = jitted.report()
    assert report.fallbacks == [], str(report)
    assert report.compiles
    assert report.bailouts == raised + repeats, str(report)


# The module math --------------------------------------------------------------------------------

UNARY = (
    "acos acosh asin asinh atan atanh cbrt ceil cos cosh degrees erf erfc exp exp2 expm1 fabs "
    "floor isfinite isinf isnan log log10 log1p log2 modf radians sin sinh sqrt tan tanh trunc"
).split()


def in_int64(f: Callable[..., Any], args: Sequence[Any]) -> bool:
    how, value = outcome(f, args)
    return how == "raises" or type(value) is not int or -(2**63) <= value < 2**63


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_a_float(name: str) -> None:
    function = getattr(math, name)

    def f(x):
        return function(x)

    calls = [(x,) for x in FLOATS]
    agree(f, calls, repeats=sum(not in_int64(f, args) for args in calls))


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", [n for n in UNARY if n not in ("ceil", "floor", "modf", "trunc")])
def test_functions_in_a_loop(name: str) -> None:
    """NumPy's scalars, and ints."""
    function = getattr(math, name)

    def f(x):
        out = np.zeros((len(x), 2))
        for i in range(len(x)):
            out[i, 0] = function(x[i])
            out[i, 1] = function(int(x[i]))
        return out

    inside = [x for x in FLOATS if abs(x) < 2**53 and outcome(f, ([x],))[0] == "gives"]
    calls = [(np.array(inside),), (np.array(inside[:3], np.float32),)]
    if len(inside) < len(FLOATS) and name not in ("cbrt", "erf", "erfc"):
        calls.append((np.array([*inside, *(x for x in FLOATS if abs(x) < INF)]),))
    jitted = tracejit.jit(f)
    for args in calls:
        how, expected = outcome(f, args)
        found, actual = outcome(jitted, args)
        assert how == found
        assert_same(expected, actual, where=f"{args}") if how == "gives" else None
    assert jitted.report().fallbacks == []


@pytest.mark.parametrize("name", ["atan2", "copysign", "fmod", "hypot", "nextafter", "pow", "log"])
def test_functions_of_two_floats(name: str) -> None:
    function = getattr(math, name)

    def f(x, y):
        return function(x, y)

    agree(f, [(x, y) for x in FLOATS for y in FLOATS], ulp=name == "hypot")


def test_distances_of_points() -> None:
    def f(x, y):
        return math.dist((x, 1.0), (y, 2)), math.dist([x], [y]), math.dist((x, y, 1), (y, x, 0.5))

    agree(f, [(x, y) for x in (0.5, -3.0, 1e200, math.inf) for y in (2.0, 0.5, -1e-200)])

    with pytest.raises(ValueError, match="the same number of dimensions"):
        tracejit.jit(lambda x: math.dist((x, 1.0), (x,)))(2.0)


def test_all_functions_that_this_python_has_are_known() -> None:
    """Also those that are newer than the table: they are asked for plain numbers."""
    for module in (math, cmath):
        for f in vars(module).values():
            assert not isinstance(f, BuiltinFunctionType) or CALLS.get(f) is not None, f
    newer = getattr(math, "fma", lambda a, b, c: a * b + c)
    agree(lambda x: x + newer(2.0, 3.0, 0.5), [(1.0,), (2.5,)])


def test_functions_of_constants_and_numbers() -> None:
    def f(x):
        return math.log(x, 2), math.log(x, 10), math.pow(2, x), math.atan2(1, x), math.hypot(3, x)

    agree(f, [(x,) for x in (0.5, 8.0, 1000.0, 1e5)], ulp=1)

    def base_one(x):
        return math.log(x, 1)

    agree(base_one, [(2.0,)])


def test_numbers_of_other_classes() -> None:
    def f(x):
        return math.floor(x), math.ceil(x), math.sqrt(x), math.isnan(x), round(x), math.exp(x)

    for cls in (np.float64, np.float32, np.int32, np.int64, np.uint8):
        agree(f, [(cls(1),), (cls(0),)])
    agree(f, [(np.float64(2.5),), (np.float64(-2.5),)])

    def trunc(x):
        return math.trunc(x)

    agree(trunc, [(np.float64(-2.5),)])

    def of_truth(x):
        return math.floor(x), math.cos(x), x in (1, 2)

    agree(of_truth, [(np.True_,), (np.False_,)])


def test_complex_numbers_have_no_real_functions() -> None:
    def f(z):
        return math.sqrt(z)

    jitted = tracejit.jit(f)
    with pytest.raises(TypeError, match="must be real number, not complex"):
        jitted(1j)


def test_isclose() -> None:
    def f(a, b):
        return math.isclose(a, b), math.isclose(a, b, rel_tol=0.1), math.isclose(a, b, abs_tol=1.0)

    values = (0.0, 1.0, 1.0 + 1e-10, 1.05, -1.0, INF, -INF, NAN, 1e300)
    agree(f, [(a, b) for a in values for b in values])


# Ints -------------------------------------------------------------------------------------------


def test_ints_in_loops() -> None:
    def f(x, n):
        powers, divisors, roots, bits = 0, 0, 0, 0
        for k in range(n):
            a = int(x[k])
            powers += a ** (k % 5) - 2 ** (k % 40) + (a % 3) ** k
            divisors += math.gcd(a, k) + math.gcd(a, 12, k * k) + math.gcd(a)
            roots += math.isqrt(abs(a)) + math.isqrt(k)
            bits += a.bit_length() + (a * k).bit_count() + a.numerator + a.denominator
        return powers, divisors, roots, bits

    agree(f, [(X, 13), (X * 1000, 12), (X, 5)])


def test_powers_of_floats_are_those_of_the_c_library() -> None:
    """Python's `**` of floats is C's pow, whose last bit a function of our own may miss."""

    def f(a: float, b: float) -> float:
        return a**b

    rng = np.random.default_rng(0)
    pairs = [(float(a), float(b)) for a, b in rng.uniform((0, -9), (9, 9), (300, 2))]
    agree(f, [(2.0, -2.5), *pairs])


def test_powers_of_ints_that_leave_64_bits_or_the_ints() -> None:
    def f(x, y):
        return int(x) ** int(y)

    calls = [(a, b) for a in (2.0, -2.0, 3.0, 0.0, 1.0, -1.0, 10.0) for b in (0, 1, 5, 19, 63, 99)]
    calls = [(a, float(b)) for a, b in calls]
    agree(f, calls, repeats=sum(not in_int64(f, args) for args in calls))
    agree(f, [(2.0, -1.0), (0.0, -1.0)], repeats=1)


def test_roots_of_large_ints() -> None:
    def f(x):
        out = np.zeros(len(x), np.int64)
        for i in range(len(x)):
            out[i] = math.isqrt(x[i])
        return out

    roots = np.random.default_rng(0).integers(2**20, 3037000499, 300)
    agree(f, [(np.concatenate([roots**2 - 1, roots**2, roots**2 + 1]),), (np.array([-1]),)])


def test_divmod_and_comparisons() -> None:
    def f(x, y):
        return divmod(x, y), divmod(int(x), 3), 0 < x < y, x == y != 2.0, bool(x), not y

    agree(f, [(x, y) for x in FLOATS[:12] for y in FLOATS[:12]], repeats=0)


# Rounding ---------------------------------------------------------------------------------------

HALVES = (0.5, 1.5, 2.5, -0.5, -1.5, 0.49999999999999994, 4503599627370497.5, 2.0**62, -(2.0**62))


def test_rounding_to_ints() -> None:
    def f(x):
        return round(x), math.floor(x), math.ceil(x), math.trunc(x), int(x), x.is_integer()

    agree(f, [(x,) for x in (*HALVES, 0.0, -0.0, 1e10, -7.2, INF, NAN)])
    agree(f, [(2.0**63,), (1e300,), (-(2.0**63),)], repeats=3)


@pytest.mark.parametrize("digits", [0, 1, 2, 3, 7, 15])
def test_rounding_to_decimals(digits: int) -> None:
    def f(x):
        out = np.zeros(len(x))
        for i in range(len(x)):
            out[i] = round(float(x[i]), digits)
        return out

    rng = np.random.default_rng(digits)
    limit = 2.0**51 / 10.0**digits
    halves = (rng.integers(-(10**6), 10**6, 400) + 0.5) / 10.0**digits
    values = [*halves, *(rng.integers(-999, 999, 400) / 8), *rng.standard_normal(400), 0.0, -0.0]
    values += [*(rng.uniform(-1, 1, 200) * limit), INF, -INF, NAN, 1e300, 5e-324, -1e-9]
    agree(f, [(np.array([v for v in values if not limit < abs(v) < 9 * limit]),)])


def test_rounding_other_numbers() -> None:
    def f(x):
        return round(int(x), 2), round(np.float64(x), 1), round(x > 1)

    agree(f, [(x,) for x in (0.25, 2.35, -7.25)])


# Complex numbers --------------------------------------------------------------------------------


def test_complex_numbers() -> None:
    def f(x, y):
        z = complex(x, y)
        w = complex(imag=y, real=1)
        return z, z.real, z.imag, z.conjugate(), z * w - z, w, abs(z) + 1.0, z == w, complex(x)

    agree(f, [(x, y) for x in FLOATS[:10] for y in FLOATS[:10]], ulp=1)


def test_angles_of_complex_numbers() -> None:
    def f(x, y):
        return cmath.phase(complex(x, y)), cmath.polar(complex(x, y)), cmath.phase(x)

    agree(f, [(x, y) for x in FLOATS for y in FLOATS[:12]])


def test_parts_of_real_numbers() -> None:
    def f(x):
        n, b = int(x), x > 1
        return x.real, x.imag, x.conjugate(), n.real, n.imag, b.real, b.imag, b.conjugate()

    agree(f, [(2.5,), (-0.0,)])


def test_powers_of_complex_numbers_in_a_loop() -> None:
    def f(x, y, n):
        z, k = 0j, 0
        while abs(z) < 2.0 and k < n:
            z = z**2 + complex(x, y)
            k += 1
        return z, z**3, k

    agree(f, [(x, y, 40) for x in (-1.3, 0.3, 0.25, -0.0) for y in (0.0, 0.1, -0.5, 1.0)])


# Tests by in ------------------------------------------------------------------------------------


def test_numbers_in_containers() -> None:
    def f(x):
        n = int(x)
        return (
            *(x in (1, 2.5, None, "a"), x not in [1.0, 3.0], n in {1, 2, 7}, n in {3: 0, 4: 1}),
            *(n in range(7), n in range(-8, 9, 3), n not in range(9, -9, -2), n in range(0)),
            *(x in (), x in (True, False)),
        )

    agree(f, [(float(x),) for x in (*range(-9, 10), 2.5, 1e10, NAN)])


def test_counters_in_containers() -> None:
    def f(x, n):
        total = 0.0
        for k in range(n):
            if k in (1, 4, 5):
                total += x[k]
            if x[k] in x[:3]:
                total *= 2.0
        return total

    agree(f, [(X, 13), (X, 6)])


# Generator expressions --------------------------------------------------------------------------


def sums(x):
    return (
        sum(v * v for v in x if v > 0),
        sum(1 for v in x if v > 0 if v < 5),
        sum((i * v for i, v in enumerate(x) if v > 1), 0.5),
        sum(a * b for a, b in zip(x, x[::-1], strict=True)),
        sum(k for k in range(len(x)) if k % 3),
    )


def searches(x):
    return (
        any(v > 2 for v in x),
        all(v > -9 for v in x),
        any(v > 2 for v in x if v < 4),
        all(v for v in x if v > 0),
        any(v for v in x if v > 100),
    )


def extremes(x):
    return (
        min(v for v in x if v > 0),
        max(v * 2 for v in x),
        max((abs(v) for v in x if v > 100), default=-1.0),
        min((v for v in x), key=lambda v: abs(v - 4)),
        max((v for v in x if v < 2), key=lambda v: -v),
    )


def nested(x):
    rows = x[:12].reshape(3, 4)
    return sum(sum(v for v in row if v > 1) for row in rows), max(max(r[1], r[2]) for r in rows)


def few_items(a, b, c):
    return (
        sum(int(v) for v in (a, b, c) if v > 0),
        any(v > 2 for v in [a, b, c]),
        max(v for v in (a, b, c) if v < 100),
        sum(1 for name in ("ab", "ca", "ad") if name.startswith("a")) + a,
    )


def other_functions(x):
    return (
        list(v + x for v in range(3)),  # noqa: C400
        tuple(v * x for v, _ in zip([1, 2], [3, 4], strict=True) if v > 1),
        next(v for v in [1, 2, 3] if v > 1) + x,
        sorted(v * 2 for v in (3, 1)),
    )


def in_the_order_of_constants(x):
    items = [("b", 1, x), ("a", 2, x + 1), ("a", 1, x * 2)]
    by_name = dict(zip("cab", x[:3], strict=True))
    items.sort(reverse=True)
    return items, sorted(by_name.items()), sorted((v, w) for v, w in [(2, x), (1, -x)])


def test_tuples_are_in_the_order_of_their_constants() -> None:
    agree(in_the_order_of_constants, [(X,), (-X,)])


def test_generators_over_arrays() -> None:
    for f in (sums, searches, nested):
        agree(f, [(X,), (X - 3,), (-X,), (np.zeros(13),)])
    agree(extremes, [(X,), (X + 1,), (-X + 3,), (-abs(X),)])


def compensated(items, start=0):
    """`sum` from Python 3.12 on."""
    total, lost = start, 0.0

    def restored():
        return total + lost if type(total) is float and lost and math.isfinite(lost) else total

    rest = iter(items)
    for v in rest:
        if type(total) is type(v) is float:
            total, before = total + v, total
            large, small = (before, v) if abs(before) >= abs(v) else (v, before)
            lost += (large - total) + small
        elif type(total) is int or type(total) is float and isinstance(v, int):
            total = total + v
        else:
            return functools.reduce(operator.add, rest, restored() + v)
    return restored()


def of_roots(sum, x):
    return sum(math.sqrt(abs(v)) for v in x if v > 0)


def of_floats(sum, x):
    items = [float(v) for v in x]
    return sum(float(v) for v in x[:3]), sum(items), sum(items, 0.5), sum(items, x[1])


def of_sums(sum, x):
    return sum(sum(float(v) for v in x if v > 0) for _ in (1, 2))


def of_unlike(sum, x):
    a, b = float(x[0]), float(x[1])
    either = 1 if x[0] > 0 else 2.5
    return (
        sum([1, a, 3, b, True]),
        sum([True, 2, a, b]),
        sum([a, b, x[2], x[3]]),
        sum([a, x[2], 2, x[3]]),
        sum([0.1, either, b, a]),
        sum([1, 2.5, a + 1j, b]),
    )


def of_numpy_numbers(sum, x):
    return sum(v for v in x if v > 0), sum(sum(v for v in x) for _ in (1, 2)), sum(x)


SUMMED = (
    np.array([0.1, 1e16, -0.3, 7.7, -1e16, 0.2, 3.0, 0.1, 0.1]),
    np.full(9, -0.0),
    np.array([1.0, np.inf, 2.0, -np.inf, 1e308, 1e308, 0.0, 1.0, 2.0]),
    np.array([1e308, 1e308, -1e308, 0.1, np.nan, 1.0, -2.0, 0.5, 0.25]),
)


@pytest.mark.parametrize("compensates", [False, True])
@pytest.mark.parametrize("f", [of_roots, of_floats, of_sums, of_unlike, of_numpy_numbers])
def test_sums_of_python_floats(f: Any, compensates: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are compensated as by the Python that runs, for which another one may stand here."""
    monkeypatch.setattr(folds, "_COMPENSATES", compensates)
    own = (sys.version_info >= (3, 12)) is compensates
    plain = compensated if compensates else functools.partial(functools.reduce, operator.add)

    def of_python(items, start=0):
        return sum(items, start) if own else plain(items, start)

    def g(x):
        return f(sum, x)

    jitted = tracejit.jit(g, strict=True)
    for x in (SUMMED[0], -SUMMED[0], SUMMED[0][::-1].copy(), *SUMMED[1:]):
        with np.errstate(all="ignore"):
            assert repr(jitted(x)) == repr(f(of_python, x))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python adds floats plainly")
def test_compensated_sums_as_they_are_tested_are_pythons() -> None:
    for x in SUMMED:
        for f in (of_roots, of_floats, of_sums, of_unlike):
            with np.errstate(all="ignore"):
                assert repr(f(compensated, x)) == repr(f(sum, x))


def test_items_that_end_the_compensation_unseen_are_left_to_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(folds, "_COMPENSATES", True)
    jitted = tracejit.jit(lambda x: sum([float(x[0]), 0.1, 1e16], True))
    assert jitted(X) == sum([float(X[0]), 0.1, 1e16], True)
    assert [fallback.code for fallback in jitted.report().fallbacks] == ["TJ004"]


@pytest.mark.parametrize("compensates", [False, True])
def test_slopes_of_sums_of_floats(compensates: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folds, "_COMPENSATES", compensates)
    slope = tracejit.grad(lambda v: sum([v, 1e16, v * v, -1e16, 3.0 * v]))
    assert slope(0.5) == 5.0


def test_generators_over_few_items() -> None:
    agree(few_items, [(1.0, 2.0, 3.0), (-1.0, 2.0, 300.0), (-1.0, -2.0, -3.0), (200.0,) * 3])
    agree(other_functions, [(2.0,), (-0.5,)])


def test_sums_of_nothing_keep_their_start() -> None:
    def f(x):
        return sum(v for v in x if v > 100), sum((v for v in x if v > 100), 2.5), sum(v for v in x)

    agree(f, [(X,), (X * 100,), (X[:0],)])


def test_searches_end_where_python_ends() -> None:
    """What comes after the item that decides is not evaluated: it would raise."""

    def first(x):
        return any(1 / int(v) > 0.4 for v in x)

    def every(x):
        return all(1 / int(v) < 0.4 for v in x if v < 100)

    agree(first, [(np.array([5.0, 200, 7, 2, 0, 0, 0, 0, 0, 0]),)])
    agree(every, [(np.array([5.0, 200, 7, 2, 0, 0, 0, 0, 0, 0]),)])
    agree(first, [(np.array([5.0, 6, 7, 8, 9, 0, 2, 0, 0, 0]),)])


def test_parts_of_generators_are_evaluated_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x):
        def seen(label, v):
            print(label, v)
            return v

        return sum(seen("value", v) for v in x if seen("test", v) > 1), all(
            seen("all", v) < 4 for v in x
        )

    def text(g: Callable[..., Any]) -> tuple[Any, str]:
        return g(X), capsys.readouterr().out

    expected = text(f)
    jitted = tracejit.jit(f)
    assert text(jitted) == expected
    assert text(jitted) == expected
    assert jitted.report().fallbacks == []


def test_functions_that_only_look_like_builtins() -> None:
    def any(items):
        return list(items)[0] + 100

    def f(x):
        return any(v * 2 for v in (x, 1.0))

    agree(f, [(3.0,)])


def test_what_any_and_all_need_not_ask_raises_nothing() -> None:
    def either(a, x):
        return any((a, x))

    def both(a, x):
        return all([a, x, 1.0])

    pair, one, none = np.array([1.0, 0.0]), np.ones(1), np.zeros(1)
    agree(either, [(1.0, pair), (0.0, pair)])
    agree(both, [(0.0, pair), (2.0, pair)])
    for f in (either, both):
        agree(f, [(a, x) for a in (0.0, 1.0) for x in (one, none)])
