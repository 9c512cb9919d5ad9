"""Statements of a kernel as Python source for Numba-CUDA: by one thread, or by a block together.

Where a thread works alone, all loops are its own. Where a block works together, loops are divided
among its threads, reductions are combined in shared memory, and what is stored once is stored by
its first thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tracejit.codegen.accesses import accessed, buffers_of, stored
from tracejit.codegen.cuda.atomics import ATOMICS
from tracejit.codegen.cuda.combine import Combiner, combiners
from tracejit.codegen.cuda.lines import Lines
from tracejit.ir.dims import Dim
from tracejit.ir.kernel import (
    Call,
    Check,
    Const,
    Expr,
    For,
    If,
    IndexValue,
    Kernel,
    Let,
    Load,
    Reduce,
    ScanLoop,
    Stmt,
    Store,
    Var,
    While,
)

__all__ = ["Writer"]


class Writer(Lines):
    """Source lines of one launch under construction.

    `block` is how many elements of shared memory a combination of a block takes.
    """

    def __init__(self, kernel: Kernel, block: int) -> None:
        super().__init__()
        self.strides = _strides(kernel)
        self.dtypes = {p.name: p.dtype for p in kernel.params}
        self.block = block
        self.checks = False
        #: Arrays of shared memory, by dtype: each has a line of its own.
        self.shared: dict[str, list[str]] = {}
        #: Dtypes of names.
        self.types: dict[str, str] = {v.name: v.dtype for v in kernel.scalars}
        #: Buffers stored to, and loaded from, since the threads of the block last met.
        self._written: set[str] = set()
        self._read: set[str] = set()

    def meet(self) -> None:
        """Wait for all threads of the block."""
        self.line("cuda.syncthreads()")
        self._written.clear()
        self._read.clear()

    # Expressions --------------------------------------------------------------------------------

    def expr(self, e: Expr) -> str:
        """The operand text of an expression, its statements written in front."""
        if isinstance(e, Const):
            return self.const(e.value, e.dtype)
        if isinstance(e, Var):
            return e.name
        if isinstance(e, IndexValue):
            return f"int64({self.dim(e.dim)})"
        known = self._known.get(id(e))
        if known is None:
            known = self._load(e) if isinstance(e, Load) else self._call(e), e
            self._known[id(e)] = known
        return known[0]

    def _call(self, e: Call) -> str:
        args = [self.expr(a) for a in e.args]
        if e.fn == "unlikely":
            return args[0]
        if e.fn == "wrap_index":
            return self._wrap_index(args[0], args[1])
        return self.call(e.fn, args, [a.dtype for a in e.args], e.dtype)

    def _wrap_index(self, index: str, size: str) -> str:
        """A checked index. One out of range sets the flag and ends the thread."""
        name = self.fresh()
        self.line(f"{name} = {index} + {size} if {index} < 0 else {index}")
        self._check(f"{name} < 0 or {name} >= {size}")
        return name

    def _load(self, e: Load) -> str:
        name = self.fresh()
        element = f"{e.buffer}[{self.place(e.buffer, e.index)}]"
        self.line(f"{name} = {self.loaded(e.buffer, element)}")
        self._read.add(e.buffer)
        return name

    def loaded(self, buffer: str, element: str) -> str:
        """The value of an element as it lies in memory."""
        match self.dtypes[buffer]:
            case "b1":
                return f"{element} != 0"
            case "f16":
                return f"float32({element})"
        return element

    def give(self, e: Load, name: str) -> None:
        """Have `name` stand for what a load gives here."""
        self._known[id(e)] = name, e

    def offset(self, buffer: str, index: Sequence[Dim]) -> Dim:
        """How far an element is from the first."""
        total: Dim = 0
        for i, stride in zip(index, self.strides[buffer], strict=True):
            total = total + i * stride
        return total

    def place(self, buffer: str, index: Sequence[Dim]) -> str:
        """The offset of an element from the first, as text."""
        return self.dim(self.offset(buffer, index))

    def store(self, s: Store) -> None:
        """Write an element, or update it at once."""
        place = self.place(s.buffer, s.index)
        if isinstance(s.expr, Call) and s.expr.fn in ATOMICS:
            self.line(f"fn_{s.expr.fn}({s.buffer}, {place}, {self.expr(s.expr.args[0])})")
        else:
            value = self.element(s)
            self.line(f"{s.buffer}[{place}] = {value}")
        self._forget(s.buffer)

    def element(self, s: Store) -> str:
        """What a store writes, as it lies in memory."""
        value = self.expr(s.expr)
        kind = {"b1": "uint8", "f16": "float16"}.get(self.dtypes[s.buffer])
        return value if kind is None else f"{kind}({value})"

    def _forget(self, buffer: str) -> None:
        """What was loaded of a buffer that is stored into, and what follows from it, may differ."""
        for key, (_, e) in list(self._known.items()):
            if e is not None and buffer in buffers_of(e):
                del self._known[key]
        self._written.add(buffer)

    # One thread ---------------------------------------------------------------------------------

    def alone(self, body: Sequence[Stmt]) -> None:
        """Statements that each thread executes by itself."""
        for s in body:
            match s:
                case Let():
                    self._let(s)
                case Store():
                    self.store(s)
                case For(var, size, inner):
                    with self.counting(var, "0", self.dim(size), "1"):
                        self.alone(inner)
                    self._stale(inner)
                case Reduce():
                    self.reduce_alone(s, "0", "1")
                case ScanLoop():
                    self._scan(s)
                case While():
                    self._while(s)
                case If():
                    self._if(s)
                case Check(failed):
                    self._check(self.expr(failed))

    def _check(self, failed: str) -> None:
        """Set the flag and end the thread where a check fails."""
        self.checks = True
        with self.inside(f"if {failed}:"):
            self.line("_flag[0] = 1")
            self.line("return")

    def _while(self, s: While) -> None:
        for c in s.carries:
            self.types[c.name] = c.dtype
            self.line(f"{c.name} = {self.expr(c.init)}")
        self._stale((*s.test_body, *s.body))
        with self.inside("while True:"):
            self.alone(s.test_body)
            test = self.expr(s.test)
            with self.inside(f"if not {test}:"):
                self.line("break")
            self.alone(s.body)
            following = [self.expr(c.next) for c in s.carries]
            if following:
                names = ", ".join(c.name for c in s.carries)
                self.line(f"{names} = {', '.join(following)}")
        self._stale((*s.test_body, *s.body))

    def _if(self, s: If) -> None:
        condition = self.expr(s.condition)
        sides = (s.then, [r.then for r in s.results]), (s.orelse, [r.orelse for r in s.results])
        for head, (body, values) in zip((f"if {condition}:", "else:"), sides, strict=True):
            with self.inside(head):
                self.alone(body)
                for result, value in zip(s.results, values, strict=True):
                    self.line(f"{result.name} = {self.expr(value)}")
        for result in s.results:
            self.types[result.name] = result.dtype
        self._stale((*s.then, *s.orelse))

    def _let(self, s: Let) -> None:
        value = self.expr(s.expr)
        self.types[s.name] = s.dtype
        self.line(f"{s.name} = {value}")

    def _stale(self, body: Sequence[Stmt]) -> None:
        for buffer in stored(body):
            self._forget(buffer)

    def _scan(self, s: ScanLoop) -> None:
        for c in s.carries:
            self.types[c.name] = c.dtype
            self.line(f"{c.name} = {self.expr(c.init)}")
        with self.counting(s.var, "0", self.dim(s.size), "1"):
            self.alone(s.body)
            following = [self.expr(c.next) for c in s.carries]
            if following:
                names = ", ".join(c.name for c in s.carries)
                self.line(f"{names} = {', '.join(following)}")
        self._stale(s.body)

    def reduce_alone(self, s: Reduce, start: str, step: str) -> list[Combiner]:
        """Accumulate every `step`-th position from `start` on; the results are bound to names."""
        parts = combiners(s, in_order=True)
        for part in parts:
            part.begin(self)
        self.accumulate(s, start, step, parts)
        for part in parts:
            part.finish(self)
        return parts

    def accumulate(
        self, s: Reduce, start: str, step: str, begun: list[Combiner] | None = None
    ) -> list[Combiner]:
        """Accumulate without an end: what each target has come to so far, or goes on from."""
        parts = combiners(s) if begun is None else begun
        for part in parts if begun is None else ():
            part.begin(self)
        with self.counting(s.var, start, self.dim(s.size), step):
            for name, divisor in s.quotients:
                quotient = self.call(
                    "floor_divide", (f"int64({s.var})", f"int64({self.dim(divisor)})"),
                    ("i64", "i64"), "i64",
                )  # fmt: skip
                self.line(f"{name} = {quotient}")
            self.alone(s.body)
            for part in parts:
                part.add(self, self.expr(part.target.expr), s.var)
        self._stale(s.body)
        return parts

    # A block --------------------------------------------------------------------------------------

    def together(self, body: Sequence[Stmt]) -> None:
        """Statements that all threads of a block execute for one row, each a part of them."""
        for s in body:
            self._meet_before(s)
            match s:
                case Let():
                    self._let(s)
                case Store():
                    with self.inside("if _t == 0:"):
                        self.store(s)
                    self._forget(s.buffer)
                case For(var, size, inner):
                    if _has_reduction(inner):
                        with self.counting(var, "0", self.dim(size), "1"):
                            self.together(inner)
                            self.meet()
                    else:
                        with self.counting(var, "_t", self.dim(size), "_threads"):
                            self.alone(inner)
                    self._stale(inner)
                case Reduce():
                    self.combine(s, self.accumulate(s, "_t", "_threads"))
                case ScanLoop() | While() | If() | Check():
                    # These are planned for threads that work alone.
                    raise AssertionError(s)

    def _meet_before(self, s: Stmt) -> None:
        loads, stores = accessed([s])
        if (loads | stores) & self._written or stores & self._read:
            self.meet()
        self._read |= loads
        self._written |= stores

    def combine(self, s: Reduce, parts: Sequence[Combiner]) -> None:
        """Bring together what the threads of a block have accumulated; all of them get it."""
        self.join_block(parts)
        self.finish(s, parts)

    def finish(self, s: Reduce, parts: Sequence[Combiner]) -> None:
        """Bind the results; what has to be formed in order each thread forms once more."""
        for part in parts:
            condition = part.needs_order(self.dim(s.size))
            if condition is not None:
                again = replace(s, targets=(part.target,))
                with self.inside(f"if {condition}:"):
                    self.reduce_alone(again, "0", "1")
            part.finish(self)

    def join_block(self, parts: Sequence[Combiner]) -> None:
        """As `combine`, without an end."""
        held = self._join(parts, "_t", "_threads", "")
        for part, arrays in zip(parts, held, strict=True):
            for array, name in zip(arrays, part.names, strict=True):
                self.line(f"{name} = {array}[0]")
        self.meet()

    def join_columns(self, parts: Sequence[Combiner]) -> None:
        """Bring together what the threads of a column of a block have: its first one gets it."""
        self._join(parts, "_ty", "_ny", " * _nx")

    def _join(self, parts: Sequence[Combiner], own: str, count: str, pitch: str) -> list[list[str]]:
        """Halve the threads that hold something, until the first one holds all: in which arrays.

        `own` is a thread's number among `count`; the next one's place is `pitch` behind.
        """
        rooms = self._rooms([d for part in parts for d in part.dtypes])
        held = [[next(rooms[d]) for d in part.dtypes] for part in parts]
        for part, arrays in zip(parts, held, strict=True):
            for array, name in zip(arrays, part.names, strict=True):
                self.line(f"{array}[_t] = {name}")
        self.line("cuda.syncthreads()")
        step = self.fresh()
        self.line(f"{step} = {count} >> 1")
        with self.inside(f"while {step} > 0:"):
            with self.inside(f"if {own} < {step}:"):
                for part, arrays in zip(parts, held, strict=True):
                    others = []
                    for array in arrays:
                        others.append(self.fresh())
                        self.line(f"{others[-1]} = {array}[_t + {step}{pitch}]")
                    part.join(self, others)
                    for array, name in zip(arrays, part.names, strict=True):
                        self.line(f"{array}[_t] = {name}")
            self.line("cuda.syncthreads()")
            self.line(f"{step} >>= 1")
        return held

    def _rooms(self, dtypes: Sequence[str]) -> dict[str, Iterator[str]]:
        """Arrays of shared memory for these; every combination uses the same."""
        for d in set(dtypes):
            known = self.shared.setdefault(d, [])
            known += [f"_s{d}_{k}" for k in range(len(known), dtypes.count(d))]
        return {d: iter(self.shared[d]) for d in set(dtypes)}

    def shared_lines(self) -> list[str]:
        """What declares the arrays of shared memory."""
        names = {"b1": "uint8", "f16": "float32"}
        return [
            f"{array} = cuda.shared.array({self.block}, {names.get(d) or type_name(d)})"
            for d, arrays in self.shared.items()
            for array in arrays
        ]


def type_name(dtype: str) -> str:
    """The name of a dtype's type in source: f32 is float32."""
    kind = {"f": "float", "i": "int", "u": "uint"}[dtype[0]]
    return kind + dtype[1:]


def _strides(kernel: Kernel) -> dict[str, tuple[Dim, ...]]:
    out = {}
    for p in kernel.params:
        step: Dim = 1
        dense: list[Dim] = []
        for size in reversed(p.shape):
            dense.append(step)
            step = step * size
        out[p.name] = p.strides if p.strides is not None else tuple(reversed(dense))
    return out


def _has_reduction(body: Sequence[Stmt]) -> bool:
    return any(isinstance(s, Reduce) or isinstance(s, For) and _has_reduction(s.body) for s in body)
