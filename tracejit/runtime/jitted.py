"""The decorated function: what `tracejit.jit` gives, without the compiler.

A call that no native entry answers goes to `_slow`: what an earlier process has compiled is looked
for first, then the dispatcher is imported, which compiles. What only the dispatcher needs of a
function is made when it is first asked for.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, NamedTuple

from tracejit import config
from tracejit.base.late import TOOLS, imported, shown
from tracejit.base.locks import once, short_lock
from tracejit.base.methods import BoundMethod
from tracejit.base.originals import hold, import_compiler
from tracejit.runtime.entries.answers import MISS
from tracejit.runtime.entries.jit_type import JitBase, jit_type, name_of
from tracejit.runtime.options import Options
from tracejit.runtime.refusing import reason_here, run_plainly
from tracejit.runtime.tracebacks import show_users_lines

if TYPE_CHECKING:
    from tracejit.ir.graph import Graph
    from tracejit.runtime.dataflow.executor import Run
    from tracejit.runtime.report.report import Report

__all__ = ["Jitted", "JittedObject", "Transform", "jitted"]

_PLAIN = Options()
#: Methods that are class methods or static methods without saying so.
_IMPLICIT = {
    "__class_getitem__": classmethod,
    "__init_subclass__": classmethod,
    "__new__": staticmethod,
}
_PREPARING = short_lock()


class Transform(NamedTuple):
    """A class of `tracejit.transforms.api` by its module and name, its arguments, the function
    first, and what functions that it makes are called after."""

    module: str
    cls: str
    arguments: tuple[Any, ...]
    name: str

    def made(self) -> Any:
        """The object."""
        module = imported(f"tracejit.transforms.api.{self.module}")
        return getattr(module, self.cls)(*self.arguments)


@once
def _dispatch() -> Any:
    """The dispatcher, which needs the whole compiler."""
    import_compiler()
    from tracejit.runtime import dispatch

    return dispatch


def _of_function(name: str) -> property:
    """An attribute of the function that a compiled one stands for."""

    def read(self: Any) -> Any:
        return getattr(self.__tracejit__, name)

    def write(self: Any, value: Any) -> None:
        setattr(self.__tracejit__, name, value)

    return property(read, write)


def _prepared(name: str) -> Any:
    """Something that the dispatcher keeps of a function: made when it is first asked for."""

    def read(self: Any) -> Any:
        return getattr(self._state or _prepare(self), name)

    def write(self: Any, value: Any) -> None:
        setattr(self._state or _prepare(self), name, value)

    return property(read, write)


def _prepare(self: Any) -> Any:
    dispatch = _dispatch()
    with _PREPARING:
        if self._state is None:
            self._state = dispatch.State(self)
        return self._state


@jit_type
class Jitted(JitBase):
    """A function compiled on demand. Made by `tracejit.jit`.

    As `functools.wraps` has it, it shows the names and attributes of the function, and itself
    becomes a method in a class. What the function consists of (`__code__`, `__defaults__` and such)
    is the function's own at any time, and is changed there.
    """

    # What is in the dict is copied by `functools.wraps`: the compiler's own is not.
    __slots__ = (
        "__dict__",
        "__weakref__",
        "_cached",
        "_copying",
        "_device",
        "_function",
        "_given_fallbacks",
        "_given_report",
        "_options",
        "_part",
        "_refused",
        "_state",
        "_transform",
    )

    def __init__(
        self,
        function: Callable[..., Any],
        options: Options = _PLAIN,
        part: Any = None,
        device: Any = None,
        report: Report | None = None,
    ) -> None:
        JitBase.__init__(self, functools.partial(_slow, self), functools.partial(_bail, self))
        self._function: Any = function
        #: Of a function that is made of others: the transform, and what it is given.
        self._transform: Transform | None = None
        self._options = options
        #: What runs in place of the function where it runs eagerly; of a part of another, that.
        self._part = part
        #: Where its programs run: on the host, or on this device.
        self._device = device
        self._given_report = report
        #: What has told of eager runs before there was a dispatcher.
        self._given_fallbacks: Any = None
        self._state: Any = None
        #: Why the last call that was not to be compiled where it was made has run as plain Python.
        self._refused: str | None = None
        #: What the cache has of it.
        self._cached: Any = None
        #: What stands before its entries since loops of theirs have copied much.
        self._copying: Any = None
        if function is not None:
            self._describe()

    @classmethod
    def of_transform(cls, transform: Transform) -> Jitted:
        """A function that a class of `tracejit.transforms` makes of others, once it is needed."""
        made = cls(None)  # type: ignore[arg-type]
        made._transform = transform
        inner = transform.arguments[0]
        name = transform.name
        vars(made).update(
            __name__=f"{name}_{getattr(inner, '__name__', 'function')}",
            __qualname__=f"{name}({getattr(inner, '__qualname__', inner)})",
            __module__=getattr(inner, "__module__", __name__),
            __doc__=getattr(inner, "__doc__", None),
        )
        return made

    @property
    def __tracejit__(self) -> Any:
        """The function that it stands for."""
        if self._function is None and self._transform is not None:
            self._function = self._transform.made()
            self._describe()
        return self._function

    @property
    def __wrapped__(self) -> Any:
        """The function, by the name that `inspect` asks for."""
        _ = self.__tracejit__  # What is made now is described now.
        if "__wrapped__" not in vars(self):
            raise AttributeError("__wrapped__")
        return vars(self)["__wrapped__"]

    @__wrapped__.setter
    def __wrapped__(self, function: Any) -> None:
        vars(self)["__wrapped__"] = function

    def _describe(self) -> None:
        """Take over what describes the function."""
        functools.update_wrapper(self, self.__tracejit__)

    _allowance = _prepared("allowance")
    _binder = _prepared("binder")
    _captured = _prepared("captured")
    _constants = _prepared("constants")
    _devices = _prepared("devices")
    _eager_runs = _prepared("eager_runs")
    _fallbacks = _prepared("fallbacks")
    _few = _prepared("few")
    _histories = _prepared("histories")
    _learned = _prepared("learned")
    _lock = _prepared("lock")
    _plain_calls = _prepared("plain_calls")
    _report = _prepared("report")
    _structures = _prepared("structures")
    _verdict = _prepared("verdict")

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
        return f"<jitted {name_of(self if self._function is None else self._function)}>"

    def _of_part(self, function: Callable[..., Any], part: Any) -> Jitted:
        """A part of the function that is compiled by itself."""
        return Jitted(function, self._options.of_part(), part)

    def _repr_html_(self) -> str:
        return shown(self)

    def __reduce_ex__(self, protocol: Any, /) -> Any:
        from tracejit.runtime import pickling

        return pickling.reduced(self, sys._getframe(1))

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def report(self) -> Report:
        """What was compiled and why, and what runs eagerly and why."""
        if config.background():
            from tracejit.runtime import background

            background.finish(self)
        found: Report = self._report
        if any(not c.recalled for c in found.variants):
            # Where code comes from files, nothing of this is off.
            from tracejit.runtime.compile.facilities import what_is_off

            found.off = what_is_off()
        return found

    def note_copies(self) -> None:
        """Loops of what is compiled have copied much: compare calls with plain ones."""
        if self._copying is None and self._device is None:
            from tracejit.runtime import copying_calls

            copying_calls.compare_calls(self)

    def trace(self, *args: Any, **kwargs: Any) -> Graph:
        """The graph of a call with such arguments. Raises TraceError where it cannot be traced."""
        graph: Graph = _dispatch().lowered(self, args, kwargs).graphs["trace"]
        return graph

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """Every stage of a compile for such arguments: `.stages`, `.text(stage)`.

        Of a function that is moved to a device they are those of its program there, whether there
        is such a device or not. Raises TraceError where the call cannot be traced.
        """
        return _dispatch().lowered(self, args, kwargs, self._options.moves)

    def view(self, /, *args: Any, **kwargs: Any) -> Any:
        """One page with source, stages, machine code and memory, linked by lines, as an object
        with `.save(path)` and `.open()`, for such arguments, or without any for the newest compile.

        Raises ValueError where there is none.
        """
        return TOOLS["view"](self, args if args or kwargs else None, kwargs)

    def all_reasons(self, /, *args: Any, **kwargs: Any) -> Any:
        """Every reason for which a call with such arguments runs eagerly, those first that block
        most; empty where it is compiled whole. The function is run once on copies of them.
        """
        return TOOLS["all_reasons"](self, args, kwargs)

    def profile(self, /, *args: Any, **kwargs: Any) -> Any:
        """Where the time of calls with copies of these arguments goes, by line and kernel, beside
        that of plain NumPy: see `tracejit.profile`. It runs for about 0.2 seconds.
        """
        return TOOLS["profile"](self, args, kwargs)

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
        run: Run = _dispatch().partial_run(self, args, kwargs, outputs, workers)
        return run


@jit_type
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
        return getattr(object.__getattribute__(self, "_function"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        own = name in self.__dict__ or hasattr(type(self), name)
        function = None if own else self._function
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
    hold()
    # A transform of a function is in its place, in a class too.
    is_transform = hasattr(function, "traced_call") and not hasattr(type(function), "__get__")
    is_function = isinstance(function, FunctionType) or is_transform
    return (Jitted if is_function else JittedObject)(function, options)


def _bail(self: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Raise what a compiled run was left by, or repeat the call that it refused to finish."""
    try:
        return _dispatch().left(self, args, kwargs)
    except BaseException as e:
        _shorten(e)
        raise


@once
def _recall() -> Any:
    """What looks for code in files: it is imported by the first call."""
    from tracejit.runtime.cache.recall import recall

    return recall


def _slow(self: Any, /, *args: Any, **kwargs: Any) -> Any:
    try:
        why = reason_here()
        if why is not None:
            return run_plainly(self, why, args, kwargs)
        # The dispatcher looks for files itself, before it compiles.
        if self._state is None:
            result = _as_found(self, args, kwargs)
            if result is not MISS:
                return result
            if _recall()(self, args, kwargs):
                return self(*args, **kwargs)
        return _dispatch().answer(self, args, kwargs)
    except BaseException as e:
        _shorten(e)
        raise


def _as_found(self: Any, args: Any, kwargs: Any) -> Any:
    """What a call gives that runs eagerly, as an earlier process has found; MISS for any other."""
    known = self._cached
    if known is None or known.verdicts is None or config.is_traced() or not known.is_current():
        return MISS
    return known.verdicts.answer(args, kwargs)


def _shorten(e: BaseException) -> None:
    """Let an exception show the user's lines; a trace asks where in the compiler it has begun."""
    if not config.is_traced():
        show_users_lines(e)
