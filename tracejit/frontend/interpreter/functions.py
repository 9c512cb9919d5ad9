"""Functions of the program in their rewritten form: found once, bound to an interpreter, called."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from inspect import CO_GENERATOR, CO_VARKEYWORDS
from types import CellType, CodeType, FunctionType
from typing import Any

from tracejit.errors import TraceError, Where
from tracejit.frontend.capture.captured import Source
from tracejit.frontend.python.outer_names import OuterNames
from tracejit.frontend.rewrite.function import rewrite_code
from tracejit.frontend.rewrite.source import find_definition
from tracejit.frontend.tracing.generator import GeneratorCall
from tracejit.frontend.tracing.interpreter import Interpreter

__all__ = ["call_rewritten", "place_of", "rewritten_code", "run_function"]
_NOT_A_FUNCTION = {
    0x80: ("TJ026", "a coroutine function"),
    0x200: ("TJ026", "an asynchronous generator function"),
}
#: id of a code object -> (the object, weakly; its rewritten form).
_REWRITTEN: dict[int, tuple[weakref.ref[CodeType], CodeType]] = {}


def call_rewritten(
    interpreter: Interpreter, f: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call a function of the program, from outside the trace, in its rewritten form."""
    new = interpreter.functions.get(id(f))
    source = interpreter.capture.source_of(f)
    if source is None:
        raise TraceError("TJ006", f"the function {f.__qualname__}", place_of(f.__code__))
    if new is None:
        new = interpreter.functions[id(f)] = _rebuilt(interpreter, f)
        code = f.__code__
        interpreter.capture.guard_code(source, code)
        by_code = interpreter.capture.functions
        if not by_code.is_known(source):
            by_code.claim_cells(f.__closure__ or ())
    args, kwargs = _with_defaults(interpreter, f, source, args, kwargs)
    is_generator = bool(f.__code__.co_flags & CO_GENERATOR)
    return run_function(interpreter, f, new, args, kwargs, is_generator=is_generator)


def run_function(
    interpreter: Interpreter,
    f: FunctionType,
    new: FunctionType,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    is_generator: bool,
) -> Any:
    """A call of `f`, whose rewritten form is `new`, as one of the calls that are being traced."""
    code = f.__code__
    args, kwargs = _by_position(code, args, kwargs)
    given, form = [*args, *kwargs.values()], (len(args), *kwargs)

    def run(values: Sequence[Any]) -> Any:
        interpreter.enter(code)
        try:
            named = dict(zip(kwargs, values[len(args) :], strict=True))
            return new(*values[: len(args)], **named)
        finally:
            interpreter.leave(code)

    if is_generator:
        return interpreter.allocate(GeneratorCall(lambda: run(given)))
    # The first call is part of the program around it, which knows most of its arguments.
    if code in interpreter.capture.learned.recursive and interpreter.active.get(code):
        from tracejit.frontend.control.branches import names_in
        from tracejit.frontend.control.recursion import call_recursive

        names = names_in(f if f is new else None)
        return call_recursive(interpreter, (code, form), run, names, given)
    return run(given)


def _by_position(
    code: CodeType, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, as many by position as can be; the others in order of their names.

    So calls that pass the same are alike.
    """
    named = dict(kwargs)
    rest = []
    # A parameter that has only a position, and is not given, is filled in by the call.
    end = code.co_argcount if len(args) >= code.co_posonlyargcount else 0
    for name in code.co_varnames[len(args) : end]:
        if name not in named:
            break
        rest.append(named.pop(name))
    # A function sees the order in which `**` gets them.
    order = named if code.co_flags & CO_VARKEYWORDS else sorted(named)
    return (*args, *rest), {name: named[name] for name in order}


def _rebuilt(interpreter: Interpreter, f: FunctionType) -> FunctionType:
    """`f` over hooks. Its defaults are filled in at each call, where they are captured."""
    code = rewritten_code(f)
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    scope = CellType(_FunctionScope(interpreter, f.__globals__, cells))
    closure = tuple(scope for _ in code.co_freevars)
    return FunctionType(code, f.__globals__, f.__name__, None, closure)


def rewritten_code(f: FunctionType) -> CodeType:
    """The code of `f` over hooks; its only free variable holds the interpreter.

    Raises TraceError TJ007 where the source is not available, others where a construct is not
    traced.
    """
    code = f.__code__
    known = _REWRITTEN.get(id(code))
    if known is not None and known[0]() is code:
        return known[1]
    for flag, (number, what) in _NOT_A_FUNCTION.items():
        if code.co_flags & flag:
            raise TraceError(number, what, place_of(code))
    new = rewrite_code(find_definition(f), code)
    key, table = id(code), _REWRITTEN
    table[key] = weakref.ref(code, lambda _: table.pop(key, None)), new
    return new


def place_of(code: CodeType) -> Where:
    return Where(code.co_filename, code.co_firstlineno, code.co_name)


def _with_defaults(
    interpreter: Interpreter,
    f: FunctionType,
    source: Source,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments, with the defaults of `f` (values from outside) for those not given."""
    code, capture = f.__code__, interpreter.capture
    defaults = f.__defaults__ or ()
    first = code.co_argcount - len(defaults)
    filled = list(args)
    named = dict(kwargs)
    for k in range(max(len(args), first), code.co_argcount):
        name = code.co_varnames[k]
        if name in kwargs and k >= code.co_posonlyargcount:
            continue
        value = capture.default(source, k - code.co_argcount, name, defaults[k - first])
        if k < code.co_posonlyargcount and len(filled) == k:
            filled.append(value)
        else:
            named[name] = value
    only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    for name in only:
        keywords = f.__kwdefaults__ or {}
        if name not in kwargs and name in keywords:
            named[name] = capture.default(source, name, name, keywords[name])
    return tuple(filled), named


class _FunctionScope:
    """The interpreter as one function sees it, with its own globals and closure."""

    def __init__(
        self, interpreter: Interpreter, namespace: dict[str, Any], cells: dict[str, CellType]
    ) -> None:
        self.interpreter = interpreter
        self.outer = OuterNames(interpreter, namespace, cells)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.interpreter, name)
        setattr(self, name, found)
        return found

    def global_(self, name: str) -> Any:
        """A global name or a builtin."""
        return self.outer.get(name)

    def allocate(self, x: Any) -> Any:
        """What the function has just made."""
        if type(x) in (dict, set):
            from tracejit.frontend.containers.dicts import begun

            frame = sys._getframe(1)
            return begun(self.interpreter, x, (frame.f_code, frame.f_lasti))
        return self.interpreter.allocate(x)

    def free(self, name: str) -> Any:
        """A name of the scope around the function."""
        return self.outer.get(name)

    def growing_name(self, name: str) -> Any:
        """A name outside the function, of which a method is called next that appends."""

        from tracejit.frontend.python.unread_lists import unread_name

        found = unread_name(self.interpreter, self.outer, name)
        return self.outer.get(name) if found is None else found

    def imported(self, module: str, level: int, name: str | None) -> Any:
        """What an import statement inside the function binds."""

        from tracejit.frontend.python.imports import imported

        return imported(self.interpreter, self.outer.namespace, module, level, name)
