"""Calls that only a derivative sees: functions to be computed again, or with rules of their own.

    y = remat(x, sizes=(..,)){ x -> f(x) }

is `f(x)`. A backward pass through it keeps x, and computes what it needs of f again.

    y = custom(x, k, rule="vjp", args=1, wrt=(0,), ..){ f }{ forward }{ backward }
    y = custom(x, k, rule="jvp", args=1, wrt=(0,), ..){ f }{ rule }

is `f(x, k)`; its derivatives by the first `args` operands are those that the regions give. Each
region takes all operands of the node.

    forward: operands -> results, residuals
    backward: operands, residuals, cotangents of the floats among the results
              -> cotangents of the operands that `wrt` lists
    rule: operands, tangents of the first `args` -> results, tangents of the results in `wrt`

With `rule="none"` there is only f, and no derivative. `function` is the name for messages.

The first region of each is what the call computes; without derivatives it stands in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from tracejit.ir.derivatives import differentiable, tangent_type
from tracejit.ir.graph import Attrs, Graph
from tracejit.ir.op import register, require
from tracejit.ir.types import Type, type_substitute
from tracejit.ops.control.regions import RegionOp, check_region

__all__ = ["CallOp", "Custom", "Remat"]

Run = Callable[[Graph, Sequence[Any], Mapping[str, int]], tuple[Any, ...]]


class CallOp(RegionOp):
    """An op whose first region is what it computes."""

    kind: ClassVar[str] = "control"

    def evaluate_regions(
        self, inputs: Sequence[Any], attrs: dict[str, Any], regions: tuple[Graph, ...], run: Run
    ) -> tuple[Any, ...]:
        """The results of the first region."""
        sizes = dict(zip(regions[0].sizes, attrs["sizes"][0], strict=True))
        return run(regions[0], inputs, sizes)


@register
class Remat(CallOp):
    """The region's outputs for the node's inputs, computed again where a derivative needs more."""

    name: ClassVar[str] = "remat"

    def infer(
        self,
        inputs: Sequence[Type],
        attrs: Attrs,
        regions: tuple[Graph, ...],
        binds: tuple[str, ...],
    ) -> tuple[Type, ...]:
        require(len(regions) == 1 and not binds, "remat has one region")
        (region,) = regions
        return region_results(self.name, region, inputs, attrs["sizes"][0])


@register
class Custom(CallOp):
    """A function whose derivative is said by the program."""

    name: ClassVar[str] = "custom"

    def infer(
        self,
        inputs: Sequence[Type],
        attrs: Attrs,
        regions: tuple[Graph, ...],
        binds: tuple[str, ...],
    ) -> tuple[Type, ...]:
        count = {"vjp": 3, "jvp": 2, "none": 1}.get(attrs["rule"])
        require(len(regions) == count and not binds, "custom: the regions are not those of a rule")
        args, wrt, sizes = attrs["args"], attrs["wrt"], attrs["sizes"]
        floats = all(map(differentiable, inputs[:args]))
        require(0 <= args <= len(inputs) and floats, "custom: the first operands are floats")
        results = region_results(self.name, regions[0], inputs, sizes[0])
        n = len(results)
        if attrs["rule"] == "vjp":
            found = region_results(self.name, regions[1], inputs, sizes[1])
            _same(found[:n], results)
            cotangents = [tangent_type(t) for t in results if differentiable(t)]
            given = (*inputs, *found[n:], *cotangents)
            gradients = region_results(self.name, regions[2], given, sizes[2])
            require(all(0 <= k < args for k in wrt), f"custom: there are no operands {wrt}")
            _same(gradients, [tangent_type(inputs[k]) for k in wrt])
        elif attrs["rule"] == "jvp":
            given = (*inputs, *map(tangent_type, inputs[:args]))
            found = region_results(self.name, regions[1], given, sizes[1])
            require(all(0 <= k < n for k in wrt), f"custom: there are no results {wrt}")
            _same(found, [*results, *(tangent_type(results[k]) for k in wrt)])
        return results


def _same(found: Sequence[Type], wanted: Sequence[Type]) -> None:
    texts = [", ".join(map(str, types)) for types in (found, wanted)]
    require(tuple(found) == tuple(wanted), f"custom: a rule gives {texts[0]}, not {texts[1]}")


def region_results(
    name: str, region: Graph, inputs: Sequence[Type], sizes: Sequence[Any]
) -> tuple[Type, ...]:
    """The types outside of what a region gives. Raises GraphError for inputs that do not fit."""
    check_region(name, region, inputs, sizes)
    require(not region.size_outputs, f"{name}: {region.name} gives sizes")
    table = dict(zip(region.sizes, sizes, strict=True))
    return tuple(type_substitute(v.type, table) for v in region.outputs)
