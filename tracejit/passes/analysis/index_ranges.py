"""Indices inside a loop as polynomials over its counters and what is known in front of it.

    for i in range(n): for j in range(i): x[k + i - j]    ->    k + i - j, i <= n - 1, j <= i - 1

What such an index is at least and at most over the whole nest is a polynomial over values from in
front of the loop: counters leave it one after another, the innermost first, each for the end of its
range. Python's ints are exact wherever the program goes on, so sums and products of them are, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TypeAlias

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.dims import Dim, Poly, bounds, free_symbols, substitute, symbol
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import DTYPES, PYINT, ArrayType, NpScalar
from tracejit.ops.array.creation import Constant, DimValue
from tracejit.ops.array.items import ReadItem, WriteItem
from tracejit.ops.control.regions import Cond, WhileLoop
from tracejit.ops.python.arithmetic import PyAdd, PyMultiply, PyNegative, PySubtract
from tracejit.ops.python.bits import PyBitAnd
from tracejit.ops.python.comparisons import PyAnd, PyLess
from tracejit.ops.python.conversion import ToNpScalar, ToPyScalar

__all__ = ["IndexedAxis", "LoopIndices", "NestRegion", "Numbers", "coefficients", "is_int"]

_I64 = NpScalar(DTYPES["i64"])
#: One of several polynomials; a single one is certain.
_Forms: TypeAlias = tuple[Dim, ...]
_MOST_FORMS, _MOST_DEGREE = 4, 3


@dataclass(frozen=True)
class IndexedAxis:
    """The operand `index` into an axis of `size` elements, both over the symbols of the nest."""

    index: Dim
    size: Dim


@dataclass
class NestRegion:
    """A region of a nest: what its sizes are in the nest's symbols, and what it accesses.

    `places` has one entry for each index operand of an access: None where it is no polynomial.
    """

    graph: Graph
    sizes: dict[str, Dim] = field(default_factory=dict)
    places: dict[Node, list[IndexedAxis | None]] = field(default_factory=dict)
    inner: dict[Node, list[NestRegion]] = field(default_factory=dict)

    def all_places(self) -> list[IndexedAxis]:
        """Those of the regions inside, too."""
        own = [p for found in self.places.values() for p in found if p is not None]
        return own + [p for rs in self.inner.values() for r in rs for p in r.all_places()]


class LoopIndices:
    """Indices of one nest. `before` are numbers from in front of it, in terms of `leaves`."""

    def __init__(self, before: Numbers, taken: set[str]) -> None:
        self.before, self.taken = before, taken
        #: The counters with the ends of their ranges, outer ones first.
        self.counters: dict[str, _Forms] = {}
        self.forms: dict[Value, _Forms] = {}

    def nest(self, node: Node) -> list[NestRegion]:
        """The regions of the loop around the nest."""
        for v in node.inputs:
            self.forms[v] = (self.before.number(v),) if is_int(v) else ()
        return self._loop(node, self.before.sizes)

    # Regions ------------------------------------------------------------------------------------

    def _walk(self, region: NestRegion) -> NestRegion:
        for node in region.graph.nodes:
            if isinstance(node.op, WhileLoop):
                region.inner[node] = self._loop(node, region.sizes)
            elif isinstance(node.op, Cond):
                region.inner[node] = self._branch(node, region.sizes)
            elif isinstance(node.op, (ReadItem, WriteItem)):
                self._access(region, node)
            elif len(node.outputs) == 1 and is_int(node.outputs[0]):
                operands = [self.forms.get(v, ()) for v in node.inputs]
                found = [arithmetic(node, x, region.sizes) for x in itertools.product(*operands)]
                self.forms[node.outputs[0]] = _several(found)
        return region

    def _branch(self, node: Node, sizes: Mapping[str, Dim]) -> list[NestRegion]:
        inner = []
        for graph, given in zip(node.regions, node.attrs["sizes"], strict=True):
            for v, x in zip(graph.inputs, node.inputs[1:], strict=True):
                self.forms[v] = self.forms.get(x, ())
            inner.append(self._walk(NestRegion(graph, _given(graph.sizes, given, sizes))))
        for v, *sides in zip(node.outputs, *(g.outputs for g in node.regions), strict=True):
            forms = [self.forms.get(x, ()) for x in sides]
            self.forms[v] = _several([*forms[0], *forms[1]]) if all(forms) else ()
        return inner

    def _loop(self, node: Node, sizes: Mapping[str, Dim]) -> list[NestRegion]:
        carried, (_, body) = node.attrs["carried"], node.regions
        count = len(body.size_outputs)
        regions = []
        for graph, given in zip(node.regions, node.attrs["sizes"], strict=True):
            fixed = _given(graph.sizes[count:], given[count:], sizes)
            regions.append(NestRegion(graph, fixed))
            for v, x in zip(graph.inputs[carried:], node.inputs[carried:], strict=True):
                self.forms[v] = self.forms.get(x, ())
        counting = [
            (k, self._fresh(body.sizes[k]))
            for k in range(count)
            if body.size_outputs[k] == symbol(body.sizes[k]) + 1 and node.attrs["sizes"][1][k] == 0
        ]
        for k, name in counting:
            regions[0].sizes[node.regions[0].sizes[k]] = symbol(name)
        condition = self._walk(regions[0])
        for k, name in counting:
            last = self._last(condition.graph, name)
            if last:
                self.counters[name] = last
                regions[1].sizes[body.sizes[k]] = symbol(name)
        # Conditions are evaluated once more than their loops' bodies.
        condition.places.clear()
        condition.inner.clear()
        self._walk(regions[1])
        return regions

    def _fresh(self, stem: str) -> str:
        while stem in self.taken:
            stem += "_"
        self.taken.add(stem)
        return stem

    def _last(self, condition: Graph, counter: str) -> _Forms:
        """What the counter is at most where the condition holds; nothing where it is not known."""
        producer = condition.producers()
        stack = [condition.outputs[0]]
        while stack:
            node = producer.get(stack.pop())
            if node is None:
                continue
            if isinstance(node.op, (PyAnd, PyBitAnd)):
                stack += node.inputs
            elif isinstance(node.op, PyLess):
                low, high = (self.forms.get(v, ()) for v in node.inputs)
                if low == (symbol(counter),) and high:
                    # Counting from 0, it cannot be below what is not positive.
                    ends = [h for h in high if not (isinstance(h, int) and h <= 0)]
                    return _several([h - 1 for h in ends or high])
        return ()

    def _access(self, region: NestRegion, node: Node) -> None:
        x = node.inputs[0].type
        assert isinstance(x, ArrayType)
        axes = [n for d, n in zip(node.attrs["at"], x.shape, strict=True) if d is None]
        indices = node.inputs[len(node.inputs) - len(axes) :]
        found: list[IndexedAxis | None] = []
        for v, n in zip(indices, axes, strict=True):
            forms = self.forms.get(v, ())
            size = _renamed(n, region.sizes)
            known = len(forms) == 1 and size is not None
            found.append(IndexedAxis(forms[0], size) if known and size is not None else None)
        if any(p is not None for p in found):
            region.places[node] = found

    # Ends ---------------------------------------------------------------------------------------

    def least(self, d: Dim) -> _Forms | None:
        """Of these one is `d` at its least, or less; None where that cannot be said."""
        found: list[Dim] = [d]
        for counter in reversed(self.counters):
            following: list[Dim] = []
            for form in found:
                factor = _derivative(form, counter)
                if factor is None:
                    return None
                if factor == 0:
                    following.append(form)
                    continue
                low, high = self.before.bounds(factor)
                if low is None or low < 0:
                    following += [substitute(form, {counter: e}) for e in self.counters[counter]]
                if high is None or high > 0:
                    following.append(substitute(form, {counter: 0}))
            found = list(dict.fromkeys(following))
            if len(found) > 4 * _MOST_FORMS:
                return None
        return tuple(found)


class Numbers:
    """Numbers in front of a nest as polynomials over sizes and `leaves`, numbers of the run."""

    def __init__(self, sizes: Sequence[str], taken: set[str]) -> None:
        self.taken = taken
        self.sizes: dict[str, Dim] = {s: symbol(s) for s in sizes}
        self.leaves: dict[str, Value] = {}
        self._forms: dict[Value, Dim] = {}

    def learn(self, node: Node) -> None:
        """Note what a node in front of the nest computes."""
        self.sizes |= {s: symbol(s) for s in node.binds}
        if len(node.outputs) == 1 and all(map(is_int, (*node.inputs, *node.outputs))):
            found = arithmetic(node, [self.number(v) for v in node.inputs], self.sizes)
            if found is not None:
                self._forms[node.outputs[0]] = found

    def number(self, v: Value) -> Dim:
        """The polynomial of a Python int or an i64."""
        if v not in self._forms:
            name = f"{v.name or 'v'}_{len(self.leaves)}"
            while name in self.taken:
                name += "_"
            self.taken.add(name)
            self.leaves[name] = v
            self._forms[v] = symbol(name)
        return self._forms[v]

    def bounds(self, d: Dim) -> tuple[int | None, int | None]:
        """What is known of a polynomial: sizes and counters are not negative."""
        return bounds(d, dict.fromkeys(self.leaves, (None, None)))


def is_int(v: Value) -> bool:
    """Whether it is a number that may be an index, or part of one."""
    return v.type == PYINT or v.type == _I64


def arithmetic(node: Node, x: Sequence[Dim], sizes: Mapping[str, Dim]) -> Dim | None:
    """The result of exact arithmetic on ints; None for any other node."""
    found: Dim | None = None
    match node.op:
        case Constant():
            found = int(node.attrs["value"])
        case DimValue():
            found = _renamed(node.attrs["dim"], sizes)
        case ToNpScalar() | ToPyScalar() if len(x) == 1:
            found = x[0]
        case PyNegative():
            found = -x[0]
        case PyAdd() if len(x) == 2:
            found = x[0] + x[1]
        case PySubtract() if len(x) == 2:
            found = x[0] - x[1]
        case PyMultiply() if len(x) == 2:
            found = x[0] * x[1]
    return found if found is not None and _is_plain(found) else None


def coefficients(d: Dim, counters: Sequence[str]) -> dict[tuple[str, ...], Dim]:
    """`d` as a polynomial over the counters: by product of counters, the factor in front of it."""
    found: dict[tuple[str, ...], Dim] = {}
    for monomial, number in _terms(d):
        names = [a for a in monomial if isinstance(a, str)]
        own = tuple(a for a in names if a in counters)
        rest: Dim = number
        for a in names:
            if a not in counters:
                rest = rest * symbol(a)
        found[own] = found.get(own, 0) + rest
    return found


def _terms(d: Dim) -> Sequence[tuple[Sequence[object], int]]:
    return d.terms if isinstance(d, Poly) else [((), d)] if d else []


def _is_plain(d: Dim) -> bool:
    """Whether it is a polynomial over symbols alone, of no high degree and with small factors."""
    return all(
        len(m) <= _MOST_DEGREE and all(isinstance(a, str) for a in m) and abs(c) < 2**40
        for m, c in _terms(d)
    )


def _renamed(d: Dim, sizes: Mapping[str, Dim]) -> Dim | None:
    """A size of a region in the nest's symbols; None where it has others, or other functions."""
    if not _is_plain(d) or any(s not in sizes for s in free_symbols(d)):
        return None
    found = substitute(d, {s: sizes[s] for s in free_symbols(d)})
    return found if _is_plain(found) else None


def _given(names: Sequence[str], given: Sequence[Dim], sizes: Mapping[str, Dim]) -> dict[str, Dim]:
    found = {}
    for name, d in zip(names, given, strict=True):
        meaning = _renamed(d, sizes)
        if meaning is not None:
            found[name] = meaning
    return found


def _several(forms: Sequence[Dim | None]) -> _Forms:
    found = tuple(dict.fromkeys(f for f in forms if f is not None))
    return found if len(found) <= _MOST_FORMS and None not in forms else ()


def _derivative(d: Dim, name: str) -> Dim | None:
    """The factor of a symbol, 0 where it does not occur; None where it has a power."""
    factor: Dim = 0
    for monomial, number in _terms(d):
        if monomial.count(name) > 1:
            return None
        if name in monomial:
            term: Dim = number
            for a in monomial:
                if isinstance(a, str) and a != name:
                    term = term * symbol(a)
            factor = factor + term
    return factor
