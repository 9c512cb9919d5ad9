"""Values without derivatives: `stop_gradient`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracejit.frontend.control.unions import narrow
from tracejit.frontend.tracing.memory.storage import Storage
from tracejit.frontend.tracing.pytree import flatten_state, unflatten
from tracejit.frontend.tracing.trace import current_trace, here
from tracejit.frontend.tracing.tracer import TracedArray, Tracer, wrap
from tracejit.ir.derivatives import differentiable
from tracejit.transforms.api.arguments import require_transparent

__all__ = ["stopped"]


def stopped(x: Any, new: Callable[[Any], Any] = lambda made: made) -> Any:
    """`x` with the op `stop_gradient` on each float and complex number; `new` notes containers.

    Outside a trace it is `x` itself. Raises TypeError inside for an object in which it would not
    find the arrays.
    """
    if current_trace() is None:
        return x
    x = narrow(x)
    require_transparent(x, "stop_gradient")
    leaves, tree = flatten_state(x)
    return unflatten(tree, [_leaf(v) for v in leaves], new)


def _leaf(x: Any) -> Any:
    if not isinstance(x, Tracer) or not differentiable(x.type):
        return x
    trace = here()
    value = trace.emit("stop_gradient", (x.value(),))
    if not isinstance(x, TracedArray):
        return wrap(trace, value)
    # A name of the same memory, as far as the program goes: right as long as nothing is stored.
    storage = Storage(trace, value, -1, x.storage)
    return wrap(trace, value, storage)
