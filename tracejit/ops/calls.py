"""Calls that only a derivative sees: functions to be computed again, or with rules of their own.

    y = checkpoint(x, sizes=(..,)){ x -> f(x) }

is `f(x)`. A backward pass through it keeps x, and computes what it needs of f again.

The first region of each is what the call computes; without derivatives it stands in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from tracejit.ir.graph import Attrs, Graph
from tracejit.ir.op import register, require
from tracejit.ir.types import Type, type_substitute
from tracejit.ops.control import RegionOp, check_region

__all__ = ["CALLS", "Checkpoint"]

Run = Callable[[Graph, Sequence[Any], Mapping[str, int]], tuple[Any, ...]]

#: The ops whose first region is what they compute.
CALLS = frozenset(("checkpoint", "custom"))


class _Call(RegionOp):
    kind: ClassVar[str] = "control"

    def evaluate_regions(
        self, inputs: Sequence[Any], attrs: dict[str, Any], regions: tuple[Graph, ...], run: Run
    ) -> tuple[Any, ...]:
        """The results of the first region."""
        sizes = dict(zip(regions[0].sizes, attrs["sizes"][0], strict=True))
        return run(regions[0], inputs, sizes)


@register
class Checkpoint(_Call):
    """The region's outputs for the node's inputs, computed again where a derivative needs more."""

    name: ClassVar[str] = "checkpoint"

    def infer(
        self,
        inputs: Sequence[Type],
        attrs: Attrs,
        regions: tuple[Graph, ...],
        binds: tuple[str, ...],
    ) -> tuple[Type, ...]:
        require(len(regions) == 1 and not binds, "checkpoint has one region")
        (region,) = regions
        return region_results(self.name, region, inputs, attrs["sizes"][0])


def region_results(
    name: str, region: Graph, inputs: Sequence[Type], sizes: Sequence[Any]
) -> tuple[Type, ...]:
    """The types outside of what a region gives. Raises GraphError for inputs that do not fit."""
    check_region(name, region, inputs, sizes)
    require(not region.size_outputs, f"{name}: {region.name} gives sizes")
    table = dict(zip(region.sizes, sizes, strict=True))
    return tuple(type_substitute(v.type, table) for v in region.outputs)
