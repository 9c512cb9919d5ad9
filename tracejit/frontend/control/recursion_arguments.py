"""What the calls of a function that calls itself pass on, and what differs between them.

An argument is `Fixed` until a call passes another one: then it is a number or an array by value,
whose sizes are symbols where they differ. A function that stores into its arguments is given
windows: slices of one array, of which the places and sizes are passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tracejit.base.lazy_dataclass import dataclass
from tracejit.frontend.control.kinds import same_constant
from tracejit.frontend.control.loop_carried import merged_of
from tracejit.frontend.control.unions import is_number
from tracejit.frontend.tracing.memory.storage import Storage, ViewStep, laid_out
from tracejit.frontend.tracing.pytree import is_namedtuple
from tracejit.frontend.tracing.trace import Trace, here
from tracejit.frontend.tracing.tracer import TracedArray, lift, wrap
from tracejit.frontend.tracing.union import Union
from tracejit.ir.dims import Dim, symbol
from tracejit.ir.graph import Attr, Value
from tracejit.ir.types import ArrayType, Type

__all__ = ["Arguments", "Fixed", "Site", "leaves_in"]


@dataclass(eq=False)
class _Size:
    """A size of arguments: what it is for the call from outside, and inside the function."""

    start: Dim
    inside: Dim


#: What sizes are for one call.
Site = dict[_Size, Dim]


class Fixed:
    """The very object, or a constant, in all calls."""

    def __init__(self, x: Any) -> None:
        self.x = x


class _Number:
    def __init__(self, t: Type) -> None:
        self.type = t


class _Array:
    def __init__(self, t: ArrayType, sizes: list[_Size]) -> None:
        self.dtype, self.order, self.sizes = t.dtype, t.order, sizes

    @property
    def type(self) -> ArrayType:
        return ArrayType(self.dtype, tuple(size.inside for size in self.sizes), self.order)


class _Window:
    """A stretch along each axis of the array that the first call is given: the same memory."""

    def __init__(self, start: TracedArray, places: list[_Size], lengths: list[_Size]) -> None:
        self.start, self.places, self.lengths = start, places, lengths

    @property
    def sizes(self) -> list[_Size]:
        return self.places + self.lengths

    def inside(self, region: Trace) -> TracedArray:
        """The array in the function."""
        attrs: dict[str, Attr] = {
            "start": tuple(size.inside for size in self.places),
            "size": tuple(size.inside for size in self.lengths),
            "step": (1,) * len(self.places),
        }
        view = ViewStep(region, "slice", (), attrs, True)
        return TracedArray(region, self.start.storage, (*self.start.views, view))


def _stretch(start: Any, x: Any) -> tuple[Dim, ...] | None:
    """Where a window of an array begins along each axis, and its lengths; None for no window."""
    arrays = isinstance(start, TracedArray) and isinstance(x, TracedArray)
    if not arrays or x.storage is not start.storage or x.ndim != start.ndim:
        return None
    if x.views[: len(start.views)] != start.views:
        return None
    places: tuple[Dim, ...] = (0,) * x.ndim
    lengths: tuple[Dim, ...] = start.type.shape
    for view in x.views[len(start.views) :]:
        attrs: Any = view.attrs
        if view.op == "reshape" and attrs["shape"] == lengths:
            continue
        if view.op != "slice" or any(step != 1 for step in attrs["step"]):
            return None
        places = tuple(a + b for a, b in zip(places, attrs["start"], strict=True))
        lengths = attrs["size"]
    return places + lengths


def leaves_in(x: Any) -> Iterator[Any]:
    """What a value is made of: the parts of tuples."""
    if type(x) is tuple or is_namedtuple(type(x)):
        for part in x:
            yield from leaves_in(part)
    else:
        yield x.known() if isinstance(x, Union) else x


def _form(x: Any) -> Any:
    """The tuples that a value is made of."""
    if type(x) is tuple or is_namedtuple(type(x)):
        return type(x), tuple(map(_form, x))
    return None


def _rebuilt(x: Any, leaves: Iterator[Any]) -> Any:
    if type(x) is tuple or is_namedtuple(type(x)):
        return tuple.__new__(type(x), [_rebuilt(part, leaves) for part in x])
    return next(leaves)


class Arguments:
    """The arguments of all calls of one function, which the first call passes as `values`.

    Where the function stores into them, slices of one array are passed as `windows` of it.
    """

    def __init__(self, parent: Trace, values: Sequence[Any], windows: bool = False) -> None:
        self.parent, self.values, self.windows = parent, list(values), windows
        self._forms = list(map(_form, values))
        self.start = [leaf for x in values for leaf in leaves_in(x)]
        self.kinds: list[Fixed | _Number | _Array | _Window] = [Fixed(x) for x in self.start]
        self._sizes: dict[Dim, _Size] = {}

    @property
    def sizes(self) -> list[_Size]:
        """The sizes that have symbols inside."""
        arrays = [kind for kind in self.kinds if isinstance(kind, (_Array, _Window))]
        found = [s for kind in arrays for s in kind.sizes]
        return [s for s in dict.fromkeys(found) if not isinstance(s.inside, int)]

    @property
    def types(self) -> list[Type]:
        """The types of what is passed."""
        return [kind.type for kind in self.kinds if isinstance(kind, (_Number, _Array))]

    def inside(self, region: Trace, values: Iterable[Value]) -> list[Any]:
        """The arguments in the function, whose inputs `values` are."""
        given, leaves = iter(values), list[Any]()
        for kind in self.kinds:
            if isinstance(kind, Fixed):
                leaves.append(kind.x)
            elif isinstance(kind, _Number):
                leaves.append(wrap(region, next(given)))
            elif isinstance(kind, _Window):
                leaves.append(kind.inside(region))
            else:
                # It may be a view of any array of the caller's: it is only read.
                leaves.append(TracedArray(region, Storage(region, next(given), -2)))
        rest = iter(leaves)
        return [_rebuilt(x, rest) for x in self.values]

    def first(self) -> list[Value]:
        """What the call from outside passes."""
        return self.passed(self.start)

    def passed(self, leaves: Sequence[Any]) -> list[Value]:
        """The values that a call with these leaves passes, in the present trace."""
        out: list[Value] = []
        for kind, x in zip(self.kinds, leaves, strict=True):
            if isinstance(kind, _Number):
                out.append(lift(x).value())
            elif isinstance(kind, _Array):
                v = merged_of(x).value()
                same = v.type.order == kind.order
                out.append(v if same else laid_out(here(), v, kind.order))
        return out

    def arrays(self, leaves: Sequence[Any]) -> list[TracedArray]:
        """The arrays that a call passes by value."""
        pairs = zip(self.kinds, leaves, strict=True)
        return [merged_of(x) for kind, x in pairs if isinstance(kind, _Array)]

    def fits(self, values: Sequence[Any]) -> bool:
        """Whether a call with other values may be one of this function for the same types."""
        if len(values) != len(self.values) or list(map(_form, values)) != self._forms:
            return False
        leaves = [leaf for x in values for leaf in leaves_in(x)]
        pairs = zip(self.kinds, self.start, leaves, strict=True)
        return all(_fits(*given) for given in pairs)

    def take(self, leaves: Sequence[Any]) -> tuple[Site, bool]:
        """The sizes of a call that fits, and whether it passes what no call has passed before.

        Then the arguments are widened.
        """
        site: Site = {}
        new, apart = False, dict[tuple[_Size, Dim], _Size]()
        for k, (kind, x) in enumerate(zip(self.kinds, leaves, strict=True)):
            if isinstance(kind, Fixed) and not _is_same(kind.x, x):
                kind = self.kinds[k] = self._widened(self.start[k], x)
                new = True
            if isinstance(kind, _Array):
                given = [(kind.sizes, merged_of(x).type.shape)]
            elif isinstance(kind, _Window):
                found, axes = _stretch(kind.start, x) or (), len(kind.places)
                given = [(kind.places, found[:axes]), (kind.lengths, found[axes:])]
            else:
                continue
            for sizes, dims in given:
                for axis, (size, d) in enumerate(zip(sizes, dims, strict=True)):
                    fixed = isinstance(size.inside, int)
                    known = size.inside if fixed else site.setdefault(size, d)
                    if known == d:
                        continue
                    if (size, d) not in apart:
                        inside = symbol(self.parent.fresh_size())
                        apart[size, d] = _Size(size.start, inside)
                    sizes[axis] = apart[size, d]
                    site[sizes[axis]], new = d, True
        return site, new

    def _widened(self, x: Any, new: Any) -> _Number | _Array | _Window:
        """The kind of an argument that begins as `x`, where a call passes another one."""
        if is_number(x):
            return _Number(lift(x).type)
        t = merged_of(x).type
        if self.windows and _stretch(x, new) is not None:
            places = [_Size(0, 0) for _ in t.shape]
            return _Window(x, places, self._sizes_of(t.shape))
        return _Array(t, self._sizes_of(t.shape))

    def _sizes_of(self, shape: Sequence[Dim]) -> list[_Size]:
        for d in shape:
            if d not in self._sizes:
                inside = d if isinstance(d, int) else symbol(self.parent.fresh_size())
                self._sizes[d] = _Size(d, inside)
        return [self._sizes[d] for d in shape]


def _is_same(a: Any, b: Any) -> bool:
    return a is b or same_constant(a, b)


def _fits(kind: Fixed | _Number | _Array | _Window, start: Any, x: Any) -> bool:
    if isinstance(kind, Fixed) and _is_same(kind.x, x):
        return True
    if isinstance(kind, _Window):
        return _stretch(kind.start, x) is not None
    if is_number(start) and is_number(x):
        return bool(lift(start).type == lift(x).type)
    a, b = merged_of(start), merged_of(x)
    if a is None or b is None:
        return False
    return bool(a.type.dtype == b.type.dtype and a.type.ndim == b.type.ndim)
