"""Statements of a kernel as Python source for Numba-CUDA: by one thread, or by a block together.

Where a thread works alone, all loops are its own. Where a block works together, loops are divided
among its threads, reductions are combined in shared memory, and what is stored once is stored by
its first thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tracejit.codegen.accesses import accessed, buffers_of, stored
from tracejit.codegen.cuda.atomics import ATOMICS
from tracejit.codegen.cuda.combine import Combiner, combiners
from tracejit.codegen.cuda.launches import Limits
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

    `threads` are those that share a row, `_t` one's number among them: a warp, or all of a block;
    0 where the host decides that.
    """

    def __init__(self, kernel: Kernel, limits: Limits, threads: int = 0) -> None:
        super().__init__()
        self.kernel = kernel
        self.strides = _strides(kernel)
        self.dtypes = {p.name: p.dtype for p in kernel.params}
        self.limits, self.threads = limits, threads
        self.checks = False
        #: Arrays of shared memory, by dtype, each with a line of its own, and how long they are.
        self.shared: dict[str, list[str]] = {}
        self.room = 0
        #: Dtypes of names.
        self.types: dict[str, str] = {v.name: v.dtype for v in kernel.scalars}
        #: Buffers stored to, and loaded from, since the threads of the block last met.
        self._written: set[str] = set()
        self._read: set[str] = set()

    def trial(self) -> Writer:
        """A writer of the same kernel, to see what something takes."""
        return Writer(self.kernel, self.limits)

    def meet(self) -> None:
        """Wait for all threads of the row."""
        if self.threads == self.limits.warp:
            self.line("cuda.syncwarp()")
        else:
            # Rows of a warp each end at their own pace: those must not wait for the block.
            self._if_shared("cuda.syncthreads()", "cuda.syncwarp()")
        self._written.clear()
        self._read.clear()

    def _if_shared(self, then: str, orelse: str) -> None:
        """A line for rows that several warps share, and one for those of a warp."""
        if self.threads:
            self.line(then if self.threads > self.limits.warp else orelse)
            return
        with self.inside(f"if _threads > {self.limits.warp}:"):
            self.line(then)
        with self.inside("else:"):
            self.line(orelse)

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
        self.forget(s.buffer)

    def element(self, s: Store) -> str:
        """What a store writes, as it lies in memory."""
        return self.in_memory(s.buffer, self.expr(s.expr))

    def in_memory(self, buffer: str, value: str) -> str:
        """A value as it lies in the memory of a buffer."""
        kind = {"b1": "uint8", "f16": "float16"}.get(self.dtypes[buffer])
        return value if kind is None else f"{kind}({value})"

    def forget(self, buffer: str) -> None:
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
            self.forget(buffer)

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
            self.quotients(s)
            self.alone(s.body)
            for part in parts:
                part.add(self, self.expr(part.target.expr), s.var)
        self._stale(s.body)
        return parts

    def quotients(self, s: For | Reduce) -> None:
        """Bind the quotients of a reduction's position."""
        for name, divisor in s.quotients if isinstance(s, Reduce) else ():
            quotient = self.call(
                "floor_divide", (f"int64({s.var})", f"int64({self.dim(divisor)})"),
                ("i64", "i64"), "i64",
            )  # fmt: skip
            self.line(f"{name} = {quotient}")

    # A block --------------------------------------------------------------------------------------

    def together(self, body: Sequence[Stmt]) -> None:
        """Statements that all threads of a block execute for one row, each a part of them."""
        for s in body:
            self.meet_before(*accessed([s]))
            match s:
                case Let():
                    self._let(s)
                case Store():
                    with self.inside("if _t == 0:"):
                        self.store(s)
                    self.forget(s.buffer)
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

    def meet_before(self, loads: set[str], stores: set[str]) -> None:
        """Wait for the others where these arrays are accessed by several threads."""
        if (loads | stores) & self._written or stores & self._read:
            self.meet()
        self._read |= loads
        self._written |= stores

    def combine(self, s: Reduce, parts: Sequence[Combiner]) -> None:
        """Bring together what the threads of a block have accumulated; all of them get it."""
        self.join_row(parts)
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

    def join_row(self, parts: Sequence[Combiner]) -> None:
        """As `combine`, without an end.

        The first lane of each warp gets what its warp has, from lane to lane. Of several warps each
        thread then takes what these have, all in the same order.
        """
        warp = self.limits.warp
        step = self.fresh()
        self.line(f"{step} = {warp >> 1}")
        with self.inside(f"while {step} > 0:"):
            for part in parts:
                others = [self.fresh() for _ in part.names]
                for other, name in zip(others, part.names, strict=True):
                    self.line(f"{other} = fn_lane_down({name}, {step})")
                part.join(self, others)
            self.line(f"{step} >>= 1")
        if self.threads > warp:
            self._join_warps(parts)
        elif self.threads == warp:
            self._from_first_lane(parts)
        else:
            with self.inside(f"if _threads > {warp}:"):
                self._join_warps(parts)
            with self.inside("else:"):
                self._from_first_lane(parts)

    def _from_first_lane(self, parts: Sequence[Combiner]) -> None:
        for name in (name for part in parts for name in part.names):
            self.line(f"{name} = fn_lane_first({name})")

    def _join_warps(self, parts: Sequence[Combiner]) -> None:
        warp = self.limits.warp
        held = self._rooms(parts, self.limits.block // warp)
        with self.inside(f"if _t & {warp - 1} == 0:"):
            self._put(parts, held, f"_t >> {warp.bit_length() - 1}")
        self.line("cuda.syncthreads()")
        for part, arrays in zip(parts, held, strict=True):
            for array, name, d in zip(arrays, part.names, part.dtypes, strict=True):
                self.line(f"{name} = {array}[0]" + (" != 0" if d == "b1" else ""))
        other = self.fresh()
        count = f"_threads >> {warp.bit_length() - 1}"
        with self.counting(other, "1", str(self.threads // warp) if self.threads else count, "1"):
            self._take(parts, held, other)
        self.line("cuda.syncthreads()")

    def join_columns(self, parts: Sequence[Combiner]) -> None:
        """Bring together what the threads of a column of a block have: its first one gets it.

        The threads that hold something are halved until the first one holds all.
        """
        held = self._rooms(parts, self.limits.block)
        self._put(parts, held, "_t")
        self.line("cuda.syncthreads()")
        step = self.fresh()
        self.line(f"{step} = _ny >> 1")
        with self.inside(f"while {step} > 0:"):
            with self.inside(f"if _ty < {step}:"):
                self._take(parts, held, f"_t + {step} * _nx")
                self._put(parts, held, "_t")
            self.line("cuda.syncthreads()")
            self.line(f"{step} >>= 1")

    def _put(self, parts: Sequence[Combiner], held: Sequence[Sequence[str]], place: str) -> None:
        """Show other threads what this one has accumulated."""
        for part, arrays in zip(parts, held, strict=True):
            for array, name in zip(arrays, part.names, strict=True):
                self.line(f"{array}[{place}] = {name}")

    def _take(self, parts: Sequence[Combiner], held: Sequence[Sequence[str]], place: str) -> None:
        """Join what another thread shows."""
        for part, arrays in zip(parts, held, strict=True):
            others = []
            for array, d in zip(arrays, part.dtypes, strict=True):
                others.append(self.fresh())
                self.line(f"{others[-1]} = {array}[{place}]" + (" != 0" if d == "b1" else ""))
            part.join(self, others)

    def _rooms(self, parts: Sequence[Combiner], room: int) -> list[list[str]]:
        """Arrays of shared memory for what is accumulated; every combination uses the same."""
        self.room = max(self.room, room)
        dtypes = [d for part in parts for d in part.dtypes]
        for d in set(dtypes):
            known = self.shared.setdefault(d, [])
            known += [f"_s{d}_{k}" for k in range(len(known), dtypes.count(d))]
        rooms = {d: iter(self.shared[d]) for d in set(dtypes)}
        return [[next(rooms[d]) for d in part.dtypes] for part in parts]

    def shared_lines(self) -> list[str]:
        """What declares the arrays of shared memory."""
        names = {"b1": "uint8", "f16": "float32"}
        return [
            f"{array} = cuda.shared.array({self.room}, {names.get(d) or type_name(d)})"
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
