"""A loop of a function that runs eagerly, as a part"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any

from tracejit.frontend.rewrite.lifted_loops import LiftedLoop
from tracejit.runtime.parts.tiered import Tiered
from tracejit.runtime.report.report import Part

if TYPE_CHECKING:
    from tracejit.runtime.parts.functions import FunctionParts

__all__ = ["LoopPart"]


def _nothing(*args: Any, **kwargs: Any) -> None:
    """What stands for an eager run: the loop runs where it is."""


class LoopPart(Tiered):
    """One loop; `function` is its lifted form."""

    plain = staticmethod(_nothing)

    def __init__(self, owner: FunctionParts, lifted: LiftedLoop, function: FunctionType) -> None:
        super().__init__(function, owner.root)
        self._owner, self._lifted = owner, lifted
        node = lifted.node
        self._file, self._line = function.__code__.co_filename, node.lineno
        if not owner.root.is_guilty(self._file, self._line, node.end_lineno):
            self.measure.cell_contents = self

    def around(self) -> int:
        return self._owner.depth(self._lifted.inside)

    def settle(self) -> None:
        self._owner.settle()

    def described(self, report: Any) -> Part:
        return Part("loop", self._file, self._line, report)

    def usual(self, args: Any) -> Any:
        return _nothing
