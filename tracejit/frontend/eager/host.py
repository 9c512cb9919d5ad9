"""Functions of NumPy and SciPy on concrete tracers: recorded as ops, or as calls of themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.host.calls import host_call
from tracejit.frontend.numpy.registry import HANDLERS, call_function
from tracejit.frontend.numpy.ufunc_calls import array_ufunc, laid_out_by_iterator
from tracejit.frontend.tracing.trace import user_line

__all__ = ["recorded_call"]

#: Why a handler gives up a function, or a form of it, that may still be called.
_HOSTED = ("TJ002", "TJ004")


class _HostInterpreter:
    """What the recorder of calls asks of the interpreter."""

    @staticmethod
    def allocate(x: Any) -> Any:
        """A list that the call has given."""
        return x


_INTERPRETER: Any = _HostInterpreter()


def recorded_call(
    f: Any, args: Sequence[Any], kwargs: Mapping[str, Any], method: str = "__call__"
) -> Any:
    """`f(*args, **kwargs)`, or a method of a ufunc. Raises TraceError where it is not known."""
    given, named = tuple(args), dict(kwargs)
    try:
        if isinstance(f, np.ufunc) and (method != "__call__" or f not in HANDLERS):
            return array_ufunc(f, method, given, dict(kwargs))
        if f in HANDLERS:
            return call_function(f, given, named)
        raise TraceError("TJ002", getattr(f, "__name__", type(f).__name__), user_line())
    except TraceError as e:
        if e.code not in _HOSTED:
            raise
        made = host_call(_INTERPRETER, f, given, named, e, method)
        return laid_out_by_iterator(made, method, *given, **named)
