"""`with quietly():` ignores floating-point errors as `np.errstate` does, at a fifth of its cost."""

from __future__ import annotations

from contextlib import AbstractContextManager
from contextvars import Context, ContextVar
from typing import Any

import numpy as np

from tracejit.base.late import imported
from tracejit.link.addresses import Address, Recipe
from tracejit.link.finding import Kept

__all__ = ["quiet_address", "quiet_object", "quiet_state", "quietly"]


def _state() -> tuple[ContextVar[Any], Any] | None:
    """Where NumPy keeps how it handles errors, and what it keeps where all are ignored."""
    variable = getattr(imported("numpy._core.umath"), "_extobj_contextvar", None)
    if not isinstance(variable, ContextVar):
        return None

    def ignoring() -> Any:
        with np.errstate(all="ignore"):
            return variable.get()

    def is_all(state: Any) -> bool:
        variable.set(state)
        return set(np.geterr().values()) == {"ignore"}

    state = Context().run(ignoring)
    return (variable, state) if Context().run(is_all, state) else None


_STATE = _state()


def quiet_object() -> Kept:
    """What NumPy keeps where all errors are ignored. Raises LookupError where it is elsewhere."""
    if _STATE is None:
        raise LookupError("NumPy keeps its floating-point error state elsewhere")
    return Kept(id(_STATE[1]), _STATE[1])


def quiet_address() -> Address:
    """Its address."""
    return Address(quiet_object().address, Recipe(__name__, "quiet_object", ()))


class _Quietly:
    __slots__ = ("_token", "_variable")

    def __enter__(self) -> None:
        assert _STATE is not None
        self._variable, state = _STATE
        self._token = self._variable.set(state)

    def __exit__(self, *_: object) -> None:
        self._variable.reset(self._token)


def quiet_state() -> tuple[ContextVar[Any], Any] | None:
    """The variable to set and its value, for native code; None where `quietly` must be used."""
    return _STATE


def quietly() -> AbstractContextManager[Any]:
    """A block in which no floating-point error warns or raises."""
    return np.errstate(all="ignore") if _STATE is None else _Quietly()
