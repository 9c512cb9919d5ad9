"""Two products of one matrix as LLVM text: u = A p and w = r A, with each row of A read once.

A is m by n with rows `ld` elements apart; L elements (8 of f64, 16 of f32) make 64 bytes. The order
of the sums is the same on every machine, and each product is rounded before it is added.

Rows come in fours, and the last m % 4 by themselves. In row i the elements A[i,j] p[j] are added to
lane j % L, in order, from +0.0, for the first n - n % L; lane l is then added to lane l + h for
h = L/2, L/4, ..., 1 (left operand: lane l), and the remaining elements follow in order: that is
u[i]. To w[j], which starts at +0.0, four rows add (r[i] A[i,j] + r[i+1] A[i+1,j]) +
(r[i+2] A[i+2,j] + r[i+3] A[i+3,j]), a single one r[i] A[i,j].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tracejit.codegen.llvm.lanes import Lanes
from tracejit.codegen.llvm.text import FunctionBuilder, Module
from tracejit.codegen.program.context import ProgramContext
from tracejit.ir.graph import Node
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType, dtype_name

__all__ = ["emit_both"]

#: Rows at a time: fewer would load and store w too often.
_ROWS = 4


class _Both:
    """Writes `void name(ptr u, ptr w, ptr a, ptr p, ptr r, i64 m, i64 n, i64 ld)`."""

    def __init__(self, module: Module, name: str, dtype: str) -> None:
        pointers = [("ptr", f"%{x}") for x in "uwapr"]
        sizes = [("i64", f"%{x}") for x in ("m", "n", "ld")]
        self.fb = FunctionBuilder(module, name, [*pointers, *sizes])
        self.dtype, self.bytes = dtype, 4 if dtype == "f32" else 8
        self.one, self.many = Lanes(self.fb), Lanes(self.fb, 64 // self.bytes)

    def write(self) -> None:
        """Add the function to its module."""
        fb = self.fb
        fb.if_then(fb.less("0", "%n"), (), self._clear)
        whole = fb.integer("and", "%m", str(-_ROWS))
        fb.if_then(fb.less("0", whole), (), lambda: self._blocks("0", whole, _ROWS))
        fb.if_then(fb.less(whole, "%m"), (), lambda: self._blocks(whole, "%m", 1))
        fb.ret()
        fb.finish()

    def _at(self, base: str, index: str) -> str:
        return self.fb.emit(f"getelementptr {self.one.type(self.dtype)}, ptr {base}, i64 {index}")

    def _load(self, s: Lanes, base: str, index: str) -> str:
        at = self._at(base, index)
        return self.fb.emit(f"load {s.type(self.dtype)}, ptr {at}, align {self.bytes}")

    def _store(self, s: Lanes, value: str, base: str, index: str) -> None:
        at = self._at(base, index)
        self.fb.line(f"store {s.type(self.dtype)} {value}, ptr {at}, align {self.bytes}")

    def _clear(self) -> Sequence[str]:
        def body(j: str, _: list[str]) -> list[str]:
            self._store(self.one, self.one.const(0.0, self.dtype), "%w", j)
            return []

        return self.fb.do_while("0", "%n", "1", (), body)

    def _blocks(self, begin: str, end: str, count: int) -> Sequence[str]:
        """`count` rows at a time."""
        return self.fb.do_while(begin, end, str(count), (), lambda i, _: self._block(i, count))

    def _block(self, i: str, count: int) -> list[str]:
        fb, dtype = self.fb, self.dtype
        numbers = [fb.integer("add", i, str(k)) for k in range(count)]
        rows = [self._at("%a", fb.integer("mul", number, "%ld")) for number in numbers]
        weights = [self._load(self.one, "%r", number) for number in numbers]

        def pass_(s: Lanes, begin: str, end: str, sums: Sequence[str]) -> list[str]:
            """Columns from `begin` to `end`, as many at a time as `s` has lanes."""
            spread = [s.splat(weight, dtype) for weight in weights]

            def body(j: str, sums: list[str]) -> list[str]:
                elements = [self._load(s, row, j) for row in rows]
                p, w = self._load(s, "%p", j), self._load(s, "%w", j)
                new = [
                    s.op("fadd", dtype, old, s.op("fmul", dtype, element, p))
                    for old, element in zip(sums, elements, strict=True)
                ]
                terms = [s.op("fmul", dtype, *pair) for pair in zip(spread, elements, strict=True)]
                while len(terms) > 1:
                    pairs = zip(terms[::2], terms[1::2], strict=True)
                    terms = [s.op("fadd", dtype, *pair) for pair in pairs]
                self._store(s, s.op("fadd", dtype, w, terms[0]), "%w", j)
                return new

            kinds = [s.type(dtype)] * count
            carried = list(zip(kinds, sums, strict=True))
            return fb.if_then(
                fb.less(begin, end),
                carried,
                lambda: fb.do_while(begin, end, str(s.width), carried, body),
            )

        whole = fb.integer("and", "%n", str(-self.many.width))
        zeros = [self.many.const(0.0, dtype)] * count
        lanes = pass_(self.many, "0", whole, zeros)
        sums = pass_(self.one, whole, "%n", [self._folded(x) for x in lanes])
        for number, total in zip(numbers, sums, strict=True):
            self._store(self.one, total, "%u", number)
        return []

    def _folded(self, lanes: str) -> str:
        """The sum of the lanes, in halves."""
        s, fb = self.many, self.fb
        while s.width > 1:
            half = Lanes(fb, s.width // 2)
            parts = []
            for first in (0, half.width):
                if half.width == 1:
                    parts.append(s.lane(lanes, self.dtype, first))
                    continue
                kind = s.type(self.dtype)
                order = f"<{half.width} x i32> {half.counting('i32', first)}"
                parts.append(fb.emit(f"shufflevector {kind} {lanes}, {kind} poison, {order}"))
            lanes, s = half.op("fadd", self.dtype, *parts), half
        return lanes


def emit_both(e: ProgramContext, node: Node, separately: Callable[[Node], None]) -> None:
    """Write a `matmul_both`: in one pass, or its products `separately`, as nodes of their own."""
    a, p, r = node.inputs
    u, w = node.outputs
    t = a.type
    assert isinstance(t, ArrayType)
    strides = e.strides.get(a)
    in_rows = strides is None or strides[1] == 1
    if not in_rows or p in e.strides or r in e.strides:
        for inputs, out in (((a, p), u), ((r, a), w)):
            separately(Node(OPS["matmul"], inputs, {}, (out,), where=node.where))
        return
    dtype = dtype_name(t.dtype)
    name = f"tj_both_{dtype}"
    called = e.module.helper(name, lambda: _Both(e.module, name, dtype).write())
    arguments = [f"ptr {e.pointer[v]}" for v in (u, w, a, p, r)]
    sizes = [*t.shape, t.shape[1] if strides is None else strides[0]]
    arguments += [f"i64 {e.dim(d)}" for d in sizes]
    e.fb.line(f"call void {called}({', '.join(arguments)})")
