"""A loop of a function that runs eagerly, as a part"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from tracejit.frontend.rewrite.lifted_loops import LiftedLoop
from tracejit.runtime.parts.tiered import Tiered
from tracejit.runtime.report.report import Part

__all__ = ["LoopPart"]


def _nothing(*args: Any, **kwargs: Any) -> None:
    """What stands for an eager run: the loop runs where it is."""


class LoopPart(Tiered):
    """One loop of a function, whose FunctionParts is `owner`; `function` is its lifted form."""

    plain = staticmethod(_nothing)
    raises = False

    def __init__(self, owner: Any, lifted: LiftedLoop, function: FunctionType) -> None:
        super().__init__(function, owner.root)
        self._owner, self._lifted = owner, lifted
        node = lifted.node
        self._file, self._line = function.__code__.co_filename, node.lineno
        if not owner.root.is_guilty(self._file, self._line, node.end_lineno):
            self.measure.cell_contents = self

    def around(self) -> int:
        depth: int = self._owner.depth(self._lifted.inside)
        return depth

    def current(self) -> Any:
        """What runs in its place."""
        return _nothing

    def settle(self) -> None:
        self._owner.settle()

    def described(self, report: Any) -> Part:
        return Part("loop", self._file, self._line, report)

    def usual(self, args: Any) -> Any:
        return _nothing
