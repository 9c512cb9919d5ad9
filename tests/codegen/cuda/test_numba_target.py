"""Printed scalar functions compiled by Numba: to PTX, and its LLVM code on this machine's CPU."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.codegen.cuda.kernel_library import kernel_library
from tests.codegen.cuda.scalar_cases import (
    FLOATS,
    Case,
    cases,
    columns,
    elementary_operands,
    exact,
    kernel_source,
    native,
    simulated,
)
from tests.support.native_kernels import Array, same_bits
from tracejit.codegen.cuda.compile import compile_ptx
from tracejit.codegen.cuda.device_functions import (
    INSTRUCTIONS,
    SOURCES,
    SOURCES_OF_DOUBLES,
    VECTORS,
)
from tracejit.codegen.cuda.numba_target import numba_namespace
from tracejit.codegen.cuda.python_builder import printed
from tracejit.codegen.vector_math.define import PARTS
from tracejit.codegen.vector_math.evaluate import evaluate
from tracejit.ir.types import DTYPES
from tracejit.link.finding import c_address

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
llvm: Any = pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")

_CASES = {f"{fn}-{'-'.join(dtypes)}-{dtype}": (fn, dtypes, dtype) for fn, dtypes, dtype in cases()}
_SOURCES = [
    name
    for name, (fn, dtypes, _) in _CASES.items()
    if (fn in SOURCES and dtypes[0] in FLOATS) or (fn in SOURCES_OF_DOUBLES and dtypes[0] == "f64")
]
_EXACT = [name for name, case in _CASES.items() if exact(case)]


def _signature(case: Case) -> tuple[str, ...]:
    return (*(f"{d}*" for d in (*case[1], case[2])), "i64")


def _through_doubles(case: Case) -> bool:
    """Whether the definition of a function of single precision computes in double precision."""
    fn, dtypes, dtype = case
    if "f64" in (*dtypes, dtype) or fn.startswith("libm_"):
        return True
    try:
        return "float64" in printed(fn, "f32").source
    except KeyError:
        return False


@pytest.mark.sampled(480)
@pytest.mark.parametrize("capability", [(8, 0), (9, 0)], ids=str)
@pytest.mark.parametrize("name", _CASES)
def test_ptx(name: str, capability: tuple[int, int]) -> None:
    """It compiles; nothing is contracted, and nothing is widened."""
    case = _CASES[name]
    ptx = compile_ptx(kernel_source(case), "k", _signature(case), capability, numba_namespace())
    assert ".entry k(" in ptx
    assert f"sm_{capability[0]}{capability[1]}" in ptx
    if not _through_doubles(case):
        assert ".f64" not in ptx


def test_nothing_is_contracted_and_quotients_and_roots_are_rounded() -> None:
    text = """
def k(x, y, out, n):
    i = cuda.grid(1)
    if i < n:
        a = x[i]
        b = y[i]
        out[i] = fn_sqrt(a * b + a / b)
"""
    for d in ("f32", "f64"):
        given = (f"{d}*", f"{d}*", f"{d}*", "i64")
        ptx = compile_ptx(text, "k", given, (9, 0), numba_namespace())
        for operation in ("mul", "add", "div", "sqrt"):
            assert f"{operation}.rn.{d}" in ptx
        assert "fma" not in ptx


class _HostKernel:
    """A kernel's LLVM code made code of this machine: one thread, that loops."""

    _HALF = """
define internal i16 @to_half(float %x) {
  %h = fptrunc float %x to half
  %r = bitcast half %h to i16
  ret i16 %r
}
define internal float @from_half(i16 %x) {
  %h = bitcast i16 %x to half
  %r = fpext half %h to float
  ret float %r
}
"""

    def __init__(self, text: str, signature: Sequence[str]) -> None:
        library = kernel_library(text, "k", signature, (9, 0))
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        for stem in INSTRUCTIONS.values():
            for name in (stem, f"{stem}f"):
                llvm.add_symbol(f"__nv_{name}", c_address(name))
        module = self._module(self._HALF.replace("internal", ""))
        for text in library.llvm_strs:
            module.link_in(self._module(text))
        target = llvm.Target.from_default_triple().create_target_machine()
        self.engine = llvm.create_mcjit_compiler(module, target)
        self.engine.finalize_object()
        address = self.engine.get_function_address(library._entry_name)
        kinds = [ctypes.c_void_p] * (len(signature) - 1)
        self.call = ctypes.CFUNCTYPE(None, *kinds, ctypes.c_int64)(address)

    @staticmethod
    def _module(text: str) -> Any:
        text = re.sub(r'target (triple|datalayout) = ".*"\n', "", text)
        text = re.sub(r'asm +"cvt.rn.f16.f32[^"]*", "[^"]*"', "@to_half", text)
        text = re.sub(r'asm +"cvt.f32.f16[^"]*", "[^"]*"', "@from_half", text)
        if "define" in text and "@to_half" in text and "%h" not in text:
            text += "\ndeclare i16 @to_half(float)\n"
        if "@from_half" in text and "%h" not in text:
            text += "\ndeclare float @from_half(i16)\n"
        return llvm.parse_assembly(text)


def _run_here(case: Case, operands: Sequence[Array]) -> Array:
    """The results of the code on this machine."""
    out = np.zeros(len(operands[0]), DTYPES[case[2]])
    arrays = [np.ascontiguousarray(x) for x in operands]
    kernel = _HostKernel(kernel_source(case, "for i in range(n):"), _signature(case))
    kernel.call(*(x.ctypes.data for x in (*arrays, out)), len(out))
    return out


@pytest.mark.sampled(160)
@pytest.mark.parametrize("name", _EXACT)
def test_the_code_on_this_machine_has_the_bits_of_the_native_code(name: str) -> None:
    case = _CASES[name]
    operands = columns(case)
    (want,) = native([case], [operands])
    got = _run_here(case, operands)
    rows = [r for r in zip(*operands, got, want, strict=True) if not same_bits(*r[-2:])]
    assert same_bits(got, want), (rows[:5], kernel_source(case))


@pytest.mark.sampled(62)
@pytest.mark.parametrize("name", _SOURCES)
def test_functions_in_source_have_the_bits_of_the_definition_on_this_machine(name: str) -> None:
    case = _CASES[name]
    operands = elementary_operands(case)
    if case[0] in PARTS:
        want = simulated(case, operands)
    else:
        want = evaluate(SOURCES_OF_DOUBLES.get(case[0], case[0]), *operands, fma=True)
    assert same_bits(_run_here(case, operands), want)


@pytest.mark.parametrize("fn", SOURCES_OF_DOUBLES)
def test_the_largest_sizes_are_finite(fn: str) -> None:
    largest = np.finfo(np.float64).max
    case = fn, ("f64", "f64"), "f64"
    found = _run_here(case, [np.array([largest, -largest, 0.0]), np.array([3.0, 0.0, -largest])])
    assert found.tolist() == [largest] * 3


@pytest.mark.parametrize(("dtype", "suffix"), [("f64", ""), ("f32", "f")])
def test_inverse_error_functions_have_the_zeros_of_scipy(dtype: str, suffix: str) -> None:
    kind = {"f64": ctypes.c_double, "f32": ctypes.c_float}[dtype]
    library = {"erfinv": lambda x: x, "erfcinv": lambda x: 1 - x}
    made = {name: ctypes.CFUNCTYPE(kind, kind)(f) for name, f in library.items()}
    for name, f in made.items():
        llvm.add_symbol(f"__nv_{name}{suffix}", ctypes.cast(f, ctypes.c_void_p).value)
    x = np.array([0.0, -0.0, 0.25], DTYPES[dtype])
    for fn, given, want in (("erfinv", x, abs(x)), ("erfcinv", 1 - x, x * [-1, 1, 1])):
        got = _run_here((fn, (dtype,), dtype), [given])
        assert same_bits(got, want.astype(got.dtype))


_VECTORS = [
    (dtype, each)
    for dtype in ("f64", "f32", "f16", "i64", "u32", "i16", "i8", "b1")
    for each in VECTORS
    if each * DTYPES[dtype].itemsize <= 16
]


@pytest.mark.parametrize(("dtype", "each"), _VECTORS)
def test_vectors_hold_their_elements_in_order(dtype: str, each: int) -> None:
    size = DTYPES[dtype].itemsize
    names = ", ".join(f"v{k}" for k in range(each))
    turned = ", ".join(f"v{k}" for k in reversed(range(each)))
    text = f"""
def k(x, out, n):
    for i in range(n):
        if fn_aligned(x, i, {each * size}) & fn_aligned(out, i, {each * size}):
            {names} = fn_load{each}(x, i)
            fn_store{each}(out, i, ({turned}))
"""
    count = 5 * each + 1
    room = np.zeros((2, (count * size // 64 + 2) * 64), np.uint8)
    starts = [-row.ctypes.data % 64 for row in room]
    x, out = (r[s : s + count * size] for r, s in zip(room, starts, strict=True))
    x[:] = np.random.default_rng(1).integers(0, 256, len(x))
    kernel = _HostKernel(text, (f"{dtype}*", f"{dtype}*", "i64"))
    kernel.call(x.ctypes.data, out.ctypes.data, count - 1)
    elements = x[: 5 * each * size].reshape(5, each, size)
    assert np.array_equal(out[: 5 * each * size], elements[:, ::-1].reshape(-1))
    assert not out[5 * each * size :].any()
