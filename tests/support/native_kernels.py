"""Small kernels for tests, compiled and run on NumPy memory, natively and by the reference.

The symbols N and M are sizes, P and Q positions in loops over them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from tracejit.codegen.kernel.function import emit_kernel, kernel_signature
from tracejit.codegen.llvm.engine import HostTarget, compile_module, host_target
from tracejit.codegen.llvm.lanes import load_element
from tracejit.codegen.llvm.text import FunctionBuilder, Module
from tracejit.codegen.reference import run_kernel
from tracejit.ir.dims import Dim, symbol
from tracejit.ir.kernel import Call, Expr, Kernel, Load, Param, Stmt, Var
from tracejit.ir.types import DTYPES

__all__ = [
    "LENGTHS",
    "TARGETS",
    "Array",
    "M",
    "N",
    "NativeKernel",
    "P",
    "Q",
    "call",
    "compiled",
    "every_target",
    "inputs",
    "kernel",
    "load",
    "output",
    "run_both",
    "same_bits",
    "values",
]

Array = np.ndarray[Any, Any]


def _targets() -> dict[str, HostTarget]:
    """Every way of cutting a loop: LLVM makes any of them run on any host."""
    host = host_target()
    avx512 = frozenset({"avx512f", "avx512vl", "avx512bw", "avx512dq", "avx2"})
    return {
        "host": host,
        "512-masked": replace(host, vector_bits=512, features=avx512),
        "256-masked": replace(host, vector_bits=256, features=avx512),
        "256": replace(host, vector_bits=256, features=frozenset({"avx2"})),
        "128": replace(host, vector_bits=128, features=frozenset()),
        "scalar": replace(host, vector_bits=8, features=frozenset()),
    }


TARGETS = _targets()


class NativeKernel:
    """A kernel's machine code behind an entry that takes arrays of pointers."""

    def __init__(self, kernel: Kernel, target: HostTarget) -> None:
        self.kernel = kernel
        module = Module(target)
        emit_kernel(kernel, module, target)
        fb = FunctionBuilder(module, "entry", [("ptr", "%pointers")], "i32", linkage="")
        arguments = []
        dtypes = {v.name: v.dtype for v in kernel.scalars}
        for k, (kind, name) in enumerate(kernel_signature(kernel)):
            cell = fb.emit(f"getelementptr ptr, ptr %pointers, i64 {k}")
            address = fb.emit(f"load ptr, ptr {cell}")
            if kind.startswith("ptr"):
                arguments.append(f"ptr {address}")
            elif name in dtypes:
                arguments.append(f"{kind} {load_element(fb, address, dtypes[name])}")
            else:
                arguments.append(f"i64 {load_element(fb, address, 'i64')}")
        fb.ret("i32", fb.emit(f"call i32 @{kernel.name}({', '.join(arguments)})"))
        fb.finish()
        self.text = module.text()
        self._library = compile_module(self.text, {}, ["entry"])
        self._entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(
            self._library.address("entry")
        )

    def __call__(
        self,
        buffers: Mapping[str, np.ndarray[Any, Any]],
        sizes: Mapping[str, int],
        scalars: Mapping[str, Any] | None = None,
    ) -> int:
        """Run on the memory that begins at each array; the status."""
        cells = [buffers[p.name] for p in self.kernel.params]
        cells += [np.array([sizes[name]], np.int64) for name in self.kernel.sizes]
        cells += [np.array([(scalars or {})[v.name]], DTYPES[v.dtype]) for v in self.kernel.scalars]
        pointers = (ctypes.c_void_p * max(1, len(cells)))(*(c.ctypes.data for c in cells))
        return int(self._entry(ctypes.addressof(pointers)))


def same_bits(
    actual: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], zero_signs: bool = True
) -> bool:
    """Whether two arrays hold the same values; any NaN is the same as any other."""
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return False
    if actual.dtype.kind != "f":
        return bool(np.array_equal(actual, expected))
    nan = np.isnan(expected)
    equal = (actual == expected) | (nan & np.isnan(actual))
    if zero_signs:
        equal &= nan | (np.signbit(actual) == np.signbit(expected))
    return bool(equal.all())


N, M, P, Q = (symbol(name) for name in "nmij")
#: Lengths around the multiples of every width and of the blocks of a reduction.
LENGTHS = (0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 130)

every_target = pytest.mark.parametrize("target", TARGETS)


def call(fn: str, *args: Expr, dtype: str = "f64") -> Call:
    """A scalar function."""
    return Call(fn, args, dtype)


def load(buffer: str, *index: Dim, dtype: str = "f64") -> Load:
    """An element."""
    return Load(buffer, index, dtype)


def inputs(*dtypes: str) -> tuple[Param, ...]:
    """One-dimensional inputs a, b, ... of n elements."""
    return tuple(Param(name, d, (N,)) for name, d in zip("abcd", dtypes, strict=False))


def kernel(params: Iterable[Param], *body: Stmt, scalars: tuple[Var, ...] = ()) -> Kernel:
    """A kernel over the sizes n and m."""
    return Kernel("k", tuple(params), ("n", "m"), scalars, body)


def output(dtype: str = "f64", *shape: Dim) -> Param:
    """The output buffer, of n elements unless told."""
    return Param("out", dtype, shape or (N,), output=True)


@lru_cache(maxsize=256)
def compiled(k: Kernel, target: str) -> NativeKernel:
    """The machine code of a kernel."""
    return NativeKernel(k, TARGETS[target])


def values(dtype: str, size: int, seed: int = 0) -> Array:
    """Reproducible values of a dtype, with repeats among the small types."""
    rng = np.random.default_rng([seed, size])
    kind = DTYPES[dtype]
    if kind.kind == "f":
        return rng.standard_normal(size).astype(kind)
    if kind.kind == "b":
        return rng.random(size) < 0.5
    info = np.iinfo(kind)
    return rng.integers(info.min, info.max, size, dtype=kind, endpoint=True)


def run_both(
    k: Kernel,
    target: str,
    buffers: dict[str, Array],
    sizes: dict[str, int],
    scalars: dict[str, Any] | None = None,
) -> dict[str, Array]:
    """The outputs, which are the same bits natively and by the reference.

    Outputs lie between guard elements that must survive.
    """
    results = []
    for native in (True, False):
        mine = dict(buffers)
        guarded = {}
        for p in k.params:
            if p.output:
                whole = np.concatenate([buffers[p.name], buffers[p.name], buffers[p.name]])
                length = len(buffers[p.name])
                guarded[p.name] = (whole, whole[length : 2 * length])
                mine[p.name] = whole[length : 2 * length]
        if native:
            assert compiled(k, target)(mine, sizes, scalars) == 0
        else:
            run_kernel(k, mine, sizes, scalars, TARGETS[target])
        for name, (whole, _) in guarded.items():
            length = len(buffers[name])
            assert same_bits(whole[:length], buffers[name])
            assert same_bits(whole[2 * length :], buffers[name])
        results.append({name: part for name, (_, part) in guarded.items()})
    for name, got in results[0].items():
        assert same_bits(got, results[1][name]), (name, got, results[1][name])
    return results[0]
