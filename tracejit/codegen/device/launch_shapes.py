"""How many blocks and threads a launch has, as registers: by the sizes of its work."""

from __future__ import annotations

from collections.abc import Mapping

from tracejit.codegen.cuda.launches import Limits, Shape
from tracejit.codegen.llvm.text import FunctionBuilder, Module
from tracejit.codegen.scalar.functions import emit_dim

__all__ = ["WIDE", "divide"]

#: Columns of a block at most, and places that a thread of a column takes.
WIDE, _PLACES = 32, 16


def divide(
    module: Module, fb: FunctionBuilder, limits: Limits, shape: Shape, sizes: Mapping[str, str]
) -> tuple[str, str, str, str]:
    """Blocks and threads, each in x and y, as i64."""
    n = _Numbers(module, fb)
    x, y = (emit_dim(fb, d, sizes) for d in (shape.x, shape.y))
    if shape.each != 1:
        x = n.quotient(x, str(shape.each))
    # Threads with several requests in flight: fewer of them keep memory busy, and hand on less.
    busy = min(limits.grid, max(2, limits.grid // 4))
    if shape.kind == "partial":
        # Not more partial results than blocks: see `Scratch`.
        most = n.clamp(n.divide(str(busy), y), 1, busy) if shape.y != 1 else str(busy)
        blocks = n.least(n.clamp(n.quotient(x, str(limits.block)), 1, busy), most)
        return blocks, n.clamp(y, 1, busy), str(limits.block), "1"
    if shape.kind == "columns":
        wide = max(1, min(WIDE, limits.block // 2))
        tall = limits.block // wide
        grid_x = n.clamp(n.quotient(x, str(wide)), 1, limits.grid)
        # So many places for each thread, as long as there are blocks.
        rows = n.clamp(n.quotient(y, str(tall * _PLACES)), 1, min(limits.grid, 65535))
        left = n.clamp(n.divide(str(busy), grid_x), 1, busy)
        return grid_x, n.least(rows, left), str(wide), str(tall)
    if shape.kind == "rows":
        threads = n.clamp(n.power(x), limits.warp, limits.block)
        # Rows of a warp share a block, but where few of them are to be spread over all blocks.
        few = n.clamp(n.divide(y, str(max(1, limits.grid // 8))), 1, limits.block // limits.warp)
        several = n.equal(threads, limits.warp, few, "1")
        most_rows = limits.grid * limits.block // limits.warp
        return n.clamp(n.quotient(y, several), 1, most_rows), "1", threads, several
    block_x = n.clamp(n.power(x), 1, limits.block)
    block_y = "1"
    if shape.y != 1:
        block_y = n.least(
            n.clamp(n.power(y), 1, limits.block), n.divide(str(limits.block), block_x)
        )
    grid_x = n.clamp(n.quotient(x, block_x), 1, limits.grid)
    grid_y = n.clamp(n.quotient(y, block_y), 1, min(limits.grid, 65535))
    return grid_x, grid_y, block_x, block_y


class _Numbers:
    """Arithmetic on numbers that are not negative, folded where they are literals."""

    def __init__(self, module: Module, fb: FunctionBuilder) -> None:
        self.module, self.fb = module, fb

    def _literals(self, *values: str) -> list[int] | None:
        return [int(v) for v in values] if all(v[0] != "%" for v in values) else None

    def clamp(self, value: str, low: int, high: int) -> str:
        known = self._literals(value)
        if known is not None:
            return str(min(max(known[0], low), high))
        return self.least(self._extreme("umax", value, str(low)), str(high))

    def equal(self, value: str, to: int, then: str, otherwise: str) -> str:
        """`then` where a value is that number."""
        known = self._literals(value)
        if known is not None:
            return then if known[0] == to else otherwise
        same = self.fb.emit(f"icmp eq i64 {value}, {to}")
        return self.fb.emit(f"select i1 {same}, i64 {then}, i64 {otherwise}")

    def least(self, a: str, b: str) -> str:
        known = self._literals(a, b)
        return str(min(known)) if known is not None else self._extreme("umin", a, b)

    def _extreme(self, name: str, a: str, b: str) -> str:
        symbol = self.module.declare(f"llvm.{name}.i64", "i64", ["i64", "i64"])
        return self.fb.emit(f"call i64 {symbol}(i64 {a}, i64 {b})")

    def quotient(self, a: str, b: str) -> str:
        """a / b rounded up."""
        known = self._literals(a, b)
        if known is not None:
            return str(-(-known[0] // known[1]))
        less = self.fb.integer("sub", b, "1")
        return self.divide(self.fb.integer("add", a, less), b)

    def divide(self, a: str, b: str) -> str:
        known = self._literals(a, b)
        return (
            str(known[0] // known[1]) if known is not None else self.fb.emit(f"udiv i64 {a}, {b}")
        )

    def power(self, value: str) -> str:
        """The next power of two: 1 for 0 and 1."""
        known = self._literals(value)
        if known is not None:
            return str(1 << max(known[0] - 1, 0).bit_length())
        symbol = self.module.declare("llvm.ctlz.i64", "i64", ["i64", "i1"])
        # More threads than 2**40 no block has; 0 - 1 would be all ones.
        some = self._extreme("umin", self._extreme("umax", value, "1"), str(1 << 40))
        zeros = self.fb.emit(
            f"call i64 {symbol}(i64 {self.fb.emit(f'sub i64 {some}, 1')}, i1 false)"
        )
        return self.fb.emit(f"shl i64 1, {self.fb.emit(f'sub i64 64, {zeros}')}")
