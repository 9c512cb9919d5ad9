"""Calls made while the program runs that do more than give a result, in their order by a token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tracejit.ir.graph import Attrs, Graph
from tracejit.ir.op import require
from tracejit.ir.types import TOKEN, Type
from tracejit.ops.host.call import HostCall

__all__ = ["HostEffect"]


class HostEffect(HostCall):
    """A `host_call` with a token before the operands and the results."""

    kind: ClassVar[str] = "effect"
    pure: ClassVar[bool] = False

    def infer(
        self,
        inputs: Sequence[Type],
        attrs: Attrs,
        regions: tuple[Graph, ...],
        binds: tuple[str, ...],
    ) -> tuple[Type, ...]:
        require(inputs and inputs[0] == TOKEN, f"{self.name} takes a token first")
        return (TOKEN, *super().infer(inputs[1:], attrs, regions, binds))

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        return (inputs[0], *super().evaluate(inputs[1:], attrs))

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        return ()
