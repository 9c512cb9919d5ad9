"""How NumPy keeps its handling of floating-point errors: objects of this process, by address."""

from __future__ import annotations

import ctypes
from contextvars import Context, ContextVar
from typing import Any

from tracejit.base.late import imported
from tracejit.link.addresses import Address, Recipe
from tracejit.link.finding import Kept

__all__ = ["default_address", "default_state", "name_address", "name_of_state", "state_variable"]


def state_variable() -> ContextVar[Any] | None:
    """The context variable that holds the present state; None where NumPy has none."""
    found = getattr(imported("numpy._core.umath"), "_extobj_contextvar", None)
    return found if isinstance(found, ContextVar) else None


def default_state() -> Kept:
    """The state of contexts that never changed it. Raises LookupError where there is none."""
    variable = state_variable()
    if variable is None:
        raise LookupError("NumPy keeps its floating-point error state elsewhere")
    state = Context().run(_value, variable)
    return Kept(id(state), state)


def _value(variable: ContextVar[Any]) -> Any:
    try:
        return variable.get()
    except LookupError:
        return None


def name_of_state() -> int:
    """Where the name of the capsules lies that hold states."""
    found = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(
        ("PyCapsule_GetName", ctypes.pythonapi)
    )
    name: int = found(default_state().what)
    return name


def default_address() -> Address:
    """Where the default state lies."""
    return Address(default_state().address, Recipe(__name__, "default_state", ()))


def name_address() -> Address:
    """The address that `name_of_state` gives."""
    return Address(name_of_state(), Recipe(__name__, "name_of_state", ()))
