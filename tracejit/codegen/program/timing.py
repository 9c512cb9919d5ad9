"""Clocks around the kernels and calls of a program that is to be profiled.

Each place has four words, to which the program adds: the ticks of the processor's cycle counter
(`llvm.readcyclecounter`), how often it was passed, the bytes of the arrays that it reads and
writes, and its arithmetic operations on elements. A program without `Timers` has none of it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any, Protocol

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.analysis.liveness import is_array
from tracejit.codegen.llvm.text import FunctionBuilder, Module
from tracejit.ir.dims import Dim, free_symbols
from tracejit.ir.graph import Node
from tracejit.ir.types import ArrayType
from tracejit.ops.array.elementwise import Elementwise
from tracejit.ops.array.linalg import MatMul
from tracejit.ops.array.reduction import Reduction

__all__ = ["Site", "Timers"]

_TICKS, _PASSES, _BYTES, _OPERATIONS = range(4)


class Emission(Protocol):
    """What of a program context clocks are written with."""

    fb: FunctionBuilder
    module: Module
    env: dict[str, str]
    symbols: dict[str, int]
    keep: list[Any]

    def fresh(self, stem: str) -> str:
        """A new name."""
        ...

    def dim(self, d: Dim) -> str:
        """A size as an i64 register or literal."""
        ...


@dataclass
class Site:
    """A place in a program with its words; `nodes` are computed there, `what` names it."""

    what: str
    nodes: tuple[Node, ...]
    words: array[int] = field(default_factory=lambda: array("q", [0, 0, 0, 0]))

    @property
    def ticks(self) -> int:
        """The ticks spent there."""
        return self.words[_TICKS]

    @property
    def passes(self) -> int:
        """How often it was passed."""
        return self.words[_PASSES]

    @property
    def bytes(self) -> int:
        """The bytes of the arrays that it has read and written, each once a pass."""
        return self.words[_BYTES]

    @property
    def operations(self) -> int:
        """Additions, multiplications and functions of elements."""
        return self.words[_OPERATIONS]


class Timers:
    """The sites of one program; `whole` is all of it."""

    def __init__(self) -> None:
        self.sites: list[Site] = []
        self.whole = Site("program", ())
        #: The nodes that are computed outside of all sites, in the loops of so many others.
        self.rest: list[tuple[Node, int]] = []
        self._inside = False

    @contextmanager
    def around(self, e: Emission, what: str, nodes: Sequence[Node]) -> Iterator[None]:
        """Count what is written in the block as one site, unless it is inside of another."""
        if self._inside:
            yield
            return
        self._inside = True
        site = Site(what, tuple(nodes))
        self.sites.append(site)
        begun = self.begin(e)
        yield
        self.end(e, site, begun)
        self._inside = False

    def begin(self, e: Emission) -> str:
        """The cycle counter, as a register."""
        name = e.module.declare("llvm.readcyclecounter", "i64", [])
        return e.fb.emit(f"call i64 {name}()")

    def end(self, e: Emission, site: Site, begun: str) -> None:
        """Add what has passed since `begun`."""
        fb = e.fb
        symbol = e.fresh("timer")
        e.module.add_global(symbol, "external global i64")
        e.symbols[symbol] = site.words.buffer_info()[0]
        e.keep.append(site)
        now = self.begin(e)
        amounts = [fb.emit(f"sub i64 {now}, {begun}"), "1"]
        amounts += [_known(e, d) for d in (_bytes(site.nodes), _operations(site.nodes))]
        for k, amount in enumerate(amounts):
            if amount == "0":
                continue
            place = fb.emit(f"getelementptr i64, ptr @{symbol}, i64 {k}")
            # Several threads may run the program.
            fb.emit(f"atomicrmw add ptr {place}, i64 {amount} monotonic")


def _known(e: Emission, d: Dim) -> str:
    """A count as a register, 0 where the program does not know it."""
    return e.dim(d) if free_symbols(d) <= e.env.keys() else "0"


def _bytes(nodes: Sequence[Node]) -> Dim:
    """What nodes read that none of them computes, and what they give, each array once."""
    made = {v for n in nodes for v in n.outputs}
    found = dict.fromkeys(v for n in nodes for v in n.inputs if v not in made)
    total: Dim = 0
    for v in (*found, *made):
        if is_array(v):
            assert isinstance(v.type, ArrayType)
            total = total + v.type.size * v.type.dtype.itemsize
    return total


def _operations(nodes: Sequence[Node]) -> Dim:
    """One for each element that is computed by arithmetic or taken into a reduction."""
    total: Dim = 0
    for node in nodes:
        for n in [n for r in node.regions for n in r.nodes] if node.regions else [node]:
            operand = n.inputs[0] if isinstance(n.op, Reduction) else n.outputs[0]
            if isinstance(n.op, (Elementwise, Reduction)) and isinstance(operand.type, ArrayType):
                total = total + operand.type.size
            elif isinstance(n.op, MatMul) and isinstance(n.inputs[0].type, ArrayType):
                out = n.outputs[0].type
                inner = n.inputs[0].type.shape[-1]
                total = total + 2 * inner * (out.size if isinstance(out, ArrayType) else 1)
    return total
