"""The decorated function: calls, specialisations, fallbacks.

A call is answered by a native entry where one fits. Otherwise the slow path flattens the arguments,
tries the variants that are not published natively, compiles a new one, or runs the user's function
eagerly.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import config
from tracejit.base.deadlines import budgeted
from tracejit.base.locks import holding, holds_lock, long_lock, once
from tracejit.errors import FallbackError, GivenTwice, TraceError
from tracejit.frontend.capture.captured import Call, Learned, is_lasting
from tracejit.frontend.tracing.packed import FEW
from tracejit.frontend.tracing.pytree import flatten
from tracejit.link.library_names import refresh
from tracejit.runtime import native
from tracejit.runtime.cache.guard import never_fails
from tracejit.runtime.cache.recall import (
    cached,
    is_off,
    is_plain,
    recall,
    recalled_compiles,
    verdict_on,
)
from tracejit.runtime.cache.record import record, record_verdict
from tracejit.runtime.call.binding import Binder, Form
from tracejit.runtime.call.constants import MOST_VALUES, Constants
from tracejit.runtime.call.signature import History, leaf_key, rank_key
from tracejit.runtime.device.detect import first_array, is_on_device
from tracejit.runtime.entries.jit_type import name_of
from tracejit.runtime.nesting import EagerRuns
from tracejit.runtime.parts.effort import Allowance, now
from tracejit.runtime.plain_calls import PlainCalls
from tracejit.runtime.refusing import CODE
from tracejit.runtime.report.fallbacks import Fallbacks, keep_contents, line_in
from tracejit.runtime.report.report import Fallback, Report

__all__ = ["State", "answer", "left", "lowered", "partial_run"]

_VARIANTS = 16
_STATIC_VARIANTS = 8
#: Calls of one kind that are remembered as ending in an exception before a trace gets to its end;
#: where there are as many, none is traced before one has ended otherwise.
_FAILED = 8
#: Kinds of arguments a function is compiled for: an object or a text that is new at every call is
#: part of the kind.
_STRUCTURES = 256
#: Kinds of arguments from which on lists of few numbers are arrays, too.
_LENGTHS = 4
#: Up to so many numbers of lists are taken one by one, where they cannot be arrays.
_TAKEN_APART = 1000
#: How often a call compiles again because what it has compiled does not answer it.
_TRIES = 4


class _Structure:
    """What is known of calls with one tree and one key for each leaf."""

    def __init__(self) -> None:
        self.variants: list[Any] = []
        self.scalars_static = False
        #: Whether each variant is for sizes of its own.
        self.sizes_static = False
        #: Whether ints that vary are like sizes, however many ways they lead.
        self.ints_symbolic = False
        self.eager: Fallback | None = None
        #: Whether lists that are arrays here are taken apart instead.
        self.apart = False
        #: Whether lists of arrays are to be arrays, which they are not here.
        self.joined = False
        #: Whether its compiles are made by the calls that need them, in any case.
        self.foreground = False
        #: How many operations traces of one call have recorded, and milliseconds of those that
        #: have failed.
        self.spent = [0, 0]
        #: Shapes and numbers of calls that raise an exception which stops the trace, too.
        self.failed: set[Any] = set()


class State:
    """What the dispatcher keeps of a function, under the names of `Jitted`'s own attributes."""

    def __init__(self, jitted: Any) -> None:
        function, part, device = jitted.__tracejit__, jitted._part, jitted._device
        self.lock = long_lock()
        self.structures: dict[object, _Structure] = {}
        self.histories: dict[object, History] = {}
        self.captured: dict[str, list[tuple[int, ...]]] = {}
        self.learned = Learned()
        if device is not None:
            self.learned.like_of_device = device.like
        self.few = FEW
        self.report = jitted._given_report or Report(name_of(function))
        self.report.variants += recalled_compiles(jitted)
        how = "eagerly" if device is None else "on the host"
        quiet, strict = part is not None and device is None, jitted._options.strict
        self.fallbacks = jitted._given_fallbacks
        if self.fallbacks is None:
            self.fallbacks = Fallbacks(function, self.report, strict, quiet, how)
        #: What a compile has found that is to be kept once the call has ended well.
        self.verdict: Any = None
        if jitted._refused is not None:
            self.fallbacks.add(self.fallbacks.of(TraceError(CODE, jitted._refused)))
        #: The same function for devices, by their names.
        self.devices: dict[str, Any] = {}
        self.binder, self.constants = Binder(function), Constants()
        current = functools.partial(_current, jitted)
        self.eager_runs = EagerRuns(jitted, current)
        self.allowance = Allowance()
        self.plain_calls = PlainCalls(jitted, current, part is not None)


def lowered(self: Any, args: Any, kwargs: Any, device: str | None = None) -> Any:
    """As `Jitted.lower`."""
    from tracejit.runtime.compile.specialize import lower_call

    args, kwargs = _with_views(args, kwargs)
    return lower_call(self, args, kwargs, device)


def partial_run(self: Any, args: Any, kwargs: Any, outputs: Any, workers: int | None) -> Any:
    """As `Jitted.partial`."""
    from tracejit.runtime.dataflow.partial_call import partial_call

    args, kwargs = _with_views(args, kwargs)
    return partial_call(self, args, kwargs, outputs, workers)


def left(self: Any, args: Any, kwargs: Any) -> Any:
    """Raise what a compiled run was left by, or repeat the call that it refused to finish."""
    from tracejit.codegen.support.printing import leave_run, skipping
    from tracejit.ops.host.exchange import repeating

    printed = leave_run()
    report, function = self._report, self.__tracejit__
    report.bailouts += 1
    if report.bailouts == len(report.variants) == 1:
        self._allowance.left_at_once()
    restore = _kept(self, args, kwargs) if self._fallbacks.is_strict else None
    try:
        # What is not to be written twice is written here, by a part, too.
        is_written = printed is not None and printed.written
        with skipping(printed), repeating(), self._eager_runs:
            result = (function if is_written else _plain(self))(*args, **kwargs)
    except Exception as e:
        report.repeats[f"{type(e).__name__} at {line_in(function, e)}"] += 1
        raise
    report.repeats["without an exception"] += 1
    _parts(self).missed()
    if restore is not None:
        restore()
        raise FallbackError("TJ010", "no exception came of it", line_in(function, None))
    return result


def answer(self: Any, args: Any, kwargs: Any) -> Any:
    """The answer, timed where a profile is taken; under a debugger, that of the function itself."""
    trace = sys.gettrace()
    if trace is not None and not config.is_traced():
        if native.is_debugger(trace):
            with self._eager_runs:
                return _plain(self)(*args, **kwargs)
        # Entries do not answer by themselves in a thread that is traced.
        if not config.is_eager() and native.errors_are_quiet():
            result = _past_the_gate(self, args, kwargs)
            if result is not native.MISS:
                return result
    timers, profiler = self._options.timers, config.profiler()
    if timers is not None:
        # What it calls as Python is profiled as well.
        with config.profiling(timers.profiler):
            return _answer(self, args, kwargs)
    if profiler is None or config.is_traced():
        return _answer(self, args, kwargs)
    return profiler.call(self, args, kwargs)


def _answer(self: Any, args: Any, kwargs: Any) -> Any:
    # Rewritten code calls the plain function; a call from elsewhere in a trace is not followed.
    followed = not config.is_traced()
    array = first_array((*args, *kwargs.values())) if followed and self._device is None else None
    if array is not None and not is_on_device(array):
        return _exchange().call_with_views(self, array, args, kwargs)
    # A finalizer, which has interrupted a compile, must not wait for another thread's, and may find
    # the compiler taken apart at the very end.
    eager = config.is_eager() or holds_lock() or sys.is_finalizing()
    function = _plain(self)
    if followed and not eager:
        if self._device is None and (array is not None or self._options.moves is not None):
            return _on_device()(self, array, args, kwargs)
        try:
            result = _compiled(self, args, kwargs)
        except TraceError as e:
            self._fallbacks.tell(self._fallbacks.add(self._fallbacks.of(e)))
            if e.code != "TJ009":
                function = _parts(self).run(args)
        else:
            if result is not native.MISS:
                self._plain_calls.answered(args, kwargs)
                return result
            function = _parts(self).run(args)
            verdict, start = _taken(self), now()
            try:
                with self._eager_runs:
                    result = self._allowance.run(function, *args, **kwargs)
                if verdict is not None:
                    record_verdict(self, verdict, now() - start)
                return result
            finally:
                self._plain_calls.ran_eagerly(args, kwargs)
    with self._eager_runs:
        return function(*args, **kwargs)


def _taken(self: Any) -> Any:
    """What a compile has found that is to be kept; None from then on."""
    verdict, self._verdict = self._verdict, None
    return verdict


@once
def _exchange() -> Any:
    from tracejit.runtime.exchange import calls

    return calls


def _with_views(args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments with NumPy's views in the place of other libraries' arrays of the host."""
    array = first_array((*args, *kwargs.values()))
    if array is None or is_on_device(array):
        return args, kwargs
    args, kwargs = _exchange().with_views(array, args, kwargs)
    return args, kwargs


@once
def _on_device() -> Any:
    from tracejit.runtime.device.finding import call_on_device

    return call_on_device


def _plain(self: Any) -> Any:
    """What is called where a call must run as plain Python."""
    return self.__tracejit__ if self._part is None else self._part.plain


def _current(self: Any) -> Any:
    """The function, or what runs in its place where it runs eagerly for long."""
    return self.__tracejit__ if self._part is None else self._part.current()


def _parts(self: Any) -> Any:
    """What of the function is compiled where it runs eagerly."""
    if self._part is None:
        from tracejit.runtime.parts.functions import FunctionParts
        from tracejit.runtime.parts.root import Root

        function = self.__tracejit__
        self._part = FunctionParts(
            function, Root(function, self._report, self._of_part, self._allowance)
        )
    return self._part


@functools.cache
def _flatten() -> Any:
    """A decorated function costs no front end before it is called."""
    return flatten


def _compiled(
    self: Any,
    args: Any,
    kwargs: Any,
    tries: int = _TRIES,
    apart: bool = False,
    joined: bool = False,
    earlier: tuple[list[int], TraceError, Any] | None = None,
) -> Any:
    """The result, or MISS for what is to be run eagerly and is reported.

    Lists of numbers are arrays, if they are long and not to be taken `apart`, and lists of arrays
    if they are to be `joined`; an `earlier` attempt has recorded so much, and ended so, which is
    this verdict. Raises TraceError where the arguments cannot be traced at all.
    """
    if not native.errors_are_quiet():
        raise TraceError("TJ009")
    given = args, kwargs
    strict = self._fallbacks.is_strict
    if not (self._allowance.is_left(self._eager_runs.is_inside) or strict):
        # Not even looked at: that, too, may take longer than the call.
        late = TraceError("TJ012", "they have taken longer than plain calls do")
        known = self._report.fallbacks or [self._fallbacks.add(self._fallbacks.of(late))]
        self._fallbacks.tell(known[-1])
        return native.MISS
    form = len(args), tuple(kwargs)
    if kwargs:
        args, kwargs = self._binder.bind(form, args, kwargs)
    args, kwargs = self._binder.without_unread(args, kwargs)
    reads = self._binder.parts_read(len(args))
    leaves, tree = _flatten()(args, kwargs, None if apart else self._few, joined, reads)
    key = (tree, tuple([leaf_key(x) for x in leaves]))
    structure = self._structures.get(key)
    if structure is None:
        if self._few and not apart and len(self._structures) >= _LENGTHS:
            # Short lists may come in many lengths, too.
            self._few = 0
            return _compiled(self, *given, tries, joined=joined)
        if len(self._structures) >= _STRUCTURES:
            raise TraceError("TJ012", f"{_STRUCTURES} kinds of arguments")
        named = "" if strict else self._constants.too_many(tree, self._signature)
        if named:
            many = TraceError("TJ012", f"more than {MOST_VALUES} values of {named}")
            self._fallbacks.tell(self._fallbacks.add(self._fallbacks.of(many)))
            return native.MISS
        with self._lock:
            structure = self._structures.setdefault(key, _Structure())
        hopeless = self._fallbacks.hopeless
        if hopeless is not None and not any(s.variants for s in self._structures.values()):
            structure.eager = hopeless
    if structure.joined and not joined:
        return _compiled(self, *given, tries, apart, joined=True)
    if structure.apart and not apart:
        return _compiled(self, *given, tries, apart=True, joined=joined)
    call = Call(leaves, (args, kwargs))
    count = len(structure.variants)
    result = _by_entry(structure, given) if refresh() else native.MISS
    if result is native.MISS:
        result = _try(self, structure, call, form)
    if result is native.MISS and structure.eager is None:
        if not _parts(self).is_ready():
            return native.MISS
        what = _numbers(leaves)
        if _fails(self, structure, what):
            return _fail(self, structure, what, given)
        if recall(self, *given, again=True):
            # Another process, or what has changed since, may have made a file of use here.
            result = _past_the_gate(self, *given)
            if result is not native.MISS:
                return left(self, *given) if result is native.BAIL else result
        verdict = verdict_on(self, *given)
        if verdict is not None:
            structure.eager = self._fallbacks.add(verdict.fallback)
            _parts(self).root.guilty.update(verdict.guilty)
            self._fallbacks.tell(structure.eager)
            return native.MISS
        if is_plain(self, *given) and self._plain_calls.recalled(*given):
            with self._eager_runs:
                return _plain(self)(*given[0], **given[1])
        if config.background() and not structure.foreground and not self._fallbacks.is_strict:
            from tracejit.runtime import background

            def compile_for(args: Any, kwargs: Any) -> None:
                if len(structure.variants) == count:  # or another compile has ended meanwhile
                    _compile_for(self, structure, key, form, (apart, joined), args, kwargs)

            if background.begin(self, key, given, compile_for):
                with self._eager_runs:
                    return _plain(self)(*given[0], **given[1])
        with self._lock:
            result = _try(self, structure, call, form)
            variant, error, suspect, refusal = None, None, None, None
            if result is native.MISS and structure.eager is None:
                found = (known.refusal(call) for known in structure.variants)
                refusal = next((e for e in found if e is not None), None)
                if refusal is None:
                    structure.spent = [0, 0] if earlier is None else earlier[0]
                    variant, error = _new_variant(self, structure, call, tree, form, given)
        structure.joined = error is not None and tree.joinable and not joined
        structure.apart = error is not None and not apart and 0 < tree.packed <= _TAKEN_APART
        if structure.joined or structure.apart:
            if earlier is None and isinstance(error, TraceError):
                fallback = self._fallbacks.of(error)
                found = _verdict(self, structure, tree, form, given, error, fallback)
                earlier = structure.spent, error, found
            again = (apart, True) if structure.joined else (True, joined)
            return _compiled(self, *given, tries, *again, earlier)
        if isinstance(error, TraceError):
            told = error if earlier is None or error.code != "TJ032" else earlier[1]
            structure.eager = self._fallbacks.failed(told)
            _parts(self).failed(self._fallbacks.of(error), error)
            before = None if earlier is None else earlier[2]
            if before is not None or not (apart or joined):
                fallback = structure.eager
                self._verdict = _verdict(
                    self, structure, tree, form, given, error, fallback, before
                )
        elif error is not None:
            suspect = self._fallbacks.fault(error)
        if variant is not None:
            self._plain_calls.compiled(*given, variant)
            first = variant.first
            if variant.is_worthwhile:
                variant.first = None
            # Code for flat leaves is only made where a call needs it.
            result = native.MISS if first is None else first(*given[0], **given[1])
            if result is native.MISS:
                result = variant(call)
            if result is native.MISS:
                refusal = variant.refusal(call)
            if result is native.MISS and refusal is None:
                if tries:
                    # Another thread has rebound what the function captures, since it was traced.
                    return _compiled(self, *given, tries - 1, apart, joined)
                fault = self._fallbacks.fault(AssertionError("a variant without calls"))
                structure.eager = self._fallbacks.add(fault)
        if refusal is not None:
            return _past_refusal(self, refusal, args, kwargs)
        if suspect is not None and not _parts(self).raises:
            # Whoever runs it plainly sees; calls like this one are not tried again.
            structure.failed.add(what)
            return _plain(self)(*args, **kwargs)
        if suspect is not None:
            # Only an eager run tells whether the compiler is at fault: where that ends well.
            return _first(self, suspect, args, kwargs, structure, what)
    if result is native.BAIL:
        return left(self, args, kwargs)
    if result is native.MISS:
        assert structure.eager is not None
        if self._fallbacks.is_strict and (verdict := _taken(self)) is not None:
            record_verdict(self, verdict, math.inf)
        self._fallbacks.tell(structure.eager)
    return result


@never_fails(lambda: None)
def _verdict(
    self: Any,
    structure: _Structure,
    tree: Any,
    form: Form,
    given: Any,
    error: TraceError,
    fallback: Fallback,
    before: Any = None,
) -> Any:
    """What other processes may rely on of a compile that has ended in an error, or None.

    The verdict `before` is on the same call, whose lists were taken otherwise.
    """
    from tracejit.runtime.compile.verdict import verdict_of

    attempts, self._learned.attempts = self._learned.attempts, []
    if structure.variants or self._few != FEW or not self._learned.was_new:
        return None  # What this process has learned from earlier calls is nothing that others know.
    if is_off() or cached(self).key is None or not is_lasting(error):
        return None
    guilty, places = _parts(self).root.guilty, self._binder.places(form)
    return verdict_of(attempts, fallback, guilty, tree, form, places, given, before)


def _compile_for(
    self: Any, structure: _Structure, key: Any, form: Form, how: Any, args: Any, kwargs: Any
) -> None:
    """Compile for a call with these arguments, which is not made."""
    given = args, kwargs
    if kwargs:
        args, kwargs = self._binder.bind(form, args, kwargs)
    args, kwargs = self._binder.without_unread(args, kwargs)
    reads = self._binder.parts_read(len(args))
    leaves, tree = _flatten()(args, kwargs, None if how[0] else self._few, how[1], reads)
    if (tree, tuple([leaf_key(x) for x in leaves])) != key:
        structure.foreground = True
        return
    with self._lock:
        structure.spent = [0, 0]
        call = Call(leaves, (args, kwargs))
        try:
            variant, error = _new_variant(self, structure, call, tree, form, given)
        except Exception as e:
            variant, error = None, e
    # Where it fails, or has no entry, a call goes the usual way: it says why.
    structure.foreground |= error is not None or variant is None or variant.call_spec is None


def _numbers(leaves: Any) -> Any:
    """What a trace may rest on besides the kinds of arguments: shapes, and numbers by value."""
    return tuple(map(_number, leaves))


def _number(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return x.shape
    plain = type(x) in (bool, int, float, complex) or isinstance(x, np.generic)
    return type(x), repr(x) if plain else id(x)


def _fails(self: Any, structure: _Structure, what: Any) -> bool:
    """Whether such a call is expected to raise an exception that stops the trace, too."""
    if self._fallbacks.is_strict:
        return False
    return what in structure.failed or len(structure.failed) >= _FAILED


def _fail(self: Any, structure: _Structure, what: Any, given: Any) -> Any:
    """Run eagerly, which is always right. Once that does not raise, calls are traced again."""
    try:
        with self._eager_runs:
            result = _plain(self)(*given[0], **given[1])
    except Exception as e:
        _count_error(self, e)
        raise
    if len(structure.failed) < _FAILED:
        structure.failed.discard(what)
    else:
        structure.failed.clear()
    return result


def _count_error(self: Any, e: Exception) -> None:
    self._report.errors[f"{type(e).__name__} at {line_in(self.__tracejit__, e)}"] += 1


def _past_the_gate(self: Any, args: Any, kwargs: Any) -> Any:
    """The result of the entries, where the context is such that the gate would lead to them.

    MISS where a library's name is bound to something else, which no entry looks at.
    """
    if self._shown is None or not refresh():
        return native.MISS
    return self._shown.run(*args, **kwargs)


def _by_entry(structure: _Structure, given: Any) -> Any:
    """The result of an entry that calls seldom come to, since they are answered plainly."""
    for variant in structure.variants:
        first = variant.first
        if first is not None:
            return first(*given[0], **given[1])
    return native.MISS


def _try(self: Any, structure: _Structure, call: Call, form: Form) -> Any:
    """The result of the first variant that accepts the call; MISS or BAIL."""
    for variant in structure.variants:
        result = variant(call)
        if result is not native.MISS:
            if form not in variant.forms:
                _publish(self, variant, form)
            return result
    return native.MISS


def _publish(self: Any, variant: Any, form: Form) -> None:
    from tracejit.runtime.compile.publish import publish

    with holding(self._lock):
        if form not in variant.forms:
            publish(self, variant, form, self._binder.places(form))


def _past_refusal(self: Any, e: TraceError, args: Any, kwargs: Any) -> Any:
    """Run eagerly for arrays that compiled code must not write to; others of their kind it may."""
    if e.code == "TJ019":
        raise e
    # NumPy refuses a store into a read-only array itself, unless the store is not reached.
    return _first(self, self._fallbacks.of(e), args, kwargs)


def _first(
    self: Any,
    fallback: Fallback,
    args: Any,
    kwargs: Any,
    structure: _Structure | None = None,
    what: Any = None,
) -> Any:
    """Run eagerly, and say so only then: an exception of the function itself is no fallback.

    Calls like this one, `what`, are then expected to raise it. Where it is an error to have run
    eagerly, nothing has been stored.
    """
    told = self._fallbacks
    restore = _kept(self, args, kwargs) if told.may_raise(fallback) else None
    try:
        with self._eager_runs:
            result = _plain(self)(*args, **kwargs)
    except Exception as e:
        if structure is not None:
            _count_error(self, e)
            if len(structure.failed) < _FAILED:
                structure.failed.add(what)
        raise
    if structure is not None:
        structure.eager = fallback
    told.add(fallback)
    try:
        told.tell(fallback)
    except BaseException:
        if restore is not None:
            restore()
        raise
    return result


def _kept(self: Any, args: Any, kwargs: Any) -> Callable[[], None]:
    """What gives all that a call may change its present contents again."""
    if self._device is not None:
        restore: Callable[[], None] = self._device.keep(args, kwargs)
        return restore
    return keep_contents(self.__tracejit__, args, kwargs)


def _new_variant(
    self: Any, structure: _Structure, call: Call, tree: Any, form: Form, given: Any
) -> tuple[Any, Exception | None]:
    """A variant for a call, or what has stopped the compile: a TraceError where its structure is
    eager, else what may be the user's error, which the eager run raises on the user's line.
    """
    from tracejit.runtime.compile.specialize import specialize_call

    budget = budgeted(*config.compile_budget())
    limit = _STATIC_VARIANTS if structure.scalars_static else _VARIANTS
    limit = min(limit, _parts(self).most_variants)
    try:
        if len(structure.variants) >= limit:
            raise TraceError("TJ012", f"{limit} variants")
        places = self._binder.places(form)
        self._learned.begin()
        compiling = self._allowance.compiling(self._eager_runs.is_inside())
        with holding(self._lock), budget, _parts(self).compiling(), compiling as ended:
            variant, compiled = specialize_call(self, structure, call, tree, form, places)
            ended.append(True)
    except GivenTwice:
        raise  # Other calls of this kind may be compiled.
    except Exception as e:
        return None, e
    self._learned.attempts = []
    structure.variants.append(variant)
    self._report.variants.append(compiled)
    ranks = rank_key(call.leaves)
    record(self, variant, compiled, given, ranks, self._histories[ranks].seen)
    self._fallbacks.log_compile(compiled)
    return variant, None
