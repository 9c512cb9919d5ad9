"""Every scalar function of the Kernel IR with its dtypes, and its print as a function."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from tests.support.native_kernels import TARGETS, Array, NativeKernel, same_bits
from tracejit.codegen.cuda.device_functions import LIBRARY, SOURCES
from tracejit.codegen.cuda.scalars import ScalarPrinter
from tracejit.codegen.cuda.simulated_functions import simulated_namespace
from tracejit.codegen.scalar.booleans import BOOLEAN
from tracejit.codegen.scalar.floats import FLOAT
from tracejit.codegen.scalar.integers import INTEGER
from tracejit.codegen.vector_math.define import ARITY, PARTS
from tracejit.ir.dims import symbol
from tracejit.ir.kernel import Call, For, Kernel, Load, Param, Store
from tracejit.ir.types import DTYPES

__all__ = [
    "FLOATS",
    "INTEGERS",
    "ROUNDED",
    "Case",
    "cases",
    "columns",
    "elementary_operands",
    "exact",
    "function_source",
    "kernel_source",
    "native",
    "simulated",
]

INTEGERS = tuple("i8 i16 i32 i64 u8 u16 u32 u64".split())
FLOATS = ("f16", "f32", "f64")

#: A function, the dtypes of its arguments and that of the result.
Case = tuple[str, tuple[str, ...], str]

#: Within some ULP of the native code's results, or compared with the definition.
ROUNDED = frozenset(LIBRARY) | {"uniform_power"}

_UNARY = frozenset(
    "absolute bitwise_count ceil conjugate deg2rad degrees fabs floor frexp_exponent "
    "frexp_mantissa invert isfinite isinf isnan logical_not negative positive rad2deg radians "
    "reciprocal rint sign signbit spacing sqrt square trunc truncated unlikely".split()
)
_TRUTHS = frozenset(
    "equal not_equal less less_equal greater greater_equal isnan isinf isfinite signbit "
    "power_exceeds".split()
)
_BINARY_LIBM = ("libm_atan2", "libm_hypot", "libm_pow")


def arity(fn: str) -> int:
    """How many arguments a function takes."""
    if fn in ARITY or fn in PARTS:
        return {**ARITY, **PARTS}[fn]
    if fn.startswith("libm_"):
        return 2 if fn in _BINARY_LIBM else 1
    return 3 if fn == "fma" else 1 if fn in _UNARY else 2


def cases() -> Iterator[Case]:
    """All functions of the tables on all dtypes, and `select` and `cast`."""
    for dtypes, table in ((FLOATS, FLOAT), (INTEGERS, INTEGER), (("b1",), BOOLEAN)):
        for fn, d in itertools.product(table, dtypes):
            if fn in PARTS and d != "f64":
                continue
            arguments = (d,) * arity(fn)
            result = "b1" if fn in _TRUTHS or fn.endswith("_overflows") else d
            result = {"bitwise_count": "u8", "frexp_exponent": "i32", "truncated": "i64"}.get(
                fn, result
            )
            if fn == "ldexp":
                for n in ("i32", "i64"):
                    yield fn, (d, n), d
            else:
                yield fn, arguments, result
    for d in ("b1", *INTEGERS, *FLOATS):
        yield "select", ("b1", d, d), d
        for to in ("b1", *INTEGERS, *FLOATS):
            if to != d:
                yield "cast", (d,), to
    for pair in (("i64", "u64"), ("u64", "i64"), ("i8", "u8")):
        for fn in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
            yield fn, pair, "b1"


def function_source(case: Case) -> str:
    """A function of that name: halves are float32, and so is a half as a result."""
    fn, dtypes, dtype = case
    names = "abcd"[: len(dtypes)]
    lines: list[str] = []
    numbers = itertools.count()
    result = ScalarPrinter(lines, lambda: f"_{next(numbers)}").call(fn, names, dtypes, dtype)
    body = "".join(f"    {line}\n" for line in [*lines, f"return {result}"])
    return f"def function({', '.join(names)}):\n{body}"


def kernel_source(case: Case, loop: str = "i = cuda.grid(1)\nif i < n:") -> str:
    """A kernel `k` that applies the function to elements: of `loop`, each thread to one."""
    fn, dtypes, dtype = case
    names = "abcd"[: len(dtypes)]
    *body, last = function_source(case).splitlines()[1:]
    loads = [
        f"    {x} = {_from_memory(f'{x}_in[i]', d)}" for x, d in zip(names, dtypes, strict=True)
    ]
    result = last.strip().removeprefix("return ")
    kind = {"b1": "uint8", "f16": "float16"}.get(dtype)
    store = f"    out[i] = {result if kind is None else f'{kind}({result})'}"
    lines = [*loop.splitlines(), *loads, *body, store]
    parameters = ", ".join([*(f"{x}_in" for x in names), "out", "n"])
    return f"def k({parameters}):\n" + "".join(f"    {line}\n" for line in lines)


def _from_memory(text: str, dtype: str) -> str:
    return {"b1": f"{text} != 0", "f16": f"float32({text})"}.get(dtype, text)


def awkward(dtype: str) -> Array:
    """Values at which functions tend to go wrong, and some drawn ones."""
    kind = DTYPES[dtype]
    draw = np.random.default_rng(3)
    if dtype == "b1":
        return np.array([False, True])
    if dtype in INTEGERS:
        info = np.iinfo(kind)
        values = [0, 1, 2, 3, 7, 63, 64, 100, info.max, info.max - 1, info.min, info.min + 1]
        values += [-1, -2, -7] if dtype[0] == "i" else []
        values += [int(x) for x in draw.integers(info.min, info.max, 4, kind, endpoint=True)]
        return np.array([v for v in values if info.min <= v <= info.max], kind)
    limits = np.finfo(kind)
    positive = [0.0, 0.3, 0.5, 1.0, 1.5, 2.5, 3.0, 10.75, 1000.0, 3e4, np.inf]
    positive += [float(limits.tiny), float(limits.smallest_subnormal), float(limits.max)]
    positive += [0.999, 127.6, 255.4, 2147483648.0, 4294967296.0, 2.0**63, 2.0**64]
    positive += list(np.abs(draw.standard_normal(4)))
    with np.errstate(all="ignore"):
        return np.array([*positive, *(-p for p in positive), np.nan]).astype(kind)


def columns(case: Case) -> list[Array]:
    """The operands of a function, all combinations of awkward ones, or some of them."""
    fn, dtypes, _ = case
    values = [awkward(d) for d in dtypes]
    if fn in ("power", "power_exceeds") and dtypes[0] in INTEGERS:
        values[1] = values[1][values[1] >= 0]
    if fn == "truncated":
        values = [np.array([0.0, -0.5, 2.75, -1000.0, 30000.0], DTYPES[dtypes[0]])]
    rows = list(itertools.product(*values))
    if len(rows) > 1500:
        places = np.random.default_rng(1).permutation(len(rows))[:1500]
        rows = [rows[k] for k in places]
    return [np.array(c, v.dtype) for c, v in zip(zip(*rows, strict=True), values, strict=True)]


def simulated(case: Case, operands: Sequence[Array]) -> Array:
    """The results of the print."""
    _, dtypes, dtype = case
    space = simulated_namespace()
    exec(function_source(case), space)
    given = [
        x.astype(np.float32) if d == "f16" else x for x, d in zip(operands, dtypes, strict=True)
    ]
    with np.errstate(all="ignore"):
        results = [space["function"](*row) for row in zip(*given, strict=True)]
        register = np.float32 if dtype == "f16" else DTYPES[dtype]
        types = {bool, np.bool_} if dtype == "b1" else {np.dtype(register).type}
        assert {type(r) for r in results} <= types
        whole = np.array(results, register)
        if dtype == "f16":
            assert same_bits(whole, whole.astype(np.float16).astype(np.float32))
        return whole.astype(DTYPES[dtype])


def native(some: Sequence[Case], operands: Sequence[Sequence[Array]]) -> list[Array]:
    """The results of the native code, one kernel for all."""
    i = symbol("i")
    params, body, buffers, sizes = [], [], {}, {}
    for k, ((fn, dtypes, dtype), columns) in enumerate(zip(some, operands, strict=True)):
        n = symbol(f"n{k}")
        sizes[f"n{k}"] = len(columns[0])
        loads = []
        for c, d, x in zip("abcd", dtypes, columns, strict=False):
            params.append(Param(f"{c}{k}", d, (n,)))
            buffers[f"{c}{k}"] = np.ascontiguousarray(x)
            loads.append(Load(f"{c}{k}", (i,), d))
        params.append(Param(f"o{k}", dtype, (n,), output=True))
        buffers[f"o{k}"] = np.zeros(len(columns[0]), DTYPES[dtype])
        store = Store(f"o{k}", (i,), Call(fn, tuple(loads), dtype))
        body.append(For("i", n, (store,)))
    kernel = Kernel("k", tuple(params), tuple(sizes), (), tuple(body))
    assert NativeKernel(kernel, TARGETS["scalar"])(buffers, sizes) == 0
    return [buffers[f"o{k}"] for k in range(len(some))]


def exact(case: Case) -> bool:
    """Whether a function is exact or rounded once: neither of the library nor in source."""
    fn, dtypes, _ = case
    of_floats = dtypes[0] in FLOATS
    return not of_floats or fn not in ROUNDED and fn not in SOURCES


def _points(dtype: str) -> Array:
    draw = np.random.default_rng(7)
    kind = DTYPES[dtype]
    near = [draw.uniform(-1, 1, 30), draw.uniform(-9, 9, 30), draw.uniform(-180, 180, 30)]
    special = [0.0, 0.5, 1.0, 2.0, 3.0, 170.0, 1e4, np.inf, np.nan]
    tiny = float(np.finfo(kind).tiny)
    special += [tiny, float(np.finfo(kind).smallest_subnormal), float(np.finfo(kind).max)]
    with np.errstate(all="ignore"):
        return np.concatenate([*near, special, np.negative(special)]).astype(kind)


def elementary_operands(case: Case) -> list[Array]:
    """Operands of elementary functions: usual ones and special values."""
    x = _points(case[1][0])
    draw = np.random.default_rng(9)
    return [x, *(draw.permutation(x) for _ in case[1][1:])]
