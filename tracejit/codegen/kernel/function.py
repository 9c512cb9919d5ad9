"""A kernel becomes one LLVM function: statements and loops here, the rest beside it.

    define internal i32 @name(ptr buffers..., i64 sizes..., scalars...)

and, for a kernel whose loop is split, two more i64: where to begin and to end in range(size). It
returns 0, or 1 if a checked index was out of range. Buffers are aligned to their element only; a
b1 scalar is an i1 and an f16 scalar a float, as in registers.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tracejit.base.deadlines import require
from tracejit.codegen.kernel.expressions import KernelValue, Values
from tracejit.codegen.kernel.memory import Memory
from tracejit.codegen.kernel.row_reduce import RowPlan, Rows, plan_rows
from tracejit.codegen.kernel.strided import open_steps
from tracejit.codegen.kernel.vectorize import VectorPlan, is_short, only_short_reductions, plan_loop
from tracejit.codegen.llvm.engine import HostTarget
from tracejit.codegen.llvm.lanes import register_type
from tracejit.codegen.llvm.text import FunctionBuilder, Module, register
from tracejit.ir.kernel import (
    Call,
    Expr,
    For,
    Kernel,
    Let,
    Load,
    Reduce,
    ScanLoop,
    Stmt,
    Store,
    inner_bodies,
    place_of,
)

__all__ = ["emit_kernel", "kernel_signature"]


def kernel_signature(kernel: Kernel) -> list[tuple[str, str]]:
    """The parameters of a kernel's function, (LLVM type, name without a sigil), in order."""
    return [
        *(("ptr noalias", p.name) for p in kernel.params),
        *(("i64", name) for name in kernel.sizes),
        *((register_type(v.dtype), v.name) for v in kernel.scalars),
    ]


def emit_kernel(
    kernel: Kernel, module: Module, target: HostTarget, split: For | None = None
) -> int:
    """Add the function of a kernel to a module, and one for arrays of every second element.

    It runs a part of the loop `split`, the last statement of the body, if there is one. Parts must
    begin at multiples of the result, so that every position is computed as in the whole loop.
    Raises NotImplementedError for a scalar function without code, and KeyError for a name or a
    buffer that the kernel does not define.
    """
    steps = open_steps(kernel)
    if steps:
        pairs = replace(kernel, name=f"{kernel.name}_of_pairs")
        align = _emit_function(pairs, module, target, dict.fromkeys(steps, 2), split)
        return max(align, _emit_function(kernel, module, target, {}, split, (steps, pairs.name)))
    return _emit_function(kernel, module, target, {}, split)


def _emit_function(
    kernel: Kernel,
    module: Module,
    target: HostTarget,
    known: Mapping[str, int],
    split: For | None,
    pairs: tuple[Sequence[str], str] | None = None,
) -> int:
    """Some sizes may be known. Where all steps of `pairs` are 2 its function does the work."""
    params = [(kind, register(name)) for kind, name in kernel_signature(kernel)]
    if split is not None:
        params += [("i64", "%.lo"), ("i64", "%.hi")]
    fb = FunctionBuilder(module, kernel.name, params, "i32")
    if pairs is not None:
        _hand_over(fb, params, *pairs)
    fb.fail_label = ".failed"
    writer = _KernelWriter(kernel, fb, target, known, split)
    writer.emit()
    fb.ret("i32", "0")
    fb.block(".failed")
    fb.ret("i32", "1")
    fb.finish()
    return writer.align


def _hand_over(
    fb: FunctionBuilder, params: Sequence[tuple[str, str]], steps: Sequence[str], function: str
) -> None:
    """Leave all to another function where each of the steps is 2."""
    tests = [fb.emit(f"icmp eq i64 {register(step)}, 2") for step in steps]
    both = functools.reduce(lambda a, b: fb.emit(f"and i1 {a}, {b}"), tests)
    paired, other = fb.fresh_label("paired"), fb.fresh_label("other")
    fb.cond_br(both, paired, other)
    fb.block(paired)
    given = ", ".join(f"{kind.split()[0]} {name}" for kind, name in params)
    fb.ret("i32", fb.emit(f"call i32 @{function}({given})"))
    fb.block(other)


def _stores(body: Sequence[Stmt]) -> set[str]:
    found: set[str] = set()
    for stmt in body:
        if isinstance(stmt, Store):
            found.add(stmt.buffer)
        for body in inner_bodies(stmt):
            found |= _stores(body)
    return found


def _loads_from(buffer: str, expr: Expr) -> bool:
    stack, seen = [expr], set()
    while stack:
        e = stack.pop()
        if isinstance(e, Load) and e.buffer == buffer:
            return True
        if isinstance(e, Call) and id(e) not in seen:
            seen.add(id(e))
            stack += e.args
    return False


class _KernelWriter:
    """Writes the statements of one kernel."""

    def __init__(
        self,
        kernel: Kernel,
        fb: FunctionBuilder,
        target: HostTarget,
        known: Mapping[str, int],
        split: For | None,
    ) -> None:
        self.kernel, self.fb, self.target, self.split = kernel, fb, target, split
        #: How many iterations of `split` are computed together.
        self.align = 1
        self.memory = Memory(kernel, frozenset(_stores(kernel.body)), known)
        self.dtypes = {p.name: p.dtype for p in kernel.params}
        self.values = Values(fb, lambda load: self.memory.load(self.values, load))
        self.rows = Rows(self.values, self.statements)
        for name in kernel.sizes:
            self.values.env[name] = KernelValue("i64", 0, (register(name),))
        for scalar in kernel.scalars:
            self.values.env[scalar.name] = KernelValue(scalar.dtype, 0, (register(scalar.name),))

    def emit(self) -> None:
        """Write the body."""
        self.statements(self.kernel.body)

    def statements(self, body: Sequence[Stmt]) -> None:
        """Write statements in order."""
        values, around = self.values, self.fb.where
        pending: Store | None = None
        for k, stmt in enumerate(body):
            require()
            self.fb.where = place_of(stmt) or around
            match stmt:
                case Let(name, _, expr):
                    values.env[name] = values.evaluate(expr)
                case Store():
                    dtype = self.dtypes[stmt.buffer]
                    if pending is not None:
                        self.memory.store_parts(values, pending, stmt, dtype)
                        pending = None
                    elif self._makes_pairs(stmt, body[k + 1 : k + 2]):
                        pending = stmt
                    else:
                        self.memory.store(values, stmt, dtype)
                case For():
                    with self.memory.storing(frozenset(_stores((stmt,)))):
                        self._loop(stmt)
                case Reduce():
                    from tracejit.codegen.kernel.reduce import Reductions

                    Reductions(self.values, self.statements).emit(stmt, self._plan(stmt))
                case ScanLoop():
                    self._scan(stmt)
        self.fb.where = around

    def _loop(self, loop: For) -> None:
        if (plan := self._plan(loop)) is not None:
            self._vector_for(loop, plan)
        elif (rows := self._row_plan(loop)) is not None:
            self._align(loop, rows.plan.width)
            self.rows.emit(loop, rows, *self._range(loop))
        else:
            self._for(loop)

    def _makes_pairs(self, store: Store, following: Sequence[Stmt]) -> bool:
        return any(
            isinstance(other, Store)
            and self.memory.are_parts(self.values, store, other)
            # Its value must not come from what the first one writes.
            and not _loads_from(store.buffer, other.expr)
            for other in following
        )

    def _plan(self, loop: For | Reduce) -> VectorPlan | None:
        if self.values.width > 1:
            return None
        if isinstance(loop, Reduce):
            wanted = loop.vector and not is_short(loop)
        else:
            wanted = loop.vector or only_short_reductions(loop.body)
        if not wanted:
            return None
        return plan_loop(loop, self.memory.offsets, self.target)

    def _row_plan(self, loop: For) -> RowPlan | None:
        if self.values.width > 1:
            return None
        return plan_rows(loop, self.memory.offsets, self.target)

    def _align(self, loop: For, together: int) -> None:
        if loop is self.split:
            self.align = together

    def _range(self, loop: For) -> tuple[str, str]:
        """Where a loop begins and ends."""
        if loop is self.split:
            return "%.lo", "%.hi"
        return "0", self.values.scalar(self.values.dim(loop.size))

    def _for(self, loop: For) -> None:
        values, fb = self.values, self.fb
        begin, size = self._range(loop)

        def one(position: str, _: list[str]) -> list[str]:
            values.set_position(loop.var, position)
            self.statements(loop.body)
            return []

        def run() -> list[str]:
            with values.scope():
                return fb.do_while(begin, size, "1", (), one)

        fb.if_then(fb.less(begin, size), (), run)

    def _vector_for(self, loop: For, plan: VectorPlan) -> None:
        values, fb = self.values, self.fb
        self._align(loop, plan.width * plan.streams)
        begin, size = self._range(loop)

        def run() -> list[str]:
            whole = plan.width * plan.streams
            main_end = fb.integer("and", size, str(-whole))
            with values.scope():
                fb.if_then(
                    fb.less(begin, main_end), (), lambda: self._main(loop, plan, begin, main_end)
                )
                fb.if_then(
                    fb.less(main_end, size), (), lambda: self._rest(loop, plan, main_end, size)
                )
            return []

        fb.if_then(fb.less(begin, size), (), run)

    def _main(self, loop: For, plan: VectorPlan, begin: str, end: str) -> list[str]:
        """The positions that fill all lanes of all streams."""
        values = self.values

        def one(position: str, _: list[str]) -> list[str]:
            values.set_position(loop.var, position)
            self.statements(loop.body)
            return []

        step = str(plan.width * plan.streams)
        with values.in_lanes(loop.var, plan.width, plan.streams, plan.fetch_ahead):
            return self.fb.do_while(begin, end, step, (), one)

    def _rest(self, loop: For, plan: VectorPlan, begin: str, end: str) -> list[str]:
        """The positions left over, masked or one by one."""
        values = self.values
        width = plan.width if plan.masked else 1

        def one(position: str, _: list[str]) -> list[str]:
            values.set_position(loop.var, position)
            if plan.masked:
                values.masks = (values.mask_below(position, end),)
            self.statements(loop.body)
            return []

        with values.in_lanes(loop.var, width, 1):
            if plan.masked and plan.streams == 1:
                return one(begin, [])
            return self.fb.do_while(begin, end, str(width), (), one)

    def _scan(self, scan: ScanLoop) -> None:
        values, fb = self.values, self.fb
        size = values.scalar(values.dim(scan.size))
        initial = values.evaluate_all([c.init for c in scan.carries])
        kinds = [values.lanes.type(c.dtype) for c in scan.carries for _ in range(values.streams)]
        names = [values.operand(v, s) for v in initial for s in range(values.streams)]
        carried = list(zip(kinds, names, strict=True))

        def bind(registers: Sequence[str]) -> None:
            for k, c in enumerate(scan.carries):
                own = tuple(registers[k * values.streams : (k + 1) * values.streams])
                varying = values.width > 1
                values.env[c.name] = KernelValue(c.dtype, values.depth, own, varying)

        def one(position: str, state: list[str]) -> list[str]:
            values.set_position(scan.var, position)
            bind(state)
            self.statements(scan.body)
            following = values.evaluate_all([c.next for c in scan.carries])
            return [values.operand(v, s) for v in following for s in range(values.streams)]

        def run() -> list[str]:
            with values.scope():
                return fb.do_while("0", size, "1", carried, one)

        bind(fb.if_then(fb.less("0", size), carried, run))
