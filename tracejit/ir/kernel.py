"""Kernels: one loop nest over scalar expressions, the door from arrays to machine code.

    kernel = Kernel(name, params, sizes, scalars, body)
    stmt   = Let(name, dtype, expr)                      bind a scalar
           | Store(buffer, index, expr)
           | For(var, size, body, vector)      independent; `vector`: may run as SIMD lanes
           | Reduce(var, size, body, targets, lanes, block, vector)
           | ScanLoop(var, size, body, carries)    strictly sequential, with loop-carried scalars
           | While(carries, test_body, test, body)      as long as `test` holds
           | If(condition, then, orelse, results)       one of two bodies
           | Check(failed)                              the kernel gives up where that holds
    expr   = Const(value, dtype) | Var(name, dtype) | Load(buffer, index, dtype)
           | IndexValue(dim)                             the i64 value of a size expression
           | Call(fn, args, dtype)

An index is a tuple of `Dim`s, one for each axis of the buffer, over loop variables, sizes and
`Let`-bound i64 names (a gather's index is such a name). Dtypes are the text's names ("f64");
complex values do not occur: a complex buffer is a real one with a last axis of 2 (real part,
imaginary part).

The order of a reduction is part of its meaning; it matters to sums and products of floats, which
accumulate in the target's dtype.

A sum cuts x[0], x[1], ... into blocks of `block` elements. In a block, virtual lane l starts at
+0.0 and adds the elements at positions congruent to l modulo `lanes`, in order; lane l is then
added to lane l + h for h = lanes/2, lanes/4, ..., 1 (left operand: lane l). With `lanes` 1 a block
is a left-to-right chain. The results v of the blocks are summed with their rounding errors, from s
= c = +0.0:

    t = s + v;  z = t - s;  c = c + ((s - (t - z)) + (v - z));  s = t

The sum is s + c where that is finite, else s. So a sum that is zero is +0.0, as is an empty one.
(The error of one addition: Knuth, The Art of Computer Programming, volume 2, 4.2.2, theorem B;
their sum: Ogita, Rump and Oishi, Accurate Sum and Dot Product, 2005, algorithm 4.4.)

A product runs from left to right, starting from 1, whatever `lanes` and `block` are; on a device,
in any order that gives the same infinities, zeros and NaNs. One `Reduce` does not hold both a sum
and a product of floats.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TypeAlias

from tracejit.base.lazy_dataclass import dataclass
from tracejit.errors import Where
from tracejit.ir.dims import Dim

__all__ = [
    "Call",
    "Carry",
    "Check",
    "Choice",
    "Const",
    "Expr",
    "For",
    "If",
    "IndexValue",
    "Kernel",
    "Let",
    "Load",
    "Param",
    "Reduce",
    "ScanLoop",
    "Stmt",
    "Store",
    "Target",
    "Var",
    "While",
    "expressions",
    "inner_bodies",
    "place_of",
    "sizes_in",
]


@dataclass(frozen=True)
class Const:
    """A literal of `dtype`; `value` is a Python bool, int or float."""

    value: bool | int | float
    dtype: str


@dataclass(frozen=True)
class Var:
    """A scalar parameter, a `Let`, a reduction's result or a carried scalar."""

    name: str
    dtype: str


@dataclass(frozen=True)
class Load:
    """An element of a buffer."""

    buffer: str
    index: tuple[Dim, ...]
    dtype: str


@dataclass(frozen=True)
class IndexValue:
    """The value of an index expression, an i64."""

    dim: Dim
    dtype: str = "i64"


@dataclass(frozen=True)
class Call:
    """A scalar function; `dtype` is the result's. The functions are those of
    `codegen/scalar_functions`.
    """

    fn: str
    args: tuple[Expr, ...]
    dtype: str


Expr: TypeAlias = Const | Var | Load | IndexValue | Call


@dataclass(frozen=True)
class Let:
    """Bind `name` to the value of `expr` for the statements that follow in this body.

    `where` is the place in the user's source that it comes from, here and below.
    """

    name: str
    dtype: str
    expr: Expr
    where: Where | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Store:
    """Write an element of an output buffer.

    In kernels of devices alone, a call of `atomic_add` and its kind updates the element instead.
    """

    buffer: str
    index: tuple[Dim, ...]
    expr: Expr
    where: Where | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class For:
    """Independent iterations of `var` over range(size). At most one loop of a nest is `vector`."""

    var: str
    size: Dim
    body: tuple[Stmt, ...]
    vector: bool = False


@dataclass(frozen=True)
class Target:
    """One result of a `Reduce`: `combine` is sum, prod, min, max, any, all, argmin or argmax.

    Or, where there is an `identity`, the scalar function that takes two terms, in any order.

    min, max, argmin and argmax propagate (prefer) NaN as NumPy's; argmin and argmax yield the i64
    position (first occurrence) of the extreme of `expr`; their `dtype` is i64.
    """

    name: str
    combine: str
    dtype: str
    expr: Expr
    identity: float | None = None
    where: Where | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Reduce:
    """Combine `targets` over `var` in range(size); `body` (Lets and Stores) runs at each position.

    Afterwards each target's name is bound to its result. `vector`: the loop itself may run as SIMD
    lanes; without it an enclosing loop may be the vector one. `quotients` binds names in the body,
    each to var // divisor for a positive divisor: they can be counted where `var` goes up by one.
    """

    var: str
    size: Dim
    body: tuple[Stmt, ...]
    targets: tuple[Target, ...]
    lanes: int = 64
    block: int = 512
    vector: bool = False
    quotients: tuple[tuple[str, Dim], ...] = ()

    @property
    def finds_extreme(self) -> bool:
        """Whether it finds the position of an extreme and nothing else."""
        return len(self.targets) == 1 and self.targets[0].combine in ("argmin", "argmax")

    def without_position(self) -> Reduce:
        """One that finds the position of an extreme, made one that finds the extreme itself."""
        (target,) = self.targets
        kind = target.combine.removeprefix("arg")
        if target.expr.dtype == "b1":
            kind = {"max": "any", "min": "all"}[kind]
        extreme = replace(target, combine=kind, dtype=target.expr.dtype, identity=None)
        return replace(self, targets=(extreme,))


@dataclass(frozen=True)
class Carry:
    """A scalar carried through a `ScanLoop`: `init` before the loop, `next` after each body."""

    name: str
    dtype: str
    init: Expr
    next: Expr


@dataclass(frozen=True)
class ScanLoop:
    """Sequential iterations; a body sees the carried values, its Lets are visible in `next`."""

    var: str
    size: Dim
    body: tuple[Stmt, ...]
    carries: tuple[Carry, ...]


@dataclass(frozen=True)
class While:
    """`test_body`, then `body` as long as `test` holds; both see the carried values.

    Their Lets are visible in `test` and in `next`, and the carried values after the loop.
    """

    carries: tuple[Carry, ...]
    test_body: tuple[Stmt, ...]
    test: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class Choice:
    """A scalar that an `If` binds: `then` or `orelse`, which the body of that side may make."""

    name: str
    dtype: str
    then: Expr
    orelse: Expr


@dataclass(frozen=True)
class If:
    """One of two bodies, by a b1."""

    condition: Expr
    then: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]
    results: tuple[Choice, ...] = ()


@dataclass(frozen=True)
class Check:
    """The kernel gives up, as at an index out of range, where the b1 `failed` holds."""

    failed: Expr


Stmt: TypeAlias = Let | Store | For | Reduce | ScanLoop | While | If | Check


@dataclass(frozen=True)
class Param:
    """A buffer: element strides are C-contiguous for `shape` unless `strides` says otherwise.

    Distinct output buffers never overlap anything else the kernel touches.
    """

    name: str
    dtype: str
    shape: tuple[Dim, ...]
    strides: tuple[Dim, ...] | None = None
    output: bool = False


@dataclass(frozen=True)
class Kernel:
    """A loop nest with its buffers, its i64 sizes (every free symbol) and by-value scalars."""

    name: str
    params: tuple[Param, ...]
    sizes: tuple[str, ...]
    scalars: tuple[Var, ...]
    body: tuple[Stmt, ...]


def inner_bodies(s: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """The statements inside of a statement."""
    match s:
        case For() | Reduce() | ScanLoop():
            return (s.body,)
        case While():
            return s.test_body, s.body
        case If():
            return s.then, s.orelse
    return ()


def expressions(s: Stmt) -> tuple[Expr, ...]:
    """The expressions of a statement itself."""
    match s:
        case Let(_, _, e) | Store(_, _, e) | Check(e):
            return (e,)
        case Reduce():
            return tuple(t.expr for t in s.targets)
        case ScanLoop():
            return tuple(e for c in s.carries for e in (c.init, c.next))
        case While():
            return (*(e for c in s.carries for e in (c.init, c.next)), s.test)
        case If():
            return (s.condition, *(e for r in s.results for e in (r.then, r.orelse)))
    return ()


def sizes_in(s: Stmt) -> tuple[Dim, ...]:
    """The sizes and places of a statement itself, those of its expressions not counted."""
    match s:
        case Store(_, index, _):
            return index
        case For(_, size) | ScanLoop(_, size):
            return (size,)
        case Reduce():
            return (s.size, *(d for _, d in s.quotients))
    return ()


def place_of(stmt: Stmt) -> Where | None:
    """The place in the source that a statement is written for; of a loop, the first inside it."""
    match stmt:
        case Let() | Store():
            return stmt.where
        case Reduce() if stmt.targets:
            return stmt.targets[0].where
    inner = (place_of(s) for body in inner_bodies(stmt) for s in body)
    return next((where for where in inner if where is not None), None)
