"""Names of a module or of a function around the traced one, which the program binds."""

from __future__ import annotations

from types import CellType
from typing import Any

from tracejit.frontend.capture.paths import MISSING
from tracejit.frontend.control.unions import narrow_bound
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.union import UNBOUND

__all__ = ["OuterNames"]


class OuterNames:
    """The names outside one function: its globals, and the cells of its free variables."""

    def __init__(
        self, interpreter: Interpreter, namespace: dict[str, Any], cells: dict[str, CellType]
    ) -> None:
        self.interpreter, self.namespace, self.cells = interpreter, namespace, cells

    def get(self, name: str) -> Any:
        """What a name holds. Raises NameError, and TraceError for what cannot be followed."""
        owner = self.owner(name)
        stored = self.interpreter.state.outer_name(owner, name)
        if stored is not MISSING:
            stored = narrow_bound(stored)
            if stored is UNBOUND:
                raise NameError(f"name '{name}' is not defined")
            return stored
        capture = self.interpreter.capture
        if isinstance(owner, CellType):
            return capture.cell_value(owner, name)
        return capture.global_value(owner, name)

    def set(self, name: str, value: Any) -> None:
        """Bind a name; UNBOUND unbinds it."""
        if value is UNBOUND:
            self.get(name)
        owner = self.owner(name)
        self.interpreter.capture.functions.binds_cells |= isinstance(owner, CellType)
        self.interpreter.state.set_outer_name(self.interpreter, owner, name, value)

    def owner(self, name: str) -> Any:
        """What holds a name: the cell of a free variable, or the globals."""
        return self.cells.get(name, self.namespace)
