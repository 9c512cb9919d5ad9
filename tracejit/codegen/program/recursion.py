"""Calls of functions that call themselves: `recursive_call` and `recurse` in a program.

The region is one more function of the module, `i32 name(ptr in, ptr out)`, whose results are memory
from malloc. Its slots `in` are its inputs, its sizes, how many calls may be inside this one, and
where the stack must end; what it writes to lies in the memory of its inputs. It returns 1 where the
whole run must be repeated eagerly, or an exception is pending.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from dataclasses import replace

from tracejit.base.lazy_dataclass import dataclass
from tracejit.base.locks import once
from tracejit.codegen.analysis.buffer_plan import byte_count
from tracejit.codegen.analysis.liveness import is_array
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.copies import copy_elements
from tracejit.errors import TraceError
from tracejit.ir.graph import Graph, Node, Value
from tracejit.link.finding import python_address
from tracejit.ops.control.recursion import RecursiveCall

__all__ = [
    *("FunctionLayout", "emit_first_limits", "emit_free_results", "emit_limits", "emit_malloc"),
    "emit_recursive_call",
]

#: Words of 32 bits of a thread's state that are looked at.
_STATE_WORDS = 48

#: Bytes of the stack that all calls may take, in threads whose stacks have the usual size; in
#: others it is a quarter of theirs.
_STACK = 2 << 20

#: Frames that must be left for functions which a call has in itself, and which call no other.
_MARGIN = 16


#: What is asked of Python: result and parameters by name.
_PYTHON: dict[str, tuple[str, list[str]]] = {
    "PyGILState_Ensure": ("i32", []),
    "PyGILState_Release": ("void", ["i32"]),
    "PyThreadState_Get": ("ptr", []),
    "Py_GetRecursionLimit": ("i32", []),
    "PyThread_get_stacksize": ("i64", []),
}


@once
def remaining_frames() -> int:
    """The place in a thread's state of how many frames it may still have, an i32; 0 if unknown.

    It is looked for at three depths, since each version of Python has it elsewhere.
    """
    state = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyThreadState_Get", ctypes.pythonapi))

    def words(depth: int) -> list[int]:
        if depth:
            return words(depth - 1)
        return list((ctypes.c_int32 * _STATE_WORDS).from_address(state() or 0))

    first, second, third = words(0), words(3), words(10)
    places = [
        4 * k
        for k, n in enumerate(first)
        if n - second[k] == 3 and n - third[k] == 10 and 0 < n <= sys.getrecursionlimit()
    ]
    return places[0] if len(places) == 1 else 0


@dataclass(frozen=True)
class FunctionLayout:
    """Where a function takes what it is given, and leaves what it gives: numbers of slots.

    `results` are those of the outputs that are not written inputs.
    """

    name: str
    symbol: str
    inputs: tuple[int, ...]
    sizes: dict[str, int]
    limits: int
    results: tuple[int, ...]
    result_slots: int

    @staticmethod
    def of(name: str, symbol: str, region: Graph, written: Sequence[int]) -> FunctionLayout:
        """That of a region whose outputs `written` lie in the memory of inputs."""
        inputs, cursor = _places(region.inputs)
        sizes = {s: cursor + k for k, s in enumerate(region.sizes)}
        given = [v for k, v in enumerate(region.outputs) if k not in written]
        results, end = _places(given)
        return FunctionLayout(name, symbol, inputs, sizes, cursor + len(sizes), results, end)


def _places(values: Sequence[Value]) -> tuple[tuple[int, ...], int]:
    from tracejit.codegen.program.host.calls import slot_count

    places, cursor = [], 0
    for v in values:
        places.append(cursor)
        cursor += slot_count(v.type)
    return tuple(places), cursor


def emit_malloc(e: ProgramContext, v: Value, slot: str, way_out: str = "leave") -> str:
    """Memory for an array that is given back in a slot; the program leaves where there is none."""
    fb = e.fb
    e.declare("malloc", "ptr", ["i64"])
    count = fb.emit(f"or i64 {e.checked_dim(byte_count(v))}, 1")
    pointer = fb.emit(f"call ptr @malloc(i64 {count})")
    e.require_memory(pointer, way_out)
    fb.line(f"store ptr {pointer}, ptr {slot}")
    return pointer


def _free(e: ProgramContext, pointer: str) -> None:
    e.declare("free", "void", ["ptr"])
    e.fb.line(f"call void @free(ptr {pointer})")


def emit_limits(e: ProgramContext, layout: FunctionLayout) -> None:
    """At the beginning of a function: fail where there are too many calls inside each other."""
    fb = e.fb

    def slot(k: int) -> str:
        return fb.emit(f"load i64, ptr {fb.emit(f'getelementptr i64, ptr %in, i64 {k}')}")

    left, lowest = slot(layout.limits), slot(layout.limits + 1)
    fb.check(fb.emit(f"icmp slt i64 {left}, {_MARGIN}"))
    fb.check(fb.emit(f"icmp ult i64 {_frame(e)}, {lowest}"))
    e.limits = left, lowest


def emit_free_results(e: ProgramContext, slots: Sequence[int]) -> None:
    """Where a function fails: give back what it has taken for its results."""
    for k in slots:
        at = e.fb.emit(f"getelementptr i64, ptr %out, i64 {k}")
        _free(e, e.fb.emit(f"load ptr, ptr {at}"))


def _frame(e: ProgramContext) -> str:
    name = e.module.declare("llvm.frameaddress.p0", "ptr", ["i32"])
    return e.fb.emit(f"ptrtoint ptr {e.fb.emit(f'call ptr {name}(i32 0)')} to i64")


def emit_first_limits(e: ProgramContext) -> None:
    """At the beginning of a program with such calls: their limits, which Python knows."""
    if not any(isinstance(node.op, RecursiveCall) for _, node in e.graph.nodes()):
        return
    fb = e.fb
    for name, (result, parameters) in _PYTHON.items():
        e.module.declare(name, result, parameters)
        e.symbols[name] = python_address(name)
    held = fb.emit("call i32 @PyGILState_Ensure()")
    at = remaining_frames()
    if at:
        thread = fb.emit("call ptr @PyThreadState_Get()")
        place = fb.emit(f"getelementptr i8, ptr {thread}, i64 {at}")
        left = fb.emit(f"load i32, ptr {place}")
    else:
        left = fb.emit("call i32 @Py_GetRecursionLimit()")
    count = fb.emit(f"sext i32 {left} to i64")
    size = fb.emit("call i64 @PyThread_get_stacksize()")
    fb.line(f"call void @PyGILState_Release(i32 {held})")
    quarter, usual = fb.emit(f"lshr i64 {size}, 2"), fb.emit(f"icmp eq i64 {size}, 0")
    room = fb.emit(f"select i1 {usual}, i64 {_STACK}, i64 {quarter}")
    e.limits = count, fb.emit(f"sub i64 {_frame(e)}, {room}")


def emit_recursive_call(e: ProgramContext, node: Node) -> None:
    """The code of `recursive_call` and `recurse`. Raises TraceError where there is none."""
    if any(v in e.scattered for v in node.inputs):
        raise TraceError("TJ015", f"{node.op.name} of such a view has no native code", node.where)
    written = dict(node.attrs["written"])
    layout = _defined(e, node, written)
    fb, limits = e.fb, e.limits
    assert limits is not None
    given = fb.alloca(f"[{layout.limits + 2} x i64]", 8)
    results = fb.alloca(f"[{max(layout.result_slots, 1)} x i64]", 8)
    temporary: list[str] = []
    pointers = {o: _written(e, node, k, o) for k, o in written.items()}
    for k, (v, place) in enumerate(zip(node.inputs, layout.inputs, strict=True)):
        at = fb.emit(f"getelementptr i64, ptr {given}, i64 {place}")
        if not is_array(v):
            e.store_scalar(e.scalars[v], at)
            continue
        pointer = pointers.get(k) or _dense(e, v, temporary)
        fb.line(f"store ptr {pointer}, ptr {at}")
    sizes = node.attrs["sizes"]
    numbers = [e.dim(d) for d in (sizes[0] if isinstance(node.op, RecursiveCall) else sizes)]
    left = fb.emit(f"sub i64 {limits[0]}, {node.attrs['frames']}")
    for place, number in enumerate((*numbers, left, limits[1]), layout.limits - len(numbers)):
        fb.line(
            f"store i64 {number}, ptr {fb.emit(f'getelementptr i64, ptr {given}, i64 {place}')}"
        )
    outputs = [v for k, v in enumerate(node.outputs) if k not in written]
    slots = {
        v: fb.emit(f"getelementptr i64, ptr {results}, i64 {place}")
        for v, place in zip(outputs, layout.results, strict=True)
    }
    for v, at in slots.items():
        if is_array(v):
            fb.line(f"store ptr null, ptr {at}")
    status = fb.emit(f"call i32 @{layout.symbol}(ptr {given}, ptr {results})")
    for pointer in temporary:
        _free(e, pointer)
    fb.check(fb.emit(f"icmp ne i32 {status}, 0"))
    _take(e, node, slots)


def _defined(e: ProgramContext, node: Node, written: dict[int, int]) -> FunctionLayout:
    """The layout of the function that a node calls, which is written if it is not yet."""
    name = node.attrs["name"]
    if not isinstance(node.op, RecursiveCall):
        found: FunctionLayout = e.functions[name]
        return found
    (region,) = node.regions
    texts = [f"write {written[k]}" if k in written else "fresh" for k in range(len(region.outputs))]
    region = replace(region, results=tuple(texts))
    layout = FunctionLayout.of(name, e.fresh("function"), region, tuple(written))
    e.define(e, region, layout)
    return layout


def _written(e: ProgramContext, node: Node, k: int, operand: int) -> str:
    """The memory of a result that is an operand with stores into it."""
    v, out = node.inputs[operand], node.outputs[k]
    if out not in e.plan.overwritten(node):
        e.pointer.require(out)
        copy_elements(e, v, e.pointer[v], e.pointer[out], e.strides.get(v))
    e.pointer.stores(out)
    return e.pointer[out]


def _dense(e: ProgramContext, v: Value, temporary: list[str]) -> str:
    """The memory of an operand, or of a copy that lies dense."""
    strides = e.strides.get(v)
    if strides is None:
        return e.pointer[v]
    copy = emit_malloc(e, v, e.fb.alloca("ptr", 8))
    copy_elements(e, v, e.pointer[v], copy, strides)
    temporary.append(copy)
    return copy


def _take(e: ProgramContext, node: Node, slots: dict[Value, str]) -> None:
    """What a call has given, in registers and in memory of the program's own."""
    fb = e.fb
    for v, at in slots.items():
        if not is_array(v):
            e.scalars[v] = e.load_scalar(at, v.type)
    last = node.outputs[len(node.outputs) - len(node.binds) :]
    for size, v in zip(node.binds, last, strict=True):
        (e.env[size],) = e.registers(e.scalars[v])
    for v, at in slots.items():
        if is_array(v):
            e.pointer.require(v)
            source = fb.emit(f"load ptr, ptr {at}")
            copy_elements(e, v, source, e.pointer[v])
            _free(e, source)
            e.pointer.stores(v)
