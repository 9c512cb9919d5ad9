"""The decorated function: calls, specialisations, fallbacks.

A call is answered by a native entry where one fits. Otherwise the slow path flattens the arguments,
tries the variants that are not published natively, compiles a new one, or runs the user's function
eagerly.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit import config
from tracejit.errors import CODES, FallbackError, TraceError, Where
from tracejit.library_names import refresh
from tracejit.locks import holding, holds_lock, long_lock
from tracejit.runtime import native
from tracejit.runtime.binding import Binder, Form
from tracejit.runtime.report import Fallback, Report
from tracejit.runtime.signature import History, leaf_key

if TYPE_CHECKING:
    from tracejit.ir.graph import Graph
    from tracejit.runtime.executor import Run

__all__ = ["Jitted"]

_VARIANTS = 16
_STATIC_VARIANTS = 8
#: Calls of one kind that are remembered as ending in an exception before a trace gets to its end;
#: where there are as many, one that is new is only traced when it has ended otherwise.
_FAILED = 8
#: Kinds of arguments a function is compiled for: an object or a text that is new at every call is
#: part of the kind.
_STRUCTURES = 256


class _Structure:
    """What is known of calls with one tree and one key for each leaf."""

    def __init__(self) -> None:
        self.variants: list[Any] = []
        self.scalars_static = False
        self.eager: Fallback | None = None
        #: What stopped a compile that was neither compiled nor refused: user's error or compiler's.
        self.suspect: Fallback | None = None
        #: Shapes and numbers of calls that raise an exception which stops the trace, too, and of
        #: calls that have not after all.
        self.failed: set[Any] = set()
        self.passed: set[Any] = set()


@native.jit_type
class Jitted(native.JitBase):
    """A function compiled on demand. Made by `tracejit.jit`."""

    __slots__ = ("__dict__", "__weakref__")

    def __init__(
        self, function: Callable[..., Any], strict: bool = False, bounds_check: bool = True
    ) -> None:
        native.JitBase.__init__(
            self, functools.partial(_slow, self), functools.partial(_bail, self)
        )
        functools.update_wrapper(self, function)
        self.__tracejit__ = function
        self._strict = strict
        self._bounds_check = bounds_check
        self._lock = long_lock()
        self._structures: dict[object, _Structure] = {}
        self._histories: dict[object, History] = {}
        self._captured: dict[str, list[tuple[int, ...]]] = {}
        self._report = Report(getattr(function, "__qualname__", repr(function)))
        self._signature = inspect.signature(function)
        self._binder = Binder(function)

    def __repr__(self) -> str:
        return f"<jitted {self._report.function}>"

    def __reduce__(self) -> Any:
        return self._report.function

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __get__(self, instance: Any, owner: type | None = None, /) -> Any:
        return self if instance is None else MethodType(self, instance)

    def report(self) -> Report:
        """What was compiled and why, and what runs eagerly and why."""
        return self._report

    def trace(self, *args: Any, **kwargs: Any) -> Graph:
        """The graph of a call with such arguments. Raises TraceError where it cannot be traced."""
        from tracejit.runtime.specialize import lower_call

        return lower_call(self, args, kwargs).graphs["trace"]

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """Every stage of a compile for such arguments: `.stages`, `.text(stage)`.

        Raises TraceError where the call cannot be traced.
        """
        from tracejit.runtime.specialize import lower_call

        return lower_call(self, args, kwargs)

    def partial(
        self,
        /,
        *args: Any,
        outputs: Sequence[int] = (0,),
        workers: int | None = None,
        **kwargs: Any,
    ) -> Run:
        """Some results of a call with these arguments, computed without the others.

        `outputs` are numbers of results, as they follow in the tuple, dict or other container that
        the function returns, those of containers inside it counted too. The flat graph is run node
        by node: what these results do not need is left out, prints included, but an exception that
        the function raises itself is raised. `workers` is a number of threads among which
        independent nodes are divided; without it, one node runs after another. The arguments keep
        their contents.

        Gives the run: `.outputs`, and as a record `.times` (node, seconds, frame, iteration) and
        `.fired` (how often each node ran). Raises TraceError where the call cannot be traced,
        Bailout where only eager execution can say what happens, ValueError for a result that there
        is not, and the exceptions of the function.
        """
        from tracejit.runtime.partial_call import partial_call

        return partial_call(self, args, kwargs, outputs, workers)


def _eagerly(self: Any, args: Any, kwargs: Any) -> Any:
    return self.__tracejit__(*args, **kwargs)


def _bail(self: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Raise what a compiled run was left by, or repeat the call that it refused to finish."""
    from tracejit.codegen.printing import leave_run, skipping

    printed = leave_run()
    report = self._report
    report.bailouts += 1
    restore = _contents(args, kwargs) if self._strict else None
    try:
        with skipping(printed):
            result = _eagerly(self, args, kwargs)
    except Exception as e:
        report.repeats[f"{type(e).__name__} at {_line_in(self.__tracejit__, e)}"] += 1
        raise
    report.repeats["without an exception"] += 1
    if restore is not None:
        restore()
        raise FallbackError("TJ010", "no exception came of it", _line_in(self.__tracejit__, None))
    return result


def _contents(args: Any, kwargs: Any) -> Callable[[], None]:
    """What gives the arrays among the arguments their present contents again.

    Only an eager run tells the user's own exceptions from fallbacks. Where `strict` makes an error
    of it when it has ended, its stores must not be seen.
    """
    leaves, _ = _flatten()(args, kwargs)
    arrays = [x for x in leaves if isinstance(x, np.ndarray) and x.flags.writeable]
    saved = [(x, x.copy()) for x in arrays]

    def restore() -> None:
        for x, old in saved:
            x[...] = old

    return restore


_DEFAULT_ERRORS = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}


def _slow(self: Any, /, *args: Any, **kwargs: Any) -> Any:
    if config.is_eager():
        return _eagerly(self, args, kwargs)
    if holds_lock() or sys.is_finalizing():
        # A finalizer, which has interrupted a compile, must not wait for another thread's, and may
        # find the compiler taken apart at the very end.
        return _eagerly(self, args, kwargs)
    # A module that another thread is importing traces nothing yet.
    current = getattr(sys.modules.get("tracejit.frontend.trace"), "current_trace", None)
    if current is not None and current() is not None:
        # Rewritten code calls the plain function; a call from elsewhere in a trace is not followed.
        return _eagerly(self, args, kwargs)
    try:
        return _compiled(self, args, kwargs)
    except TraceError as e:
        return _fall_back(self, None, "", e, args, kwargs)


@functools.cache
def _flatten() -> Any:
    """A decorated function costs no front end before it is called."""
    from tracejit.frontend.containers import flatten

    return flatten


def _compiled(self: Any, args: Any, kwargs: Any) -> Any:
    """Raises TraceError where the arguments cannot be traced at all."""
    if not native.usual_errors() and np.geterr() != _DEFAULT_ERRORS:
        raise TraceError("TJ009")
    refresh()
    given = args, kwargs
    form = len(args), tuple(kwargs)
    if kwargs:
        args, kwargs = self._binder.bind(form, args, kwargs)
    leaves, tree = _flatten()(args, kwargs)
    key = (tree, tuple([leaf_key(x) for x in leaves]))
    structure = self._structures.get(key)
    if structure is None:
        if len(self._structures) >= _STRUCTURES:
            raise TraceError("TJ012", f"{_STRUCTURES} kinds of arguments")
        with self._lock:
            structure = self._structures.setdefault(key, _Structure())
    result = _try(self, structure, leaves, form)
    if result is native.MISS and structure.eager is None:
        what = _numbers(leaves)
        if _fails(self, structure, what):
            return _fail(self, structure, what, given)
        with self._lock:
            result = _try(self, structure, leaves, form)
            variant, obstacle = None, None
            if result is native.MISS and structure.eager is None:
                found = (known.obstacle(leaves) for known in structure.variants)
                obstacle = next((e for e in found if e is not None), None)
                if obstacle is None:
                    variant = _new_variant(self, structure, leaves, tree, form)
        if variant is not None:
            first, variant.first = variant.first, None
            # Code for flat leaves is only made where a call needs it.
            result = native.MISS if first is None else first(*given[0], **given[1])
            if result is native.MISS:
                result = variant(leaves)
            if result is native.MISS:
                obstacle = variant.obstacle(leaves)
            if result is native.MISS and obstacle is None:
                structure.eager = _compiler_fault(self, AssertionError("a variant without calls"))
                self._report.fallbacks.append(structure.eager)
        if obstacle is not None:
            return _past_obstacle(self, obstacle, args, kwargs)
    if result is native.BAIL:
        return _bail(self, *args, **kwargs)
    if result is native.MISS:
        return _without_variant(self, structure, leaves, args, kwargs)
    return result


def _numbers(leaves: Any) -> Any:
    """What a trace may rest on besides the kinds of arguments: shapes, and numbers by value."""
    return tuple([x.shape if isinstance(x, np.ndarray) else (type(x), repr(x)) for x in leaves])


def _fails(self: Any, structure: _Structure, what: Any) -> bool:
    """Whether such a call is expected to raise an exception that stops the trace, too."""
    if self._strict or not structure.failed:
        return False
    often = len(structure.failed) >= _FAILED and what not in structure.passed
    return what in structure.failed or often


def _fail(self: Any, structure: _Structure, what: Any, given: Any) -> Any:
    """Run eagerly, which is always right. A call that does not raise is traced the next time."""
    try:
        result = self.__tracejit__(*given[0], **given[1])
    except Exception as e:
        self._report.errors[f"{type(e).__name__} at {_line_in(self.__tracejit__, e)}"] += 1
        raise
    structure.failed.discard(what)
    if len(structure.passed) >= _STRUCTURES:
        structure.passed.clear()
    structure.passed.add(what)
    return result


def _try(self: Any, structure: _Structure, leaves: Any, form: Form) -> Any:
    """The result of the first variant that accepts the leaves; MISS or BAIL."""
    for variant in structure.variants:
        result = variant(leaves)
        if result is not native.MISS:
            if form not in variant.forms:
                _publish(self, variant, form)
            return result
    return native.MISS


def _publish(self: Any, variant: Any, form: Form) -> None:
    from tracejit.runtime.publish import publish

    with holding(self._lock):
        if form not in variant.forms:
            publish(self, variant, form, self._binder.places(form))


def _compiler_fault(self: Any, e: Exception) -> Fallback:
    where = _line_in(self.__tracejit__, e)
    return Fallback("TJ013", f"{type(e).__name__}: {e}", where, "")


def _without_variant(self: Any, structure: _Structure, leaves: Any, args: Any, kwargs: Any) -> Any:
    """Run eagerly. If tracing failed where eager execution succeeds, the compiler is at fault."""
    suspect = structure.suspect
    if structure.eager is not None or suspect is None:
        return _again(self, structure.eager, args, kwargs)
    structure.suspect = None
    restore = _contents(args, kwargs) if self._strict else None
    try:
        result = _eagerly(self, args, kwargs)
    except Exception as e:
        if len(structure.failed) < _FAILED:
            structure.failed.add(_numbers(leaves))
        self._report.errors[f"{type(e).__name__} at {_line_in(self.__tracejit__, e)}"] += 1
        raise
    structure.eager = suspect
    if suspect not in self._report.fallbacks:
        self._report.fallbacks.append(suspect)
    if restore is not None:
        restore()
        raise FallbackError(suspect.code, suspect.reason, suspect.where)
    return result


def _past_obstacle(self: Any, e: TraceError, args: Any, kwargs: Any) -> Any:
    """Run eagerly for arrays that compiled code must not write to; others of their kind it may."""
    if e.code == "TJ019":
        return _fall_back(self, None, "", e, args, kwargs)
    # NumPy refuses a store into a read-only array itself, unless the store is not reached.
    restore = _contents(args, kwargs) if self._strict else None
    result = _eagerly(self, args, kwargs)
    fallback = _record(self, e, "")
    if restore is not None:
        restore()
        raise FallbackError(fallback.code, fallback.reason, fallback.where)
    return result


def _again(self: Any, fallback: Fallback | None, args: Any, kwargs: Any) -> Any:
    """Run a form eagerly that has been reported before."""
    assert fallback is not None
    if self._strict:
        raise FallbackError(fallback.code, fallback.reason, fallback.where)
    return _eagerly(self, args, kwargs)


def _new_variant(self: Any, structure: _Structure, leaves: Any, tree: Any, form: Form) -> Any:
    """Compile for a call, or mark its structure as eager and give None."""
    from tracejit.runtime.specialize import specialize_call

    limit = _STATIC_VARIANTS if structure.scalars_static else _VARIANTS
    try:
        if len(structure.variants) >= limit:
            raise TraceError("TJ012", f"{limit} variants")
        places = self._binder.places(form)
        with holding(self._lock):
            variant, compiled = specialize_call(self, structure, leaves, tree, form, places)
    except TraceError as e:
        structure.eager = _record(self, e, "")
        return None
    except Exception as e:
        # The user's own error, which the eager run raises on the user's line, or the compiler's.
        structure.suspect = _compiler_fault(self, e)
        return None
    structure.variants.append(variant)
    self._report.variants.append(compiled)
    return variant


def _record(self: Any, e: TraceError, signature: str) -> Fallback:
    """Note a fallback, once for each place and reason."""
    where = e.where or _line_in(self.__tracejit__, e)
    fallback = Fallback(e.code, e.detail, where, signature)
    known = [(f.code, f.where, f.reason) for f in self._report.fallbacks]
    if (fallback.code, fallback.where, fallback.reason) not in known:
        self._report.fallbacks.append(fallback)
    return fallback


def _line_in(function: Callable[..., Any], e: BaseException | None) -> Where | None:
    """The innermost line of the user's file in a traceback, else where the function begins."""
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    place = Where(code.co_filename, code.co_firstlineno, code.co_name)
    frame = e.__traceback__ if e is not None else None
    while frame is not None:
        inner = frame.tb_frame.f_code
        if inner.co_filename == code.co_filename and frame.tb_lineno is not None:
            place = Where.of(inner, frame.tb_lineno, frame.tb_lasti)
        frame = frame.tb_next
    return place


def _fall_back(
    self: Any, structure: Any, signature: str, e: TraceError, args: Any, kwargs: Any
) -> Any:
    fallback = _record(self, e, signature)
    assert fallback.code in CODES
    return _again(self, fallback, args, kwargs)
