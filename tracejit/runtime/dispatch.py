"""The decorated function: calls, specialisations, fallbacks.

A call is answered by a native entry where one fits. Otherwise the slow path flattens the arguments,
tries the variants that are not published natively, compiles a new one, or runs the user's function
eagerly.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit import config
from tracejit.errors import FallbackError, GivenTwice, TraceError
from tracejit.frontend.capture.captured import Call, Learned
from tracejit.frontend.tracing.packed import FEW
from tracejit.frontend.tracing.pytree import flatten
from tracejit.library_names import refresh
from tracejit.locks import holding, holds_lock, long_lock, once
from tracejit.methods import BoundMethod
from tracejit.runtime import native
from tracejit.runtime.call.binding import Binder, Form
from tracejit.runtime.call.signature import History, leaf_key
from tracejit.runtime.device.detect import first_array, is_on_device
from tracejit.runtime.nesting import EagerRuns
from tracejit.runtime.options import Options
from tracejit.runtime.pickling import reduced
from tracejit.runtime.plain_calls import PlainCalls
from tracejit.runtime.report.fallbacks import Fallbacks, keep_contents, line_in
from tracejit.runtime.report.report import Fallback, Report
from tracejit.runtime.tracebacks import show_users_lines
from tracejit.shown import shown

if TYPE_CHECKING:
    from tracejit.ir.graph import Graph
    from tracejit.runtime.dataflow.executor import Run

__all__ = ["Jitted", "JittedObject", "jitted"]

_PLAIN = Options()
_VARIANTS = 16
_STATIC_VARIANTS = 8
#: Methods that are class methods or static methods without saying so.
_IMPLICIT = {
    "__class_getitem__": classmethod,
    "__init_subclass__": classmethod,
    "__new__": staticmethod,
}
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
        self.eager: Fallback | None = None
        #: Whether lists that are arrays here are taken apart instead.
        self.apart = False
        #: Whether lists of arrays are to be arrays, which they are not here.
        self.joined = False
        #: How many operations traces of one call have recorded.
        self.spent = [0]
        #: Shapes and numbers of calls that raise an exception which stops the trace, too.
        self.failed: set[Any] = set()


def _of_function(name: str) -> property:
    """An attribute of the function that a compiled one stands for."""

    def read(self: Any) -> Any:
        return getattr(self.__tracejit__, name)

    def write(self: Any, value: Any) -> None:
        setattr(self.__tracejit__, name, value)

    return property(read, write)


@native.jit_type
class Jitted(native.JitBase):
    """A function compiled on demand. Made by `tracejit.jit`.

    As `functools.wraps` has it, it shows the names and attributes of the function, and itself
    becomes a method in a class. What the function consists of (`__code__`, `__defaults__` and such)
    is the function's own at any time, and is changed there.
    """

    # What is in the dict is copied by `functools.wraps`: the compiler's own is not.
    __slots__ = (
        "__dict__",
        "__tracejit__",
        "__weakref__",
        "_binder",
        "_captured",
        "_device",
        "_devices",
        "_eager_runs",
        "_fallbacks",
        "_few",
        "_histories",
        "_learned",
        "_lock",
        "_options",
        "_part",
        "_plain_calls",
        "_report",
        "_structures",
    )

    def __init__(
        self,
        function: Callable[..., Any],
        options: Options = _PLAIN,
        part: Any = None,
        device: Any = None,
        report: Report | None = None,
    ) -> None:
        native.JitBase.__init__(
            self, functools.partial(_slow, self), functools.partial(_bail, self)
        )
        self.__tracejit__ = function
        self._options = options
        self._lock = long_lock()
        self._structures: dict[object, _Structure] = {}
        self._histories: dict[object, History] = {}
        self._captured: dict[str, list[tuple[int, ...]]] = {}
        self._learned = Learned()
        if device is not None:
            self._learned.like_of_device = device.like
        self._few = FEW
        self._report = report or Report(getattr(function, "__qualname__", None) or repr(function))
        how = "eagerly" if device is None else "on the host"
        quiet = part is not None and device is None
        self._fallbacks = Fallbacks(function, self._report, options.strict, quiet, how)
        #: What runs in place of the function where it runs eagerly; of a part of another, that.
        self._part = part
        #: Where its programs run: on the host, or on this device.
        self._device = device
        #: The same function for devices, by their names.
        self._devices: dict[str, Any] = {}
        self._binder = Binder(function)
        current = functools.partial(_current, self)
        self._eager_runs = EagerRuns(self, current)
        self._plain_calls = PlainCalls(self, current, part is not None)
        self._describe()

    def _describe(self) -> None:
        """Take over what describes the function."""
        functools.update_wrapper(self, self.__tracejit__)

    __code__ = _of_function("__code__")
    __defaults__ = _of_function("__defaults__")
    __kwdefaults__ = _of_function("__kwdefaults__")
    __globals__ = _of_function("__globals__")
    __closure__ = _of_function("__closure__")
    __builtins__ = _of_function("__builtins__")

    def _signature(self, follow_wrapped: bool = True) -> inspect.Signature:
        """The parameters as they are now; any, where the function does not say."""
        try:
            return inspect.signature(self.__tracejit__, follow_wrapped=follow_wrapped)
        except (TypeError, ValueError):
            return inspect.signature(lambda *args, **kwargs: None)

    def __set_name__(self, owner: type, name: str) -> None:
        # What a class makes of functions with these names, and of nothing else.
        kind = _IMPLICIT.get(name)
        if kind is not None and isinstance(self.__tracejit__, FunctionType):
            setattr(owner, name, kind(self))

    def __repr__(self) -> str:
        return f"<jitted {self._report.function}>"

    def _repr_html_(self) -> str:
        return shown(self)

    def __reduce_ex__(self, protocol: Any, /) -> Any:
        return reduced(self, sys._getframe(1))

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def report(self) -> Report:
        """What was compiled and why, and what runs eagerly and why."""
        return self._report

    def trace(self, *args: Any, **kwargs: Any) -> Graph:
        """The graph of a call with such arguments. Raises TraceError where it cannot be traced."""
        from tracejit.runtime.compile.specialize import lower_call

        args, kwargs = _with_views(args, kwargs)
        return lower_call(self, args, kwargs).graphs["trace"]

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """Every stage of a compile for such arguments: `.stages`, `.text(stage)`.

        Of a function that is moved to a device they are those of its program there, whether there
        is such a device or not. Raises TraceError where the call cannot be traced.
        """
        from tracejit.runtime.compile.specialize import lower_call

        args, kwargs = _with_views(args, kwargs)
        return lower_call(self, args, kwargs, self._options.moves)

    def view(self, /, *args: Any, **kwargs: Any) -> Any:
        """One page with source, stages, machine code and memory, linked by lines, as an object
        with `.save(path)` and `.open()`, for such arguments, or without any for the newest compile.

        Raises ValueError where there is none.
        """
        page = importlib.import_module("tracejit.view.page")
        return page.view(self, args if args or kwargs else None, kwargs)

    def all_reasons(self, /, *args: Any, **kwargs: Any) -> Any:
        """Every reason for which a call with such arguments runs eagerly, those first that block
        most; empty where it is compiled whole. The function is run once on copies of them.
        """
        reasons = importlib.import_module("tracejit.inspect.reasons")
        return reasons.all_reasons(self, args, kwargs)

    def profile(self, /, *args: Any, **kwargs: Any) -> Any:
        """Where the time of calls with copies of these arguments goes, by line and kernel, beside
        that of plain NumPy: see `tracejit.profile`. It runs for about 0.2 seconds.
        """
        profiler = importlib.import_module("tracejit.profiler")
        return profiler.profile_call(self, args, kwargs)

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
        their contents. Arrays in `.outputs` are NumPy's.

        Gives the run: `.outputs`, and as a record `.times` (node, seconds, frame, iteration) and
        `.fired` (how often each node ran). Raises TraceError where the call cannot be traced,
        Bailout where only eager execution can say what happens, ValueError for a result that there
        is not, and the exceptions of the function.
        """
        from tracejit.runtime.dataflow.partial_call import partial_call

        args, kwargs = _with_views(args, kwargs)
        return partial_call(self, args, kwargs, outputs, workers)


@native.jit_type
class JittedObject(Jitted):
    """A callable that is no function of Python, compiled on demand. Made by `tracejit.jit`.

    It has the attributes of the callable, such as `cache_info`, and becomes a method in a class if
    the callable does.
    """

    __slots__ = ()

    def _describe(self) -> None:
        for name in functools.WRAPPER_ASSIGNMENTS:
            value = getattr(self.__tracejit__, name, None)
            # An object shows the annotations of its class, which are of its attributes.
            own = name != "__annotations__" or value is not getattr(
                type(self.__tracejit__), name, None
            )
            if value is not None and own:
                object.__setattr__(self, name, value)
        object.__setattr__(self, "__wrapped__", self.__tracejit__)

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "__tracejit__"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        function = getattr(self, "__tracejit__", None)
        own = name in self.__dict__ or hasattr(type(self), name)
        # What its class declares may not be set yet.
        theirs = hasattr(type(function), name) or hasattr(function, name)
        if own or function is None or not theirs:
            object.__setattr__(self, name, value)
        else:
            setattr(function, name, value)

    def __delattr__(self, name: str) -> None:
        own = name in self.__dict__ or hasattr(type(self), name)
        object.__delattr__(self, name) if own else delattr(self.__tracejit__, name)

    def __get__(self, instance: Any, owner: type | None = None, /) -> Any:
        function = self.__tracejit__
        bind = getattr(type(function), "__get__", None)
        if bind is None or instance is None:
            return self
        bound = bind(function, instance, owner)
        is_method = isinstance(bound, MethodType) and bound.__func__ is function
        if is_method:
            return BoundMethod(self, bound.__self__)
        return self if bound is function else bound


def jitted(function: Callable[..., Any], options: Options) -> Jitted:
    """The compiled form of a callable."""
    # A transform of a function is in its place, in a class too.
    is_transform = hasattr(function, "traced_call") and not hasattr(type(function), "__get__")
    is_function = isinstance(function, FunctionType) or is_transform
    return (Jitted if is_function else JittedObject)(function, options)


def _bail(self: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Raise what a compiled run was left by, or repeat the call that it refused to finish."""
    try:
        return _left(self, args, kwargs)
    except BaseException as e:
        _shorten(e)
        raise


def _slow(self: Any, /, *args: Any, **kwargs: Any) -> Any:
    try:
        return _profiled(self, args, kwargs)
    except BaseException as e:
        _shorten(e)
        raise


def _shorten(e: BaseException) -> None:
    """Let an exception show the user's lines; a trace asks where in the compiler it has begun."""
    if not _is_traced():
        show_users_lines(e)


def _is_traced() -> bool:
    # A module that another thread is importing traces nothing yet.
    current = getattr(sys.modules.get("tracejit.frontend.tracing.trace"), "current_trace", None)
    return current is not None and current() is not None


def _left(self: Any, args: Any, kwargs: Any) -> Any:
    from tracejit.codegen.support.printing import leave_run, skipping
    from tracejit.ops.host.exchange import repeating

    printed = leave_run()
    report, function = self._report, self.__tracejit__
    report.bailouts += 1
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


def _profiled(self: Any, args: Any, kwargs: Any) -> Any:
    """The answer, timed where a profile is taken; under a debugger, that of the function itself."""
    trace = sys.gettrace()
    if trace is not None and not _is_traced():
        if native.is_debugger(trace):
            with self._eager_runs:
                return _plain(self)(*args, **kwargs)
        # Entries do not answer by themselves in a thread that is traced.
        result = native.MISS if self._shown is None else self._shown.run(*args, **kwargs)
        if result is not native.MISS:
            return result
    timers, profiler = self._options.timers, config.profiler()
    if timers is not None:
        # What it calls as Python is profiled as well.
        with config.profiling(timers.profiler):
            return _answer(self, args, kwargs)
    if profiler is None or _is_traced():
        return _answer(self, args, kwargs)
    return profiler.call(self, args, kwargs)


def _answer(self: Any, args: Any, kwargs: Any) -> Any:
    # Rewritten code calls the plain function; a call from elsewhere in a trace is not followed.
    followed = not _is_traced()
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
            try:
                with self._eager_runs:
                    return function(*args, **kwargs)
            finally:
                self._plain_calls.ran_eagerly(args, kwargs)
    with self._eager_runs:
        return function(*args, **kwargs)


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

        def make(function: Callable[..., Any], part: Any) -> Jitted:
            return Jitted(function, self._options.of_part(), part)

        function = self.__tracejit__
        self._part = FunctionParts(function, Root(function, self._report, make))
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
    earlier: tuple[list[int], TraceError] | None = None,
) -> Any:
    """The result, or MISS for what is to be run eagerly and is reported.

    Lists of numbers are arrays, if they are long and not to be taken `apart`, and lists of arrays
    if they are to be `joined`; an `earlier` attempt has recorded so much, and ended so. Raises
    TraceError
    where the arguments cannot be traced at all.
    """
    if not native.errors_are_quiet():
        raise TraceError("TJ009")
    refresh()
    given = args, kwargs
    form = len(args), tuple(kwargs)
    if kwargs:
        args, kwargs = self._binder.bind(form, args, kwargs)
    leaves, tree = _flatten()(args, kwargs, None if apart else self._few, joined)
    key = (tree, tuple([leaf_key(x) for x in leaves]))
    structure = self._structures.get(key)
    if structure is None:
        if self._few and not apart and len(self._structures) >= _LENGTHS:
            # Short lists may come in many lengths, too.
            self._few = 0
            return _compiled(self, *given, tries, joined=joined)
        if len(self._structures) >= _STRUCTURES:
            raise TraceError("TJ012", f"{_STRUCTURES} kinds of arguments")
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
    result = _by_entry(structure, given)
    if result is native.MISS:
        result = _try(self, structure, call, form)
    if result is native.MISS and structure.eager is None:
        if not _parts(self).is_ready():
            return native.MISS
        what = _numbers(leaves)
        if _fails(self, structure, what):
            return _fail(self, structure, what, given)
        with self._lock:
            result = _try(self, structure, call, form)
            variant, error, suspect, refusal = None, None, None, None
            if result is native.MISS and structure.eager is None:
                found = (known.refusal(call) for known in structure.variants)
                refusal = next((e for e in found if e is not None), None)
                if refusal is None:
                    structure.spent = [0] if earlier is None else earlier[0]
                    variant, error = _new_variant(self, structure, call, tree, form)
        structure.joined = error is not None and tree.joinable and not joined
        structure.apart = error is not None and not apart and 0 < tree.packed <= _TAKEN_APART
        if structure.joined or structure.apart:
            if earlier is None and isinstance(error, TraceError):
                earlier = structure.spent, error
            again = (apart, True) if structure.joined else (True, joined)
            return _compiled(self, *given, tries, *again, earlier)
        if isinstance(error, TraceError):
            told = error if earlier is None or error.code != "TJ032" else earlier[1]
            structure.eager = self._fallbacks.failed(told)
            _parts(self).failed(self._fallbacks.of(error), error)
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
        return _left(self, args, kwargs)
    if result is native.MISS:
        assert structure.eager is not None
        self._fallbacks.tell(structure.eager)
    return result


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
    self: Any, structure: _Structure, call: Call, tree: Any, form: Form
) -> tuple[Any, Exception | None]:
    """A variant for a call, or what has stopped the compile: a TraceError where its structure is
    eager, else what may be the user's error, which the eager run raises on the user's line.
    """
    from tracejit.runtime.compile.specialize import specialize_call

    limit = _STATIC_VARIANTS if structure.scalars_static else _VARIANTS
    limit = min(limit, _parts(self).most_variants)
    try:
        if len(structure.variants) >= limit:
            raise TraceError("TJ012", f"{limit} variants")
        places = self._binder.places(form)
        with holding(self._lock), _parts(self).compiling():
            variant, compiled = specialize_call(self, structure, call, tree, form, places)
    except GivenTwice:
        raise  # Other calls of this kind may be compiled.
    except Exception as e:
        return None, e
    structure.variants.append(variant)
    self._report.variants.append(compiled)
    self._fallbacks.log_compile(compiled)
    return variant, None
