"""What a call stores into objects from outside when it returns, one store at a time."""

from __future__ import annotations

from typing import Any

from tracejit.frontend.tracing.packed import JoinedArrays
from tracejit.frontend.tracing.union import UNBOUND

__all__ = ["STORED_NATIVELY", "store_value"]

#: The kinds of stores that entries make by machine code.
STORED_NATIVELY = frozenset({"attribute", "cell", "class", "element", "item", "tail"})


def store_value(owner: Any, kind: str, key: Any, value: Any) -> None:
    """One store, as `frontend.capture.state.Change` describes it; `UNBOUND` deletes."""
    match kind:
        case "attribute" if value is UNBOUND:
            # A branch may have left it as it was: not there.
            if hasattr(owner, key):
                delattr(owner, key)
        case "attribute" | "class":
            setattr(owner, key, value)
        case "item" if value is UNBOUND:
            owner.pop(key, None)
        case "cell" if value is UNBOUND:
            del owner.cell_contents
        case "cell":
            owner.cell_contents = value
        case "item" | "element":
            owner[key] = value
        case "pair":
            store_value(owner, "item", *value)
        case "tail" if key is None:
            owner.extend(value)
        case "tail":
            owner[key:] = value
        case "arrays":
            assert isinstance(value.base, JoinedArrays)
            value.base.write_back()
        case _:
            owner.clear()
            owner.update(value)
