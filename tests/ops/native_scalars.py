"""Every scalar function of the kernels, on every dtype and every number of lanes: code and meaning.

    for case in scalar_cases(): check_scalar(case)

The functions are those of the tables, on the dtypes of the loops of the NumPy ufunc of the name.
What is no ufunc states its meaning and its dtypes in `MEANINGS`. Conversions are between all pairs
of dtypes.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.vector_math.special_sweep import PRECISE
from tests.ops.native_op_cases import special
from tests.ops.op_parity import parity_bound, tolerance, zeros_are_open
from tests.ops.op_references import REFERENCES
from tests.support.compare import assert_same
from tracejit.codegen.llvm.engine import compile_module, host_target
from tracejit.codegen.llvm.lanes import Lanes, bits, from_memory, memory_type, to_memory
from tracejit.codegen.llvm.text import FunctionBuilder, Module
from tracejit.codegen.scalar.booleans import BOOLEAN
from tracejit.codegen.scalar.floats import FLOAT
from tracejit.codegen.scalar.functions import emit_call, supports
from tracejit.codegen.scalar.integers import INTEGER
from tracejit.codegen.vector_math.define import PARTS
from tracejit.codegen.vector_math.evaluate import evaluate
from tracejit.ir.op import OPS
from tracejit.ir.types import DTYPES, dtype_name
from tracejit.link.finding import c_address

__all__ = ["ScalarCase", "check_scalar", "scalar_cases"]

REALS = tuple(name for name in DTYPES if name[0] != "c")
INTEGERS = tuple(name for name in REALS if name[0] in "iu")
FLOATS = tuple(name for name in REALS if name[0] == "f")

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class ScalarCase:
    """A scalar function on operands of these dtypes."""

    fn: str
    dtypes: tuple[str, ...]
    out: str
    parity: str

    def __str__(self) -> str:
        return f"{self.fn}({', '.join(self.dtypes)}) -> {self.out}"


# Meanings ---------------------------------------------------------------------------------------


def _fma(a: Array, b: Array, c: Array) -> Array:
    """a * b + c with one rounding, from fractions."""
    out = a * b + c
    for k in np.flatnonzero(np.isfinite(a) & np.isfinite(b) & np.isfinite(c)):
        exact = Fraction(float(a[k])) * Fraction(float(b[k])) + Fraction(float(c[k]))
        if exact:
            out[k] = _nearest(exact, a.dtype)
    return out


def _nearest(exact: Fraction, dtype: np.dtype[Any]) -> Any:
    info = np.finfo(dtype)
    largest = Fraction(float(info.max))
    if abs(exact) >= largest + largest * Fraction(float(info.epsneg)) / 2:
        return np.copysign(np.inf, 1 if exact > 0 else -1)
    guess = dtype.type(float(max(-largest, min(largest, exact))))
    near = [
        np.nextafter(guess, -np.inf, dtype=dtype),
        guess,
        np.nextafter(guess, np.inf, dtype=dtype),
    ]
    near = [x for x in near if np.isfinite(x)]
    error = [abs(Fraction(float(x)) - exact) for x in near]
    best = [x for x, e in zip(near, error, strict=True) if e == min(error)]
    even = [x for x in best if not int(np.asarray(x).view(f"u{dtype.itemsize}")) & 1]
    found = (even or best)[0]
    return found if found else np.copysign(found, 1 if exact > 0 else -1)


def _c_function(name: str) -> Callable[..., Array]:
    """The C library's function of doubles; of narrower operands its result is rounded."""
    arity = 2 if name in ("atan2", "hypot", "pow") else 1
    kind = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * arity)
    function = kind(c_address(name))

    def call(*args: Array) -> Array:
        rows = zip(*(x.astype(float) for x in args), strict=True)
        return np.array([function(*row) for row in rows]).astype(args[0].dtype)

    return call


def _leaves(operation: Callable[[int, int], int]) -> Callable[..., Array]:
    def call(a: Array, b: Array) -> Array:
        info = np.iinfo(a.dtype)
        exact = (operation(int(x), int(y)) for x, y in zip(a, b, strict=True))
        return np.array([not info.min <= v <= info.max for v in exact])

    return call


def _power_exceeds(a: Array, b: Array) -> Array:
    """Of exponents that are not negative; a large power of 0, 1 and -1 is that of a small one."""
    return _leaves(lambda x, y: x ** (y if abs(x) > 1 and y < 70 else min(y, 64) + y % 2))(a, b)


def _of_scalars(name: str) -> Callable[..., Array]:
    return lambda *args: np.asarray(REFERENCES[name](list(args), {}))


def _defined(name: str) -> Callable[..., Array]:
    """A function of parts of complex numbers, judged by its definition."""
    return lambda *args: np.asarray(evaluate(name, *args, fma=host_target().has_fma))


#: What is no ufunc of NumPy -> (its meaning, dtypes of operands and result, parity).
MEANINGS: dict[str, tuple[Callable[..., Any], list[tuple[tuple[str, ...], str]], str]] = {
    "fma": (_fma, [((d, d, d), d) for d in ("f32", "f64")], "exact"),
    "truncated": (lambda x: np.trunc(x).astype(np.int64), [(("f64",), "i64")], "exact"),
    "frexp_mantissa": (lambda x: np.frexp(x)[0], [((d,), d) for d in FLOATS], "exact"),
    "frexp_exponent": (lambda x: np.frexp(x)[1], [((d,), "i32") for d in FLOATS], "exact"),
    "unlikely": (lambda x: x, [(("b1",), "b1")], "exact"),
    "uniform_power": (
        _of_scalars("uniform_power"),
        [((d, d), d) for d in FLOATS],
        OPS["uniform_power"].parity,
    ),
    **{
        name: (
            _of_scalars(name),
            [((d,) * OPS[name].arity, d) for d in ("f32", "f64")],
            OPS[name].parity,
        )
        for name in sorted(FLOAT.keys() & PRECISE)
    },
    "power_exceeds": (_power_exceeds, [(("i64", "i64"), "b1")], "exact"),
    **{
        f"{name}_overflows": (_leaves(operation), [((d, d), "b1") for d in INTEGERS], "exact")
        for name, operation in {
            "add": lambda a, b: a + b,
            "subtract": lambda a, b: a - b,
            "multiply": lambda a, b: a * b,
        }.items()
    },
    **{
        name: (_defined(name), [(("f64",) * arity, "f64")], "exact")
        for name, arity in PARTS.items()
    },
    "select": (np.where, [(("b1", d, d), d) for d in REALS], "exact"),
    "cast": (lambda x: x, [((a,), b) for a in REALS for b in REALS], "exact"),
}  # fmt: skip


def _meaning(fn: str) -> Any:
    if fn in MEANINGS:
        return MEANINGS[fn]
    if fn.startswith("libm_"):
        function = _c_function(fn.removeprefix("libm_"))
        arity = 2 if fn in ("libm_atan2", "libm_hypot", "libm_pow") else 1
        return function, [((d,) * arity, d) for d in FLOATS], "exact"
    ufunc = getattr(np, fn)
    reference = _of_scalars(fn) if fn in REFERENCES else ufunc
    parity = OPS[fn].parity if fn in OPS else "exact"
    return reference, list(_loops(ufunc)), parity


def _loops(ufunc: np.ufunc) -> Iterator[tuple[tuple[str, ...], str]]:
    """The real dtypes of operands and result of a ufunc's loops."""
    seen = set()
    for loop in ufunc.types:
        try:
            given, _, made = loop.partition("->")
            key = (tuple(dtype_name(np.dtype(c)) for c in given), dtype_name(np.dtype(made)))
        except TypeError:
            continue
        if key not in seen and not any(d[0] == "c" for d in (*key[0], key[1])):
            seen.add(key)
            yield key


def all_functions() -> list[str]:
    """The names of all scalar functions, and what takes operands of any dtype."""
    return sorted({*FLOAT, *INTEGER, *BOOLEAN, "cast", "select"})


def scalar_cases() -> list[ScalarCase]:
    """Every function on all dtypes that it has code for."""
    found = []
    for fn in all_functions():
        _, loops, parity = _meaning(fn)
        for dtypes, out in loops:
            if supports(fn, dtypes):
                found.append(ScalarCase(fn, dtypes, out, parity))
    return found


# Code -------------------------------------------------------------------------------------------


def _widths(case: ScalarCase) -> list[int]:
    """The numbers of lanes that this host's registers hold of a case's widest dtype."""
    if case.fn.endswith(("_overflows", "_exceeds")):
        return [1]  # Python's numbers: they are never in lanes.
    most = host_target().vector_bits // max(map(bits, (*case.dtypes, case.out)))
    return [w for w in (1, 2, 4, 8, 16, 32, 64) if w <= most]


def _function(module: Module, case: ScalarCase, width: int) -> str:
    names = [f"%p{k}" for k in range(len(case.dtypes) + 1)]
    fb = FunctionBuilder(module, f"lanes{width}", [("ptr", n) for n in names], linkage="")
    lanes = Lanes(fb, width)

    def memory(dtype: str) -> str:
        return f"{lanes.of(memory_type(dtype))}"

    loaded = [
        from_memory(lanes, fb.emit(f"load {memory(d)}, ptr {n}, align {bits(d) // 8}"), d)
        for d, n in zip(case.dtypes, names, strict=False)
    ]
    result = emit_call(lanes, case.fn, loaded, case.dtypes, case.out)
    stored = to_memory(lanes, result, case.out)
    if width > 1 and stored in ("true", "false", "0", "1"):
        stored = f"splat ({memory_type(case.out)} {stored})"
    fb.line(f"store {memory(case.out)} {stored}, ptr {names[-1]}, align {bits(case.out) // 8}")
    fb.ret()
    fb.finish()
    return fb.name


def _run(function: Any, width: int, columns: Sequence[Array], out: np.dtype[Any]) -> Array:
    """The function over whole columns, whose length is a multiple of 64."""
    result = np.full(len(columns[0]) * out.itemsize, 0xA5, np.uint8).view(out)
    places = [(x.ctypes.data, x.itemsize * width) for x in (*columns, result)]
    for k in range(len(result) // width):
        function(*(start + k * step for start, step in places))
    return result


# Checks -----------------------------------------------------------------------------------------


def _columns(case: ScalarCase) -> list[Array]:
    """All combinations of special values for which the function has a meaning."""
    values = [special(DTYPES[d]) for d in case.dtypes]
    if case.fn == "fma":
        values = [v[::2] for v in values]
    places = np.indices([len(v) for v in values]).reshape(len(values), -1)
    columns = [v[at] for v, at in zip(values, places, strict=True)]
    if len(case.dtypes) == 1:
        more = _more(columns[0].dtype)
        columns = [np.concatenate([columns[0], more])]
    valid = np.ones(len(columns[0]), bool)
    if case.fn in ("power", "power_exceeds") and case.dtypes[0][0] in "iu":
        valid = columns[1] >= 0
    if case.dtypes[0][0] == "f" and case.out[0] in "iu":
        info, whole = np.iinfo(DTYPES[case.out]), np.trunc(columns[0].astype(np.longdouble))
        valid = (whole >= info.min) & (whole <= info.max)
    columns = [c[valid] for c in columns]
    at = np.arange(-(-len(columns[0]) // 64) * 64) % len(columns[0])
    return [np.ascontiguousarray(c[at]) for c in columns]


def _more(dtype: np.dtype[Any]) -> Array:
    """Values beside the limits of other dtypes, and some of all magnitudes."""
    if dtype.kind == "b":
        return np.zeros(0, dtype)
    limits = [x for n in (7, 8, 11, 15, 16, 24, 31, 32, 53, 63) for x in (2**n - 1, 2**n, 2**n + 1)]
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.array([x for v in limits for x in (v, -v) if info.min <= x <= info.max], dtype)
    rng = np.random.default_rng(7)
    magnitudes = rng.standard_normal(300) * 10.0 ** rng.uniform(-8, 8, 300)
    halves = [-1.9, -0.6, 254.9, 127.6, 32767.4, 65504.0, 65519.0, 65520.0, 2049.0, 2051.0]
    with np.errstate(over="ignore"):
        found = np.array([x for v in (*limits, *halves, *magnitudes) for x in (v, -v)]).astype(
            dtype
        )
    return found


def check_scalar(case: ScalarCase) -> int:
    """Hold a function in every number of lanes against its meaning; how many those are.

    Raises Mismatch, naming the case and the width.
    """
    meaning, _, parity = _meaning(case.fn)
    columns, out = _columns(case), DTYPES[case.out]
    with np.errstate(all="ignore"):
        expected = columns[0].astype(out) if case.fn == "cast" else np.asarray(meaning(*columns))
    module = Module()
    widths = _widths(case)
    names = [_function(module, case, width) for width in widths]
    library = compile_module(module.text(), {}, names)
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(columns) + 1))
    bound = parity_bound(parity)
    if case.fn in OPS and (case.fn not in MEANINGS or case.fn in PRECISE):
        bound = tolerance(OPS[case.fn], columns, {})
    for width, name in zip(widths, names, strict=True):
        found = _run(kind(library.address(name)), width, columns, out)
        if case.fn in OPS and zeros_are_open(OPS[case.fn]):
            bound["ignore"] = (expected == 0) & (found == 0)
        try:
            assert_same(expected, found, where=f"{case} in {width} lanes", **bound)
        except AssertionError as e:
            wrong = [k for k in range(len(found)) if not _same(expected[k], found[k])][:5]
            e.add_note("operands: " + "; ".join(str([c[k] for c in columns]) for k in wrong))
            raise
    return len(widths)


def _same(a: Any, b: Any) -> bool:
    return bool(a == b) and math.copysign(1, a) == math.copysign(1, b) or (a != a and b != b)
