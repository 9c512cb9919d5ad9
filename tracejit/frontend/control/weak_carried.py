"""How a loop carries a number that it begins with as Python's and leaves as NumPy's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracejit.frontend.control.loop_carried import LoopCarried, Same
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.trace import Trace
from tracejit.frontend.tracing.tracer import TracedScalar, lift, wrap
from tracejit.frontend.tracing.union import Union
from tracejit.frontend.tracing.weak_scalar import WeakScalar, becomes
from tracejit.ir.graph import Value
from tracejit.ir.types import NpScalar

__all__ = ["Weak", "weakly"]


class Weak(LoopCarried):
    """As a NumPy scalar from the beginning, as long as no iteration can tell."""

    def __init__(self, t: NpScalar) -> None:
        self.types = (t,)

    def begin(self, parent: Trace, x: Any) -> list[Value]:
        if isinstance(x, WeakScalar):
            return [x.strong.value()]
        (t,) = self.types
        assert isinstance(t, NpScalar)
        return [lift(t.dtype.type(x)).value()]

    def inside(
        self,
        interpreter: Interpreter,
        trace: Trace,
        values: Iterator[Value],
        x: Any,
        ran: Any = None,
    ) -> Any:
        new = wrap(trace, next(values))
        assert isinstance(new, TracedScalar)
        if ran is None:
            return WeakScalar(new)
        return new if ran is True else Union(ran, new, x)

    def end(self, region: Trace, x: Any) -> list[Value]:
        return [lift(x).value()]


def weakly(carry: LoopCarried, start: Any, end: Any) -> LoopCarried | None:
    """The carry for a Python number that becomes a NumPy scalar; None where it is another case."""
    if type(end) is not TracedScalar:
        return None
    if not isinstance(carry, (Same, Weak)) or not isinstance(end.type, NpScalar):
        return None
    if not becomes(start, end.type):
        return None
    return carry if carry.types == (end.type,) else Weak(end.type)
