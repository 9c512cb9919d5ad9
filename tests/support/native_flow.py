"""Runs the native program of a graph on arrays as they lie, symbolic sizes and all."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.codegen.llvm.engine import Library, compile_module, host_target
from tracejit.codegen.program.emit import InputSlot, Program, emit_program
from tracejit.ir.dims import evaluate, symbol
from tracejit.ir.evaluate import bind_sizes
from tracejit.ir.graph import Graph
from tracejit.ir.types import ArrayType, NpScalar, PyScalar
from tracejit.link.pending_exception import take_pending
from tracejit.passes.manager import run_passes

__all__ = ["NativeGraph"]


class NativeGraph:
    """The compiled program of a graph; inputs whose numbers are in `strided` may lie anyhow."""

    def __init__(self, graph: Graph, strided: Sequence[int] = ()) -> None:
        self.graph = graph
        self.strided = tuple(strided)
        count = 2 * len(graph.inputs)
        slots = {s: count + k for k, s in enumerate(graph.sizes)}
        inputs = []
        for k, v in enumerate(graph.inputs):
            strides = None
            if k in self.strided:
                assert isinstance(v.type, ArrayType)
                strides = tuple(symbol(f"s{k}_{axis}") for axis in range(v.type.ndim))
                for axis in range(v.type.ndim):
                    slots[f"s{k}_{axis}"] = count + len(slots)
            inputs.append(InputSlot(2 * k, strides))
        self.slots = slots
        texts = [*graph.results, *("fresh" for _ in graph.outputs[len(graph.results) :])]
        self.fresh = [k for k, text in enumerate(texts) if not text.startswith("write ")]
        outs = [2 * k for k in range(len(self.fresh))]
        fused = run_passes(graph, verify=True)
        self.program: Program = emit_program(fused, inputs, outs, slots, "flow", host_target())
        self.library: Library = compile_module(
            self.program.text, self.program.symbols, ["flow"], keep=self.program.keep
        )
        self.function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(
            self.library.address("flow")
        )

    def __call__(self, inputs: Sequence[Any]) -> list[Any] | None:
        """The outputs that are not inputs; None where the program bails out.

        Arrays that it writes to are written. Raises what the program leaves by.
        """
        graph = self.graph
        memory = np.zeros(2 * len(inputs) + len(self.slots), np.int64)
        for k, (v, x) in enumerate(zip(graph.inputs, inputs, strict=True)):
            if isinstance(v.type, ArrayType):
                memory[2 * k] = x.ctypes.data
                assert k in self.strided or x.flags.c_contiguous
                for axis in range(x.ndim):
                    if k in self.strided:
                        at = self.slots[f"s{k}_{axis}"]
                        memory[at] = x.strides[axis] // x.itemsize
            else:
                assert isinstance(v.type, (NpScalar, PyScalar))
                raw = np.array([x], v.type.dtype).tobytes().ljust(16, b"\0")
                memory[2 * k : 2 * k + 2] = np.frombuffer(raw, np.int64)
        sizes = bind_sizes(graph, inputs)
        for name, value in sizes.items():
            memory[self.slots[name]] = value
        results: list[Any] = []
        out = np.zeros(2 * len(self.fresh) + 1, np.int64)
        for k, number in enumerate(self.fresh):
            t = graph.outputs[number].type
            if isinstance(t, ArrayType):
                assert t.is_c
                results.append(np.full([evaluate(d, sizes) for d in t.shape], 77, t.dtype))
                out[2 * k] = results[-1].ctypes.data
            else:
                results.append(t)
        status = self.function(memory.ctypes.data, out.ctypes.data)
        exception = take_pending()
        if exception is not None:
            raise exception
        if status:
            return None
        for k, t in enumerate(results):
            if isinstance(t, (NpScalar, PyScalar)):
                raw = out[2 * k : 2 * k + 2].tobytes()
                scalar = np.frombuffer(raw[: t.dtype.itemsize], t.dtype)[0]
                results[k] = scalar.item() if isinstance(t, PyScalar) else scalar
        return results
