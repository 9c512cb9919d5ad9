"""Kernel expressions of Python numbers give what `evaluate` gives and bail out where it does."""

import ctypes
import ctypes.util
import math
import operator

import numpy as np
import pytest

import tracejit.ops  # noqa: F401 - fills the registry
from tests.support.compare import assert_same
from tracejit.errors import Bailout
from tracejit.ir.kernel import Call, Const, Var
from tracejit.ir.op import OPS
from tracejit.ir.types import DTYPES
from tracejit.ops.python.arithmetic import PyOp

#: Scalar functions by their meaning for i64, f64 and b1; the NumPy ufunc of that name otherwise.
EXACT = {
    "add_overflows": operator.add,
    "subtract_overflows": operator.sub,
    "multiply_overflows": operator.mul,
}


def run(expr, env):
    """The value of an expression as a NumPy scalar of its dtype."""
    if isinstance(expr, tuple):
        return tuple(run(e, env) for e in expr)
    if isinstance(expr, Const):
        return DTYPES[expr.dtype].type(expr.value)
    if isinstance(expr, Call):
        args = [run(a, env) for a in expr.args]
        assert not any(isinstance(a, tuple) for a in args)
        out = call(expr.fn, args, DTYPES[expr.dtype])
        assert out.dtype == DTYPES[expr.dtype], f"{expr.fn} gives {out.dtype}"
        return out
    value = env[expr.name]
    assert value.dtype == DTYPES[expr.dtype]
    return value


def call(fn, args, dtype):
    if fn in EXACT:
        exact = EXACT[fn](*map(int, args))
        return np.bool_(not -(2**63) <= exact < 2**63)
    if fn in ("cast", "truncated"):
        return args[0].astype(dtype)
    if fn == "select":
        return args[1] if args[0] else args[2]
    if fn == "power":
        # C's pow: no exceptions, no complex numbers. Below, it is not read.
        return np.power(*args) if dtype.kind == "f" or args[1] >= 0 else np.int64(0)
    if fn == "power_exceeds":
        a, b = map(int, args)
        return np.bool_(abs(a) > 1 and b >= 0 and (b > 63 or not -(2**63) <= a**b < 2**63))
    if fn.startswith("libm_"):
        return c_function(fn.removeprefix("libm_"), args)
    return getattr(np, fn)(*args)


def c_function(name, args):
    """A function of the C library."""
    function = getattr(ctypes.CDLL(ctypes.util.find_library("m")), name)
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * len(args)
    return np.float64(function(*map(float, args)))


def machine(value, name):
    """The operand (expression, environment) of a Python number or NumPy scalar."""
    if isinstance(value, (complex, np.complexfloating)):
        part = "f32" if isinstance(value, np.complex64) else "f64"
        parts = (DTYPES[part].type(value.real), DTYPES[part].type(value.imag))
        env = dict(zip((f"{name}.re", f"{name}.im"), parts, strict=True))
        return tuple(Var(n, part) for n in env), env
    dtype = np.asarray(value).dtype
    text = next(k for k, d in DTYPES.items() if d == dtype)
    return Var(name, text), {name: dtype.type(value)}


def kind_of(value):
    if isinstance(value, np.generic):
        return next(k for k, d in DTYPES.items() if d == value.dtype)
    return type(value).__name__


def as_python(value, kind):
    if isinstance(value, tuple):
        return complex(*map(float, value))
    return {"int": int, "float": float, "bool": bool}[kind](value)


def native_samples(op):
    for inputs, attrs in op.samples():
        kinds = tuple(map(kind_of, inputs))
        if not hasattr(op, "native") or op.native(kinds):
            yield inputs, kinds, attrs


SCALAR_OPS = [n for n, op in sorted(OPS.items()) if hasattr(op, "scalar_expr")]


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", SCALAR_OPS)
def test_expressions_agree_with_evaluate(name) -> None:
    op, ran = OPS[name], 0
    for inputs, kinds, attrs in native_samples(op):
        args, env = [], {}
        for k, value in enumerate(inputs):
            arg, more = machine(value, f"x{k}")
            args.append(arg)
            env |= more
        result, condition = op.scalar_expr(tuple(args), kinds, attrs)
        with np.errstate(all="ignore"):
            bails = condition is not None and bool(run(condition, env))
            actual = run(result, env)
            try:
                (expected,) = op.evaluate(inputs, attrs)
            except Bailout:
                assert bails, f"{inputs} {attrs} does not bail out"
                continue
        ran += 1
        assert not bails, f"{inputs} {attrs} bails out, evaluate gives {expected!r}"
        if isinstance(expected, np.generic):
            if isinstance(actual, tuple):
                actual = np.array(actual).view(expected.dtype)[0]
            assert_same(expected, actual)
        else:
            kind = type(expected).__name__
            assert isinstance(actual, tuple) == (kind == "complex")
            # A sum of squares of CPython's own, as exact as the C library's.
            parity = "ulp" if name == "py_hypot" else "exact"
            assert_same(expected, as_python(actual, kind), parity)
    assert ran


def test_every_python_op_is_native_for_real_kinds() -> None:
    for name in SCALAR_OPS:
        op = OPS[name]
        if isinstance(op, PyOp):
            assert op.native(("float",) * op.arity) and op.native(("int",) * op.arity)
            assert op.native(("complex", "float")) == op.mixes


@pytest.mark.parametrize("exponent", range(64))
def test_int_powers_bail_out_exactly_beyond_64_bits(exponent) -> None:
    op = OPS["py_power"]
    result, condition = op.scalar_expr((machine(0, "x")[0],), ("int",), {"exponent": exponent})
    edge = math.floor((2**63 - 1) ** (1 / max(exponent, 1)))
    bases = {0, 1, -1, 2, -2, 3, -3, edge - 1, edge, edge + 1, -edge, -edge - 1, -(2**63)}
    for base in (b for b in bases if -(2**63) <= b < 2**63):
        env = {"x": np.int64(base)}
        fits = -(2**63) <= base**exponent < 2**63
        with np.errstate(all="ignore"):
            bails = condition is not None and bool(run(condition, env))
            assert bails == (not fits), base
            assert bails or int(run(result, env)) == base**exponent
