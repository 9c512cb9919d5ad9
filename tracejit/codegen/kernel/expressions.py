"""Expressions become registers, each written as far out of the loops as it may go.

Code runs in nested scopes, one for each loop; a value's level is the depth of the innermost loop
that it depends on. A value of an outer level goes to the chunk in front of the inner loop, which
runs only if the loop does: what may fault (a load, a checked index) leaves one loop, not more.

In a vector loop a value is either uniform, one scalar register, or varying: a vector register of
`width` lanes for each of the `streams` that one iteration advances. Streams are written side by
side, so that their latencies overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.affine import split_linear
from tracejit.codegen.llvm.lanes import Lanes
from tracejit.codegen.llvm.text import Chunk, FunctionBuilder
from tracejit.codegen.scalar.functions import ATOM_FUNCTIONS, emit_call
from tracejit.ir.dims import Atom, Dim, free_symbols, symbol
from tracejit.ir.kernel import Call, Const, Expr, IndexValue, Load, Var

__all__ = ["KernelValue", "Values"]


@dataclass(slots=True)
class KernelValue:
    """A value: one register a stream if varying, else one scalar register or a literal."""

    dtype: str
    level: int
    names: tuple[str, ...]
    varying: bool = False
    const: bool | int | float | None = None
    #: Whether the value is the same wherever its register is in reach: memory may change.
    stable: bool = True


@dataclass(slots=True)
class LoopContext:
    """One loop: `before` runs in front of it; what is known there, and what in its body."""

    before: Chunk
    known: dict[object, KernelValue] = field(default_factory=dict)
    local: dict[object, KernelValue] = field(default_factory=dict)


class Values:
    """The values of one function, where they live and what they are bound to.

    `load` writes the code of a Load; `env` binds names to values. `vector` is the variable whose
    iterations run in lanes and `base` its position in the first lane of the first stream.
    """

    def __init__(self, fb: FunctionBuilder, load: Callable[[Load], KernelValue]) -> None:
        self.fb = fb
        self.load = load
        self.env: dict[str, KernelValue] = {}
        self.scopes = [LoopContext(fb.chunk)]
        self.lanes = Lanes(fb)
        self.one = self.lanes
        #: Values of what is being evaluated that the next store may change.
        self.unstable: dict[int, KernelValue] = {}
        self.streams = 1
        self.masks: tuple[str, ...] | None = None
        self.fetch_ahead = False
        self.vector: str | None = None
        self.base: KernelValue | None = None

    @property
    def width(self) -> int:
        """The number of lanes of a varying value's registers."""
        return self.lanes.width

    @property
    def depth(self) -> int:
        """The level of what depends on the innermost loop."""
        return len(self.scopes) - 1

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Enter a loop that is known to run at least once."""
        fb = self.fb
        self.scopes.append(LoopContext(fb.insertion_point()))
        # A block of its own: the chunk in front may grow blocks later.
        label = fb.fresh_label("run")
        fb.br(label)
        fb.block(label)
        yield
        self.scopes.pop()

    @contextmanager
    def in_lanes(
        self, vector: str, width: int, streams: int, fetch_ahead: bool = False
    ) -> Iterator[None]:
        """Run the iterations of `vector` in lanes for the length of a `with` block."""
        saved = self.lanes, self.streams, self.masks, self.vector, self.base
        self.lanes, self.streams = Lanes(self.fb, width), streams
        self.masks, self.vector, self.base = None, vector, None
        self.fetch_ahead = fetch_ahead
        self.scopes[-1].local.clear()
        yield
        self.lanes, self.streams, self.masks, self.vector, self.base = saved
        self.fetch_ahead = False
        self.scopes[-1].local.clear()

    def set_position(self, name: str, register: str) -> None:
        """Bind a loop variable of the current loop to its scalar position."""
        value = KernelValue("i64", self.depth, (register,))
        if name == self.vector and self.width > 1:
            self.base = value
        else:
            self.env[name] = value

    def mask_below(self, position: str, end: str) -> str:
        """The lanes whose positions are below `end`, the first lane being at `position`."""
        fb, width = self.fb, self.width
        left = fb.integer("sub", end, position)
        if left[0] != "%":
            truths = ("true" if k < int(left) else "false" for k in range(width))
            return f"<{', '.join(f'i1 {truth}' for truth in truths)}>"
        some = fb.emit(f"icmp slt i64 {left}, {width}")
        count = fb.emit(f"select i1 {some}, i64 {left}, i64 {width}")
        # Lane numbers as wide as the elements are, so that one comparison makes the mask.
        size = max(8, min(64, 512 // width))
        narrow = fb.emit(f"trunc i64 {count} to i{size}") if size < 64 else count
        kind = f"<{width} x i{size}>"
        first = fb.emit(f"insertelement {kind} poison, i{size} {narrow}, i64 0")
        limit = fb.emit(
            f"shufflevector {kind} {first}, {kind} poison, <{width} x i32> zeroinitializer"
        )
        return fb.emit(f"icmp ult {kind} {self.lanes.counting(f'i{size}')}, {limit}")

    # Placement.

    def _chunk(self, level: int) -> Chunk:
        return self.fb.chunk if level >= self.depth else self.scopes[level + 1].before

    def recall(self, key: object) -> KernelValue | None:
        """The value that is available here under a key."""
        for scope in reversed(self.scopes):
            found = scope.local.get(key) or scope.known.get(key)
            if found is not None:
                return found
        return None

    def remember(self, key: object, value: KernelValue) -> KernelValue:
        """Make a stable value available under a key for as long as its register is in reach."""
        if not value.stable:
            return value
        if value.level >= self.depth:
            self.scopes[-1].local[key] = value
        else:
            self.scopes[value.level + 1].known[key] = value
        return value

    @contextmanager
    def at_level(self, level: int) -> Iterator[None]:
        """Write where a value of that level belongs."""
        with self.fb.at(self._chunk(level)):
            yield

    # Operands and instructions.

    def scalar(self, value: KernelValue) -> str:
        """The operand text of a uniform value."""
        if value.const is not None:
            return self.one.const(value.const, value.dtype)
        return value.names[0]

    def operand(self, value: KernelValue, stream: int) -> str:
        """The operand text of a value in lanes."""
        if value.const is not None:
            return self.lanes.const(value.const, value.dtype)
        if value.varying:
            return value.names[stream]
        if self.width == 1:
            return value.names[0]
        if value.dtype == "i64" and value.names[0][0] != "%":
            # A position of a loop, and not only of this one: it is no name.
            return self.lanes.const(int(value.names[0]), "i64")
        key = ("splat", value.names[0], self.width)
        known = self.recall(key)
        if known is None:
            with self.at_level(value.level):
                name = self.lanes.splat(value.names[0], value.dtype)
            known = self.remember(key, KernelValue(value.dtype, value.level, (name,)))
        return known.names[0]

    def instruction(
        self,
        emit: Callable[..., str],
        args: Sequence[KernelValue],
        dtype: str,
        level: int = 0,
    ) -> KernelValue:
        """`emit(lanes, *operands)` for each stream if an argument varies, else once.

        The code goes to the level of the arguments, or to `level` if that is deeper.
        """
        level = max([level, *(a.level for a in args)])
        stable = all(a.stable for a in args)
        if not any(a.varying for a in args):
            operands = [self.scalar(a) for a in args]
            with self.at_level(level):
                return KernelValue(dtype, level, (emit(self.one, *operands),), stable=stable)
        names = []
        for s in range(self.streams):
            operands = [self.operand(a, s) for a in args]
            with self.at_level(level):
                names.append(emit(self.lanes, *operands))
        return KernelValue(dtype, level, tuple(names), varying=True, stable=stable)

    def constant(self, value: bool | int | float, dtype: str) -> KernelValue:
        """A literal."""
        return KernelValue(dtype, 0, (), const=value)

    def integer(self, op: str, a: KernelValue, b: KernelValue) -> KernelValue:
        """i64 add or mul, folded where it can be."""
        if a.const is not None and b.const is not None:
            x, y = int(a.const), int(b.const)
            return self.constant(x + y if op == "add" else x * y, "i64")
        neutral = 0 if op == "add" else 1
        for this, other in ((a, b), (b, a)):
            if other.const == neutral:
                return this
        return self.instruction(lambda s, x, y: s.op(op, "i64", x, y), (a, b), "i64")

    # Sizes and indices.

    def is_varying(self, name: str) -> bool:
        """Whether a symbol of a size expression differs between lanes."""
        if name == self.vector:
            return self.width > 1
        return self.env[name].varying

    def varies(self, d: Dim) -> bool:
        """Whether a size expression differs between lanes."""
        return self.width > 1 and any(self.is_varying(name) for name in free_symbols(d))

    def dim(self, d: Dim) -> KernelValue:
        """The value of a size expression."""
        if isinstance(d, int):
            return self.constant(d, "i64")
        key = ("dim", d)
        known = self.recall(key)
        if known is not None:
            return known
        return self.remember(key, self._lanes_of(d) if self.varies(d) else self.scalar_dim(d))

    def scalar_dim(self, d: Dim) -> KernelValue:
        """The value of a size expression with the vector variable at its position in lane 0."""
        return self._sum(d, self._first_lane)

    def place(self, d: Dim, stream: int) -> KernelValue:
        """The value of a size expression in the first lane of a stream."""
        ahead = self.constant(stream * self.width, "i64")

        def lookup(name: str) -> KernelValue:
            first = self._first_lane(name)
            return self.integer("add", first, ahead) if name == self.vector else first

        return self._sum(d, lookup)

    def _first_lane(self, name: str) -> KernelValue:
        if name == self.vector and self.base is not None:
            return self.base
        return self.env[name]

    def _lanes_of(self, d: Dim) -> KernelValue:
        assert self.vector is not None
        split = split_linear(d, self.vector)
        if split is None or not isinstance(split[0], int) or self.varies(split[1]):
            return self._sum(d, self._symbol)
        step, base = split[0], self.scalar_dim(d)
        names = []
        for s in range(self.streams):
            first = self.operand(base, s)
            offsets = self.lanes.counting("i64", s * self.width * step, step)
            with self.at_level(base.level):
                names.append(self.lanes.op("add", "i64", first, offsets))
        return KernelValue("i64", base.level, tuple(names), varying=True)

    def _symbol(self, name: str) -> KernelValue:
        return self.dim(symbol(name)) if name == self.vector else self.env[name]

    def _sum(self, d: Dim, lookup: Callable[[str], KernelValue]) -> KernelValue:
        """The polynomial, outermost terms first so that their sum leaves the loops."""
        if isinstance(d, int):
            return self.constant(d, "i64")
        terms = []
        for monomial, coefficient in d.terms:
            factors = [lookup(a) if isinstance(a, str) else self._atom(a, lookup) for a in monomial]
            term = self.constant(coefficient, "i64")
            for factor in sorted(factors, key=lambda v: v.level):
                term = self.integer("mul", term, factor)
            terms.append(term)
        total = self.constant(0, "i64")
        for term in sorted(terms, key=lambda v: (v.level, v.varying)):
            total = self.integer("add", total, term)
        return total

    def _atom(self, atom: Atom, lookup: Callable[[str], KernelValue]) -> KernelValue:
        """The value of a call. All lookups agree on one without the vector variable."""
        if self.vector in atom.symbols:
            return self._computed(atom, lookup)
        known = self.recall(atom)
        return known or self.remember(atom, self._computed(atom, lookup))

    def _computed(self, atom: Atom, lookup: Callable[[str], KernelValue]) -> KernelValue:
        values = [self._sum(a, lookup) for a in atom.args]
        if atom.fn in ("floordiv", "mod") and any(v.varying for v in values):
            return self._divide_places(atom.fn, *values)
        return self.call(ATOM_FUNCTIONS[atom.fn], values, "i64")

    def _divide_places(self, fn: str, a: KernelValue, b: KernelValue) -> KernelValue:
        """floordiv or mod of places in lanes, which no machine divides as integers.

        Places and sizes are below 2**53. The quotient of two such integers, rounded to a double,
        lies on the same side of every integer as the true one, or on the integer itself if that is
        the true one: a / b differs from an integer n by 1 / b at least, which is more than half a
        unit in the last place of n where n * b is below 2**53.
        """

        def quotient(s: Lanes, x: str, y: str) -> str:
            doubles = [s.convert("sitofp", v, "i64", "double") for v in (x, y)]
            floor = s.intrinsic("floor", "f64", s.op("fdiv", "f64", *doubles))
            return s.convert("fptosi", floor, "double", "i64")

        # A size of 0 divides nothing that runs, but must not make a value undefined.
        b = self.call("maximum", [b, self.constant(1, "i64")], "i64") if b.const is None else b
        whole = self.instruction(quotient, (a, b), "i64")
        if fn == "floordiv":
            return whole
        product = self.integer("mul", whole, b)
        return self.instruction(lambda s, x, y: s.op("sub", "i64", x, y), (a, product), "i64")

    # Expressions.

    def call(self, fn: str, args: Sequence[KernelValue], dtype: str) -> KernelValue:
        """A scalar function of values."""
        dtypes = [a.dtype for a in args]
        return self.instruction(lambda s, *x: emit_call(s, fn, x, dtypes, dtype), args, dtype)

    def evaluate(self, expr: Expr) -> KernelValue:
        """The value of an expression; a shared subexpression is written once."""
        return self.evaluate_all((expr,))[0]

    def evaluate_all(self, exprs: Sequence[Expr]) -> list[KernelValue]:
        """The values of expressions between which nothing is stored."""
        self.unstable.clear()
        return [self._evaluate(expr) for expr in exprs]

    def _evaluate(self, expr: Expr) -> KernelValue:
        if isinstance(expr, Const):
            return self.constant(expr.value, expr.dtype)
        if isinstance(expr, Var):
            return self.env[expr.name]
        if isinstance(expr, IndexValue):
            return self.dim(expr.dim)
        if isinstance(expr, Load):
            return self.load(expr)
        key = id(expr)
        known = self.recall(key) or self.unstable.get(key)
        if known is None:
            known = self.remember(key, self._call(expr))
            if not known.stable:
                self.unstable[key] = known
        return known

    def _call(self, expr: Call) -> KernelValue:
        args = [self._evaluate(a) for a in expr.args]
        if expr.fn != "wrap_index":
            return self.call(expr.fn, args, expr.dtype)
        return self._wrap_index(args[0], args[1])

    def _wrap_index(self, index: KernelValue, size: KernelValue) -> KernelValue:
        """A checked index; lanes beyond a masked loop's end are not checked."""
        level = max(index.level, size.level, self.depth - 1)
        zero = self.constant(0, "i64")
        shifted = self.integer("add", index, size)
        wrapped = self.instruction(
            lambda s, i, m, z: s.select(s.compare("slt", "i64", i, z), "i64", m, i),
            (index, shifted, zero),
            "i64",
            level,
        )
        masks = self.masks if wrapped.varying else None
        outside = self.instruction(
            lambda s, i, n: s.compare("uge", "i64", i, n), (wrapped, size), "b1", level
        )
        for s, name in enumerate(outside.names):
            lanes = self.lanes if outside.varying else self.one
            with self.at_level(level):
                failed = name if masks is None else lanes.op("and", "b1", name, masks[s])
                self.fb.check(lanes.any(failed))
        return wrapped
