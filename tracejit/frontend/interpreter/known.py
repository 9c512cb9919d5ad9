"""Hooks and calls whose operands are plain numbers and texts: done as Python does them.

All others go to the parts of the front end that record branches, which are imported when the first
of them is met.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.frontend.control.unions import Returned, narrow_bound

__all__ = ["Known", "is_plain_call", "is_plain_key"]

#: Classes whose values have the truth that Python gives them.
_PLAIN = frozenset((bool, int, float, complex, str, type(None), np.bool_))
_KEYS = frozenset((int, type(None), type(Ellipsis)))
#: Builtins that give new plain values of plain ones, or raise.
_CALLS = (abs, divmod, len, max, min, range, repr, slice)


def is_plain_call(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether Python may call a builtin itself."""
    if kwargs or not any(f is known for known in _CALLS):
        return False
    if f is len:
        return len(args) == 1 and type(args[0]) in (str, tuple)
    return all(type(x) in _PLAIN for x in args)


def is_plain_key(key: Any) -> bool:
    """Whether a key of an array is made of plain ints, slices, None and the ellipsis."""
    parts = key if type(key) is tuple else (key,)
    return all(
        type(part) in _KEYS
        or type(part) is slice
        and {type(part.start), type(part.stop), type(part.step)} <= _KEYS
        for part in parts
    )


class Known:
    """The hooks of `Flow` by which most functions are followed while their conditions are known."""

    @staticmethod
    def returned(value: Any) -> Returned:
        """The outcome of a block that returns `value`."""
        return Returned(narrow_bound(value))

    def function_result(self: Any, outcome: Any) -> Any:
        """The value of a function whose last statement had `outcome`."""
        if outcome is None:
            return None
        if type(outcome) is Returned:
            return outcome.value
        return _flow().function_result(self, outcome)

    def if_(
        self: Any,
        test: Any,
        then: Callable[[], Any],
        orelse: Callable[[], Any] | None,
        rest: Callable[[], Any] | None,
        stored: Sequence[str],
        info: Any,
    ) -> Any:
        """An `if` and the statements after it; gives the outcome of both."""
        if type(test) not in _PLAIN:
            return _flow().if_(self, test, then, orelse, rest, stored, info)
        self.step()
        side = then if test else orelse
        outcome = side() if side is not None else None
        if outcome is None:
            return rest() if rest is not None else None
        if rest is None or type(outcome) is Returned:
            return outcome
        from tracejit.frontend.control.branches import names_in, then_rest

        return then_rest(self, outcome, rest, names_in(rest))

    def ternary(self: Any, test: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
        """`then if test else orelse`."""
        if type(test) not in _PLAIN:
            return _flow().ternary(self, test, then, orelse)
        return then() if test else orelse()

    def and_(self: Any, x: Any, *later: Callable[[], Any]) -> Any:
        """`x and y and ...`, which gives an operand."""
        return self._while_known(True, x, later)

    def or_(self: Any, x: Any, *later: Callable[[], Any]) -> Any:
        """`x or y or ...`, which gives an operand."""
        return self._while_known(False, x, later)

    def _while_known(self: Any, goes_on: bool, x: Any, later: tuple[Callable[[], Any], ...]) -> Any:
        for k, operand in enumerate(later):
            if type(x) not in _PLAIN:
                flow = _flow()
                return (flow.and_ if goes_on else flow.or_)(self, x, *later[k:])
            if bool(x) is not goes_on:
                return x
            x = operand()
        return x

    def not_(self: Any, x: Any) -> Any:
        """`not x`."""
        return not x if type(x) in _PLAIN else _flow().not_(self, x)


def _flow() -> Any:
    from tracejit.frontend.control.statements import Flow

    return Flow
