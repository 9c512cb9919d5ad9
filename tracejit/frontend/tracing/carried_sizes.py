"""Sizes that a loop carries: of arrays that have another size in each iteration.

An axis whose size after an iteration differs from that before the loop gets a symbol, which the
loop carries beside the array. Axes that begin alike and end alike share one, so that it stays known
that they are equal.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from tracejit.frontend.tracing.trace import Trace
from tracejit.ir.dims import Dim, Poly, free_symbols, substitute, symbol

__all__ = ["CarriedSizes"]


class CarriedSizes:
    """The size symbols of one loop, and what they are before the first and after each iteration.

    Each round of tracing the body asks for the size of every axis again, in `axis`; places whose
    symbol no longer stands for one size are told apart then.
    """

    def __init__(self, parent: Trace, peeled: int) -> None:
        self.parent = parent
        #: Iterations that run by themselves, in front of the loop.
        self.peeled = peeled
        #: Other sizes that change from iteration to iteration.
        self.counters: tuple[str, ...] = ()
        #: symbol -> its value before the loop, and after an iteration.
        self.starts: dict[str, Dim] = {}
        self.ends: dict[str, Dim] = {}
        self._known: dict[Hashable, str] = {}
        self._shared: dict[tuple[Dim, Dim, str | None], str] = {}
        self._place: Hashable = None
        self._count = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The symbols."""
        return tuple(self.starts)

    @property
    def places(self) -> dict[Hashable, str]:
        """The axes whose sizes change, and their symbols."""
        return dict(self._known)

    def recall(self, places: Mapping[Hashable, str]) -> dict[str, str]:
        """Take over the axes of another trace of the loop; gives new symbols for its symbols."""
        new = {name: self.parent.fresh_size() for name in dict.fromkeys(places.values())}
        self._known = {place: new[name] for place, name in places.items()}
        self.starts = dict.fromkeys(new.values(), 0)
        return new

    def begin(self) -> None:
        """A round begins."""
        self.starts, self.ends, self._shared = {}, {}, {}

    def at(self, place: Hashable) -> None:
        """The axes that are asked for next are those of the arrays in `place`, in order."""
        self._place, self._count = place, 0

    def shape(
        self, body: Trace, start: tuple[Dim, ...] | None, end: tuple[Dim, ...]
    ) -> tuple[Dim, ...] | None:
        """The shape of the next array: `start` before the loop (None: there is no array), `end`
        after an iteration.

        None where the first iteration should run by itself: what it makes has a known size.
        """
        self._count += 1
        local = {s for node in body.builder.nodes for s in node.binds}
        local |= self.starts.keys() | set(self.counters)
        out: list[Dim] = []
        for axis, e in enumerate(end):
            place = (self._place, self._count, axis)
            first = None if start is None else start[axis]
            inside = bool(free_symbols(e) & local)
            if place not in self._known:
                if first == e or (first is None and not inside):
                    out.append(e)
                    continue
                if not inside and not self.peeled:
                    return None
            out.append(self._symbol(place, 0 if first is None else first, e))
        return tuple(out)

    def before(self, shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
        """A shape as it is before the loop."""
        return tuple(substitute(d, self.starts) if isinstance(d, Poly) else d for d in shape)

    def after(self, shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
        """A shape as it is after an iteration."""
        return tuple(substitute(d, self.ends) if isinstance(d, Poly) else d for d in shape)

    def _symbol(self, place: Hashable, start: Dim, end: Dim) -> Dim:
        known = self._known.get(place)
        name = self._shared.get((start, end, known))
        if name is None:
            name = self.parent.fresh_size() if known is None or known in self.starts else known
            self._shared[start, end, known] = name
        self._known[place] = name
        self.starts[name], self.ends[name] = start, end
        return symbol(name)
