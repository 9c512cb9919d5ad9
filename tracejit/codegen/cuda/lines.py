"""Lines of Python under construction, in loops and branches, with sizes and scalar functions.

Names that begin with an underscore are the printer's.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tracejit.codegen.cuda.scalars import ScalarPrinter
from tracejit.codegen.scalar.functions import ATOM_FUNCTIONS
from tracejit.ir.dims import Atom, Dim, prod
from tracejit.ir.kernel import Expr

__all__ = ["Lines"]


class Lines:
    """The body of a function, line by line."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._numbers = itertools.count(1)
        self._indent = ""
        #: The texts of expressions known here, with each expression of the Kernel IR.
        self._known: dict[object, tuple[str, Expr | None]] = {}

    def line(self, text: str) -> None:
        """One more line at the present depth."""
        self.lines.append(self._indent + text)

    def indent(self) -> None:
        """Begin the body of a function."""
        self._indent = "    "

    def fresh(self) -> str:
        """A new name."""
        return f"_{next(self._numbers)}"

    @contextmanager
    def inside(self, head: str) -> Iterator[None]:
        """Lines in the block that `head` opens; what they compute is known there alone."""
        self.line(head)
        before, start = self._indent, len(self.lines)
        self._indent = before + "    "
        with self.apart():
            yield
        if len(self.lines) == start:
            self.line("pass")
        self._indent = before

    @contextmanager
    def under(self, condition: str) -> Iterator[None]:
        """Lines in a branch, where there is a condition."""
        if not condition:
            yield
            return
        with self.inside(f"if {condition}:"):
            yield

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Lines whose values are not known after them."""
        known = self._known
        self._known = dict(known)
        yield
        self._known = known

    @contextmanager
    def counting(self, var: str, start: str, size: str, step: str) -> Iterator[None]:
        """A loop of `var` from `start` below `size` by `step`."""
        if start == "0" and step == "1":
            with self.inside(f"for {var} in range({size}):"):
                yield
            return
        self.line(f"{var} = {start}")
        with self.below(var, size, step):
            yield

    @contextmanager
    def below(self, var: str, size: str, step: str) -> Iterator[None]:
        """A loop of `var` from where it is to below `size` by `step`."""
        with self.inside(f"while {var} < {size}:"):
            yield
            self.line(f"{var} += {step}")

    @contextmanager
    def over_rows(self, loops: Sequence[tuple[str, Dim]]) -> Iterator[None]:
        """A loop from `_row` by `_rows` over all iterations of loops around each other."""
        if not loops:
            yield
            return
        total = self.dim(prod([size for _, size in loops]))
        with self.inside(f"while _row < {total}:"):
            self.decode("_row", loops)
            yield
            self.line("_row += _rows")

    def decode(self, rest: str, loops: Sequence[tuple[str, Dim]]) -> None:
        """The variables of loops around each other, by the number of the iteration."""
        total = prod([size for _, size in loops])
        kind = "int64"
        if len(loops) > 1 and isinstance(total, int) and total < 1 << 31:
            # GPUs divide numbers of 64 bits by many instructions.
            kind, wide, rest = "int32", rest, self.fresh()
            self.line(f"{rest} = int32({wide})")
        for var, size in reversed(loops[1:]):
            # Neither is negative, and the size is not 0.
            length = f"{kind}({self.dim(size)})"
            self.line(f"{var} = int64(fn_rest({rest}, {length}))")
            following = self.fresh()
            self.line(f"{following} = fn_quotient({rest}, {length})")
            rest = following
        self.line(f"{loops[0][0]} = int64({rest})" if len(loops) > 1 else f"{loops[0][0]} = {rest}")

    def call(self, fn: str, args: Sequence[str], dtypes: Sequence[str], dtype: str) -> str:
        """A scalar function of operands."""
        lines: list[str] = []
        result = ScalarPrinter(lines, self.fresh).call(fn, args, dtypes, dtype)
        for text in lines:
            self.line(text)
        return result

    def const(self, value: bool | int | float, dtype: str) -> str:
        """A literal."""
        return ScalarPrinter([], self.fresh).const(value, dtype)

    def dim(self, d: Dim) -> str:
        """The text of a size."""
        if isinstance(d, int):
            return str(d)
        terms = []
        for monomial, coefficient in d.terms:
            factors = [] if coefficient == 1 and monomial else [str(coefficient)]
            factors += [a if isinstance(a, str) else self._atom(a) for a in monomial]
            terms.append("*".join(factors))
        return " + ".join(terms)

    def _atom(self, atom: Atom) -> str:
        if atom not in self._known:
            args = [f"int64({self.dim(x)})" for x in atom.args]
            text = self.call(ATOM_FUNCTIONS[atom.fn], args, ("i64", "i64"), "i64")
            self._known[atom] = text, None
        return self._known[atom][0]
