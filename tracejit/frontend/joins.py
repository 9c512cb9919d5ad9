"""What the two sides of a branch leave becomes one value again, or a `Choice` between two.

Numbers and arrays of one type become results of the `cond`; containers are joined part by part. A
`Choice` stands for values that differ in kind: None or an unbound name on one side, unlike types,
other memory. It is settled where it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.cells import Cell, View, laid_out
from tracejit.frontend.choice import UNBOUND, Choice, Signal
from tracejit.frontend.containers import (
    build_dataclass,
    dataclass_fields,
    is_constant,
    is_namedtuple,
    is_plain_dataclass,
)
from tracejit.frontend.shapes import SymInt
from tracejit.frontend.trace import Trace, user_line
from tracejit.frontend.tracer import TracedArray, TracedScalar, Tracer, lift
from tracejit.ir.dims import free_symbols
from tracejit.ir.graph import Value, attr_key, attr_sizes
from tracejit.ir.types import ArrayType, Type, type_sizes
from tracejit.ops.effects import undefined_attrs

if TYPE_CHECKING:
    from tracejit.frontend.hooks import Hooks
    from tracejit.frontend.regions import Side

__all__ = [
    "UNBOUND",
    "Choice",
    "Joiner",
    "Recipe",
    "is_absent",
    "is_number",
    "parts_of",
    "rebuild",
    "same_constant",
    "same_kind",
    "split",
    "undefined",
]

#: Makes a value of the enclosing trace from the results of the node.
Recipe: TypeAlias = Callable[[Sequence[Value]], Any]


def is_absent(x: Any) -> bool:
    """Whether `x` is a constant that no graph can hold: None, an unbound name, a text."""
    return x is UNBOUND or (is_constant(x) and not is_number(x)) or isinstance(x, Signal)


def is_number(x: Any) -> bool:
    """Whether `x` is a number, a size or a traced number."""
    return isinstance(x, (bool, int, float, complex, np.generic, SymInt, TracedScalar))


def undefined(trace: Trace, t: Type) -> Value:
    """A value of type `t` that nobody reads."""
    return trace.emit("undefined", (), **undefined_attrs(t))


def same_constant(a: Any, b: Any) -> bool:
    """Whether two objects are one, or constants that nothing tells apart."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, SymInt):
        return bool(a.dim == b.dim)
    if isinstance(a, np.generic):
        return bool(attr_key(a.item()) == attr_key(b.item()))
    return bool(is_constant(a) and attr_key(a) == attr_key(b))


def parts_of(x: Any) -> tuple[type, tuple[Any, ...], list[Any]] | None:
    """(class, keys, children) of a container whose parts can be joined; None for anything else."""
    cls = type(x)
    if cls in (tuple, list) or is_namedtuple(cls):
        return cls, (), list(x)
    if cls is dict:
        return cls, tuple(x), list(x.values())
    if not isinstance(x, (Tracer, Choice, SymInt, type)) and is_plain_dataclass(x):
        names = dataclass_fields(x) or ()
        return cls, names, [getattr(x, name) for name in names]
    return None


def rebuild(hooks: Hooks, cls: type, keys: tuple[Any, ...], children: list[Any]) -> Any:
    """A new container of the class, made inside the trace."""
    if cls is list:
        return hooks.new(children)
    if cls is dict:
        return hooks.new(dict(zip(keys, children, strict=True)))
    if issubclass(cls, tuple):
        return tuple.__new__(cls, children)
    return hooks.new(build_dataclass(cls, dict(zip(keys, children, strict=True))))


class Joiner:
    """Collects what leaves the sides of a branch as results of its node.

    `sides` are its traced regions; a side that never ends (it raises) contributes nothing.
    """

    def __init__(
        self, hooks: Hooks, parent: Trace, predicate: TracedScalar | None, sides: Sequence[Side]
    ) -> None:
        self.hooks, self.parent, self.predicate, self.sides = hooks, parent, predicate, sides
        #: For each result, the value of each side; None where a side has none.
        self.slots: list[list[Value | None]] = []
        self._memo: dict[tuple[int, int], tuple[Any, Any, Recipe]] = {}
        self._partner: dict[Cell, Cell | None] = {}
        self._cells: dict[tuple[Cell | None, Cell | None], Callable[[Sequence[Value]], Cell]] = {}

    # Slots ---------------------------------------------------------------------------------------

    def slot(self, *values: Value | None) -> int:
        """The number of a new result."""
        self.slots.append(list(values))
        return len(self.slots) - 1

    def one_side(self, side: int, value: Value) -> int:
        """A result that only one side gives."""
        for s in type_sizes(value.type):
            if any(s in node.binds for node in self.sides[side].region.builder.nodes):
                raise TraceError("TJ015", "a size made in a branch or loop leaves it", user_line())
        return self.slot(*(value if k == side else None for k in range(len(self.sides))))

    def lifted(self, x: Any, side: int) -> Value:
        """A number or array as a value of a side."""
        with self.sides[side].region.reopened():
            return lift(x).value()

    def complete(self) -> list[list[Value]]:
        """The results of each side: undefined values where it gives none."""
        out: list[list[Value]] = [[] for _ in self.sides]
        for slot in self.slots:
            t = next(v for v in slot if v is not None).type
            for k, side in enumerate(self.sides):
                v = slot[k]
                if v is None:
                    with side.region.reopened():
                        v = undefined(side.region, t)
                out[k].append(v)
        return out

    # One side ------------------------------------------------------------------------------------

    def export(self, x: Any, side: int) -> Recipe:
        """What a side leaves, as a value of the enclosing trace."""
        key = (id(x), -1) if side == 0 else (-1, id(x))
        if key not in self._memo:
            self._memo[key] = x, None, self._once(self._export(x, side))
        return self._memo[key][2]

    def _export(self, x: Any, side: int) -> Recipe:
        region = self.sides[side].region
        if isinstance(x, TracedScalar):
            if not region.encloses(x.trace):
                return lambda outs: x
            k = self.one_side(side, self.lifted(x, side))
            return lambda outs: self.parent.wrap(outs[k])
        if isinstance(x, SymInt) and free_symbols(x.dim) & set(self.sides[side].own_sizes):
            number = self.one_side(side, self.lifted(x, side))
            return lambda outs: self.parent.wrap(outs[number])
        if isinstance(x, TracedArray):
            return self._export_array(x, side)
        if isinstance(x, Choice):
            parts = [self.export(v, side) for v in (x.predicate, x.first, x.second)]
            merged = None if x.merged is None else self._export_copy(x.merged, side)
            return lambda outs: Choice(
                *(make(outs) for make in parts), merged=None if merged is None else merged(outs)
            )
        parts_found = parts_of(x)
        made = self.hooks.made_in(x)
        if parts_found is None or not (
            isinstance(x, tuple) or (made is not None and region.encloses(made))
        ):
            return lambda outs: x
        cls, keys, children = parts_found
        recipes = [self.export(v, side) for v in children]
        return lambda outs: rebuild(self.hooks, cls, keys, [make(outs) for make in recipes])

    def _export_array(self, x: TracedArray, side: int) -> Recipe:
        region = self.sides[side].region
        if not region.encloses(x.trace):
            return lambda outs: x
        pair = (x.cell, None) if side == 0 else (None, x.cell)
        cell = self._cell(*pair)
        views = [self._export_view(v, side) for v in x.views]
        return lambda outs: TracedArray(
            self.parent, cell(outs), tuple(make(outs) for make in views)
        )

    def _export_copy(self, x: TracedArray, side: int) -> Recipe:
        """What an array holds, as a copy that is only read."""
        k = self.one_side(side, self.lifted(x, side))
        return lambda outs: TracedArray(self.parent, Cell(self.parent, outs[k], -1))

    def _export_view(self, view: View, side: int) -> Callable[[Sequence[Value]], View]:
        region = self.sides[side].region
        if not region.encloses(view.trace):
            return lambda outs: view
        bound = {s for node in region.builder.nodes for s in node.binds}
        local = bound | set(self.sides[side].own_sizes)
        if any(local & attr_sizes(a) for a in view.attrs.values()):
            raise TraceError("TJ015", "a view whose size a branch or loop computes", user_line())
        with region.reopened():
            numbers = [self.one_side(side, v) for v in view.indices_in(region)]
        return lambda outs: View(
            self.parent, view.op, tuple(outs[k] for k in numbers), view.attrs, view.writeable
        )

    def _cell(self, a: Cell | None, b: Cell | None) -> Callable[[Sequence[Value]], Cell]:
        """The memory that two cells become; None for a side without one."""
        outer = [c for k, c in enumerate((a, b)) if c is not None and not self._is_fresh(c, k)]
        if outer:
            (cell,) = dict.fromkeys((outer[0], *(c for c in (a, b) if c is not None)))
            return lambda outs: cell
        for k, (cell_k, other) in enumerate(((a, b), (b, a))):
            if cell_k is not None and self._partner.setdefault(cell_k, other) is not other:
                raise TraceError(
                    "TJ005", "arrays share memory on one side of a branch only", user_line()
                )
            if cell_k is not None and (cell_k.source is not None or cell_k.input is not None):
                raise TraceError("TJ005", f"a view leaves side {k} of a branch", user_line())
        if (a, b) not in self._cells:
            values: list[Value | None] = []
            for c, side in zip((a, b), self.sides, strict=False):
                values.append(None if c is None else c.read(side.region))
            values = _in_one_order(values, self.sides)
            k = self.slot(*values[: len(self.sides)])
            self._cells[a, b] = self._once(lambda outs: Cell(self.parent, outs[k]))
        return self._cells[a, b]

    def _is_fresh(self, cell: Cell, side: int) -> bool:
        return side < len(self.sides) and self.sides[side].region.encloses(cell.trace)

    @staticmethod
    def _once(make: Recipe) -> Recipe:
        """A recipe that makes its value a single time: shared objects stay shared."""
        made: list[Any] = []

        def again(outs: Sequence[Value]) -> Any:
            if not made:
                made.append(make(outs))
            return made[0]

        return again

    # Two sides -----------------------------------------------------------------------------------

    def join(self, a: Any, b: Any) -> Recipe:
        """What `a` of the first side and `b` of the second become."""
        if self.sides[0].dead:
            return self.export(b, 1)
        if self.sides[1].dead:
            return self.export(a, 0)
        key = id(a), id(b)
        if key not in self._memo:
            self._memo[key] = a, b, self._once(self._join(a, b))
        return self._memo[key][2]

    def _join(self, a: Any, b: Any) -> Recipe:
        if same_constant(a, b):
            return lambda outs: a
        joined = self._alike(a, b)
        if joined is None:
            joined = self._nullable(a, b)
        if joined is not None:
            return joined
        first, second = self.export(a, 0), self.export(b, 1)
        assert self.predicate is not None
        p = self.predicate
        merged = self._merged(a, b)
        return lambda outs: Choice(p, first(outs), second(outs), merged(outs) if merged else None)

    def _alike(self, a: Any, b: Any) -> Recipe | None:
        """The join of two values of one type; None where they are not."""
        if is_number(a) and is_number(b):
            first, second = self.lifted(a, 0), self.lifted(b, 1)
            if first.type != second.type:
                return None
            k = self.slot(first, second)
            return lambda outs: self.parent.wrap(outs[k])
        if isinstance(a, TracedArray) and isinstance(b, TracedArray):
            return self._alike_arrays(a, b)
        one, two = parts_of(a), parts_of(b)
        if one is None or two is None or one[:2] != two[:2] or len(one[2]) != len(two[2]):
            return None
        if not isinstance(a, tuple) and not (self._made_inside(a, 0) and self._made_inside(b, 1)):
            return None
        cls, keys, _ = one
        recipes = [self.join(x, y) for x, y in zip(one[2], two[2], strict=True)]
        return lambda outs: rebuild(self.hooks, cls, keys, [make(outs) for make in recipes])

    def _made_inside(self, x: Any, side: int) -> bool:
        made = self.hooks.made_in(x)
        return made is not None and self.sides[side].region.encloses(made)

    def _alike_arrays(self, a: TracedArray, b: TracedArray) -> Recipe | None:
        if not (self._is_fresh(a.cell, 0) and self._is_fresh(b.cell, 1)) or a.views or b.views:
            return None
        with self.sides[0].region.reopened():
            first = a.value()
        with self.sides[1].region.reopened():
            second = b.value()
        if not same_kind(first.type, second.type):
            return None
        for cell, other in ((a.cell, b.cell), (b.cell, a.cell)):
            if self._partner.get(cell, other) is not other:
                return None
            if cell.source is not None or cell.input is not None:
                return None
        cell = self._cell(a.cell, b.cell)
        return lambda outs: TracedArray(self.parent, cell(outs))

    def _merged(self, a: Any, b: Any) -> Recipe | None:
        """A copy of what two arrays of one type hold, where their memory cannot be joined."""
        if not isinstance(a, TracedArray) or not isinstance(b, TracedArray):
            return None
        values: list[Value | None] = [self.lifted(a, 0), self.lifted(b, 1)]
        if not same_kind(values[0].type, values[1].type):  # type: ignore[union-attr]
            return None
        k = self.slot(*_in_one_order(values, self.sides))
        return lambda outs: TracedArray(self.parent, Cell(self.parent, outs[k], -1))

    def _nullable(self, a: Any, b: Any) -> Recipe | None:
        """A value beside None (or another absent one): a flag, and the value where there is one."""
        (has_a, value_a, none_a), (has_b, value_b, none_b) = split(a), split(b)
        if (has_a is True and has_b is True) or (has_a is False and has_b is False):
            return None
        absent = none_a if has_a is not True else none_b
        if has_a is not True and has_b is not True and not same_constant(none_a, none_b):
            return None
        if has_a is False:
            value: Recipe | None = self.export(value_b, 1)
        elif has_b is False:
            value = self.export(value_a, 0)
        elif same_constant(value_a, value_b):
            value = self.export(value_a, 0)
        else:
            value = self._alike(value_a, value_b)
        if value is None:
            return None
        present = self._flag(has_a, has_b)
        return lambda outs: Choice(present(outs), value(outs), absent)

    def _flag(self, a: Any, b: Any) -> Recipe:
        p = self.predicate
        assert p is not None
        if a is True and b is False:
            return lambda outs: p
        if a is False and b is True:
            return lambda outs: self.hooks.not_(p)
        k = self.slot(self.lifted(a, 0), self.lifted(b, 1))
        return lambda outs: self.parent.wrap(outs[k])


def split(x: Any) -> tuple[Any, Any, Any]:
    """(whether there is a value, the value, what stands in its place where there is none)."""
    if isinstance(x, Choice):
        x = x.known()
    if isinstance(x, Choice):
        if is_absent(x.second) and not is_absent(x.first) and not isinstance(x.first, Choice):
            return x.predicate, x.first, x.second
        return True, x, None
    return (False, None, x) if is_absent(x) else (True, x, None)


def same_kind(a: Type, b: Type) -> bool:
    """Whether two types differ at most in the order of their axes."""
    if isinstance(a, ArrayType) and isinstance(b, ArrayType):
        return a.dtype == b.dtype and a.shape == b.shape
    return a == b


def _in_one_order(values: list[Value | None], sides: Sequence[Side]) -> list[Value | None]:
    """Values that are laid out alike: as the first of them."""
    first = next(v for v in values if v is not None).type
    if not isinstance(first, ArrayType):
        return values
    out: list[Value | None] = []
    for v, side in zip(values, sides, strict=False):
        if v is not None and v.type != first:
            with side.region.reopened():
                v = laid_out(side.region, v, first.order)
        out.append(v)
    return out
