"""Functions of NumPy by the prelude, and other functions of the package that are traced.

They are rewritten and run like functions of the program. Where the trace of one meets what it does
not know, the call is given up for arguments of that form: at once where nothing has been recorded,
else `Refused` leaves the trace, and the next one calls NumPy while the program runs.
"""

from __future__ import annotations

import builtins
import inspect
import sys
from types import CellType, FunctionType
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.host.calls import as_called
from tracejit.frontend.interpreter.functions import rewritten_code
from tracejit.frontend.numpy.derived import (
    added_at,
    derived_as,
    elements_at,
    in_memory_order,
    is_known,
    require,
    specialised,
)
from tracejit.frontend.numpy.registry import PRELUDE, plain_options
from tracejit.frontend.numpy.ufuncs import root_of_squares
from tracejit.frontend.prelude import intrinsics
from tracejit.frontend.python.imports import imported
from tracejit.frontend.tracing.checks import has_traced
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.restarts import Refused, Uncovered
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.trace import Trace
from tracejit.frontend.tracing.tracer import TracedArray, Tracer, here

__all__ = [
    "INTRINSICS",
    "call_in_prelude",
    "call_library",
    "call_prelude",
    "is_refusal",
    "in_prelude",
]

#: What was given up: (function, the form of its arguments).
_REFUSED: set[Any] = set()


def _is_plain(f: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a function of NumPy takes these arguments, and plain values for its options.

    Some do not say what they take: then it is what `function` takes.
    """
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
        given = (bound if (own := _signature(f)) is None else own.bind(*args, **kwargs)).arguments
        # Elsewhere `k` is the number of a diagonal.
        plain_options(f.__name__, {o: x for o, x in given.items() if (f, o) != (np.polyint, "k")})
        names = getattr(inspect.unwrap(f), "__globals__", {})
        if dispatcher := names.get(f"_{f.__name__}_dispatcher"):
            inspect.signature(dispatcher).bind(*args, **kwargs)  # It may take less by name.
    except (TypeError, TraceError):
        return False
    return True


def _signature(f: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(f)
    except ValueError:
        return None


def in_prelude(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> FunctionType | None:
    """The function of the prelude that is traced in place of a call of `f`, or None."""
    found: FunctionType | None = PRELUDE.get(_key(f))
    if found is None or not (
        found in intrinsics.CREATORS or has_traced(args) or has_traced(kwargs)
    ):
        return None
    if not _is_plain(f, found, args, kwargs) or _form(f, args, kwargs) in _REFUSED:
        return None
    return found


def _key(f: Any) -> Any:
    """A function of NumPy itself; the path of one of another library, which may not be imported."""
    module = getattr(f, "__module__", None)
    if type(module) is not str or module.partition(".")[0] != "scipy":
        return f
    name = str(f.__name__)
    return f"{module}:{name}" if getattr(sys.modules[module], name, None) is f else f


def call_prelude(
    interpreter: Any,
    f: Any,
    function: FunctionType,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """`f(*args, **kwargs)` by a function of the prelude.

    Raises Uncovered where that gives it up before it has recorded anything, else Refused.
    """
    place = _place()
    try:
        return call_library(interpreter, function, args, kwargs)
    except TraceError as e:
        if isinstance(e, Uncovered) and e.place == place:
            raise
        if not is_refusal(e):
            raise
        _REFUSED.add(_form(f, args, kwargs))
        raise Refused(e) from None


def is_refusal(e: TraceError) -> bool:
    """Whether a trace of a function of the prelude has met what NumPy can still be called for."""
    return type(e) in (TraceError, Uncovered) and e.code in ("TJ002", "TJ003", "TJ004", "TJ005")


def _refuse(what: str) -> None:
    """Give up a form of arguments: NumPy is called."""
    raise Uncovered(what, _place())


def _place() -> tuple[Trace, int]:
    trace = here()
    return trace, len(trace.builder.nodes)


def _apart(f: Any, *args: Any) -> Any:
    """`f(*args)`, in a branch of its own for each value of an argument that is a union."""
    interpreter: Any = here().interpreter
    return interpreter.on_unions(lambda *given: interpreter.call(f, *given), *args)


#: Intrinsic of the prelude -> what it is in a trace.
INTRINSICS: dict[Any, Any] = {
    intrinsics.added_at: added_at,
    intrinsics.apart: _apart,
    intrinsics.as_called: as_called,
    intrinsics.derived_as: derived_as,
    intrinsics.elements_at: elements_at,
    intrinsics.in_memory_order: in_memory_order,
    intrinsics.is_known: is_known,
    intrinsics.refuse: _refuse,
    intrinsics.require: require,
    intrinsics.root_of_squares: root_of_squares,
    intrinsics.specialised: specialised,
}


def call_in_prelude(
    interpreter: Interpreter, f: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A call from one function of the prelude of another, or of an intrinsic."""
    known = INTRINSICS.get(f)
    return call_library(interpreter, f, args, kwargs) if known is None else known(*args, **kwargs)


def call_library(
    interpreter: Interpreter, f: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A call of a function of a library, or of the compiler's own, that is traced."""
    new = interpreter.functions.get(id(f))
    if new is None:
        new = interpreter.functions[id(f)] = _rebuilt(interpreter, f)
    interpreter.enter(f.__code__)
    try:
        return new(*args, **kwargs)
    finally:
        interpreter.leave(f.__code__)


def _rebuilt(interpreter: Interpreter, f: FunctionType) -> FunctionType:
    code = rewritten_code(f)
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    scope = CellType(_LibraryScope(interpreter, f.__globals__, cells))
    new = FunctionType(
        code, f.__globals__, f.__name__, f.__defaults__, tuple(scope for _ in code.co_freevars)
    )
    new.__kwdefaults__ = f.__kwdefaults__
    return new


def _form(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function that is given up is given up for."""
    return f, tuple(map(_kind, args)), tuple((k, _kind(v)) for k, v in sorted(kwargs.items()))


def _kind(x: Any) -> Any:
    if isinstance(x, TracedArray):
        return x.dtype.str, x.ndim
    if isinstance(x, Tracer):
        return str(x.type)
    if isinstance(x, SymInt):
        return "int"
    if isinstance(x, (list, tuple)):
        return type(x), *map(_kind, x)
    if isinstance(x, (bool, int, str, type(None))):
        return type(x), x
    return type(x)


class _LibraryScope:
    """The interpreter as a function of NumPy sees it, with NumPy's own globals."""

    def __init__(
        self, interpreter: Interpreter, namespace: dict[str, Any], cells: dict[str, CellType]
    ) -> None:
        self.interpreter, self.namespace, self.cells = interpreter, namespace, cells

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.interpreter, name)
        setattr(self, name, found)
        return found

    def global_(self, name: str) -> Any:
        """A global name or a builtin."""
        held = self.namespace if name in self.namespace else vars(builtins)
        # The compiler's own names are no part of what later calls look at.
        if not str(held.get("__name__")).startswith("tracejit.frontend."):
            self.interpreter.capture.library_name(held, name, held[name])
        return held[name]

    def free(self, name: str) -> Any:
        """A name of the scope around the function."""
        return self.cells[name].cell_contents

    def growing_name(self, name: str) -> Any:
        """A name outside the function, of which an attribute such as `append` is called next."""
        return self.free(name) if name in self.cells else self.global_(name)

    def imported(self, module: str, level: int, name: str | None) -> Any:
        """What an import statement inside the function binds."""
        return imported(self.interpreter, self.namespace, module, level, name)
