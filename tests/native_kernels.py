"""Compile kernels for a test and run them on NumPy memory, natively and by the reference."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tracejit.codegen.engine import HostTarget, compile_module, host_target
from tracejit.codegen.lanes import load_element
from tracejit.codegen.llvm_kernel import emit_kernel, kernel_signature
from tracejit.codegen.llvm_text import FunctionBuilder, Module
from tracejit.ir.kernel import Kernel
from tracejit.ir.types import DTYPES

__all__ = ["TARGETS", "NativeKernel", "same_bits"]


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
