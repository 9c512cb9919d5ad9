"""What a kernel becomes on a GPU: launches one after another, with their sources and shapes.

    Launch("k0", "def k0(x_in, o0, n): ...", ("f32*", "f32*", "i64"), ..., Shape("map", n, m))

A launch's arguments are raw pointers and numbers by value; a stream runs one after the other.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.dims import Dim

__all__ = [
    "Accumulate",
    "Argument",
    "Launch",
    "Launches",
    "Limits",
    "Order",
    "Scratch",
    "Shape",
    "Step",
]

#: What a launch is given: a buffer, a size or a scalar of the kernel by its name, temporary memory
#: by its number, the flag of failed checks, or how many partial results the launch before gives.
Argument: TypeAlias = tuple[Literal["buffer", "size", "scalar", "scratch", "flag", "blocks"], str]


@dataclass(frozen=True)
class Limits:
    """The threads that a block has at most, a power of two, and the blocks that a launch has.

    `warp`: threads that read each other's registers, a power of two, of which a block has whole
    ones wherever they do. `routines`: whether a library can sort and accumulate between launches.
    """

    block: int = 256
    grid: int = 4096
    routines: bool = True
    warp: int = 32


@dataclass(frozen=True)
class Shape:
    """How threads divide the work.

    map     each thread takes places (x, y): x runs along neighbours, `each` of them at once
    rows    threads share a row, of which there are `y`: a thread for each `each` of its places `x`,
            which are one warp or one block. A block of warps has several rows
    partial blocks beside each other take places x of a row, of which there are `y`, and each gives
            a partial result
    columns threads take columns x, and those of a block and of blocks above each other parts of
            the places y of one; each row of blocks gives a partial result for each column
    """

    kind: Literal["map", "rows", "partial", "columns"]
    x: Dim
    y: Dim = 1
    each: int = 1


@dataclass(frozen=True)
class Scratch:
    """Temporary memory of one kernel: for each block of a launch at most so many elements.

    Of a launch over columns that is for each row of blocks, whose threads take `wide` columns.
    """

    dtype: str
    each: Dim = 1
    wide: int = 1
    #: How many elements it has, where no block counts.
    total: Dim | None = None


@dataclass(frozen=True)
class Launch:
    """One CUDA kernel: source text in Python, "f32*" and such for each parameter, and arguments."""

    name: str
    source: str
    signature: tuple[str, ...]
    arguments: tuple[Argument, ...]
    shape: Shape


@dataclass(frozen=True)
class Order:
    """A call of a library: the positions that sort keys, equal ones as they lie.

    Both are temporary memory, of i64, by their numbers.
    """

    keys: int
    positions: int
    count: Dim


@dataclass(frozen=True)
class Accumulate:
    """A call of a library: running sums or products ("add", "multiply") of a buffer, in place."""

    function: str
    buffer: str
    dtype: str
    count: Dim


Step: TypeAlias = Launch | Order | Accumulate


@dataclass(frozen=True)
class Launches:
    """The steps of a kernel, in order. `checks`: some launch may set the flag."""

    launches: tuple[Step, ...]
    scratch: tuple[Scratch, ...]
    checks: bool
