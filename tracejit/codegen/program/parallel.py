"""A kernel whose work is long is run by several threads, a part of its outermost loop each.

    kernel(args..., 0, n)    or, above a time that is estimated from the sizes,
    tj_parallel(kernel.part, {args...}, n, align, threads)

Iterations of a `For` are independent, and a part begins where vectors of the whole loop begin: what
is computed does not depend on how many threads there are, nor on which part is done by whom.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any, Protocol

from tracejit.codegen.kernel.work import LEAST_WORK, shared_loop
from tracejit.codegen.llvm.text import FunctionBuilder, Module
from tracejit.codegen.scalar.functions import emit_dim
from tracejit.ir.dims import Dim, total
from tracejit.ir.kernel import For, Kernel
from tracejit.link.finding import thread_word

__all__ = ["call_in_parts"]


#: Bytes of a thread's stack that the buffers of a part may take.
_ROOM = 256 * 1024


class Emission(Protocol):
    """What it takes of a program under emission."""

    fb: FunctionBuilder
    module: Module
    target: Any
    symbols: dict[str, int]
    threads: int | None

    def emit_once(self, kernel: Kernel, split: For | None = None) -> int: ...


def call_in_parts(
    e: Emission,
    kernel: Kernel,
    args: Sequence[str],
    sizes: Mapping[str, str],
    work: Dim | None,
    held: Mapping[str, Dim],
) -> bool:
    """Emit a kernel and its call by several threads, if it can be shared and may take long.

    `args` are typed operands, `sizes` those of the kernel's sizes. `work` is how long it takes;
    `held` are buffers that every iteration uses anew, with their bytes: each part has its own.
    """
    loop = shared_loop(kernel)
    if loop is None or work is None or (isinstance(work, int) and work < LEAST_WORK):
        return False
    room = total(list(held.values()))
    if not all(held.values()) or (isinstance(room, int) and room > _ROOM):
        return False
    from tracejit.codegen.support.threads import pool_address

    pool = pool_address()
    if pool is None:
        return False
    align, fb = e.emit_once(kernel, loop), e.fb
    e.module.declare("tj_parallel", "void", ["ptr", "ptr", "i64", "i64", "i64"])
    e.module.add_global("tj_threads", "external global i64")
    e.symbols |= {"tj_parallel": pool, "tj_threads": thread_word(e.threads)}
    n = emit_dim(fb, loop.size, sizes)
    several, shared, alone, after = map(fb.fresh_label, ("several", "shared", "alone", "after"))
    for d, test in ((work, f"sge {LEAST_WORK}"), (room, f"sle {_ROOM}")):
        if not isinstance(d, int):
            kind, limit = test.split()
            fits = fb.emit(f"icmp {kind} i64 {emit_dim(fb, d, sizes)}, {limit}")
            fb.cond_br(fits, several, alone)
            fb.block(several)
            several = fb.fresh_label("several")
    threads = fb.emit("load atomic i64, ptr @tj_threads monotonic, align 8")
    fb.cond_br(fb.emit(f"icmp sgt i64 {threads}, 1"), shared, alone)
    fb.block(shared)
    # Where a part has a buffer of its own the context holds the bytes of it.
    own = {k for k, p in enumerate(kernel.params) if p.name in held}
    passed = [
        f"i64 {emit_dim(fb, held[kernel.params[k].name], sizes)}" if k in own else arg
        for k, arg in enumerate(args)
    ]
    kinds = [a.split()[0] for a in passed]
    struct = f"{{ {', '.join(kinds)} }}"
    context = fb.alloca(struct)
    for k, arg in enumerate(passed):
        at = fb.emit(f"getelementptr {struct}, ptr {context}, i64 0, i32 {k}")
        fb.line(f"store {arg}, ptr {at}")
    part = f"{kernel.name}.part"
    e.module.helper(part, lambda: _part(e.module, kernel.name, kinds, struct, own))
    given = f"ptr @{part}, ptr {context}, i64 {n}, i64 {align}, i64 {threads}"
    fb.line(f"call void @tj_parallel({given})")
    fb.br(after)
    fb.block(alone)
    fb.emit(f"call i32 @{kernel.name}({', '.join([*args, 'i64 0', f'i64 {n}'])})")
    fb.br(after)
    fb.block(after)
    return True


def _part(
    module: Module, kernel: str, kinds: Sequence[str], struct: str, own: Container[int]
) -> None:
    """Add the function of one part of a kernel's loop, its arguments in memory; `own` are
    buffers.
    """
    params = [("ptr", "%context"), ("i64", "%lo"), ("i64", "%hi")]
    fb = FunctionBuilder(module, f"{kernel}.part", params, "void")
    args = []
    for k, kind in enumerate(kinds):
        at = fb.emit(f"getelementptr {struct}, ptr %context, i64 0, i32 {k}")
        given = fb.emit(f"load {kind}, ptr {at}")
        if k in own:
            kind, given = "ptr", fb.emit(f"alloca i8, i64 {given}, align 64")
        args.append(f"{kind} {given}")
    fb.emit(f"call i32 @{kernel}({', '.join([*args, 'i64 %lo', 'i64 %hi'])})")
    fb.line("ret void")
    fb.finish()
