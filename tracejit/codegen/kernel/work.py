"""How long a kernel takes, roughly, and which of its loops several threads may share.

The unit is a 32nd of a nanosecond: an element's byte from or to memory takes one, as does a simple
operation, which runs in SIMD lanes.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.codegen.kernel.early_exits import may_fail
from tracejit.codegen.vector_math.define import ARITY, PARTS
from tracejit.ir import dims
from tracejit.ir.dims import Dim
from tracejit.ir.kernel import Call, Expr, For, Kernel, Let, Load, Reduce, ScanLoop, Stmt, Store
from tracejit.ir.types import DTYPES

__all__ = ["LEAST_WORK", "kernel_work", "shared_loop"]

#: What is worth a second thread: 100 microseconds. To wake one takes 2 to 6.
LEAST_WORK = 100_000 * 32
#: A function of `vector_math`, a step of a sequential loop, and a function of the C library.
_VECTOR_CALL, _STEP, _LIBRARY_CALL = 20, 32, 320


def shared_loop(kernel: Kernel) -> For | None:
    """The loop that is all of a kernel but for scalars bound before it; None where there is none.

    Nor is there one where the kernel may fail: some of what stands behind would be stored already.
    """
    *before, loop = kernel.body
    if not isinstance(loop, For) or not all(isinstance(s, Let) for s in before):
        return None
    return None if may_fail(kernel.body) else loop


def kernel_work(kernel: Kernel) -> Dim | None:
    """The time for the whole kernel; None where its sizes do not tell."""
    item = {p.name: DTYPES[p.dtype].itemsize for p in kernel.params}
    total = _body(kernel.body, item)
    return total if dims.free_symbols(total) <= set(kernel.sizes) else None


def _body(body: Sequence[Stmt], item: dict[str, int]) -> Dim:
    counted: set[int] = set()
    return dims.total([_statement(s, item, counted) for s in body])


def _statement(s: Stmt, item: dict[str, int], counted: set[int]) -> Dim:
    match s:
        case Let(_, _, expr):
            return _expression(expr, item, counted)
        case Store(buffer, _, expr):
            return item[buffer] + _expression(expr, item, counted)
        case For(_, size, body):
            return size * _body(body, item)
        case Reduce(_, size, body, targets):
            terms = sum(1 + _expression(t.expr, item, set()) for t in targets)
            return size * (_body(body, item) + terms)
        case ScanLoop(_, size, body, carries):
            steps = sum(_STEP + _expression(c.next, item, set()) for c in carries)
            return size * (_body(body, item) + steps)
    return 0


def _expression(e: Expr, item: dict[str, int], counted: set[int]) -> int:
    """The time for an expression, what was counted before left out."""
    if id(e) in counted:
        return 0
    counted.add(id(e))
    match e:
        case Load(buffer, _, _):
            return item[buffer]
        case Call(fn, args, _):
            if fn.startswith("libm_"):
                own = _LIBRARY_CALL
            else:
                own = _VECTOR_CALL if fn in ARITY or fn in PARTS else 1
            return own + sum(_expression(a, item, counted) for a in args)
    return 0
