"""What `with` statements enter: contexts that compiled code does not need, and objects that do it.

A context of Python's or NumPy's own is a stand-in that its class makes; objects of the program's
classes have `__enter__` and `__exit__` called as rewritten code.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.base.placing import device, device_name
from tracejit.errors import TraceError
from tracejit.frontend.control.branches import branch
from tracejit.frontend.control.exceptions import Handlers, errors_of, has_raised, is_raised
from tracejit.frontend.control.regions import Names
from tracejit.frontend.control.unions import choose, without
from tracejit.frontend.python import objects
from tracejit.frontend.tracing.checks import require_plain
from tracejit.frontend.tracing.generator import GeneratorCall
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.trace import user_line
from tracejit.frontend.tracing.union import Union

__all__ = ["CONTEXT_CALLS", "CONTEXT_MANAGER", "generator_context", "within"]

#: The code of every function that `contextlib.contextmanager` has made.
CONTEXT_MANAGER = contextlib.contextmanager(lambda: iter(())).__code__


class _Context:
    """A context that does nothing; `value` is what it is entered as."""

    def __init__(self, value: Any = None, is_filter: bool = False) -> None:
        self.value, self.is_filter = value, is_filter


class _Placed:
    """`tracejit.device(name)`."""

    def __init__(self, name: str) -> None:
        self.name = name


class _Suppressed:
    """`contextlib.suppress(*classes)`."""

    def __init__(self, classes: tuple[Any, ...]) -> None:
        self.classes = classes


class _Traceback:
    """What `__exit__` is given as the traceback: nothing is known of it."""


class _Generated:
    """What a function makes that `contextlib.contextmanager` has made."""

    def __init__(self, generator: GeneratorCall) -> None:
        self.generator = generator


def generator_context(
    interpreter: Interpreter, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> _Generated:
    """`f(*args, **kwargs)` for an `f` of `contextlib.contextmanager`."""
    source = interpreter.capture.source_of(f)
    if source is None:
        raise TraceError("TJ006", f"the function {f.__qualname__}", user_line())
    interpreter.capture.library_methods(contextlib._GeneratorContextManager)
    inner = interpreter.capture.attribute(source, "__wrapped__", f.__wrapped__)
    made = interpreter.call(inner, *args, **kwargs)
    if not isinstance(made, GeneratorCall):
        raise TraceError("TJ025", f"a context made by {f.__qualname__}", user_line())
    return _Generated(made)


def within(interpreter: Any, manager: Any, run: Callable[[Any], Any], names: Names) -> Any:
    """The outcome of `run(value)`, a block that binds `names`, inside a context."""
    if isinstance(manager, _Context):
        interpreter.filters += manager.is_filter
        try:
            return run(manager.value)
        finally:
            interpreter.filters -= manager.is_filter
    if isinstance(manager, _Placed):
        with device(manager.name):
            return run(manager)
    if isinstance(manager, _Suppressed):
        around = Handlers([(lambda: manager.classes, None, lambda: None)])
        return interpreter.guarded(lambda: run(None), around, names)
    if isinstance(manager, _Generated):
        return interpreter.within_generator(manager.generator, run, names)
    return _within_object(interpreter, manager, run, names)


def _within_object(interpreter: Any, manager: Any, run: Callable[[Any], Any], names: Names) -> Any:
    methods = []
    for name in ("__enter__", "__exit__"):
        found = None
        if not isinstance(manager, Union):
            found = objects.special(interpreter, manager, name)
        if found is None:
            raise TraceError("TJ025", f"a {type(manager).__name__}", user_line())
        methods.append(found)
    enter, leave = methods
    value = interpreter.call(enter)
    with interpreter.trying(Handlers((), True)):
        outcome = interpreter.bounded(lambda: run(value), names)

    def ended() -> Any:
        interpreter.call(leave, None, None, None)
        return without(outcome, is_raised)

    if not has_raised(outcome):
        return ended()
    raised = without(outcome, lambda o: not is_raised(o))

    def left() -> Any:
        error = errors_of(raised)
        with interpreter.while_handling(error):
            cls = interpreter.call(type, error)
            taken = interpreter.truth_of(interpreter.call(leave, cls, error, _Traceback()))
        if isinstance(taken, bool):
            return None if taken else raised
        return Union(taken, None, raised)

    raises = choose(outcome, is_raised)
    if isinstance(raises, bool):
        return left() if raises else ended()
    return branch(interpreter, raises, left, ended, names)


# Contexts of Python and NumPy ---------------------------------------------------------------------


def _errstate(interpreter: Interpreter, **given: Any) -> _Context:
    require_plain(list(given.values()), "np.errstate")
    known = set(given) <= {"all", "divide", "over", "under", "invalid"}
    if not known or not set(given.values()) <= {None, "ignore", "warn"}:
        raise TraceError("TJ009", "np.errstate inside the function", user_line())
    return _Context()


def _nullcontext(interpreter: Interpreter, enter_result: Any = None) -> _Context:
    return _Context(enter_result)


def _device(interpreter: Interpreter, name: str) -> _Placed:
    require_plain([name], "tracejit.device")
    return _Placed(device_name(name))


def _suppress(interpreter: Interpreter, *classes: Any) -> _Suppressed:
    return _Suppressed(classes)


def _catch_warnings(interpreter: Interpreter, **given: Any) -> _Context:
    if given.keys() - {"record"} or given.get("record", False) is not False:
        raise TraceError("TJ025", "warnings that are recorded", user_line())
    return _Context(is_filter=True)


def _warning_filter(interpreter: Any, action: Any, *args: Any, **kwargs: Any) -> None:
    """`warnings.simplefilter` and `filterwarnings`, where a context takes the filter back.

    Compiled code issues no warnings of NumPy's. Raises TraceError where errors are made of them.
    """
    require_plain([action, *args, *kwargs.values()], "a filter")
    if not interpreter.filters:
        raise TraceError("TJ002", "a filter of warnings", user_line())
    if action == "error":
        raise TraceError("TJ009", "warnings as errors", user_line())


#: Callee -> what a call of it does.
CONTEXT_CALLS: dict[Any, Callable[..., Any]] = {
    np.errstate: _errstate,
    contextlib.nullcontext: _nullcontext,
    contextlib.suppress: _suppress,
    device: _device,
    warnings.catch_warnings: _catch_warnings,
    warnings.simplefilter: _warning_filter,
    warnings.filterwarnings: _warning_filter,
}
