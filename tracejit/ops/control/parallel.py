"""Loops whose iterations are independent: a device runs each in a thread.

    a1 = parallel_loop(a0, x, carried=1, trips=n, sizes=((0,),), written=((0, 0),), regions=(body,))

    def body(i: size, a: f64[n], x: f64[n]):
        v = read_item(x, at=(i,))
        ...
        return write_item(a, w, at=(i,))

The first size of the body counts from 0 below `trips`; its results are the arrays that it carries,
of which each iteration reads and writes elements that no other one touches. Of those by number in
`updated` it may update any elements instead, by what comes to the same in every order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tracejit.ir.graph import Attrs, Graph
from tracejit.ir.op import register, require
from tracejit.ir.types import ArrayType, Type, type_substitute
from tracejit.ops.control.regions import RegionOp, Run, check_region

__all__ = ["ParallelLoop"]


@register
class ParallelLoop(RegionOp):
    """The arrays that a loop of independent iterations carries, after the last one."""

    name: ClassVar[str] = "parallel_loop"
    kind: ClassVar[str] = "parallel"

    def infer(
        self,
        inputs: Sequence[Type],
        attrs: Attrs,
        regions: tuple[Graph, ...],
        binds: tuple[str, ...],
    ) -> tuple[Type, ...]:
        require(len(regions) == 1 and not binds, "parallel_loop has one region")
        (body,) = regions
        check_region(self.name, body, inputs, attrs["sizes"][0])
        carried = attrs["carried"]
        require(attrs["written"] == tuple((k, k) for k in range(carried)), "parallel_loop: written")
        table = dict(zip(body.sizes, attrs["sizes"][0], strict=True))
        given = [type_substitute(v.type, table) for v in body.outputs]
        fits = given == list(inputs[:carried]) and all(isinstance(t, ArrayType) for t in given)
        require(fits, "parallel_loop: the body gives other arrays than it takes")
        return tuple(inputs[:carried])

    def evaluate_regions(
        self, inputs: Sequence[Any], attrs: dict[str, Any], regions: tuple[Graph, ...], run: Run
    ) -> tuple[Any, ...]:
        """The carried arrays after all iterations, one after another."""
        (body,) = regions
        carried = attrs["carried"]
        state, captures = tuple(inputs[:carried]), tuple(inputs[carried:])
        fixed = attrs["sizes"][0][1:]
        for k in range(attrs["trips"]):
            state = run(body, (*state, *captures), dict(zip(body.sizes, (k, *fixed), strict=True)))
        return state
