"""A fused graph becomes one native function `i32 program(ptr in, ptr out)`, as LLVM text.

Kernels are internal functions of the same module; scalars live in registers; temporaries lie in one
block of memory whose slots are reused when their value is dead. The slots of `in` and `out` are
those of `runtime/entry_spec.py`. The function returns 0, or 1 where the call must be repeated
eagerly.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

from tracejit.codegen.host import HostCall, host_entry, slot_count
from tracejit.codegen.lanes import load_element, register_type, store_element
from tracejit.codegen.library import emit_library
from tracejit.codegen.llvm_kernel import emit_kernel
from tracejit.codegen.llvm_text import FunctionBuilder, Module
from tracejit.codegen.lower import lower_fusion
from tracejit.codegen.memory import plan_memory
from tracejit.codegen.regions import emit_cond, emit_while
from tracejit.codegen.scalar_functions import emit_dim, emit_expr
from tracejit.codegen.scalar_nodes import emit_scalar_node
from tracejit.errors import TraceError
from tracejit.ir.dims import Dim, Poly, free_symbols, symbol
from tracejit.ir.graph import Graph, GraphBuilder, Node, Value
from tracejit.ir.kernel import Kernel, Var
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType, Type, dtype_name, dtype_of
from tracejit.ops.elementwise import Element, parts_dtype

__all__ = ["InputSlot", "Program", "emit_program"]

_ALIGN = 64


@dataclass(frozen=True)
class InputSlot:
    """Where an input of the graph lies: its slot, and its element strides where it is not dense."""

    slot: int
    strides: tuple[Dim, ...] | None = None


@dataclass
class Program:
    """LLVM text, what it must be linked with, and what must live as long as it."""

    name: str
    text: str
    symbols: dict[str, int]
    kernels: list[Kernel]
    keep: list[Any] = field(default_factory=list)


@lru_cache(maxsize=1)
def _c_library() -> dict[str, int]:
    lib = ctypes.CDLL(None)
    names = ("malloc", "free", "memcpy")
    return {n: ctypes.cast(getattr(lib, n), ctypes.c_void_p).value or 0 for n in names}


#: Numbers of an op's scalar operands: what `Elementwise.scalar` and `scalar_expr` take.
_Scalars: TypeAlias = "dict[Value, Element]"


class Emitter:
    def __init__(
        self,
        graph: Graph,
        inputs: Sequence[InputSlot],
        out_slots: Sequence[int],
        sizes: Mapping[str, int],
        name: str,
        target: Any,
    ) -> None:
        self.graph, self.name, self.target = graph, name, target
        self.module = Module()
        self.fb = FunctionBuilder(
            self.module, name, [("ptr", "%in"), ("ptr", "%out")], "i32", linkage=""
        )
        self.fb.fail_label = "refuse"
        self.env: dict[str, str] = {}
        self.scalars: _Scalars = {}
        self.pointer: dict[Value, str] = {}
        self.strides: dict[Value, tuple[Dim, ...]] = {}
        self.kernels: list[Kernel] = []
        self.symbols: dict[str, int] = {}
        self.keep: list[Any] = []
        self.inputs, self.out_slots, self.sizes = inputs, out_slots, sizes
        self.count = 0

    # Straight-line skeleton ---------------------------------------------------------------------

    def run(self) -> Program:
        fb = self.fb
        for name, slot in self.sizes.items():
            self.env[name] = fb.emit(f"load i64, ptr {self._slot('%in', slot)}")
        for v, given in zip(self.graph.inputs, self.inputs, strict=True):
            self._load_input(v, given)
        for d in sorted(_byte_counts(self.graph) - {0}, key=str):
            if free_symbols(d) <= self.env.keys():
                self.checked_dim(d)
        self._allocate()
        fb.fail_label = "bail"
        for node in self.graph.nodes:
            self.node(node)
        self._outputs()
        self._free()
        fb.ret("i32", "0")
        fb.block("bail")
        self._free()
        fb.br("refuse")
        fb.block("refuse")
        fb.ret("i32", "1")
        fb.finish()
        return Program(self.name, self.module.text(), self.symbols, self.kernels, self.keep)

    def _slot(self, base: str, index: int) -> str:
        return self.fb.emit(f"getelementptr i64, ptr {base}, i64 {index}")

    def fresh(self, stem: str) -> str:
        """A new name."""
        self.count += 1
        return f"{stem}{self.count}"

    def _load_input(self, v: Value, given: InputSlot) -> None:
        address = self._slot("%in", given.slot)
        if isinstance(v.type, ArrayType):
            self.pointer[v] = self.fb.emit(f"load ptr, ptr {address}")
            if given.strides is not None:
                self.strides[v] = given.strides
        else:
            self.scalars[v] = self._load_scalar(address, v.type)

    def _load_scalar(self, address: str, t: Type) -> Element:
        """A scalar from memory, bound to variables."""
        dtype = dtype_name(dtype_of(t))
        part = parts_dtype(dtype)
        first = self._bind(load_element(self.fb, address, part), part)
        if part == dtype:
            return first
        step = 4 if part == "f32" else 8
        second = self.fb.emit(f"getelementptr i8, ptr {address}, i64 {step}")
        return first, self._bind(load_element(self.fb, second, part), part)

    def _bind(self, register: str, dtype: str) -> Var:
        name = self.fresh("x")
        self.env[name] = register
        return Var(name, dtype)

    def _store_scalar(self, element: Element, address: str) -> None:
        parts = element if isinstance(element, tuple) else (element,)
        for k, part in enumerate(parts):
            register = emit_expr(self.fb, part, self.env)
            step = 4 if part.dtype == "f32" else 8
            at = self.fb.emit(f"getelementptr i8, ptr {address}, i64 {step}") if k else address
            if part.dtype == "b1":
                wide = self.fb.emit(f"zext i1 {register} to i64")
                self.fb.line(f"store i64 {wide}, ptr {at}")
            else:
                store_element(self.fb, at, part.dtype, register)

    def dim(self, d: Dim) -> str:
        """A size as an i64 register or literal."""
        return emit_dim(self.fb, d, self.env)

    def checked_dim(self, d: Dim) -> str:
        """A size as a register; the run is refused where it leaves 64 bits."""
        if isinstance(d, int):
            return self.dim(d)
        total = "0"
        for monomial, coefficient in d.terms:
            term = str(coefficient)
            for atom in monomial:
                term = self._checked("smul", term, self.dim(Poly((((atom,), 1),))))
            total = self._checked("sadd", total, term)
        return total

    def _checked(self, operation: str, a: str, b: str) -> str:
        if a == ("1" if operation == "smul" else "0"):
            return b
        kind = "{ i64, i1 }"
        name = self.module.declare(f"llvm.{operation}.with.overflow.i64", kind, ["i64", "i64"])
        both = self.fb.emit(f"call {kind} {name}(i64 {a}, i64 {b})")
        self.fb.check(self.fb.emit(f"extractvalue {kind} {both}, 1"))
        return self.fb.emit(f"extractvalue {kind} {both}, 0")

    # Memory -------------------------------------------------------------------------------------

    def _allocate(self) -> None:
        """Give every temporary a slot, reusing those of dead values of the same byte size."""
        wanted = {
            v: self.fb.emit(f"load ptr, ptr {self._slot('%out', slot)}")
            for slot, v in zip(self.out_slots, self.graph.outputs, strict=False)
            if isinstance(v.type, ArrayType)
        }
        plan = plan_memory(self.graph, wanted, set(self.sizes))
        self.pointer |= plan.fixed
        self.buffers = plan.buffers
        self.block = self._reserve(plan.slots)
        for v, number in plan.place.items():
            self.pointer[v] = self.addresses[number]
        self.spare = {v: [self.addresses[n] for n in ns] for v, ns in plan.buffers.items()}
        self.in_place = plan.in_place
        self.scratch = {n: [self.addresses[k] for k in ks] for n, ks in plan.scratch.items()}

    def _reserve(self, slots: Sequence[Dim]) -> str | None:
        """One block for all slots: on the stack where it is small, else from malloc."""
        fb = self.fb
        self.addresses: list[str] = []
        if not slots:
            return None
        offsets: list[str] = []
        total = "0"
        for size in slots:
            offsets.append(total)
            padded = fb.integer("add", self.checked_dim(size), str(_ALIGN - 1))
            padded = fb.integer("and", padded, str(-_ALIGN))
            total = fb.integer("add", total, padded)
        block: str | None = None
        if total[0] != "%" and int(total) <= 4096:
            base = fb.alloca(f"[{total} x i8]", _ALIGN)
        else:
            self.declare("malloc", "ptr", ["i64"])
            self.declare("free", "void", ["ptr"])
            amount = fb.integer("add", total, str(_ALIGN))
            block = fb.emit(f"call ptr @malloc(i64 {amount})")
            fb_null = fb.emit(f"icmp eq ptr {block}, null")
            ok = fb.fresh_label("allocated")
            fb.cond_br(fb_null, "refuse", ok)
            fb.block(ok)
            address = fb.emit(f"ptrtoint ptr {block} to i64")
            up = fb.emit(f"add i64 {address}, {_ALIGN - 1}")
            aligned = fb.emit(f"and i64 {up}, {-_ALIGN}")
            base = fb.emit(f"inttoptr i64 {aligned} to ptr")
        self.addresses = [
            fb.emit(f"getelementptr i8, ptr {base}, i64 {offset}") for offset in offsets
        ]
        return block

    def _free(self) -> None:
        if self.block is not None:
            self.fb.line(f"call void @free(ptr {self.block})")

    def declare(self, name: str, result: str, args: Sequence[str]) -> None:
        """Declare a function of the C library."""
        self.module.declare(name, result, args)
        self.symbols[name] = _c_library()[name]

    # Nodes --------------------------------------------------------------------------------------

    def node(self, node: Node) -> None:
        """The code of one node."""
        name = node.op.name
        if name == "write_item" and (old := self.in_place.get(node)) is not None:
            self.pointer[node.outputs[0]] = self.pointer[old]
        elif name == "write_item":
            self.copy_array(node.inputs[0], self.pointer[node.outputs[0]])
        if node.op.kind == "fusion":
            self._fusion(node)
        elif emit_scalar_node(self, node):
            return
        elif name == "constant":
            self._constant(node)
        elif name == "transpose":
            self._alias(node)
        elif name == "cond":
            emit_cond(self, node)
        elif name == "while_loop":
            emit_while(self, node)
        elif node.binds:
            raise TraceError("TJ015", f"{name} has no native code yet", node.where)
        elif not emit_library(self, node):
            self._host(node)

    def _alias(self, node: Node) -> None:
        """A transpose that a library call reads: the same memory under another axis order."""
        (v,), (out,) = node.inputs, node.outputs
        self.pointer[out] = self.pointer[v]
        if v in self.strides:
            self.strides[out] = tuple(self.strides[v][a] for a in node.attrs["axes"])

    def _constant(self, node: Node) -> None:
        """An array of the compiler's own memory."""
        (out,) = node.outputs
        array = node.attrs["value"].array
        name = self.fresh("const")
        self.module.add_global(name, "external global i8")
        self.symbols[name] = array.ctypes.data
        self.keep.append(array)
        self.pointer[out] = f"@{name}"

    def _fusion(self, node: Node) -> None:
        (region,) = node.regions
        inner = {
            r: self.strides[v]
            for r, v in zip(region.inputs, node.inputs, strict=True)
            if v in self.strides
        }
        updated = self.in_place.get(node)
        if updated is not None:
            self.pointer[node.outputs[0]] = self.pointer[updated]
        kernel = lower_fusion(region, inner, in_place=updated is not None)
        sizes = dict(zip(region.sizes, node.attrs["sizes"][0], strict=True))
        inputs = [v for v in node.inputs if v is not updated]
        self.call_kernel(kernel, inputs, [self.pointer[v] for v in node.outputs], sizes)

    def call_kernel(
        self,
        kernel: Kernel,
        inputs: Sequence[Value],
        outputs: Sequence[str],
        sizes: Mapping[str, Dim],
    ) -> None:
        """Emit a kernel as a function of the module, and its call."""
        fb = self.fb
        name = self.fresh(f"{kernel.name}_")
        kernel = Kernel(name, kernel.params, kernel.sizes, kernel.scalars, kernel.body)
        self.kernels.append(kernel)
        emit_kernel(kernel, self.module, self.target)
        args = [f"ptr {self.pointer[v]}" for v in inputs if isinstance(v.type, ArrayType)]
        args += [f"ptr {p}" for p in outputs]
        args += [f"i64 {self.dim(sizes.get(s, symbol(s)))}" for s in kernel.sizes]
        for v in inputs:
            if not isinstance(v.type, ArrayType):
                element = self.scalars[v]
                for part in element if isinstance(element, tuple) else (element,):
                    register = emit_expr(fb, part, self.env)
                    args.append(f"{register_type(part.dtype)} {register}")
        status = fb.emit(f"call i32 @{name}({', '.join(args)})")
        fb.check(fb.emit(f"icmp ne i32 {status}, 0"))

    def _host(self, node: Node) -> None:
        """Run the op through NumPy."""
        fb = self.fb
        site = HostCall(node, [self.strides.get(v) for v in node.inputs])
        self.keep.append(site)
        total = sum(slot_count(v.type) for v in (*node.inputs, *node.outputs)) + len(site.sizes)
        slots = fb.alloca(f"[{total} x i64]", 8)
        cursor = 0
        results: list[tuple[Value, str]] = []
        for v in node.inputs:
            address = self._slot(slots, cursor)
            if isinstance(v.type, ArrayType):
                fb.line(f"store ptr {self.pointer[v]}, ptr {address}")
            else:
                self._store_scalar(self.scalars[v], address)
            cursor += slot_count(v.type)
        for s in site.sizes:
            fb.line(f"store i64 {self.dim(symbol(s))}, ptr {self._slot(slots, cursor)}")
            cursor += 1
        for v in node.outputs:
            address = self._slot(slots, cursor)
            if isinstance(v.type, ArrayType):
                fb.line(f"store ptr {self.pointer[v]}, ptr {address}")
            else:
                results.append((v, address))
            cursor += slot_count(v.type)
        self.module.declare("tj_host", "i32", ["i64", "ptr"])
        self.symbols["tj_host"] = host_entry()
        status = fb.emit(f"call i32 @tj_host(i64 {site.id}, ptr {slots})")
        fb.check(fb.emit(f"icmp ne i32 {status}, 0"))
        for v, address in results:
            self.scalars[v] = self._load_scalar(address, v.type)

    # Results ------------------------------------------------------------------------------------

    def _outputs(self) -> None:
        """Write scalars, and copy arrays that are not computed in their output's own memory."""
        written: set[Value] = set()
        produced = {v for n in self.graph.nodes if n.op.name != "constant" for v in n.outputs}
        last = {v: s for s, v in zip(self.out_slots, self.graph.outputs, strict=False)}
        for slot, v in zip(self.out_slots, self.graph.outputs, strict=False):
            address = self._slot("%out", slot)
            if not isinstance(v.type, ArrayType):
                self._store_scalar(self.scalars[v], address)
            elif v in produced and last[v] == slot and v not in written:
                written.add(v)
            else:
                self.copy_array(v, self.fb.emit(f"load ptr, ptr {address}"))

        produced -= {v for n in self.graph.nodes if n.op.name == "transpose" for v in n.outputs}
        for result, v in zip(self.graph.results, self.graph.outputs, strict=False):
            if result.startswith("write "):
                target = self.graph.inputs[int(result.removeprefix("write "))]
                if v is target:
                    continue
                if target in self.strides or v not in produced or v in self.strides:
                    raise TraceError("TJ005", "there is no code yet for this store")
                self.copy_array(v, self.pointer[target])

    def copy_array(self, v: Value, target: str, order: tuple[int, ...] | None = None) -> None:
        """Copy an array, however it lies, to dense memory with its axes in `order`."""
        t = v.type
        assert isinstance(t, ArrayType)
        builder = GraphBuilder("copy")
        x = builder.input(t, "x")
        y = Value(ArrayType(t.dtype, t.shape, t.order if order is None else order))
        node = Node(OPS["reshape"], (x,), {"shape": t.shape}, (y,))
        region = Graph("copy", (), (x,), (node,), (y,))
        strides = {x: self.strides[v]} if v in self.strides else {}
        self.call_kernel(lower_fusion(region, strides), [v], [target], {})


def _byte_counts(graph: Graph) -> set[Dim]:
    """Byte counts of the graph's arrays that could leave 64 bits, stored or not."""
    out: set[Dim] = set()
    for node in graph.nodes:
        for region in node.regions:
            out |= _byte_counts(region)
        for v in node.outputs:
            if isinstance(v.type, ArrayType) and isinstance(v.type.size, Poly):
                if any(len(monomial) > 1 for monomial, _ in v.type.size.terms):
                    out.add(v.type.size * v.type.dtype.itemsize)
    return out


def emit_program(
    graph: Graph,
    inputs: Sequence[InputSlot],
    out_slots: Sequence[int],
    sizes: Mapping[str, int],
    name: str,
    target: Any,
) -> Program:
    """The native program of a fused graph.

    `inputs` and `out_slots` place the graph's inputs and outputs, `sizes` its size symbols (and the
    stride symbols of `inputs`). Raises TraceError for what has no native code.
    """
    return Emitter(graph, inputs, out_slots, sizes, name, target).run()
