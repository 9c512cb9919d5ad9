"""Loop versions: where a test in front of a loop shows that its indices are valid, none is checked.

    while_loop(t < n){ v = read_item(x, k + t, at=(None,)) }
    ->  cond(0 <= k and k + n - 1 < len(x)){ while_loop(t < n){ v = read_item(x, at=(k + t,)) } }
                                           { while_loop(t < n){ v = read_item(x, k + t) } }

The test is of the least and the greatest value of each index over the whole nest of loops. It is
made of numbers below 2**30, so that it cannot overflow; nothing fails where it does not hold: the
second version is the loop as it was. Indices that count from the end, or that are no polynomials of
counters and of what is known in front of the loop, stay checked in both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tracejit.ir.dims import Dim, Poly, free_symbols, magnitude, substitute, symbol
from tracejit.ir.graph import Attr, Graph, GraphBuilder, Node, Value, sizes_read
from tracejit.ir.op import OPS
from tracejit.ir.types import DTYPES, PYINT, NpScalar, type_sizes
from tracejit.ops.control.regions import Cond, WhileLoop
from tracejit.passes.analysis.index_ranges import LoopIndices, NestRegion, Numbers, coefficients
from tracejit.passes.analysis.regions import copied, with_nodes
from tracejit.passes.simplify.dce import dce
from tracejit.passes.simplify.fold import emit_constant

__all__ = ["hoist_checks"]

_I64 = NpScalar(DTYPES["i64"])
#: Numbers in tests are smaller; so are their sums and products than 2**62.
_LIMIT = 2**30
#: Loops of more nodes, and tests of more parts, are not worth a second version.
_MOST_NODES, _MOST_TESTS = 400, 16


def hoist_checks(graph: Graph) -> Graph:
    """`graph` with a version of its loops over elements that relies on a test in front of it."""
    if not _has_loops(graph):
        return graph
    return _hoisted(graph, set(_sizes_in(graph)))


def _has_loops(graph: Graph) -> bool:
    return any(isinstance(n.op, WhileLoop) or any(map(_has_loops, n.regions)) for n in graph.nodes)


def _hoisted(graph: Graph, taken: set[str]) -> Graph:
    nodes: list[Node] = []
    before = Numbers(graph.sizes, taken)
    read = Counter(s for n in graph.nodes for s in _sizes_of(n))
    for node in graph.nodes:
        if isinstance(node.op, WhileLoop):
            versions = _versions(graph, node, before, read)
            if versions is None:
                condition, body = node.regions
                nodes.append(_with_regions(node, (condition, _hoisted(body, taken))))
            else:
                nodes += versions
        elif isinstance(node.op, Cond):
            nodes.append(_with_regions(node, [_hoisted(r, taken) for r in node.regions]))
        else:
            nodes.append(node)
        before.learn(nodes[-1])
    return graph if tuple(nodes) == graph.nodes else with_nodes(graph, nodes)


def _with_regions(node: Node, regions: Sequence[Graph]) -> Node:
    same = all(a is b for a, b in zip(node.regions, regions, strict=True))
    return node if same else copied(node, regions=regions)


def _sizes_in(graph: Graph) -> set[str]:
    """Every name of a size in a graph and its regions."""
    found = {*graph.sizes, *(s for n in graph.nodes for s in n.binds)}
    return found.union(*(_sizes_in(r) for n in graph.nodes for r in n.regions))


def _count(graph: Graph) -> int:
    return sum(1 + sum(map(_count, n.regions)) for n in graph.nodes)


def _versions(
    graph: Graph, loop: Node, before: Numbers, read: Mapping[str, int]
) -> list[Node] | None:
    """What stands for a loop of `graph`: the test and the branch; None where nothing is won.

    `read` tells how many nodes of the graph read a size.
    """
    own = _sizes_of(loop)
    made = set().union(*(type_sizes(v.type) for v in (*graph.outputs, *loop.outputs)))
    made |= sizes_read(with_nodes(graph, ()))
    if any(s in made or read[s] > (s in own) for s in loop.binds):
        return None
    if sum(map(_count, loop.regions)) > _MOST_NODES:
        return None
    indices = LoopIndices(before, before.taken)
    regions = indices.nest(loop)
    work = _Versions(before, indices)
    work.choose(regions)
    work.relate()
    return work.write(loop, regions) if work.places else None


def _sizes_of(node: Node) -> set[str]:
    return node.sizes().union(*(type_sizes(v.type) for v in node.outputs))


class _Versions:
    """One nest: which of its indices are tested in front of it, and how they are written then."""

    def __init__(self, before: Numbers, indices: LoopIndices) -> None:
        self.before, self.indices = before, indices
        #: For each access the sizes that stand for its indices; None for one that stays.
        self.places: dict[Node, list[Dim | None]] = {}
        #: Polynomials that must not be negative: what varies, with the least number beside it.
        self.tests: dict[Dim, int] = {}
        #: Names for what is computed in front of the loop.
        self.bound: dict[Dim, str] = {}

    # Which --------------------------------------------------------------------------------------

    def choose(self, regions: Sequence[NestRegion]) -> None:
        """Collect the tests, and the indices that they make certain."""
        for region in regions:
            for node, found in region.places.items():
                places: list[Dim | None] = []
                for place in found:
                    wanted = None
                    if place is not None:
                        ends = self._ends(place.index), self._ends(place.size - 1 - place.index)
                        wanted = self._place(place.index, *ends)
                    places.append(wanted)
                if any(d is not None for d in places):
                    self.places[node] = places
            for inner in region.inner.values():
                self.choose(inner)

    def relate(self) -> None:
        """Of bound numbers that differ by a constant only the least keeps its name.

        So places that differ by a constant can be seen to do so.
        """
        least: dict[Dim, int] = {}
        for d, k in map(_apart, self.bound):
            least[d] = min(k, least.get(d, k))
        names = dict(self.bound)
        self.bound, renamed = {}, {}
        for number, name in names.items():
            d, k = _apart(number)
            base = d + least[d]
            renamed[name] = symbol(self.bound.setdefault(base, names[base])) + (k - least[d])
        for places in self.places.values():
            places[:] = [None if d is None else substitute(d, renamed) for d in places]

    def _ends(self, d: Dim) -> dict[Dim, None] | None:
        """The tests that show that `d` is never negative; None where there are none."""
        found = self.indices.least(d)
        if found is None:
            return None
        tests: dict[Dim, None] = {}
        for form in found:
            low, high = self.before.bounds(form)
            if high is not None and high < 0:
                return None
            if low is None or low < 0:
                tests[form] = None
        return tests if all(map(self._fits, tests)) else None

    def _fits(self, d: Dim) -> bool:
        limits = dict.fromkeys(free_symbols(d), _LIMIT)
        return max(magnitude(d, limits)) < 2**62

    def _place(self, index: Dim, *ends: dict[Dim, None] | None) -> Dim | None:
        """An index as a size, and its tests noted; None where it stays an operand."""
        tests: dict[Dim, None] = {}
        for found in ends:
            if found is None:
                return None
            tests |= found
        place: Dim = 0
        names: dict[Dim, str] = {}
        for counters, factor in coefficients(index, tuple(self.indices.counters)).items():
            if not free_symbols(factor).isdisjoint(self.before.leaves):
                # A number of the run: bound to a size, so it must not be negative either.
                if not self._fits(factor):
                    return None
                tests[factor] = None
                names[factor] = self.bound.get(factor) or names.get(factor) or self._name()
                factor = symbol(names[factor])
            for counter in counters:
                factor = factor * symbol(counter)
            place = place + factor
        parts = [_apart(d) for d in tests]
        if len(self.tests.keys() | {d for d, _ in parts}) > _MOST_TESTS:
            return None
        for d, number in parts:
            self.tests[d] = min(number, self.tests.get(d, number))
        self.bound |= names
        return place

    def _name(self) -> str:
        name = "first"
        while name in self.before.taken:
            name += "_"
        self.before.taken.add(name)
        return name

    # How ----------------------------------------------------------------------------------------

    def write(self, loop: Node, regions: Sequence[NestRegion]) -> list[Node]:
        """The nodes of the test, and the branch; the fast loop alone where there is no test."""
        leaves = {name: v for name, v in self.before.leaves.items() if self._reads(name)}
        values = list(dict.fromkeys((*loop.inputs, *leaves.values())))
        names = sorted(self._sizes_outside(loop))
        builder = GraphBuilder("test")
        predicate = self._predicate(builder, leaves)
        sides = []
        for fast in (True, False):
            inputs = [Value(v.type, v.name) for v in values]
            table = dict(zip(values, inputs, strict=True))
            side = GraphBuilder("valid" if fast else "checked", names)
            side.inputs = inputs
            if fast:
                self._bind(side, {name: table[v] for name, v in leaves.items()})
                table |= self._narrowed(side, {v: table[v] for v in loop.inputs})
            node = self._fast(loop, regions) if fast else loop
            outputs = tuple(Value(v.type, v.name) for v in loop.outputs)
            side.nodes.append(copied(node, inputs=[table[v] for v in loop.inputs], outputs=outputs))
            region = side.build(outputs)
            sides.append(_hoisted(dce(region), self.before.taken) if fast else region)
        sizes = tuple(tuple(symbol(s) for s in names) for _ in sides)
        attrs: dict[str, Attr] = {"sizes": sizes, "unlikely": 1}
        node = Node(OPS["cond"], (predicate, *values), attrs, loop.outputs, tuple(sides))
        for made in (*builder.nodes, node):
            made.where = loop.where
        return [*builder.nodes, node]

    def _reads(self, name: str) -> bool:
        return any(name in free_symbols(d) for d in (*self.tests, *self.bound))

    def _sizes_outside(self, loop: Node) -> set[str]:
        found = _sizes_of(loop).union(*(type_sizes(v.type) for v in loop.inputs))
        for d in (*self.tests, *self.bound, *(d for p in self.places.values() for d in p if d)):
            found |= free_symbols(d)
        return (found & self.before.sizes.keys()) - set(loop.binds)

    def _number(self, builder: GraphBuilder, leaves: dict[str, Value], name: str) -> Value:
        if name in leaves:
            v = leaves[name]
            return v if v.type == _I64 else builder.one(OPS["np_scalar"], (v,), dtype="i64")
        v = builder.one(OPS["dim_value"], (), dim=symbol(name))
        return builder.one(OPS["np_scalar"], (v,), dtype="i64")

    def _polynomial(self, builder: GraphBuilder, d: Dim, numbers: dict[str, Value]) -> Value:
        """Its value, in arithmetic that wraps."""
        terms = d.terms if isinstance(d, Poly) else (((), d),)
        total: Value | None = None
        for monomial, factor in terms:
            term = _constant(builder, factor) if factor != 1 or not monomial else None
            for name in monomial:
                assert isinstance(name, str)
                v = numbers[name]
                term = v if term is None else builder.one(OPS["multiply"], (term, v))
            assert term is not None
            total = term if total is None else builder.one(OPS["add"], (total, term))
        assert total is not None
        return total

    def _predicate(self, builder: GraphBuilder, leaves: dict[str, Value]) -> Value:
        names = sorted(set().union(*map(free_symbols, self.tests)))
        numbers = {name: self._number(builder, leaves, name) for name in names}
        zero = _constant(builder, 0)
        parts = [
            builder.one(OPS["greater_equal"], (self._polynomial(builder, d + k, numbers), zero))
            for d, k in self.tests.items()
        ]
        high, low = _constant(builder, _LIMIT - 1), _constant(builder, -_LIMIT)
        for name, v in numbers.items():
            parts.append(builder.one(OPS["less_equal"], (v, high)))
            if name in leaves:
                parts.append(builder.one(OPS["greater_equal"], (v, low)))
        if not parts:
            return builder.one(OPS["constant"], (), value=True, type="bool")
        total = parts[0]
        for part in parts[1:]:
            total = builder.one(OPS["logical_and"], (total, part))
        return total

    def _bind(self, builder: GraphBuilder, leaves: dict[str, Value]) -> None:
        names = sorted(set().union(*map(free_symbols, self.bound)))
        numbers = {name: self._number(builder, leaves, name) for name in names}
        for d, name in self.bound.items():
            v = self._polynomial(builder, d, numbers)
            builder.emit(OPS["bind_size"], (v,), binds=(name,))

    def _narrowed(self, builder: GraphBuilder, inputs: dict[Value, Value]) -> dict[Value, Value]:
        """For ints that the test has found to be small others of which that is plain.

        Then arithmetic with them is known to stay in 64 bits.
        """
        tested = set().union(*map(free_symbols, self.tests))
        found = {}
        for v, given in inputs.items():
            if v.type == PYINT:
                form = self.before.number(v)
                names = free_symbols(form)
                most, _ = magnitude(form, dict.fromkeys(names, _LIMIT))
                limit = 1 << most.bit_length()
                if names and names <= tested and limit <= 2**40:
                    found[v] = _small(builder, given, limit)
        return found

    # The fast version ---------------------------------------------------------------------------

    def _fast(self, loop: Node, regions: Sequence[NestRegion]) -> Node:
        names = {s: s for s in (*self.before.sizes, *self.bound.values())}
        return self._rewritten(loop, regions, names)

    def _rewritten(self, node: Node, regions: Sequence[NestRegion], names: dict[str, str]) -> Node:
        """A node with regions, its accesses by sizes. `names` are those of symbols around it."""
        made: list[Graph] = []
        sizes: list[tuple[Dim, ...]] = []
        for region, given in zip(regions, node.attrs["sizes"], strict=True):
            own: dict[str, str] = {}
            for name, d in region.sizes.items():
                if isinstance(d, Poly) and d.terms == (((str(d),), 1),):
                    own.setdefault(str(d), name)
            missing = sorted(self._needed(region) - own.keys())
            # Names of symbols are free in all regions, but for sizes from in front of the nest.
            fresh = {s: self._free(s, region.graph) for s in missing}
            own |= fresh
            nodes = []
            for inner in region.graph.nodes:
                if inner in region.inner:
                    inner = self._rewritten(inner, region.inner[inner], own)
                elif inner in self.places and inner in region.places:
                    inner = self._access(inner, own)
                nodes.append(inner)
            graph = with_nodes(region.graph, nodes)
            made.append(replace(graph, sizes=(*graph.sizes, *fresh.values())))
            sizes.append((*given, *(symbol(names[s]) for s in missing)))
        return copied(node, attrs={**node.attrs, "sizes": tuple(sizes)}, regions=made)

    def _needed(self, region: NestRegion) -> set[str]:
        """The symbols that accesses in a region mention, but for counters of loops inside."""
        found: set[str] = set()
        for node in region.places:
            for d in self.places.get(node, ()):
                found |= free_symbols(d) if d is not None else set()
        for regions in region.inner.values():
            for inner in regions:
                counted = {str(d) for d in inner.sizes.values() if str(d) in self.indices.counters}
                own = counted - {str(d) for d in region.sizes.values()}
                found |= self._needed(inner) - own
        return found

    def _free(self, name: str, graph: Graph) -> str:
        taken = _sizes_in(graph)
        while name in taken:
            name += "_"
        return name

    def _access(self, node: Node, names: dict[str, str]) -> Node:
        """A read or write with sizes for the indices that are certain."""
        indices = iter(self.places[node])
        count = len(self.places[node])
        first = len(node.inputs) - count
        at: list[Dim | None] = []
        operands = list(node.inputs[:first])
        rest = iter(node.inputs[first:])
        for d in node.attrs["at"]:
            if d is None:
                v, place = next(rest), next(indices)
                if place is not None:
                    d = _named(place, names)
                else:
                    operands.append(v)
            at.append(d)
        attrs: dict[str, Attr] = {**node.attrs, "at": tuple(at)}
        return copied(node, inputs=operands, attrs=attrs)


def _apart(d: Dim) -> tuple[Dim, int]:
    """What varies of a polynomial, and the number that is added to it."""
    terms = d.terms if isinstance(d, Poly) else ()
    number = sum(factor for monomial, factor in terms if not monomial)
    return d - number, number


def _named(d: Dim, names: dict[str, str]) -> Dim:
    """A polynomial over symbols that go by other names."""
    return substitute(d, {s: symbol(names[s]) for s in free_symbols(d)})


def _small(builder: GraphBuilder, v: Value, limit: int) -> Value:
    """A Python int that lies within +-limit, a power of two, so that everyone can see that.

    v  ->  (v + limit & 2 * limit - 1) - limit
    """
    x = builder.one(OPS["np_scalar"], (v,), dtype="i64")
    x = builder.one(OPS["add"], (x, _constant(builder, limit)))
    x = builder.one(OPS["py_scalar"], (x,), kind="int")
    mask, offset = (
        builder.one(OPS["constant"], (), value=k, type="int") for k in (2 * limit - 1, limit)
    )
    x = builder.one(OPS["py_bit_and"], (x, mask))
    return builder.one(OPS["py_subtract"], (x, offset))


def _constant(builder: GraphBuilder, value: int) -> Value:
    return emit_constant(builder, np.int64(value), _I64)
