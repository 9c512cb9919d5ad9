"""Kernels that draw, compiled by Numba: to PTX, and its LLVM code on this machine's CPU."""

from __future__ import annotations

import ctypes
import re
from typing import Any

import numpy as np
import pytest

from tests.codegen.cuda.kernel_library import kernel_library
from tests.support.compare import assert_same
from tracejit.codegen.cuda.compile import compile_ptx
from tracejit.codegen.cuda.draw_kernels import (
    CHEAP_MULTIPLIER,
    MULTIPLIER,
    advance_launch,
    lcg_launch,
    philox_launch,
)
from tracejit.codegen.cuda.launches import Launch
from tracejit.codegen.cuda.numba_target import numba_namespace

pytestmark = pytest.mark.sampled(12)

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
llvm: Any = pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")

KERNELS = [lcg_launch("k"), lcg_launch("k", True), advance_launch("k"), philox_launch("k")]
ALL = 2**128
#: Where Numba's code asks which thread it is, and of how many: here it is the only one.
THREAD = re.compile(r'call i32 @"llvm\.nvvm\.read\.ptx\.sreg\.(n?)\w+\.[xyz]"\(\)')


@pytest.mark.parametrize("capability", [(8, 0), (9, 0)], ids=str)
@pytest.mark.parametrize("launch", KERNELS, ids=["lcg", "lcg in memory", "advance", "philox"])
def test_ptx(launch: Launch, capability: tuple[int, int]) -> None:
    text = compile_ptx(launch.source, "k", launch.signature, capability, numba_namespace())
    assert ".entry k(" in text
    assert "fma" not in text
    # Doubles are made at the end alone: a conversion, two products and a sum.
    found = set(re.findall(r"^\s+(\w+\.(?:\w+\.)*f64[.\w]*)", text, re.MULTILINE))
    usual = "cvt.rn.f64.u64 mul.rn.f64 add.rn.f64 ld.param.f64 st.global.f64 mov.f64"
    assert found <= set(usual.split()), found


def run_here(launch: Launch, *args: Any) -> None:
    """The code of a kernel on this machine, by one thread."""
    library = kernel_library(launch.source, "k", launch.signature, (9, 0))
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly("")
    for text in library.llvm_strs:
        text = re.sub(r'target (triple|datalayout) = ".*"\n', "", text)
        text = THREAD.sub(lambda m: f"add i32 0, {len(m[1])}", text)
        module.link_in(llvm.parse_assembly(text))
    target = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(module, target)
    engine.finalize_object()
    kinds: list[Any] = []
    given: list[Any] = []
    for kind, x in zip(launch.signature, args, strict=True):
        number = ctypes.c_double if kind == "f64" else ctypes.c_uint64
        kinds.append(ctypes.c_void_p if kind.endswith("*") else number)
        given.append(x.ctypes.data if isinstance(x, np.ndarray) else x)
    ctypes.CFUNCTYPE(None, *kinds)(engine.get_function_address(library._entry_name))(*given)


def leap(times: int, plus: int, steps: int) -> tuple[int, int]:
    """One step after another."""
    a, b = 1, 0
    for _ in range(steps):
        a, b = a * times % ALL, (b * times + plus) % ALL
    return a, b


def lcg_words(bits: Any, work: int) -> list[int]:
    held = bits.state["state"]
    times = MULTIPLIER if isinstance(bits, np.random.PCG64) else CHEAP_MULTIPLIER
    first = held["state"]
    if times == MULTIPLIER:
        first = (first * times + held["inc"]) % ALL
    words = first, times, held["inc"], *leap(times, held["inc"], work)
    return [half for w in words for half in (w % 2**64, w >> 64)]


@pytest.mark.parametrize("cls", [np.random.PCG64, np.random.PCG64DXSM])
def test_numbers_by_steps(cls: Any) -> None:
    for n, work in ((1, 1), (37, 5), (100, 100), (1000, 63)):
        bits = cls(3)
        words, out = lcg_words(bits, work), np.zeros(n)
        cheap = int(cls is np.random.PCG64DXSM)
        run_here(lcg_launch("k"), out, n, work, cheap, *words, -1.5, 4.0)
        assert_same(np.random.Generator(bits).uniform(-1.5, 2.5, n), out)


def test_numbers_and_states_in_memory() -> None:
    n, work = 1000, 63
    bits: Any = np.random.PCG64(3)
    held = bits.state["state"]
    before = [half for x in (held["state"], held["inc"]) for half in (x >> 64, x % 2**64)]
    words, after = np.zeros(10, np.uint64), np.zeros(6, np.uint64)
    run_here(advance_launch("k"), np.array([*before, 1, 7], np.uint64), after, words, n, work)
    assert words.tolist() == lcg_words(bits, work)
    out = np.zeros(n)
    run_here(lcg_launch("k", True), out, n, work, 0, words, 0.0, 1.0)
    assert_same(np.random.Generator(bits).random(n), out)
    held = bits.state["state"]
    assert after.tolist() == [held["state"] >> 64, held["state"] % 2**64, *before[2:], 1, 7]


def test_numbers_by_blocks() -> None:
    for drawn, n in ((0, 1), (3, 1), (1, 2), (2, 50), (4, 101)):
        bits: Any = np.random.Philox(3)
        rng = np.random.Generator(bits)
        rng.random(drawn)
        held = bits.state
        words = [*held["state"]["counter"], *held["state"]["key"], *held["buffer"]]
        out, position = np.zeros(n), held["buffer_pos"]
        work = (position + n + 3) // 4
        given = (n, work, position, *map(int, words), 0.0, 1.0)
        run_here(philox_launch("k"), out, *given)
        assert_same(rng.random(n), out)
