"""A kernel whose work is long is run by several threads, a part of its outermost loop each.

    kernel(args..., 0, n)    or, above a time that is estimated from the sizes,
    tj_parallel(kernel.part, {args...}, n, align, threads)

Iterations of a `For` are independent, and a part begins where vectors of the whole loop begin: what
is computed does not depend on how many threads there are, nor on which part is done by whom.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tracejit import config
from tracejit.codegen.kernel.function import emit_kernel
from tracejit.codegen.kernel.work import LEAST_WORK, kernel_work, shared_loop
from tracejit.codegen.llvm.text import FunctionBuilder, Module
from tracejit.codegen.scalar.functions import emit_dim
from tracejit.codegen.support.threads import pool_address
from tracejit.ir.kernel import Kernel

__all__ = ["call_in_parts"]


class Emission(Protocol):
    """What it takes of a program under emission."""

    fb: FunctionBuilder
    module: Module
    target: Any
    symbols: dict[str, int]
    threads: int | None


def call_in_parts(
    e: Emission, kernel: Kernel, args: Sequence[str], sizes: Mapping[str, str]
) -> bool:
    """Emit a kernel and its call by several threads, if it can be shared and may take long.

    `args` are typed operands, `sizes` those of the kernel's sizes.
    """
    loop, work = shared_loop(kernel), kernel_work(kernel)
    if loop is None or work is None or (isinstance(work, int) and work < LEAST_WORK):
        return False
    pool = pool_address()
    if pool is None:
        return False
    align, fb = emit_kernel(kernel, e.module, e.target, loop), e.fb
    e.module.declare("tj_parallel", "void", ["ptr", "ptr", "i64", "i64", "i64"])
    e.module.add_global("tj_threads", "external global i64")
    e.symbols |= {"tj_parallel": pool, "tj_threads": config.thread_word(e.threads)}
    n = emit_dim(fb, loop.size, sizes)
    several, shared, alone, after = map(fb.fresh_label, ("several", "shared", "alone", "after"))
    if not isinstance(work, int):
        long = fb.emit(f"icmp sge i64 {emit_dim(fb, work, sizes)}, {LEAST_WORK}")
        fb.cond_br(long, several, alone)
        fb.block(several)
    threads = fb.emit("load atomic i64, ptr @tj_threads monotonic, align 8")
    fb.cond_br(fb.emit(f"icmp sgt i64 {threads}, 1"), shared, alone)
    fb.block(shared)
    kinds = [a.split()[0] for a in args]
    struct = f"{{ {', '.join(kinds)} }}"
    context = fb.alloca(struct)
    for k, arg in enumerate(args):
        at = fb.emit(f"getelementptr {struct}, ptr {context}, i64 0, i32 {k}")
        fb.line(f"store {arg}, ptr {at}")
    part = _part(e.module, kernel.name, kinds, struct)
    given = f"ptr @{part}, ptr {context}, i64 {n}, i64 {align}, i64 {threads}"
    fb.line(f"call void @tj_parallel({given})")
    fb.br(after)
    fb.block(alone)
    fb.emit(f"call i32 @{kernel.name}({', '.join([*args, 'i64 0', f'i64 {n}'])})")
    fb.br(after)
    fb.block(after)
    return True


def _part(module: Module, kernel: str, kinds: Sequence[str], struct: str) -> str:
    """The function of one part of a kernel's loop, its arguments in memory."""
    params = [("ptr", "%context"), ("i64", "%lo"), ("i64", "%hi")]
    fb = FunctionBuilder(module, f"{kernel}.part", params, "void")
    args = []
    for k, kind in enumerate(kinds):
        at = fb.emit(f"getelementptr {struct}, ptr %context, i64 0, i32 {k}")
        args.append(f"{kind} {fb.emit(f'load {kind}, ptr {at}')}")
    fb.emit(f"call i32 @{kernel}({', '.join([*args, 'i64 %lo', 'i64 %hi'])})")
    fb.line("ret void")
    fb.finish()
    return f"{kernel}.part"
