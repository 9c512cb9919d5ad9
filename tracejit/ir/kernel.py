"""Kernels: one loop nest over scalar expressions, the door from arrays to machine code.

    kernel = Kernel(name, params, sizes, scalars, body)
    stmt   = Let(name, dtype, expr)                      bind a scalar
           | Store(buffer, index, expr)
           | For(var, size, body, vector)                independent iterations; `vector`: may run as SIMD lanes
           | Reduce(var, size, body, targets, lanes, block, vector)
           | Scan(var, size, body, carries)              strictly sequential, with loop-carried scalars
    expr   = Const(value, dtype) | Var(name, dtype) | Load(buffer, index, dtype)
           | IndexValue(dim)                             the i64 value of a size expression
           | Call(fn, args, dtype)

An index is a tuple of `Dim`s, one for each axis of the buffer, over loop variables, sizes and `Let`-bound
i64 names (a gather's index is such a name). Dtypes are the text's names ("f64"); complex values do not
occur: a complex buffer is a real one with a last axis of 2 (real part, imaginary part).

The order of a reduction is part of its meaning. The sequence x[0], x[1], ... is cut into blocks of
`block` elements. In a block, virtual lane l combines the elements at positions congruent to l modulo
`lanes`, in order, starting from the identity (-0.0 for sums); lane l is then combined with lane l + h for
h = lanes/2, lanes/4, ..., 1 (left operand: lane l). Block results go through a binary counter: after block k
(from 1), while the trailing bits of k are zero, the top of the stack is combined as (older, newer); at the end
the remaining entries are combined from the newest to the oldest, as (older, newer). An empty sum is +0.0.
With `lanes` 1 a block is a plain left-to-right chain. `sum` and `prod` accumulate in the target's dtype.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tracejit.ir.dims import Dim

__all__ = [
    "Call",
    "Carry",
    "Const",
    "Expr",
    "For",
    "IndexValue",
    "Kernel",
    "Let",
    "Load",
    "Param",
    "Reduce",
    "Scan",
    "Stmt",
    "Store",
    "Target",
    "Var",
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
    """A scalar function; `dtype` is the result's. The functions are those of `codegen/scalar_functions`."""

    fn: str
    args: tuple[Expr, ...]
    dtype: str


Expr: TypeAlias = Const | Var | Load | IndexValue | Call


@dataclass(frozen=True)
class Let:
    """Bind `name` to the value of `expr` for the statements that follow in this body."""

    name: str
    dtype: str
    expr: Expr


@dataclass(frozen=True)
class Store:
    """Write an element of an output buffer."""

    buffer: str
    index: tuple[Dim, ...]
    expr: Expr


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

    min, max, argmin and argmax propagate (prefer) NaN as NumPy's; argmin and argmax yield the i64
    position (first occurrence) of the extreme of `expr`; their `dtype` is i64.
    """

    name: str
    combine: str
    dtype: str
    expr: Expr


@dataclass(frozen=True)
class Reduce:
    """Combine `targets` over `var` in range(size); `body` (Lets and Stores) runs at each position.

    Afterwards each target's name is bound to its result. `vector`: the loop itself may run as SIMD
    lanes; without it an enclosing loop may be the vector one.
    """

    var: str
    size: Dim
    body: tuple[Stmt, ...]
    targets: tuple[Target, ...]
    lanes: int = 64
    block: int = 1024
    vector: bool = False


@dataclass(frozen=True)
class Carry:
    """A scalar carried through a `Scan`: `init` before the loop, `next` after each body."""

    name: str
    dtype: str
    init: Expr
    next: Expr


@dataclass(frozen=True)
class Scan:
    """Sequential iterations; a body sees the carried values, its Lets are visible in `next`."""

    var: str
    size: Dim
    body: tuple[Stmt, ...]
    carries: tuple[Carry, ...]


Stmt: TypeAlias = Let | Store | For | Reduce | Scan


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
