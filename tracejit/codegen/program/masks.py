"""Where masks hold: positions, or elements, moved together in their order.

A register of elements is compressed where there is an instruction for it, and stored as a whole:
what comes next is stored over the rest. Near the end of the result, and elsewhere, every element is
written where the next true one belongs: no branch depends on the mask.
"""

from __future__ import annotations

from contextlib import ExitStack

from tracejit.codegen.llvm.engine import HostTarget
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.views import dense
from tracejit.codegen.support.routines import array_of
from tracejit.ir.graph import Node
from tracejit.ops.array.masks import TruePositions

__all__ = ["emit_masked"]

_TEXT = """
define internal void @{name}(ptr %out, ptr %x, ptr %mask, i64 %count, i64 %n) {{
entry:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %wide.head, label %done
wide.head:
  %wi = phi i64 [ 0, %entry ], [ %wi.next, %wide ]
  %wk = phi i64 [ 0, %entry ], [ %wk.next, %wide ]
  %wi.next = add i64 %wi, {lanes}
  %wk.end = add i64 %wk, {lanes}
  %fits = icmp sle i64 %wk.end, %count
  %left = icmp sle i64 %wi.next, %n
  %goes = and i1 %fits, %left
  %is.wide = and i1 %goes, {wide}
  br i1 %is.wide, label %wide, label %rest
wide:
{vector}
  br label %wide.head
rest:
  %unfinished = icmp slt i64 %wk, %count
  br i1 %unfinished, label %loop, label %done
loop:
  %i = phi i64 [ %wi, %rest ], [ %i.next, %loop ]
  %k = phi i64 [ %wk, %rest ], [ %k.next, %loop ]
  %place = getelementptr [{size} x i8], ptr %out, i64 %k
{one}
  store {item} %value, ptr %place, align {align}
  %byte.at = getelementptr i8, ptr %mask, i64 %i
  %byte = load i8, ptr %byte.at
  %holds = icmp ne i8 %byte, 0
  %step = zext i1 %holds to i64
  %k.next = add i64 %k, %step
  %i.next = add i64 %i, 1
  %wanted = icmp slt i64 %k.next, %count
  %inside = icmp slt i64 %i.next, %n
  %more = and i1 %wanted, %inside
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""
_VECTOR = """
  %bytes.at = getelementptr i8, ptr %mask, i64 %wi
  %bytes = load <{lanes} x i8>, ptr %bytes.at, align 1
  %bits = icmp ne <{lanes} x i8> %bytes, zeroinitializer
{values}
  %packed = call <{lanes} x {item}> @{compress}(<{lanes} x {item}> %values, <{lanes} x i1> %bits, \
<{lanes} x {item}> poison)
  %packed.at = getelementptr [{size} x i8], ptr %out, i64 %wk
  store <{lanes} x {item}> %packed, ptr %packed.at, align {align}
  %word = bitcast <{lanes} x i1> %bits to i{lanes}
  %found = call i{lanes} @llvm.ctpop.i{lanes}(i{lanes} %word)
  %found.wide = {extended}
  %wk.next = add i64 %wk, %found.wide
"""
_LOADED = """
  %values.at = getelementptr [{size} x i8], ptr %x, i64 %wi
  %values = load <{lanes} x {item}>, ptr %values.at, align {align}
"""
_COUNTED = """
  %first = insertelement <{lanes} x i64> poison, i64 %wi, i64 0
  %starts = shufflevector <{lanes} x i64> %first, <{lanes} x i64> poison, \
<{lanes} x i32> zeroinitializer
  %values = add <{lanes} x i64> %starts, <{numbers}>
"""
_ONE_LOADED = """
  %value.at = getelementptr [{size} x i8], ptr %x, i64 %i
  %value = load {item}, ptr %value.at, align {align}
"""


def emit_masked(e: ProgramContext, node: Node) -> None:
    """As many positions, or elements, as `size` says, which the program has counted."""
    mask, (out,) = node.inputs[-1], node.outputs
    counts = isinstance(node.op, TruePositions)
    size = array_of(out).dtype.itemsize
    name = "tj_positions" if counts else f"tj_compress{size}"
    symbol = e.module.helper(name, lambda: _define(e, name, size, counts))
    count, n = e.dim(node.attrs["size"]), e.dim(array_of(mask).shape[0])
    with ExitStack() as operands:
        pointers = [operands.enter_context(dense(e, v)) for v in node.inputs]
        x, held = "null" if counts else pointers[0], pointers[-1]
        arguments = f"ptr {e.pointer[out]}, ptr {x}, ptr {held}, i64 {count}, i64 {n}"
        e.fb.line(f"call void {symbol}({arguments})")


def _define(e: ProgramContext, name: str, size: int, counts: bool) -> None:
    lanes = _lanes(e.target, size)
    parts = {"size": size, "item": f"i{8 * size}", "align": min(size, 8), "lanes": lanes or 1}
    vector = "  %wk.next = add i64 %wk, 0"
    if lanes:
        item = parts["item"]
        compress = f"llvm.experimental.vector.compress.v{lanes}{item}"
        kind = f"<{lanes} x {item}>"
        e.module.declare(compress, kind, [kind, f"<{lanes} x i1>", kind])
        e.module.declare(f"llvm.ctpop.i{lanes}", f"i{lanes}", [f"i{lanes}"])
        extended = "add i64 %found, 0" if lanes == 64 else f"zext i{lanes} %found to i64"
        numbers = ", ".join(f"i64 {k}" for k in range(lanes))
        values = (_COUNTED if counts else _LOADED).format(**parts, numbers=numbers)
        more = {"values": values, "compress": compress, "extended": extended}
        vector = _VECTOR.format(**parts, **more)
    one = "  %value = add i64 %i, 0" if counts else _ONE_LOADED.format(**parts)
    wide = "true" if lanes else "false"
    text = _TEXT.format(**parts, name=name, vector=vector, one=one, wide=wide)
    e.module.add_function(name, text)


def _lanes(target: HostTarget, size: int) -> int:
    """How many elements a register has that is compressed; 0 where none is."""
    needed = {"avx512f", "avx512vl", "avx512bw"} | ({"avx512vbmi2"} if size < 4 else set())
    return 64 // size if size <= 8 and needed <= target.features else 0
