"""Ufuncs and operators on tracers: every ufunc, every dtype, every kind of operand (NEP 50)."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import tracejit
from tests.support.compare import assert_same
from tests.support.tracing import check, refused, trace_call
from tracejit.errors import Bailout, TraceError
from tracejit.ir.types import DTYPES
from tracejit.ops.array.elementwise import UFUNC_OPS

UFUNCS = sorted(
    {
        *UFUNC_OPS,
        np.logical_and,
        np.logical_or,
        np.logical_xor,
        np.logical_not,
        np.divmod,
        np.float_power,
        np.degrees,
        np.fabs,
        np.modf,
        np.radians,
    },
    key=lambda f: f.__name__,
)


def parity(f: Any) -> dict[str, Any]:
    """How closely NumPy itself agrees with NumPy: its powers by a constant take other ways."""
    powers = (np.power, operator.pow, np.float_power)
    return {"parity": "ulp", "ulp": 2} if f in powers else {}


def small(dtype: Any, shape: tuple[int, ...] = (2, 3)) -> np.ndarray:
    """Positive small numbers, no two alike, that every function takes."""
    n = int(np.prod(shape))
    x = (np.arange(n) % 5 + 1) / (8 if np.dtype(dtype).kind in "fc" else 1)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * np.arange(n)[::-1] / 16
    return x.reshape(shape).astype(dtype)


def has_loop(f: Any, *operands: Any) -> bool:
    """Whether NumPy runs `f` on such operands."""
    try:
        with np.errstate(all="ignore"):
            f(*operands)
    except (TypeError, OverflowError, ValueError):
        return False
    return True


def promoted_to_object(f: Any, *operands: Any) -> bool:
    """Whether NumPy computes `f` in a dtype that no graph holds."""
    with np.errstate(all="ignore"):
        result = f(*operands)
    results = result if isinstance(result, tuple) else (result,)
    return any(r.dtype not in DTYPES.values() for r in results)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("f", UFUNCS, ids=lambda f: f.__name__)
def test_ufunc_on_every_dtype(f: Any) -> None:
    tested = 0
    for dtype in DTYPES.values():
        operands = [small(dtype), *([small(dtype, (3,))] * (f.nin - 1))]
        if has_loop(f, *operands) and not promoted_to_object(f, *operands):
            others = [small(dtype, (4, 5)), *([small(dtype, (5,))] * (f.nin - 1))]
            check(f, operands, others)
            tested += 1
    assert tested


SCALARS = [
    2,
    2.5,
    True,
    1 + 2j,
    np.float32(1.5),
    np.int8(3),
    np.uint64(7),
    np.bool_(True),
    np.complex64(1j),
    np.float16(0.5),
]
BINARY = [np.add, np.subtract, np.multiply, np.divide, np.power, np.maximum, np.less, np.arctan2]
BINARY += [np.floor_divide, np.remainder, np.bitwise_and, np.left_shift, np.equal, np.hypot]


@pytest.mark.sampled(48, kind=lambda f, **_: f.__name__)
@pytest.mark.parametrize("scalar", SCALARS, ids=repr)
@pytest.mark.parametrize("f", BINARY, ids=lambda f: f.__name__)
def test_promotion_of_arrays_and_constants(f: Any, scalar: Any) -> None:
    for dtype in DTYPES.values():
        x = small(dtype, (3,))
        for call, args in (
            (lambda x: f(x, scalar), (x, scalar)),
            (lambda x: f(scalar, x), (scalar, x)),
        ):
            if has_loop(f, *args) and not promoted_to_object(f, *args):
                check(call, (x,), modes=("static",), **parity(f))
                check(call, (x[0],), modes=("static",), **parity(f))
                check(call, (np.asarray(x[0]),), modes=("static",), **parity(f))


@pytest.mark.sampled(16)
@pytest.mark.parametrize("scalar", SCALARS, ids=repr)
@pytest.mark.parametrize("f", BINARY, ids=lambda f: f.__name__)
def test_promotion_of_arrays_and_traced_scalars(f: Any, scalar: Any) -> None:
    for dtype in DTYPES.values():
        x = small(dtype, (3,))
        if has_loop(f, x, scalar) and not promoted_to_object(f, x, scalar):
            check(f, (x, scalar), modes=("static",), **parity(f))
        if has_loop(f, scalar, x) and not promoted_to_object(f, scalar, x):
            check(f, (scalar, x), modes=("static",), **parity(f))
            check(f, (scalar, x[1]), modes=("static",), **parity(f))


OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.lt,
    operator.le,
    operator.eq,
    operator.ne,
    operator.gt,
    operator.ge,
    operator.and_,
    operator.or_,
    operator.xor,
    operator.lshift,
    operator.rshift,
    divmod,
]


@pytest.mark.parametrize("f", OPERATORS, ids=lambda f: f.__name__)
def test_operators(f: Any) -> None:
    for dtype in ("f8", "f4", "i4", "u1", "?", "c16"):
        x, y = small(dtype), small(dtype)[::-1].copy()
        for a, b in ((x, y), (x, y[0, 0]), (x[0, 0], y), (x[0, 1], y[0, 0]), (x, 2), (3, x)):
            if has_loop(f, a, b) and not promoted_to_object(f, a, b):
                if f is operator.pow and x is a and dtype == "?" and type(b) is int:
                    assert refused(f, a, b) == "TJ001"
                else:
                    check(f, (a, b), modes=("static",), **parity(f))
                if not isinstance(b, np.ndarray):
                    check(lambda a, b=b: f(a, b), (a,), modes=("static", "apart"), **parity(f))


@pytest.mark.parametrize("f", [operator.neg, operator.pos, operator.abs, operator.invert])
def test_unary_operators(f: Any) -> None:
    for dtype in DTYPES.values():
        x = small(dtype)
        if has_loop(f, x):
            check(f, (x,), (small(dtype, (4, 7)),))
            check(f, (x[0, 0],))


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, 0.5, 1.0, 2.0, -2.0, 0.3])
def test_powers_by_constants(exponent: Any) -> None:
    for dtype in ("f8", "f4", "f2", "i4", "u2", "c8", "c16"):
        x = small(dtype)
        for value in (x, x[0, 0], np.asarray(x[1, 1])):
            if has_loop(operator.pow, value, exponent):
                check(lambda x: x**exponent, (value,), modes=("static",))
                by_ufunc = lambda x: np.power(x, exponent)  # noqa: E731
                check(by_ufunc, (value,), modes=("static",), **parity(np.power))


PYTHON = [3, -2, 2.5, -0.5, True, 1 + 2j]


@pytest.mark.parametrize("x", PYTHON, ids=repr)
def test_python_numbers_keep_pythons_meaning(x: Any) -> None:
    for y in PYTHON:
        for f in OPERATORS[:13]:
            try:
                expected = f(x, y)
            except TypeError:
                with pytest.raises(TypeError):
                    trace_call(f, (x, y))
                continue
            try:
                check(f, (x, y), modes=("static",))
            except TraceError as e:
                assert e.code == "TJ004"
                assert f is operator.pow and type(expected) is complex
            except Bailout:
                # An int to a negative power is a float.
                negative = type(x) in (int, bool) and type(y) is int and y < 0
                assert f is operator.pow and (negative or type(expected) is complex)


def test_an_int_that_does_not_fit_is_numpys_error() -> None:
    with pytest.raises(OverflowError):
        trace_call(lambda x: x + 300, (np.ones(3, np.uint8),))


@pytest.mark.parametrize("code", "bBhHiIlL")
def test_comparisons_with_an_int_beyond_the_dtype_are_exact(code: str) -> None:
    info = np.iinfo(code)
    x = np.array([info.min, 1, info.max], code)
    comparisons = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
    for beyond in (int(info.min) - 1, int(info.max) + 1, -(2**70), 2**70):
        for f in comparisons:
            for compared in (lambda x, f=f, n=beyond: f(x, n), lambda x, f=f, n=beyond: f(n, x)):
                check(compared, (x,), (x[:1],), (x[0],))


def test_shapes_that_do_not_broadcast_are_numpys_error() -> None:
    for mode in ("static", "shared", "apart"):
        with pytest.raises(ValueError, match="broadcast"):
            trace_call(operator.add, (np.ones((2, 3)), np.ones((4, 3))), mode)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_dtype_argument(dtype: Any) -> None:
    check(lambda x: np.add(x, 1, dtype=dtype), (np.ones(3, np.float32),))
    check(lambda x: np.sqrt(x, dtype=dtype), (np.ones(3, np.float32),))


def test_out_argument_and_in_place_operators() -> None:
    def add_into(x: np.ndarray) -> np.ndarray:
        y = np.copy(x)
        np.multiply(x, 2, out=y)
        y += 1
        y[0] -= x[1]
        return y

    check(add_into, (small("f8"),), (small("f8", (4, 7)),))


@pytest.mark.parametrize("f", [np.add, np.multiply, np.maximum, np.minimum, np.logical_or])
def test_methods_of_ufuncs(f: Any) -> None:
    x, y = small("i8"), small("i8", (4, 5))
    check(lambda x: f.reduce(x), (x,), (y,))
    check(lambda x: f.reduce(x, axis=1), (x,), (y,))
    check(lambda x: f.reduce(x, axis=None), (x,), (y,))
    check(lambda x: f.outer(x, x[0]), (x,), (y,))
    if f in (np.add, np.multiply):
        check(lambda x: f.accumulate(x), (x,), (y,))


def test_unsupported_forms_are_refused() -> None:
    x = np.ones(3)
    assert refused(lambda x: np.add(x, 1, where=x > 0), x) == "TJ004"
    assert refused(lambda x: np.add.reduceat(x, [0]), x) == "TJ004"
    assert refused(lambda x: special.ellipk(x), x) == "TJ002"
    assert refused(lambda x: x + np.ones(3), x) == "TJ006"
    assert refused(lambda x: np.multiply(x, 2, out=np.ones(3)), x) == "TJ005"
    assert refused(lambda x: 1 if x[0] > 0 else 2, x) == "TJ001"


def test_size_zero_and_one_broadcast() -> None:
    for mode in ("static", "shared", "apart"):
        for a, b in (((0,), (1,)), ((3, 1), (1, 0)), ((1,), (4, 1)), ((), (2, 0)), ((5, 1), (5,))):
            check(operator.add, (np.ones(a), np.ones(b)), modes=(mode,))


SIZE_OPERANDS = [1, 2, 3, -2, 7, 40, 2.5, -1.0, 4.0, 0.0, float("inf"), float("nan"), True]


@pytest.mark.parametrize("f", OPERATORS, ids=lambda f: f.__name__)
def test_sizes_are_ints(f: Any) -> None:
    for y in SIZE_OPERANDS:
        for call in (lambda x, y=y: f(x.shape[0], y), lambda x, y=y: f(y, x.shape[0])):
            for n in (0, 1, 4, 9):
                args = (np.ones(n),)
                try:
                    call(*args)
                except (ZeroDivisionError, ValueError, TypeError, OverflowError) as error:
                    try:
                        traced = trace_call(call, args, "apart")
                        with pytest.raises(Bailout):
                            traced.run(args, traced.sizes(args) or {})
                    except Exception as e:
                        assert type(e) in (type(error), TraceError)
                    continue
                try:
                    check(call, args, (np.ones(n + 5),) if n > 1 else args, modes=("apart",))
                except TraceError as e:
                    assert e.code == "TJ004"
    check(
        lambda x: (~x.shape[0], round(x.shape[0]), -x.shape[0], abs(x.shape[0] - 9)), (np.ones(4),)
    )


@pytest.mark.usefixtures("never_eager")
def test_pythons_complex_takes_numpys_float64_for_its_own_float() -> None:
    """On the left it is asked first, and knows subclasses of float."""
    cases: list[Callable[[Any, Any], Any]] = [
        lambda c, v: c + v,
        lambda c, v: c - v,
        lambda c, v: c * v,
        lambda c, v: c / v,
        lambda c, v: c == v,
        lambda c, v: c != v,
        lambda c, v: 2j * v,
        lambda c, v: 2j == v,
        lambda c, v: (v + c, v * c, v == c),
    ]
    for f in cases:
        for v in (np.float64(2.5), np.float32(2.5), np.int64(2), np.complex128(1j)):
            assert_same(f(1 + 2j, v), tracejit.jit(f)(1 + 2j, v))
    with pytest.raises(ZeroDivisionError):
        tracejit.jit(cases[3])(1j, np.float64(0.0))
