"""Ops with regions: fusion, cond and while_loop. A region is a closed graph.

The sizes that regions take are operands: `sizes` holds one tuple of dimensions for each region, in
the order of the region's own `sizes`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracejit.ir.dims import Dim, symbol
from tracejit.ir.graph import Attrs, Graph, attr_sizes, attr_substitute
from tracejit.ir.op import Op, register, require
from tracejit.ir.types import DTYPES, PYBOOL, ArrayType, NpScalar, Type, type_substitute

__all__ = ["Cond", "Fusion", "RegionOp", "WhileLoop", "check_region"]

Run = Callable[[Graph, Sequence[Any], Mapping[str, int]], tuple[Any, ...]]


def check_region(name: str, region: Graph, types: Sequence[Type], sizes: Sequence[Any]) -> None:
    """Raise GraphError unless a region takes inputs of these types, and these sizes."""
    require(len(sizes) == len(region.sizes), f"{name}: {region.name} takes {region.sizes}")
    table = dict(zip(region.sizes, sizes, strict=True))
    expected = [type_substitute(v.type, table) for v in region.inputs]
    require(
        expected == list(types),
        f"{name}: {region.name} takes {', '.join(map(str, expected))}, "
        f"not {', '.join(map(str, types))}",
    )


class RegionOp(Op):
    """An op that is what its regions compute."""

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        raise NotImplementedError(f"{self.name} is evaluated through its regions")


@register
class Fusion(RegionOp):
    """Ops that run as one kernel: the region's outputs for the node's inputs."""

    name = "fusion"
    kind = "fusion"

    def infer(
        self,
        inputs: Sequence[Type],
        attrs: Attrs,
        regions: tuple[Graph, ...],
        binds: tuple[str, ...],
    ) -> tuple[Type, ...]:
        require(len(regions) == 1 and not binds, "fusion has one region")
        (region,) = regions
        (sizes,) = attrs["sizes"]
        check_region(self.name, region, inputs, sizes)
        table = dict(zip(region.sizes, sizes, strict=True))
        return tuple(type_substitute(v.type, table) for v in region.outputs)

    def evaluate_regions(
        self, inputs: Sequence[Any], attrs: dict[str, Any], regions: tuple[Graph, ...], run: Run
    ) -> tuple[Any, ...]:
        """The region's results."""
        (region,) = regions
        return run(region, inputs, dict(zip(region.sizes, attrs["sizes"][0], strict=True)))


@register
class Cond(RegionOp):
    """`then(captures)` where the predicate holds, else `orelse(captures)`; only one runs.

    The sides may give sizes too, equally many as their `size_outputs`; the node binds them. Where
    a result's size differs between the sides, or is made in them, it is one of these on both.
    `unlikely`, if it is given, is the number of the side that is hardly ever taken.
    """

    name = "cond"
    kind = "control"

    def infer(
        self,
        inputs: Sequence[Type],
        attrs: Attrs,
        regions: tuple[Graph, ...],
        binds: tuple[str, ...],
    ) -> tuple[Type, ...]:
        require(len(regions) == 2, "cond has two regions")
        require(inputs and inputs[0] in (PYBOOL, NpScalar(DTYPES["b1"])), "cond takes a predicate")
        require(attrs.get("unlikely") in (None, 0, 1), "cond: a side is 0 or 1")
        for region, sizes in zip(regions, attrs["sizes"], strict=True):
            check_region(self.name, region, inputs[1:], sizes)
            require(len(region.size_outputs) == len(binds), f"cond binds {len(binds)} sizes")
        then, orelse = regions
        require(len(then.outputs) == len(orelse.outputs), "cond: the sides give unlike many values")
        tables = [
            dict(zip(region.sizes, sizes, strict=True))
            for region, sizes in zip(regions, attrs["sizes"], strict=True)
        ]
        pairs = list(zip(then.size_outputs, orelse.size_outputs, strict=True))
        return tuple(
            _joined(a.type, b.type, tables, pairs, binds)
            for a, b in zip(then.outputs, orelse.outputs, strict=True)
        )

    def evaluate_regions(
        self, inputs: Sequence[Any], attrs: dict[str, Any], regions: tuple[Graph, ...], run: Run
    ) -> tuple[Any, ...]:
        """The results of the side that the predicate chooses, then its sizes."""
        side = 0 if inputs[0] else 1
        sizes = dict(zip(regions[side].sizes, attrs["sizes"][side], strict=True))
        return run(regions[side], inputs[1:], sizes)


def _joined(
    a: Type,
    b: Type,
    tables: Sequence[Mapping[str, Dim]],
    pairs: Sequence[tuple[Dim, ...]],
    binds: Sequence[str],
) -> Type:
    """The type outside of what is an `a` on one side and a `b` on the other."""
    if not (isinstance(a, ArrayType) and isinstance(b, ArrayType)):
        require(a == b, f"cond: the sides give {a} and {b}")
        return a
    like = (a.dtype, a.order) == (b.dtype, b.order)
    require(like, f"cond: the sides give {a} and {b}")
    shape: list[Dim] = []
    for d, e in zip(a.shape, b.shape, strict=True):
        outside = [
            attr_substitute(x, table) if attr_sizes(x) <= table.keys() else None
            for x, table in zip((d, e), tables, strict=True)
        ]
        if outside[0] is not None and outside[0] == outside[1]:
            shape.append(outside[0])
            continue
        require((d, e) in pairs, f"cond: the sides give {a} and {b}")
        shape.append(symbol(binds[pairs.index((d, e))]))
    return ArrayType(a.dtype, tuple(shape), a.order)


@register
class WhileLoop(RegionOp):
    """`while cond(carried, captures): carried = body(carried, captures)`.

    Inputs are the `carried` initial values, then the captures. The first sizes of both regions are
    carried too, as many as the body's `size_outputs`; the node binds their final values.
    """

    name = "while_loop"
    kind = "control"

    def infer(
        self,
        inputs: Sequence[Type],
        attrs: Attrs,
        regions: tuple[Graph, ...],
        binds: tuple[str, ...],
    ) -> tuple[Type, ...]:
        require(len(regions) == 2, "while_loop has two regions")
        cond, body = regions
        for region, sizes in zip(regions, attrs["sizes"], strict=True):
            check_region(self.name, region, inputs, sizes)
        carried, count = attrs["carried"], len(body.size_outputs)
        require(len(cond.outputs) == 1, "while_loop: the condition gives one value")
        predicate = cond.outputs[0].type
        require(predicate in (PYBOOL, NpScalar(DTYPES["b1"])), f"while_loop: condition {predicate}")
        require(len(binds) == count, f"while_loop binds {count} sizes")
        back = dict(zip(body.sizes[:count], body.size_outputs, strict=True))
        expected = [type_substitute(v.type, back) for v in body.inputs[:carried]]
        given = [v.type for v in body.outputs]
        require(
            given == expected,
            f"while_loop: the body gives {', '.join(map(str, given))}, "
            f"not {', '.join(map(str, expected))}",
        )
        final = dict(zip(body.sizes[:count], map(symbol, binds), strict=True))
        final |= dict(zip(body.sizes[count:], attrs["sizes"][1][count:], strict=True))
        return tuple(type_substitute(v.type, final) for v in body.inputs[:carried])

    def evaluate_regions(
        self, inputs: Sequence[Any], attrs: dict[str, Any], regions: tuple[Graph, ...], run: Run
    ) -> tuple[Any, ...]:
        """The carried values after the last iteration, then the carried sizes."""
        cond, body = regions
        carried, count = attrs["carried"], len(body.size_outputs)
        state, captures = tuple(inputs[:carried]), tuple(inputs[carried:])
        sizes = list(attrs["sizes"][1][:count])
        fixed = [attrs["sizes"][k][count:] for k in range(2)]
        while True:
            table = dict(zip(cond.sizes, (*sizes, *fixed[0]), strict=True))
            if not run(cond, (*state, *captures), table)[0]:
                return (*state, *sizes)
            table = dict(zip(body.sizes, (*sizes, *fixed[1]), strict=True))
            results = run(body, (*state, *captures), table)
            state, sizes = results[:carried], list(results[carried:])
