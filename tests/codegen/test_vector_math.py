"""Vector math against mpmath and NumPy: error bounds, special values, every width, foreign CPUs."""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
import scipy.special

from benchmarks.vector_math.sweep import DTYPES, NAMES, Floats, points, reference, ulp_errors
from tracejit.codegen.llvm import engine
from tracejit.codegen.vector_math.define import ARITY, define, symbol
from tracejit.codegen.vector_math.tables import TABLES

WIDTHS = (1, 2, 4, 8, 16)
COUNT = 8_000
CASES = [(name, dtype) for name in NAMES for dtype in DTYPES]
FUSED = [True, False]
#: Then the wider widths read tables by permutations, the others from memory.
PERMUTES = engine.host_target().is_x86 and "avx512f" in engine.host_target().features

_WIDER = {
    "arccosh": 0.95,
    "arcsinh": 0.95,
    "arctanh": 0.95,
    "arctan": 0.95,
    "expm1": 0.95,
    "sinh": 0.9,
    "tan": 1.0,
    "log2": 0.9,
    "cbrt": 0.9,
}
_EVEN = ("cos", "cosh")
_SYMMETRIC = (
    *_EVEN,
    "cbrt",
    "sin",
    "tan",
    "tanh",
    "erf",
    "sinh",
    "arctan",
    "arcsin",
    "arcsinh",
    "arctanh",
)
#: ULP, with FMA and without.
BOUNDS = dict.fromkeys(NAMES, 0.8) | {"erf": 1.0} | _WIDER


def loop(name: str, dtype: str, width: int) -> str:
    """A function that applies the vector function to `n` elements, a multiple of `width`."""
    element = {"f64": "double", "f32": "float"}[dtype]
    vector = element if width == 1 else f"<{width} x {element}>"
    own = symbol(name, dtype, width)
    return f"""
define void @loop_{own}(ptr %x, ptr %y, i64 %n) {{
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %source = getelementptr {element}, ptr %x, i64 %i
  %target = getelementptr {element}, ptr %y, i64 %i
  %a = load {vector}, ptr %source, align 4
  %b = call {vector} @{own}({vector} %a)
  store {vector} %b, ptr %target, align 4
  %next = add i64 %i, {width}
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}}
"""


def module(
    name: str, dtype: str, fma: bool, widths: tuple[int, ...] = WIDTHS, permutes: bool = False
) -> str:
    """The function in all widths, each with its loop."""
    declarations: dict[str, None] = {}
    texts: dict[str, str] = {}
    for width in widths:
        definition = define(name, dtype, width, fma, permutes)
        declarations |= definition.all_declarations()
        texts |= definition.everything()
    return "\n".join([*declarations, *texts.values(), *(loop(name, dtype, w) for w in widths)])


@functools.cache
def compiled(
    name: str, dtype: str, fma: bool, permutes: bool = PERMUTES
) -> dict[int, Callable[[Floats], Floats]]:
    """The function on NumPy arrays of any length, by width; compiled without any pass."""
    exports = [f"loop_{symbol(name, dtype, width)}" for width in WIDTHS]
    library = engine.compile_module(
        module(name, dtype, fma, permutes=permutes), {}, exports, simplifycfg=False
    )
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)

    def over_arrays(export: str) -> Callable[[Floats], Floats]:
        run = kind(library.address(export))

        def call(x: Floats) -> Floats:
            padded = np.ones(-(-x.size // WIDTHS[-1]) * WIDTHS[-1], x.dtype)
            padded[: x.size] = x
            y = np.empty_like(padded)
            run(padded.ctypes.data, y.ctypes.data, padded.size)
            return y[: x.size]

        call.library = library  # type: ignore[attr-defined]  # Code lives as long as this.
        return call

    return {w: over_arrays(export) for w, export in zip(WIDTHS, exports, strict=True)}


@functools.cache
def sample(name: str, dtype: str) -> tuple[Floats, Floats, Floats]:
    x = points(name, dtype, COUNT)
    return (x, *reference(name, x))


def numpy_value(name: str, x: Floats) -> Floats:
    function = scipy.special.erf if name == "erf" else getattr(np, name)
    with np.errstate(all="ignore"):
        return np.asarray(function(x))


def scalar_type(dtype: str) -> Any:
    """`np.float64` or `np.float32`; as `Any`, since their stubs have little in common."""
    return DTYPES[dtype]


def specials(dtype: str) -> Floats:
    info = np.finfo(scalar_type(dtype))
    sizes = [0.0, info.smallest_subnormal, 3 * info.smallest_subnormal, info.tiny, info.eps, 1.0]
    sizes += [float(np.nextafter(info.tiny, info.dtype.type(0))), info.max, np.inf, np.nan]
    sizes += [0.5, 2.0, 3.0, 10.0, 1e4, 1e10, 1e30, np.pi, np.pi / 2]
    return np.array([sign * size for size in sizes for sign in (1.0, -1.0)], info.dtype)


@pytest.mark.sampled(81, kind=lambda name, **_: name)
@pytest.mark.parametrize("fma", FUSED, ids=["fused", "plain"])
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_error_bound(name: str, dtype: str, fma: bool) -> None:
    x, head, rest = sample(name, dtype)
    errors = ulp_errors(compiled(name, dtype, fma)[8](x), head, rest)
    worst = int(np.argmax(errors))
    bound = BOUNDS[name]
    assert errors[worst] <= bound, f"{errors[worst]:.3f} ULP at {float(x[worst]).hex()}"


@pytest.mark.sampled(54, kind=lambda name, **_: name)
@pytest.mark.parametrize("fma", FUSED, ids=["fused", "plain"])
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_every_width_computes_the_same(name: str, dtype: str, fma: bool) -> None:
    x = np.concatenate([sample(name, dtype)[0], specials(dtype)])
    functions = compiled(name, dtype, fma)
    want = functions[1](x)
    for width in WIDTHS[1:]:
        got = functions[width](x)
        np.testing.assert_array_equal(got, want, err_msg=f"width {width}")
        number = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(want[number]))


@pytest.mark.sampled(40, kind=lambda name, **_: name)
@pytest.mark.skipif(not PERMUTES, reason="the host has no AVX-512")
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_permutations_change_no_bit_but_of_tanh(name: str, dtype: str) -> None:
    """Without them tanh of float32 has another method, within the same bound."""
    x, head, rest = sample(name, dtype)
    got = compiled(name, dtype, True, permutes=False)[16](x)
    if (name, dtype) == ("tanh", "f32"):
        assert ulp_errors(got, head, rest).max() <= 1
    else:
        np.testing.assert_array_equal(got, compiled(name, dtype, True)[16](x))


@pytest.mark.sampled(12, kind=lambda name, **_: name)
@pytest.mark.parametrize("fma", FUSED, ids=["fused", "plain"])
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_special_values_are_numpys(name: str, dtype: str, fma: bool) -> None:
    x = specials(dtype)
    want = numpy_value(name, x)
    got = compiled(name, dtype, fma)[4](x)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    number = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(want[number]))
    exact = number & (np.isinf(want) | (want == 0) | (np.abs(want) == 1))
    np.testing.assert_array_equal(got[exact], want[exact])
    finite = number & np.isfinite(want)
    # NumPy's own float32 functions are up to 3 ULP off.
    np.testing.assert_array_max_ulp(got[finite], want[finite], 2 if dtype == "f64" else 4)


@pytest.mark.parametrize("fma", FUSED, ids=["fused", "plain"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_exact_where_the_result_is_representable(dtype: str, fma: bool) -> None:
    def value(name: str, x: float) -> float:
        return float(compiled(name, dtype, fma)[1](np.array([x], scalar_type(dtype)))[0])

    for zero in (0.0, -0.0):
        assert value("exp", zero) == value("cos", zero) == value("cosh", zero) == 1
    assert value("log", 1.0) == 0 and not np.signbit(value("log", 1.0))
    for name in ("arccos", "arccosh"):
        assert value(name, 1.0) == 0 and not np.signbit(value(name, 1.0))
    tiny = np.finfo(scalar_type(dtype)).smallest_subnormal
    for name in ("sin", "tan", "tanh", "sinh", "expm1", "arctan", "arcsin", "arcsinh", "arctanh"):
        for x in (tiny, 5 * tiny, 1e-30, -tiny, -1e-30):
            x = float(scalar_type(dtype)(x))
            assert value(name, x) == x


@pytest.mark.sampled(36, kind=lambda name, **_: name)
@pytest.mark.parametrize("fma", FUSED, ids=["fused", "plain"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", _SYMMETRIC)
def test_symmetry(name: str, dtype: str, fma: bool) -> None:
    x = sample(name, dtype)[0]
    function = compiled(name, dtype, fma)[8]
    sign = 1 if name in _EVEN else -1
    np.testing.assert_array_equal(function(-x), sign * function(x))


@pytest.mark.parametrize("fma", FUSED, ids=["fused", "plain"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_one_huge_lane_leaves_the_others_alone(name: str, dtype: str, fma: bool) -> None:
    functions = compiled(name, dtype, fma)
    x = np.linspace(-40, 40, 64).astype(scalar_type(dtype))
    want = functions[8](x)
    for lane, huge in enumerate([1e22, -3e30, np.finfo(scalar_type(dtype)).max] * 5):
        mixed = x.copy()
        mixed[lane] = huge
        for width in WIDTHS:
            got = functions[width](mixed)
            np.testing.assert_array_equal(np.delete(got, lane), np.delete(want, lane))
            head, rest = reference(name, mixed[lane : lane + 1])
            assert ulp_errors(got[lane : lane + 1], head, rest)[0] <= 1


@pytest.mark.parametrize("fma", FUSED, ids=["fused", "plain"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_both_sides_of_the_reductions_limit(name: str, dtype: str, fma: bool) -> None:
    limit = TABLES[dtype].trig_limit_fused if fma else TABLES[dtype].trig_limit_plain
    x = np.linspace(0.999, 1.001, 801).astype(scalar_type(dtype)) * scalar_type(dtype)(limit)
    assert limit in x
    errors = ulp_errors(compiled(name, dtype, fma)[4](x), *reference(name, x))
    assert errors.max() <= BOUNDS[name]


@pytest.mark.parametrize("fma", FUSED, ids=["fused", "plain"])
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_the_hardest_angle(name: str, fma: bool) -> None:
    """The float64 closest to a multiple of pi / 2 (Muller, "Elementary Functions", section 11.3).

    glibc's cos is 8 ULP off there.
    """
    x = np.array([6381956970095103 * 2.0**797, 1e22, -1e300, 2.0**40 * 1.5])
    errors = ulp_errors(compiled(name, "f64", fma)[2](x), *reference(name, x))
    assert errors.max() <= 0.8


@pytest.mark.parametrize("dtype", DTYPES)
def test_exp_underflows_gradually_and_overflows_at_the_last_number(dtype: str) -> None:
    info = np.finfo(scalar_type(dtype))
    function = compiled("exp", dtype, True)[8]
    top = info.dtype.type(np.log(np.longdouble(info.max)))
    around = (top + np.arange(-4, 5) * np.spacing(top)).astype(info.dtype)
    head, rest = reference("exp", around)
    assert np.isfinite(head).any() and np.isinf(head).any()
    assert ulp_errors(function(around), head, rest).max() <= 0.8
    down = np.linspace(np.log(float(info.tiny)) - (info.nmant + 3) * np.log(2), -80, 4000)
    down = down.astype(info.dtype)
    got = function(down)
    assert got[0] == 0 and np.unique(got[(got > 0) & (got < info.tiny)]).size > 15
    assert np.all(np.diff(got) >= 0)


def test_bounds_can_fail() -> None:
    """The measure itself: a result one place off is seen, at every scale."""
    for dtype in DTYPES:
        x, head, rest = sample("exp", dtype)
        finite = np.isfinite(head)
        wrong = np.where(finite, np.nextafter(head, scalar_type(dtype)(np.inf)), head)
        errors = ulp_errors(wrong, head, rest)[finite]
        assert errors.min() > 0.2 and np.median(errors) > 0.9
        assert np.isinf(ulp_errors(np.full_like(head, np.nan), head, rest)[finite]).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_text_follows_the_contract(name: str, dtype: str) -> None:
    assert name in ARITY
    for width in WIDTHS:
        definition = define(name, dtype, width, fma=False)
        assert definition.symbol == symbol(name, dtype, width)
        assert f"@{definition.symbol}(" in definition.text.splitlines()[0]
        texts, declarations = definition.everything(), definition.all_declarations()
        assert "llvm.fma" not in "".join([*texts.values(), *declarations])
        assert all(line.startswith("declare ") for line in declarations)


def test_wrong_requests_raise() -> None:
    assert symbol("exp", "f64", 8) == "tj_exp_f64x8"
    with pytest.raises(KeyError):
        define("zeta", "f64", 8)
    with pytest.raises(KeyError):
        define("exp", "f16", 8)
    with pytest.raises(ValueError, match="width"):
        define("exp", "f64", 0)


CPUS = [
    ("x86_64-unknown-linux-gnu", "x86-64-v2", False, (2, 4)),
    ("x86_64-unknown-linux-gnu", "x86-64-v3", True, (4, 8)),
    ("x86_64-unknown-linux-gnu", "x86-64-v4", True, (8, 16)),
    ("aarch64-unknown-linux-gnu", "generic", True, (2, 4)),
]


def check_that_no_library_is_called(
    cases: list[tuple[str, str]], triple: str, cpu: str, fma: bool, widths: tuple[int, ...]
) -> None:
    """A call out would be an operation that the CPU lacks."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, opt=2, reloc="pic", codemodel="small"
    )
    for name, dtype in cases:
        parsed = llvm.parse_assembly(module(name, dtype, fma, widths, cpu == "x86-64-v4"))
        parsed.triple = triple
        assembly = machine.emit_assembly(parsed)
        called = set(
            re.findall(r"^\s+(?:callq?|bl|b|jmp)\s+([A-Za-z_]\w*)", assembly, re.MULTILINE)
        )
        assert not {f for f in called if not f.startswith("tj_")}, name


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("triple", "cpu", "fma", "widths"), CPUS, ids=[c[1] for c in CPUS])
def test_needs_no_library_on_any_cpu(
    triple: str, cpu: str, fma: bool, widths: tuple[int, ...]
) -> None:
    check_that_no_library_is_called(CASES, triple, cpu, fma, widths)


@pytest.mark.sampled(2)
@pytest.mark.skipif(not engine.host_target().is_x86, reason="runs code for older x86 CPUs")
@pytest.mark.parametrize(("cpu", "fma"), [("x86-64", False), ("x86-64-v3", True)])
def test_older_cpus_compute_the_same_bits(cpu: str, fma: bool) -> None:
    if fma and not engine.host_target().has_fma:
        pytest.skip("the host cannot run it")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    for name, dtype in CASES:
        machine = target.create_target_machine(
            cpu=cpu, features="", opt=2, jit=True, codemodel="jitdefault"
        )
        code = llvm.create_mcjit_compiler(
            llvm.parse_assembly(module(name, dtype, fma, (1, 8))), machine
        )
        code.finalize_object()
        x = np.resize(np.concatenate([specials(dtype), sample(name, dtype)[0]]), COUNT)
        want = compiled(name, dtype, fma, permutes=False)[8](x)
        for width in (1, 8):
            got = np.empty_like(x)
            run = kind(code.get_function_address(f"loop_{symbol(name, dtype, width)}"))
            run(x.ctypes.data, got.ctypes.data, x.size)
            np.testing.assert_array_equal(got, want)
