"""What the compiler puts in place of the intrinsics of the prelude."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray, fit_dims
from tracejit.frontend.numpy.indexing import get_item
from tracejit.frontend.numpy.shape import permuted, ravel
from tracejit.frontend.tracing.memory.layout import broadcast_order
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.tracer import Tracer, here, user_line, wrap

__all__ = [
    "added_at",
    "derived_as",
    "elements_at",
    "in_memory_order",
    "is_known",
    "require",
    "specialised",
]


def derived_as(value: Any, formula: Any) -> Any:
    """`value`, with the derivative of `formula`, which is computed for nothing else."""
    trace, value = here(), asarray(value)
    shape = value.type.shape
    of_shape = fit_dims(asarray(formula), shape)
    return wrap(trace, trace.emit("derived_as", (value.value(), of_shape.value())))


def elements_at(x: Any, places: Any) -> Any:
    """`x[places]`, where all places are known to be inside."""
    return get_item(asarray(x), places, checked=False)


def in_memory_order(x: Any) -> Any:
    """All elements along one axis, as they lie in memory where that is known."""
    return x if x.ndim == 1 else ravel(permuted(x, broadcast_order([x], x.ndim) or range(x.ndim)))


def added_at(x: Any, places: Any, values: Any) -> Any:
    """`x` after `np.add.at(x, places, values)`, where all places are known to be inside."""
    trace, places = here(), asarray(places)
    values = fit_dims(asarray(values), places.type.shape)
    operands = [v.value() for v in (asarray(x), values, places)]
    (out,) = trace.emit_all("scatter_apply", operands, {"function": "add", "checked": False})
    return wrap(trace, out)


def is_known(*numbers: Any) -> bool:
    """Returns True for numbers that have values while tracing, sizes under guards."""
    sizes = [x.dim for x in numbers if isinstance(x, SymInt)]
    return not any(isinstance(x, Tracer) for x in numbers) and here().env.is_known(*sizes)


def specialised(number: Any) -> Any:
    """The value of a number. Raises TraceError for one that only a run gives."""
    return operator.index(number) if isinstance(number, Tracer) else number


def require(condition: Any) -> None:
    """Leave the run to Python unless a condition holds, or the call where it is known not to."""
    trace = here()
    if isinstance(condition, (bool, np.bool_)) and (condition or trace.parent is None):
        if not condition:
            raise TraceError("TJ004", "arguments for which NumPy is called", user_line())
        return
    trace.emit_all("check", (asarray(condition)[()].value(),), {})
