"""`print`, `raise` and `assert` in a traced program: ops that act when the program runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.control.branches import branch, names_of_operands, predicate
from tracejit.frontend.control.regions import fail
from tracejit.frontend.control.unions import narrow_bound
from tracejit.frontend.python.text.formatting import has_text, to_text
from tracejit.frontend.python.text.streams import StandardStream
from tracejit.frontend.tracing.checks import require_plain
from tracejit.frontend.tracing.instances import is_instance
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.memory.storage import effect_token, set_effect_token
from tracejit.frontend.tracing.pytree import is_namedtuple
from tracejit.frontend.tracing.raised import Raised, TracedError
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.text import (
    NodeOperands,
    Operand,
    TextLike,
    TracedText,
    concatenate,
    pieces_of,
)
from tracejit.frontend.tracing.trace import here, user_line
from tracejit.frontend.tracing.tracer import TracedArray, Tracer
from tracejit.frontend.tracing.union import Union, Unreachable
from tracejit.ops.control.messages import MessageStream
from tracejit.ops.control.templates import class_path, refer

__all__ = [
    "assert_",
    "emit_error",
    "exit_",
    "make_error",
    "print_",
    "raise_error",
]


# Printing ----------------------------------------------------------------------------------------


def print_(
    interpreter: Interpreter,
    *args: Any,
    sep: Any = None,
    end: Any = None,
    file: Any = None,
    flush: Any = False,
) -> None:
    """`print(...)`: a `print_text` node."""
    between, last = _separator("sep", sep, " "), _separator("end", end, "\n")
    parts: list[TextLike] = []
    for k, x in enumerate(args):
        parts += (between, to_text(interpreter, x)) if k else (to_text(interpreter, x),)
    operands = NodeOperands()
    attrs: dict[str, Any] = {"text": operands.text(concatenate([*parts, last]))}
    if isinstance(file, StandardStream):
        attrs["stream"] = file.name
    elif isinstance(file, MessageStream):
        attrs["file"] = refer(file)
    elif file is not None:
        if not interpreter.capture.is_outside(file):
            raise TraceError("TJ006", "the file of print()", user_line())
        interpreter.capture.require_identity(file)
        attrs["file"] = refer(file)
    require_plain(flush, "flush")
    if flush:
        attrs["flush"] = True
    trace = here()
    trace.note("effect", "print()")
    (token,) = trace.emit_all("print_text", (effect_token(trace), *operands.values), attrs)
    set_effect_token(trace, token)


def _separator(name: str, x: Any, default: str) -> TextLike:
    """What stands between or after what is printed. Raises TypeError as `print` does."""
    x = narrow_bound(x)
    if isinstance(x, Union):
        sides = (_separator(name, v, default) for v in (x.first, x.second))
        return TracedText((("choice", Operand(x.predicate), *map(pieces_of, sides)),))
    if x is not None and not isinstance(x, (str, TracedText)):
        raise TypeError(f"{name} must be None or a string, not {type(x).__name__}")
    return default if x is None else x


# Exceptions --------------------------------------------------------------------------------------


def make_error(
    interpreter: Interpreter,
    cls: type[BaseException],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """`cls(*args, **kwargs)`: classes of the program's own are only called at run time."""
    given = [*args, *kwargs.values()]
    if cls.__module__ == "builtins" and not any(map(has_text, given)):
        try:
            require_plain(given, "an argument of an exception")
        except TraceError:
            return TracedError(cls, args, kwargs)
        return cls(*args, **kwargs)
    return TracedError(cls, args, kwargs)


def raise_error(interpreter: Interpreter, error: Any, *cause: Any) -> None:
    """`raise error` or `raise error from cause`: leaves the block around."""
    made = _made(error)
    if made is not None and issubclass(made.cls, StopIteration):
        # What draws items takes it for their end, or for an error.
        asked = interpreter.tries and interpreter.tries[-1].asks
        if not asked and (interpreter.consumers or interpreter.drawing):
            raise TraceError("TJ023", "StopIteration in a function that makes items", user_line())
    if interpreter.tries or interpreter.handling:
        if made is not None:
            linked = bool(cause or interpreter.handling or made.is_linked)
            new = TracedError(made.cls, made.args, made.kwargs, made.is_exact, linked, user_line())
            interpreter.raise_error(Raised(new))
        raise TraceError("TJ024", "raise of one of two exceptions", user_line())
    emit_error(interpreter, error, *cause)


def _made(error: Any) -> TracedError | None:
    """What stands for an exception that is raised; None for what is none, or not known."""
    if isinstance(error, type) and issubclass(error, BaseException):
        return TracedError(error, ())
    if isinstance(error, BaseException):
        return TracedError(type(error), *_arguments(error))
    return error if isinstance(error, TracedError) else None


def _arguments(error: BaseException) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What makes an exception like `error`: `args` has not all of it, for OSError and ImportError.

    Raises TraceError where it holds more than it was made of.
    """
    if type(error).__module__ != "builtins":
        return error.args, {}
    reduced: Any = error.__reduce__()
    _, args, *state = reduced
    named = dict(state[0]) if state and state[0] else {}
    if named and not isinstance(error, ImportError):
        what = f"a {type(error).__name__} that holds more than its arguments"
        raise TraceError("TJ028", what, user_line())
    return args, named


def emit_error(interpreter: Interpreter, error: Any, *cause: Any) -> NoReturn:
    """An exception leaves the program: a `raise_error` node. Raises Unreachable."""
    trace = here()
    unknown = isinstance(error, TracedError) and (error.is_linked or not error.is_exact)
    copies, waits = interpreter.capture.pools, interpreter.suspended > 0
    if unknown or copies or waits or interpreter.state.is_changed or interpreter.recursions:
        # What is stored so far is stored by the call's repetition.
        fail(trace)
        raise Unreachable
    interpreter.capture.raises = True
    operands = NodeOperands()
    attrs: dict[str, Any] = {"error": _raised(interpreter, error, operands)}
    if cause:
        attrs["cause"] = _raised(interpreter, cause[0], operands, optional=True)
    states = {
        number: storage.read(trace) for storage, number in trace.memory.items() if storage.written
    }
    if states:
        attrs["states"] = tuple(states)
    trace.note("effect", "raise")
    inputs = (effect_token(trace), *operands.values, *states.values())
    where = error.where if isinstance(error, TracedError) else None
    (token,) = trace.emit_all("raise_error", inputs, attrs, where=where)
    set_effect_token(trace, token)
    raise Unreachable


def exit_(interpreter: Interpreter, *args: Any) -> None:
    """`sys.exit(...)`."""
    interpreter.raise_(make_error(interpreter, SystemExit, args, {}))


def assert_(
    interpreter: Interpreter, test: Any, message: Callable[[], Any] | None, is_exact: bool
) -> None:
    """`assert test, message()`; where that is not exact, the function itself says more."""

    def fail() -> None:
        if not is_exact:
            interpreter.raise_(TracedError(AssertionError, (), is_exact=False))
            return
        args = () if message is None else (message(),)
        interpreter.raise_(make_error(interpreter, AssertionError, args, {}))

    holds = predicate(interpreter, test)
    if isinstance(holds, bool):
        if not holds:
            fail()
        return
    names = names_of_operands((message,))
    interpreter.settled(branch(interpreter, holds, lambda: None, fail, names))


# Objects of run time -----------------------------------------------------------------------------


def _raised(
    interpreter: Interpreter, x: Any, operands: NodeOperands, optional: bool = False
) -> Any:
    """The template of what stands after `raise` or `from`. Raises TypeError as Python does."""
    if isinstance(x, (BaseException, TracedError)) or (optional and x is None):
        return _object(interpreter, x, operands)
    if isinstance(x, type) and issubclass(x, BaseException):
        return "call", class_path(x), refer(x), (), ()
    if isinstance(x, Union):
        raise TraceError("TJ028", "one of two exceptions", user_line())
    what = "exception causes" if optional else "exceptions"
    raise TypeError(f"{what} must derive from BaseException")


def _object(interpreter: Interpreter, x: Any, operands: NodeOperands) -> Any:
    """The template of an object that is handed to an exception."""
    x = narrow_bound(x)
    match x:
        case Union():
            sides = [_object(interpreter, v, operands) for v in (x.first, x.second)]
            return "choice", operands.number(Operand(x.predicate)), *sides
        case TracedText():
            return "text", operands.text(x)
        case TracedArray():
            if x.storage.root.input is not None or x.views:
                raise TraceError("TJ028", "an argument as part of an exception", user_line())
            return "operand", operands.number(Operand(x))
        case Tracer() | SymInt():
            return "operand", operands.number(Operand(x))
        case TracedError():
            return _call(interpreter, x.cls, x.args, x.kwargs, operands)
        case BaseException() if not interpreter.capture.is_outside(x):
            return _call(interpreter, type(x), *_arguments(x), operands)
        case np.generic():
            return "object", refer(x)
    cls = type(x)
    if x is None or cls in (bool, int, float, complex, str):
        return "constant", x
    if is_instance(x) and not interpreter.is_local(x):
        raise TraceError("TJ028", f"a {cls.__name__} as part of an exception", user_line())
    if interpreter.capture.is_outside(x) or isinstance(x, type):
        return "object", refer(x)
    if cls is tuple or cls is list and interpreter.is_local(x):
        return cls.__name__, *(_object(interpreter, v, operands) for v in x)
    if is_namedtuple(cls):
        return _call(interpreter, cls, tuple(x), {}, operands)
    if cls is dict and interpreter.is_local(x):
        items = [
            (_object(interpreter, k, operands), _object(interpreter, v, operands))
            for k, v in x.items()
        ]
        return "dict", *items
    raise TraceError("TJ028", f"a {cls.__name__} as part of an exception", user_line())


def _call(
    interpreter: Interpreter,
    cls: type,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    operands: NodeOperands,
) -> Any:
    given = tuple([_object(interpreter, a, operands) for a in args])
    named = tuple([(k, _object(interpreter, v, operands)) for k, v in kwargs.items()])
    return "call", class_path(cls), refer(cls), given, named
