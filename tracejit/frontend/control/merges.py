"""What the two sides of a branch leave becomes one value again, or a `Union` between two.

Numbers and arrays of one type become results of the `cond`; containers are joined part by part. A
`Union` stands for values that differ in kind: None or an unbound name on one side, unlike types,
other memory. It is settled where it is used.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tracejit.errors import GraphError, TraceError
from tracejit.frontend.control.kinds import (
    MISSING,
    as_kind,
    as_machine,
    flags,
    kinds_of,
    kinds_of_both,
    machine,
    of_kind,
    parts_of,
    rebuild,
    same_constant,
    select,
)
from tracejit.frontend.control.regions import Side
from tracejit.frontend.control.unions import is_number, leaves_of
from tracejit.frontend.tracing.aliases import is_told_apart
from tracejit.frontend.tracing.contents import contents_of
from tracejit.frontend.tracing.grown import is_grown
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.memory.storage import Storage, ViewStep, laid_out
from tracejit.frontend.tracing.raised import Raised, TracedError
from tracejit.frontend.tracing.standins import StandIn
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.text import TracedText
from tracejit.frontend.tracing.trace import Trace, user_line
from tracejit.frontend.tracing.tracer import TracedArray, TracedScalar, Tracer, lift, wrap
from tracejit.frontend.tracing.union import UNBOUND, Union
from tracejit.ir.dims import Dim, bounds, free_symbols, symbol
from tracejit.ir.graph import Attr, Value, attr_sizes, attr_substitute
from tracejit.ir.types import ArrayType, Type, shape_of, type_sizes
from tracejit.ops.control.effects import undefined_attrs

__all__ = [
    "UNBOUND",
    "PhiBuilder",
    "Recipe",
    "Union",
    "in_one_order",
    "same_kind",
    "undefined",
]

#: Makes a value of the enclosing trace from the results of the node.
Recipe: TypeAlias = Callable[[Sequence[Value]], Any]


#: Classes whose instances nothing tells from others that hold the same.
_VALUES = (tuple, Raised, TracedError, TracedText)


def undefined(trace: Trace, t: Type) -> Value:
    """A value of type `t` that nobody reads."""
    return trace.emit("undefined", (), **undefined_attrs(t))


class PhiBuilder:
    """Collects what leaves the sides of a branch as results of its node.

    `sides` are its traced regions; a side that never ends (it raises) contributes nothing.
    """

    def __init__(
        self,
        interpreter: Interpreter,
        parent: Trace,
        predicate: TracedScalar | None,
        sides: Sequence[Side],
    ) -> None:
        self.interpreter, self.parent, self.predicate, self.sides = (
            interpreter,
            parent,
            predicate,
            sides,
        )
        #: For each result, the value of each side; None where a side has none.
        self.slots: list[list[Value | None]] = []
        #: The sizes that leave the sides, one for each side, and what they are called outside.
        self.sizes: dict[tuple[Dim, ...], str] = {}
        self._memo: dict[tuple[int, int], tuple[Any, Any, Recipe]] = {}
        self._partner: dict[Storage, Storage | None] = {}
        self._ended: set[Storage] = set()
        self._cells: dict[
            tuple[Storage | None, Storage | None], Callable[[Sequence[Value]], Storage]
        ] = {}

    # Slots ---------------------------------------------------------------------------------------

    def operand(self, *values: Value | None) -> int:
        """The number of a new result."""
        given = [(k, v) for k, v in enumerate(values) if v is not None]
        if len(given) == 1:
            ((side, only),) = given
            for d in shape_of(only.type):
                if free_symbols(d) & self._local(side):
                    self.size(side, d)
        self.slots.append(list(values))
        return len(self.slots) - 1

    def one_side(self, side: int, value: Value) -> int:
        """A result that only one side gives."""
        return self.operand(*(value if k == side else None for k in range(len(self.sides))))

    def _local(self, side: int) -> set[str]:
        """The sizes that exist on a side only."""
        bound = {s for node in self.sides[side].region.builder.nodes for s in node.binds}
        return bound | set(self.sides[side].own_sizes)

    def size(self, side: int, d: Dim) -> Dim:
        """What a size that only one side has is called outside; it is 0 if that side is not taken.

        Raises TraceError where it leaves a loop.
        """
        return self.both_sizes(*(d if k == side else 0 for k in range(len(self.sides))))

    def both_sizes(self, *given: Dim) -> Dim:
        """What is one size on one side, and another one on the other. Raises TraceError."""
        if len(given) != 2:
            raise TraceError("TJ015", "a size made in a loop leaves it", user_line())
        if given not in self.sizes:
            env = self.parent.env
            lows = [bounds(d, env.intervals)[0] for d in given]
            least = min(0 if low is None else low for low in lows)
            self.sizes[given] = self.parent.fresh_size(max(least, 0))
        return symbol(self.sizes[given])

    def _size_attr(self, attr: Attr, side: int) -> Attr:
        """An attribute with the sizes that a side alone has by their names outside."""
        local = sorted(attr_sizes(attr) & self._local(side))
        return attr_substitute(attr, {s: self.size(side, symbol(s)) for s in local})

    def lifted(self, x: Any, side: int) -> Value:
        """A number or array as a value of a side."""
        with self.sides[side].reopened(containers=False):
            return lift(x).value()

    def complete(self) -> list[list[Value]]:
        """The results of each side: undefined values where it gives none."""
        out: list[list[Value]] = [[] for _ in self.sides]
        for slot in self.slots:
            t = next(v for v in slot if v is not None).type
            for k, side in enumerate(self.sides):
                v = slot[k]
                if v is None:
                    with side.reopened(containers=False):
                        v = undefined(side.region, self._without_local(t, 1 - k))
                out[k].append(v)
        return out

    def _without_local(self, t: Type, side: int) -> Type:
        """The type of what stands for a value of the other side: its own sizes are 0."""
        if not isinstance(t, ArrayType) or len(self.sides) < 2:
            return t
        local = self._local(side)
        shape = tuple(0 if free_symbols(d) & local else d for d in t.shape)
        return ArrayType(t.dtype, shape, t.order)

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
            return lambda outs: wrap(self.parent, outs[k])
        if isinstance(x, SymInt) and free_symbols(x.dim) & self._local(side):
            number = self.one_side(side, self.lifted(x, side))
            return lambda outs: wrap(self.parent, outs[number])
        if isinstance(x, TracedArray):
            return self._export_array(x, side)
        if isinstance(x, Union) and not self._is_inside(x, side):
            return lambda outs: x
        if isinstance(x, Union):
            parts = [self.export(v, side) for v in (x.predicate, x.first, x.second)]
            held = self._by_value(x, side)
            merged = None if held is None else self._export_copy(held, side)
            p, first, second = parts
            return lambda outs: Union(
                p(outs), first(outs), second(outs), None if merged is None else merged(outs)
            )
        parts_found = parts_of(x)
        made = self.interpreter.owner_of(x)
        if parts_found is None or not (
            isinstance(x, _VALUES) or (made is not None and region.encloses(made))
        ):
            if isinstance(x, StandIn) and self._holds_local(contents_of(x), side):
                what = f"a {x.stands_for.__name__} that a loop or a branch gives as its result"
                raise TraceError("TJ008", what, user_line())
            return lambda outs: x
        cls, keys, children = parts_found
        recipes = [self.export(v, side) for v in children]
        self.interpreter.aliases.require_current(x, trace=region)
        return self._rebuilt(cls, keys, recipes, x)

    def _holds_local(self, x: Any, side: int) -> bool:
        """Returns whether `x`, or what it consists of, is a number or an array of a side's own."""
        if isinstance(x, SymInt):
            return bool(free_symbols(x.dim) & self._local(side))
        if isinstance(x, Tracer):
            return self.sides[side].region.encloses(x.trace)
        found = parts_of(x)
        return found is not None and any(self._holds_local(v, side) for v in found[2])

    def _is_inside(self, x: Any, side: int) -> bool:
        """Whether a side has made `x`, or an alternative of it."""
        region = self.sides[side].region
        if isinstance(x, Union):
            parts = (x.predicate, x.first, x.second)
            return any(self._is_inside(part, side) for part in parts)
        if isinstance(x, Tracer):
            return region.encloses(x.trace)
        return parts_of(x) is not None or isinstance(x, SymInt) or self._made_inside(x, side)

    def _export_array(self, x: TracedArray, side: int) -> Recipe:
        region = self.sides[side].region
        if not region.encloses(x.trace):
            return lambda outs: x
        own = type_sizes(x.storage.value.type) & self._local(side)
        if len(self.sides) == 1 and own and self._is_fresh(x.storage, side):
            # The name may never be read again; if it is, its trace has ended.
            return lambda outs: x
        pair = (x.storage, None) if side == 0 else (None, x.storage)
        storage = self._cell(*pair)
        views = [self._export_view(v, side) for v in x.views]

        def joined(outs: Sequence[Value]) -> TracedArray:
            try:
                return TracedArray(self.parent, storage(outs), tuple(make(outs) for make in views))
            except GraphError as e:
                if not own:
                    raise
                what = "a view of an array whose size one side of a branch decides"
                raise TraceError("TJ015", what, user_line()) from e

        return joined

    def _export_copy(self, x: TracedArray, side: int) -> Recipe:
        """What an array holds, as a copy that is only read."""
        k = self.one_side(side, self.lifted(x, side))
        return lambda outs: TracedArray(self.parent, Storage(self.parent, outs[k], -1))

    def _export_view(self, view: ViewStep, side: int) -> Callable[[Sequence[Value]], ViewStep]:
        region = self.sides[side].region
        if not region.encloses(view.trace):
            return lambda outs: view
        attrs = {k: self._size_attr(a, side) for k, a in view.attrs.items()}
        corner: Any = self._size_attr(view.corner, side)
        with self.sides[side].reopened():
            numbers = [self.one_side(side, v) for v in view.indices_in(region)]
        return lambda outs: ViewStep(
            self.parent,
            view.op,
            tuple(outs[k] for k in numbers),
            attrs,
            view.writeable,
            corner,
            kept=view.kept,
        )

    def _cell(self, a: Storage | None, b: Storage | None) -> Callable[[Sequence[Value]], Storage]:
        """The memory that two storages become; None for a side without one."""
        # A name of one side for memory that is joined is a name for what it becomes.
        if b is None and a is not None:
            b = self._partner.get(a)
        elif a is None and b is not None:
            a = self._partner.get(b)
        outer = [c for k, c in enumerate((a, b)) if c is not None and not self._is_fresh(c, k)]
        if outer:
            (storage,) = dict.fromkeys((outer[0], *(c for c in (a, b) if c is not None)))
            return lambda outs: storage
        for one, other in ((a, b), (b, a)):
            if one is not None and self._partner.setdefault(one, other) is not other:
                raise TraceError(
                    "TJ005", "arrays share memory on one side of a branch only", user_line()
                )
        if (a, b) not in self._cells:
            values: list[Value | None] = []
            for c, side in zip((a, b), self.sides, strict=False):
                values.append(None if c is None else c.read(side.region))
            values = in_one_order(values, self.sides)
            k = self.operand(*values[: len(self.sides)])
            self._cells[a, b] = self._once(lambda outs: self._new_storage(outs[k], a, b))
        return self._cells[a, b]

    def _new_storage(self, value: Value, *old: Storage | None) -> Storage:
        """The memory that storages of the sides become: what they may share, it may share."""
        known = [c for c in old if c is not None]
        inputs = [c.input for c in known if c.input is not None]
        new = Storage(self.parent, value, min(inputs) if inputs else None)
        new.listed = any(c.listed for c in known)
        for c in known:
            for other, version in c.may_alias:
                if other.trace.encloses(self.parent):
                    new.may_alias += ((other, version),)
                    new.noalias_set = c.noalias_set
                else:
                    # Memory that ends with its side, unless it leaves it under another name, too.
                    self._ended.add(other)
            shared = c.source
            if shared is None:
                continue
            if not shared.trace.encloses(self.parent):
                raise TraceError("TJ005", "a view leaves a branch or loop", user_line())
            if new.source is not None and new.source is not shared:
                raise TraceError("TJ005", "a view of one of two arrays", user_line())
            new.source, new.seen, new.input = shared, c.seen, -1
        if self._ended & self._partner.keys():
            raise TraceError("TJ005", "two names for what may be one array", user_line())
        return new

    def _is_fresh(self, storage: Storage, side: int) -> bool:
        return side < len(self.sides) and self.sides[side].region.encloses(storage.trace)

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

    def merge(self, a: Any, b: Any) -> Recipe:
        """What `a` of the first side and `b` of the second become."""
        if self.sides[0].dead:
            return self.export(b, 1)
        if self.sides[1].dead:
            return self.export(a, 0)
        key = id(a), id(b)
        if key not in self._memo:
            self._memo[key] = a, b, self._once(self._merge(a, b))
        return self._memo[key][2]

    def _merge(self, a: Any, b: Any) -> Recipe:
        if same_constant(a, b):
            return lambda outs: a
        joined = self._alike(a, b)
        if joined is None:
            joined = self._union(a, b)
        if joined is not None:
            return joined
        first, second = self.export(a, 0), self.export(b, 1)
        assert self.predicate is not None
        p = self.predicate
        merged = self._merged(a, b)
        return lambda outs: Union(p, first(outs), second(outs), merged(outs) if merged else None)

    def _alike(self, a: Any, b: Any) -> Recipe | None:
        """The join of two values of one type; None where they are not."""
        if is_number(a) and is_number(b):
            first, second = self.lifted(a, 0), self.lifted(b, 1)
            if first.type != second.type:
                return None
            k = self.operand(first, second)
            return lambda outs: wrap(self.parent, outs[k])
        if isinstance(a, TracedArray) and isinstance(b, TracedArray):
            return self._alike_arrays(a, b)
        one, two = parts_of(a), parts_of(b)
        if one is None or two is None or one[:2] != two[:2] or len(one[2]) != len(two[2]):
            return None
        if not isinstance(a, _VALUES) and not (self._made_inside(a, 0) and self._made_inside(b, 1)):
            return None
        if isinstance(a, tuple) and all(map(self.interpreter.capture.is_given, (a, b))):
            return None  # One of two that the caller has.
        if is_grown(a) and not all(
            self._one_kind(x.type, y.type) for x, y in zip(a[0].arrays, b[0].arrays, strict=True)
        ):
            return None  # Lists of unlike room.
        for x, side in zip((a, b), self.sides, strict=True):
            self.interpreter.aliases.require_current(x, trace=side.region)
        cls, keys, _ = one
        recipes = [self.merge(x, y) for x, y in zip(one[2], two[2], strict=True)]
        return self._rebuilt(cls, keys, recipes, a, b)

    def _rebuilt(
        self, cls: type, keys: tuple[Any, ...], recipes: Sequence[Recipe], *old: Any
    ) -> Recipe:
        """A container put together again. One that was several, or is one of several, says so."""

        def made(outs: Sequence[Value]) -> Any:
            parts = [make(outs) for make in recipes]
            if len(old) == 1 and issubclass(cls, tuple) and all(map(operator.is_, parts, old[0])):
                return old[0]
            new = rebuild(self.interpreter, cls, keys, parts)
            if is_told_apart(new):
                for x in old:
                    # An object that is not rebuilt may hold what was.
                    self.interpreter.aliases.follow_one(new, x, "joined")
            return new

        return made

    def _made_inside(self, x: Any, side: int) -> bool:
        made = self.interpreter.owner_of(x)
        return made is not None and self.sides[side].region.encloses(made)

    def _alike_arrays(self, a: TracedArray, b: TracedArray) -> Recipe | None:
        if (
            not (self._is_fresh(a.storage, 0) and self._is_fresh(b.storage, 1))
            or a.views
            or b.views
        ):
            return None
        with self.sides[0].reopened():
            first = a.value()
        with self.sides[1].reopened():
            second = b.value()
        if not self._one_kind(first.type, second.type):
            return None
        for storage, other in ((a.storage, b.storage), (b.storage, a.storage)):
            if self._partner.get(storage, other) is not other:
                return None
            if storage.source is not None or storage.input is not None:
                return None
        joined = self._cell(a.storage, b.storage)
        return lambda outs: TracedArray(self.parent, joined(outs))

    def _merged(self, a: Any, b: Any) -> Recipe | None:
        """A copy of what two arrays of one type hold, where their memory cannot be joined."""
        arrays = [self._by_value(x, k) for k, x in enumerate((a, b))]
        if not all(isinstance(x, TracedArray) for x in arrays):
            return None
        values: list[Value | None] = [self.lifted(x, k) for k, x in enumerate(arrays)]
        if not self._one_kind(values[0].type, values[1].type):  # type: ignore[union-attr]
            return None
        k = self.operand(*in_one_order(values, self.sides))
        return lambda outs: TracedArray(self.parent, Storage(self.parent, outs[k], -1))

    def _one_kind(self, a: Type, b: Type) -> bool:
        """Whether two types differ at most in order, and in sizes known only at run time.

        Such sizes become sizes outside.
        """
        if same_kind(a, b):
            return True
        if not (isinstance(a, ArrayType) and isinstance(b, ArrayType)):
            return False
        if a.dtype != b.dtype or a.ndim != b.ndim:
            return False
        pairs = [(d, e) for d, e in zip(a.shape, b.shape, strict=True) if d != e]
        if any(self.parent.env.is_known(d, e) for d, e in pairs):
            return False
        for d, e in pairs:
            self.both_sizes(d, e)
        return True

    def _by_value(self, x: Any, side: int) -> Any:
        """What a side leaves, where it is a union by its value, if that is still what it holds."""
        if not isinstance(x, Union):
            return x
        with self.sides[side].reopened():
            return x.merged

    def _union(self, a: Any, b: Any) -> Recipe | None:
        """Values that may be of several kinds: which one, and the value of each kind."""
        found: list[list[Any]] = []
        leaves: list[Any] = []
        for x, side in zip((a, b), self.sides, strict=True):
            with side.reopened():
                leaves += leaves_of(x)
        is_outcome = any(isinstance(leaf, Raised) for leaf in leaves)
        try:
            for x, side in zip((a, b), self.sides, strict=True):
                with side.reopened():
                    found.append(kinds_of(x))
            kinds = kinds_of_both(*found)
        except TraceError:
            if is_outcome:
                return None  # There may be as many exceptions as there are places that raise.
            raise
        if len(kinds) < 2:
            return None
        chosen, values = [], []
        for x, side in zip((a, b), self.sides, strict=True):
            with side.reopened():
                chosen.append(flags(self.interpreter, x, kinds))
                values.append([of_kind(self.interpreter, x, kind) for kind in kinds])
        numbers: dict[Any, int] = {}
        alternatives: list[Recipe] = []
        # From the last kind on: where a side has several of one type, the flags of the earlier say.
        for n, kind in reversed(list(enumerate(kinds))):
            is_it = [side[n] if n < len(side) else None for side in chosen]
            recipe = self._alternative(kind, values[0][n], values[1][n], numbers, is_it)
            if recipe is None:
                return None
            alternatives.insert(0, recipe)
        which = [self._flag(x, y) for x, y in zip(*chosen, strict=True)]
        return lambda outs: select(
            [flag(outs) for flag in which], [make(outs) for make in alternatives]
        )

    def _alternative(
        self, kind: Any, first: Any, second: Any, numbers: dict[Any, int], is_it: list[Any]
    ) -> Recipe | None:
        t = machine(kind)
        if t is not None:
            given: list[Value | None] = []
            for x, side in zip((first, second), self.sides, strict=True):
                with side.reopened():
                    given.append(None if x is MISSING else as_machine(x))
            k = numbers.setdefault(t, len(self.slots))
            if k == len(self.slots):
                self.operand(*given)
            else:
                each = zip(given, self.slots[k], is_it, self.sides, strict=True)
                self.slots[k] = [self._either(*found) for found in each]
            return lambda outs: as_kind(outs[k], kind)
        if first is MISSING:
            return self.export(second, 1)
        if second is MISSING:
            return self.export(first, 0)
        if same_constant(first, second):
            return self.export(first, 0)
        return self._alike(first, second)

    def _either(self, a: Value | None, b: Value | None, is_first: Any, side: Side) -> Value | None:
        """The one of two numbers of a type that a side has, by a flag where it may have both."""
        if a is None or b is None or a is b:
            return a or b
        with side.reopened(containers=False):
            first, second = wrap(side.region, a), wrap(side.region, b)
            found = self.interpreter.ternary(is_first, lambda: first, lambda: second)
            return lift(found).value()

    def _flag(self, a: Any, b: Any) -> Recipe:
        p = self.predicate
        assert p is not None
        if isinstance(a, bool) and isinstance(b, bool):
            if a is not b:
                return (lambda outs: p) if a else lambda outs: self.interpreter.not_(p)
        k = self.operand(self.lifted(a, 0), self.lifted(b, 1))
        return lambda outs: wrap(self.parent, outs[k])


def same_kind(a: Type, b: Type) -> bool:
    """Whether two types differ at most in the order of their axes."""
    if isinstance(a, ArrayType) and isinstance(b, ArrayType):
        return a.dtype == b.dtype and a.shape == b.shape
    return a == b


def in_one_order(values: list[Value | None], sides: Sequence[Side]) -> list[Value | None]:
    """Values that are laid out alike: as the first of them."""
    first = next(v for v in values if v is not None).type
    if not isinstance(first, ArrayType):
        return values
    out: list[Value | None] = []
    for v, side in zip(values, sides, strict=False):
        assert v is None or isinstance(v.type, ArrayType)
        if v is not None and v.type.order != first.order:  # type: ignore[union-attr]
            with side.reopened(containers=False):
                v = laid_out(side.region, v, first.order)
        out.append(v)
    return out
