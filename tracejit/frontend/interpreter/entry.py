"""Runs a plain Python function on tracers, its code rewritten so that nothing is frozen by mistake.

How a dispatcher uses it, for one call of `f` that no compiled code fits yet:

    leaves, tree = flatten(args, kwargs)                  # pytree.py; part of the signature
    trace = Trace(f.__name__, ShapeEnv())
    with trace.active():
        traced = trace_function(f, leaves, tree, trace, make_leaf)
        outputs = [lift(x).value() for x in traced.leaves]

`make_leaf(value, name)` makes the tracer of an array or number in `trace` (or gives a number back
to keep it static). It is called for each of `leaves` in order, then for each array or NumPy scalar
that the function reaches outside its arguments, in the order of `traced.capture.inputs`. The
graph's outputs are `traced.leaves` (tracers and SymInts); `unflatten(traced.tree, values)` makes
the result of a call.

Before each later call of the compiled code, `traced.capture.reread()` gives the present values of
the captured inputs, to be checked and passed like arguments, or a text that says what has changed:
then the function must be traced anew. It may be skipped where `traced.capture.trivial` is set.

Whatever cannot be followed raises TraceError; any other exception is what the user's code raised on
the way. Both mean that the call is to be run eagerly.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType
from typing import Any

from tracejit.errors import TraceError, Where
from tracejit.frontend.capture.values import Capture, Source
from tracejit.frontend.control.branches import settle_bound
from tracejit.frontend.interpreter.interpreter import Hooks, Scope
from tracejit.frontend.interpreter.results import flatten_result
from tracejit.frontend.rewrite.function import rewrite_code
from tracejit.frontend.rewrite.source import find_definition, is_library_file
from tracejit.frontend.tracing.pytree import TreeDef, leaf_names, unflatten
from tracejit.frontend.tracing.trace import Trace
from tracejit.frontend.tracing.union import Unreachable

__all__ = ["Traced", "call_rewritten", "rewritten_code", "trace_function"]

_NOT_A_FUNCTION = {
    0x20: ("TJ023", "a generator function"),
    0x80: ("TJ026", "a coroutine function"),
    0x200: ("TJ026", "an asynchronous generator function"),
}


#: id of a code object -> (the object, weakly; its rewritten form).
_REWRITTEN: dict[int, tuple[weakref.ref[CodeType], CodeType]] = {}


@dataclass(frozen=True)
class Traced:
    """What a trace gives: the traced leaves of the result, their tree, what was read outside."""

    leaves: list[Any]
    tree: TreeDef
    capture: Capture


def trace_function(
    f: Callable[..., Any],
    leaves: Sequence[Any],
    tree: TreeDef,
    trace: Trace,
    make_leaf: Callable[[Any, str], Any],
) -> Traced:
    """Run `f` on tracers in `trace`, the active one; see the module's docstring.

    Raises TraceError, and whatever `f` raises.
    """
    capture = Capture(trace, make_leaf)
    hooks = Hooks(capture, (getattr(f, "__module__", "") or "").partition(".")[0])
    code = getattr(f, "__code__", None)
    parameters = code.co_varnames[: code.co_argcount] if code else ()
    try:
        tracers = list(map(make_leaf, leaves, leaf_names(tree, parameters)))
        args, kwargs = unflatten(tree, tracers, capture.add_rebuilt, capture.add_argument)
        capture.add_argument(f)
        try:
            result = hooks.call(f, *args, **kwargs)
        except Unreachable:
            result = None
        out, out_tree = _flattened(result, hooks, code)
    except TraceError as e:
        e.where = e.where or _innermost_place(e)
        raise
    except RecursionError as e:
        # A list in itself, blocks of thousands of statements: nothing of the compiler's own.
        what = "something that is nested in itself, or too deeply"
        raise TraceError("TJ008", what, _innermost_place(e)) from None
    finally:
        capture.close()
    return Traced(out, out_tree, capture)


def _flattened(result: Any, hooks: Hooks, code: CodeType | None) -> tuple[list[Any], TreeDef]:
    try:
        result = settle_bound(result)
        return flatten_result(result, hooks.is_made, hooks.capture.is_outside)
    except TraceError as e:
        e.where = _place(code) if code else e.where
        raise


def _innermost_place(error: BaseException) -> Where | None:
    """The innermost line outside the compiler that an exception has passed."""
    place, tb = None, error.__traceback__
    while tb is not None:
        code = tb.tb_frame.f_code
        if not is_library_file(code.co_filename):
            place = Where(code.co_filename, tb.tb_lineno, code.co_name)
        tb = tb.tb_next
    return place


def call_rewritten(
    hooks: Hooks, f: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call a function of the program, from outside the trace, in its rewritten form."""
    new = hooks.functions.get(id(f))
    source = hooks.capture.source_of(f)
    if source is None:
        raise TraceError("TJ006", f"the function {f.__qualname__}", _place(f.__code__))
    if new is None:
        new = hooks.functions[id(f)] = _rebuilt(hooks, f)
        code = f.__code__
        hooks.capture.guard_code(source, code)
    args, kwargs = _with_defaults(hooks, f, source, args, kwargs)
    hooks.enter(f.__code__)
    try:
        return new(*args, **kwargs)
    finally:
        hooks.leave(f.__code__)


def _rebuilt(hooks: Hooks, f: FunctionType) -> FunctionType:
    """`f` over hooks. Its defaults are filled in at each call, where they are captured."""
    code = rewritten_code(f)
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    scope = CellType(Scope(hooks, f.__globals__, cells))
    closure = tuple(scope for _ in code.co_freevars)
    return FunctionType(code, f.__globals__, f.__name__, None, closure)


def rewritten_code(f: FunctionType) -> CodeType:
    """The code of `f` over hooks; its only free variable holds them.

    Raises TraceError TJ007 where the source is not available, others where a construct is not
    traced.
    """
    code = f.__code__
    known = _REWRITTEN.get(id(code))
    if known is not None and known[0]() is code:
        return known[1]
    for flag, (number, what) in _NOT_A_FUNCTION.items():
        if code.co_flags & flag:
            raise TraceError(number, what, _place(code))
    new = rewrite_code(find_definition(f), code)
    key = id(code)
    _REWRITTEN[key] = weakref.ref(code, lambda _: _REWRITTEN.pop(key, None)), new
    return new


def _place(code: CodeType) -> Where:
    return Where(code.co_filename, code.co_firstlineno, code.co_name)


def _with_defaults(
    hooks: Hooks,
    f: FunctionType,
    source: Source,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments, with the defaults of `f` (values from outside) for those not given."""
    code, capture = f.__code__, hooks.capture
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
