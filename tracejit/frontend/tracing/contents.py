"""What containers and objects hold, taken out and put back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracejit.frontend.tracing.positions import Position
from tracejit.frontend.tracing.trace import current_trace

__all__ = ["contents_of", "put_contents"]


def contents_of(x: Any) -> Any:
    """A copy of what a container or object holds."""
    if type(x) in (list, dict, set):
        return x.copy()
    if isinstance(x, Position):
        return {"position": x.position}
    own = dict(getattr(x, "__dict__", {}))
    for cls in type(x).__mro__:
        for slot in _slots(cls):
            if hasattr(x, slot):
                own[slot] = getattr(x, slot)
    return own


def _slots(cls: type) -> Sequence[str]:
    slots = cls.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def put_contents(x: Any, contents: Any) -> None:
    """Let a container or object hold `contents`."""
    if type(x) is list:
        x[:] = contents
    elif type(x) in (dict, set):
        x.clear()
        x.update(contents)
        trace = current_trace()
        if trace is not None and type(x) is set and (x or id(x) in trace.popped):
            trace.shuffled[id(x)] = x
    elif isinstance(x, Position):
        x.position = contents["position"]
    else:
        for name in set(contents_of(x)) - set(contents):
            object.__delattr__(x, name)
        for name, value in contents.items():
            object.__setattr__(x, name, value)
