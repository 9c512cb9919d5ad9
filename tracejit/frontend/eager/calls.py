"""How a program that is run on concrete tracers calls what it calls.

Its own functions run over hooks, so that what they call is seen in turn. Functions of NumPy and of
math are recorded; builtins and other generic code of Python work on tracers as on any object. All
other code gets the values, and what it gives must not depend on what is differentiated.
"""

from __future__ import annotations

import bisect
import contextlib
import functools
import heapq
import itertools
import numbers
import operator
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from tracejit.base.methods import METHODS
from tracejit.errors import TraceError
from tracejit.forms import FORMS
from tracejit.frontend.capture.paths import class_lookup
from tracejit.frontend.eager.arguments import Arguments, in_containers
from tracejit.frontend.eager.host import recorded_call
from tracejit.frontend.eager.operations import (
    Given,
    has_tracer,
    made,
    perform,
    plainly,
    settled,
    user_warnings,
)
from tracejit.frontend.eager.text import is_told, shown
from tracejit.frontend.numpy.registry import HANDLERS, SUBSCRIPTS, is_of_prelude
from tracejit.frontend.python.numbers import NUMBER_CALLS
from tracejit.frontend.rewrite.eager_calls import is_rewritten, over_interpreter
from tracejit.frontend.rewrite.source import is_library_file
from tracejit.frontend.tracing.checks import class_of
from tracejit.frontend.tracing.concrete_trace import (
    ConcreteTrace,
    LostGradient,
    concrete_trace,
    is_float,
)
from tracejit.frontend.tracing.contents import contents_of
from tracejit.frontend.tracing.pytree import is_default
from tracejit.frontend.tracing.trace import user_line
from tracejit.frontend.tracing.traceable import Traceable
from tracejit.frontend.tracing.tracer import TracedScalar, Tracer, lift, wrap
from tracejit.ir.types import PyScalar, dtype_name

__all__ = ["EagerInterpreter"]

#: Modules whose code does with its arguments only what the program could do itself.
_GENERIC = frozenset(
    "abc bdb bisect builtins collections contextlib copy dataclasses enum functools heapq inspect "
    "itertools operator pdb random types typing weakref _bisect _collections _functools _heapq "
    "_operator _random".split()
)
_LIBRARIES = ("numpy", "scipy")
#: Methods of arrays that take arrays, and store into none.
_READING = frozenset("choose clip compress dot repeat searchsorted take".split())
#: Builtins that show or keep values.
_SHOWN: tuple[Any, ...] = (print, ascii, bin, bytes, chr, hex, oct, ord, bytearray, memoryview)
_CONTEXT_MANAGER = contextlib.contextmanager(lambda: iter(())).__code__
_SINGLE_DISPATCH: Any = functools.singledispatch(lambda _: None)
_cached = functools.lru_cache(lambda: None)
_ITERTOOLS = "dropwhile filterfalse starmap takewhile"
_BISECT = "bisect bisect_left bisect_right insort insort_left insort_right"
#: By identity, code of Python that calls a function it is given: as which argument.
_CALLING: dict[int, tuple[int, str]] = {
    **{id(f): (0, "") for f in (map, filter, functools.reduce, functools.cmp_to_key)},
    **{id(getattr(itertools, name)): (0, "") for name in _ITERTOOLS.split()},
    id(itertools.accumulate): (1, "func"),
    id(itertools.groupby): (1, "key"),
    **{
        id(f): (-1, "key") for f in (sorted, min, max, heapq.nlargest, heapq.nsmallest, heapq.merge)
    },
    **{id(getattr(bisect, name)): (-1, "key") for name in _BISECT.split()},
}
_NUMBERS = (int, complex, float, round, divmod, pow)
_MATH = frozenset(f for f in NUMBER_CALLS if getattr(f, "__module__", None) in ("math", "cmath"))


class _NumberInterpreter:
    """What handlers of functions on numbers ask of the interpreter: Python's own operations."""

    binary = staticmethod(lambda op, a, b: getattr(operator, op)(a, b))
    compare = staticmethod(lambda op, a, b: getattr(operator, op)(a, b))
    unary = staticmethod(lambda op, x: getattr(operator, op)(x))
    attribute = staticmethod(getattr)
    iterate = staticmethod(iter)
    fresh = staticmethod(lambda x: x)
    truth_of = staticmethod(bool)
    #: Python itself raises, and handles, what the operations raise.
    tries = ()

    @staticmethod
    def call(f: Any, *args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs)


_NUMBER_INTERPRETER: Any = _NumberInterpreter()


class _Capture:
    """What compiled runs know of the program's objects: here nothing has to be followed."""

    def is_outside(self, x: Any) -> bool:
        """Whether `x` is an object from outside, which is used as it is."""
        return True

    def library_name(self, namespace: dict[str, Any], name: str, value: Any) -> None:
        """Note that a library's dict holds `value` under a name, which nobody asks for later."""


class _State:
    """What compiled runs know of the objects that a program changes: here they change at once."""

    def attribute_names(self, interpreter: Any, x: Any) -> list[str]:
        """The names of an object's own attributes."""
        return list(contents_of(x))


class EagerInterpreter:
    """What a rewritten program asks, for one trace. Once the trace is over all is plain Python."""

    def __init__(self, trace: ConcreteTrace) -> None:
        self.trace = trace
        self._errors: Any = np.geterr()
        self.capture, self.state = _Capture(), _State()

    # What transforms ask --------------------------------------------------------------------------

    def call(self, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        """A call of a function of the program, with the program's handling of NumPy's errors."""
        with np.errstate(**self._errors):
            try:
                return self.callee(f)(*args, **kwargs)
            except BaseException as e:
                if not isinstance(getattr(f, "__tracejit__", f), Traceable):
                    self.trace.raised = e
                raise

    def allocate(self, x: Any) -> Any:
        """A container that has been made inside the run."""
        return x

    def is_local(self, x: Any) -> bool:
        """Whether `x` may be used without being followed to where the program has it from."""
        return True

    def iterate(self, x: Any) -> Iterator[Any]:
        """What `for` goes through."""
        return iter(x)

    def attribute(self, x: Any, name: str) -> Any:
        """`x.name`."""
        return getattr(x, name)

    def store_attribute(self, value: Any, x: Any, name: str) -> None:
        """Let an object hold `value` as an attribute; nothing of its class runs."""
        object.__setattr__(x, name, value)

    def store_item(self, value: Any, x: Any, key: Any) -> None:
        """`x[key] = value`."""
        x[key] = value

    def transformed(self, f: Traceable, /, *args: Any, **kwargs: Any) -> Any:
        """A call of a transform inside the run: it records on the same tape."""
        interpreter: Any = EagerInterpreter(self.trace)
        arguments = Arguments(self.trace, args, kwargs, is_inner=True)
        try:
            with np.errstate(all="ignore"):
                result = f.traced_call(interpreter, arguments.args, arguments.kwargs)
        except BaseException as e:
            arguments.put_back()
            if isinstance(e, TraceError):
                raise LostGradient(e.detail or e.code, e.where) from None
            raise
        arguments.require_no_other_name(f)
        arguments.put_back()
        return settled(self.trace, in_containers(arguments.original, result))

    # What rewritten code asks ---------------------------------------------------------------------

    def made(self, x: Any) -> Any:
        """The result of an operator: a new array may be stored into."""
        if type(x) is np.ndarray and x.base is None and self._is_open:
            return made(self.trace, x)
        return x

    def indexed(self, x: Any) -> Any:
        """`x`, which is indexed next."""
        if type(x) in SUBSCRIPTS:
            return _Subscripted(x)
        return _Indexed(self, x) if type(x) is np.ndarray else x

    def original(self, x: Any) -> Any:
        """`x` where it is compared by identity."""
        return self.trace.original(x) if isinstance(x, Tracer) else x

    def shown(self, x: Any) -> Any:
        """`x` where only its value matters."""
        return Given(None).of(x)

    def formatted(self, x: Any) -> Any:
        """`x`, which is the left operand of `%`: a text shows numbers."""
        return _Format(x) if isinstance(x, (str, bytes)) else x

    def joined(self, parts: tuple[str, ...]) -> str:
        """The text of an f-string from its parts."""
        text: str = _text_method("".join, parts)
        return text

    @property
    def _is_open(self) -> bool:
        return concrete_trace() is self.trace

    def callee(self, f: Any) -> Any:
        """What to call in place of `f`."""
        if not self._is_open:
            return f
        cls = type(f)
        place = _CALLING.get(id(f))
        if place is not None:
            return functools.partial(self._calling, f, *place)
        if cls is FunctionType:
            return self.function(f)
        if cls in METHODS:
            function = self.callee(f.__func__)
            return f if function is f.__func__ else MethodType(function, f.__self__)
        if isinstance(f, type):
            return self.of_class(f)
        if cls is BuiltinFunctionType:
            return self.builtin(f)
        # One that is made of a function of NumPy's has its name and module.
        if isinstance(f, Traceable):
            return functools.partial(self.transformed, f)
        if hasattr(f, "__tracejit__"):
            return self.callee(f.__tracejit__)
        if isinstance(f, np.ufunc) or _top(f) in _LIBRARIES or _top(cls) in _LIBRARIES:
            return functools.partial(self._numpy, f)
        if cls is functools.partial:
            return functools.partial(self.callee(f.func), *f.args, **f.keywords)
        if cls is type(_cached):
            return functools.partial(self._with_cache, f)
        method = class_lookup(cls, "__call__")
        if type(method) is FunctionType and not _is_library(method):
            return MethodType(self.callee(method), f)
        known = _top(f) in _GENERIC or _top(cls) in (*_GENERIC, "tracejit")
        return f if known else functools.partial(_opaque, f)

    def function(self, f: FunctionType) -> Any:
        """What to call in place of a function written in Python."""
        if is_rewritten(f):
            return f
        traced = getattr(f, "__tracejit_traced__", None)
        if traced is not None:
            return functools.partial(traced, self)
        if f in HANDLERS or _top(f) in _LIBRARIES:
            return functools.partial(self._numpy, f)
        if f.__code__ is _CONTEXT_MANAGER:
            return contextlib.contextmanager(self.callee(f.__wrapped__))  # type: ignore[attr-defined]
        if f.__code__ is _SINGLE_DISPATCH.__code__:
            return functools.partial(self._dispatched, f)
        if is_of_prelude(f):
            from tracejit.frontend.interpreter.library import INTRINSICS
            from tracejit.frontend.prelude.intrinsics import LOOPS

            if f in LOOPS:
                raise TraceError("TJ004", f"a loop over elements in {f.__name__}", user_line())
            if f in INTRINSICS:
                return INTRINSICS[f]
        elif _is_library(f) and f not in FORMS:
            known = _top(f) in (*_GENERIC, "tracejit")
            return f if known else functools.partial(_opaque, f)
        found = self.trace.functions.get(id(f))
        if found is None:
            found = self.trace.functions[id(f)] = f, over_interpreter(f, self)
        return found[1]

    def builtin(self, f: Any) -> Any:
        """What to call in place of a function written in C."""
        if f in _MATH or f in _NUMBERS:
            return functools.partial(_number, f)
        if f is isinstance:
            return _isinstance
        if f is sum:
            return _sum
        owner = f.__self__
        if type(owner) in (str, bytes):
            return functools.partial(_text_method, f)
        if type(owner) is list and f.__name__ == "sort":
            return functools.partial(self._calling, f, -1, "key")
        if owner is float or owner is complex:
            return functools.partial(_opaque, f)
        if _top(f) in _LIBRARIES or _top(type(owner)) in _LIBRARIES:
            return functools.partial(self._numpy, f)
        if f in _SHOWN:
            return functools.partial(_opaque, f)
        if isinstance(owner, type(np)) and _top(f) not in _GENERIC:
            return functools.partial(_opaque, f)
        return f

    def of_class(self, cls: Any) -> Any:
        """What to call in place of a class."""
        if cls in (float, int, complex):
            return functools.partial(_number, cls)
        if cls is type:
            return _type
        if issubclass(cls, (np.number, np.bool_)):
            return functools.partial(_scalar, cls)
        if issubclass(cls, BaseException):
            return functools.partial(_shown, cls)
        if cls in _SHOWN:
            return functools.partial(_opaque, cls)
        own = type(cls) is type and is_default(cls, "__new__")
        init = cls.__init__
        if own and type(init) is FunctionType and not _is_library(init):
            return functools.partial(self._construct, cls)
        if issubclass(cls, numbers.Number) and cls is not bool:
            return functools.partial(_opaque, cls)
        return cls

    def _calling(self, f: Any, place: int, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """A call of code that calls the argument at `place`, or of this name."""
        given = list(args)
        if 0 <= place < len(given) and callable(given[place]):
            given[place] = self.callee(given[place])
        if callable(kwargs.get(name)):
            kwargs[name] = self.callee(kwargs[name])
        return f(*given, **kwargs)

    def _dispatched(self, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        """A call of what `functools.singledispatch` has made."""
        chosen = self.callee(f.dispatch(_type(args[0]))) if args else f
        return chosen(*args, **kwargs)

    def _with_cache(self, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        """A function with a cache, which must not keep what belongs to one run."""
        traced = has_tracer(args) or has_tracer(kwargs)
        return (self.callee(f.__wrapped__) if traced else f)(*args, **kwargs)

    def _construct(self, cls: type, /, *args: Any, **kwargs: Any) -> Any:
        """An instance of a class of the program's."""
        new: Any = object.__new__(cls)
        self.callee(cls.__init__)(new, *args, **kwargs)  # type: ignore[misc]
        return new

    def _numpy(self, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        """A function of NumPy, or a method of an array that is not traced."""
        if not has_tracer(args) and not has_tracer(kwargs):
            with user_warnings(f, args):
                result = f(*args, **kwargs)
            owner = getattr(f, "__self__", None)
            others = [x for x in (owner, *args, *kwargs.values()) if isinstance(x, np.ndarray)]
            if self.trace.bits_seen and f.__name__ == "view" and is_float(result):
                raise LostGradient("view()")
            if type(result) is np.ndarray and any(np.may_share_memory(result, x) for x in others):
                return result
            return Given(self.trace).back(result)
        owner = getattr(f, "__self__", None)
        if isinstance(f, np.ufunc) and f not in HANDLERS or isinstance(owner, np.ufunc):
            return f(*args, **kwargs)
        if type(owner) is np.ndarray and f.__name__ in _READING:
            return getattr(made(self.trace, owner), f.__name__)(*args, **kwargs)
        return perform(functools.partial(self._recorded, f), f, args, kwargs)

    def _recorded(self, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        """As `recorded_call`, by the prelude where it covers the call."""
        from tracejit.frontend.interpreter.library import in_prelude, is_refusal

        function = in_prelude(f, args, kwargs)
        if function is not None:
            try:
                return self.function(function)(*args, **kwargs)
            except TraceError as e:
                if not is_refusal(e):
                    raise
        return recorded_call(f, args, kwargs)


class _Indexed:
    """An array that is not traced: its elements are, where indexing makes a new array of them."""

    __slots__ = ("array", "interpreter")

    def __init__(self, interpreter: EagerInterpreter, array: np.ndarray[Any, Any]) -> None:
        self.interpreter, self.array = interpreter, array

    def __getitem__(self, key: Any) -> Any:
        if has_tracer(key):
            key = Given(self.interpreter.trace, copies=False).of(key)
        return self.interpreter.made(self.array[key])


class _Subscripted:
    """`np.r_` and its kind, of which NumPy knows items: they are made of what they are given."""

    __slots__ = ("of",)

    def __init__(self, of: Any) -> None:
        self.of = of

    def __getitem__(self, key: Any) -> Any:
        make = SUBSCRIPTS[type(self.of)]
        if not has_tracer(key):
            return Given(concrete_trace()).back(self.of[key])
        return perform(lambda key: make(self.of, key), self.of.__getitem__, (key,), pure=True)


class _Format:
    """A text or bytes on the left of `%`."""

    __slots__ = ("text",)

    def __init__(self, text: Any) -> None:
        self.text = text

    def __mod__(self, values: Any) -> Any:
        return _text_method(operator.mod, self.text, values)


def _top(x: Any) -> str:
    module = getattr(x, "__module__", None)
    return module.partition(".")[0] if isinstance(module, str) else ""


def _is_library(f: FunctionType) -> bool:
    return is_library_file(f.__code__.co_filename)


def _number(f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A function on Python numbers."""
    if not any(isinstance(x, Tracer) or is_told(x) for x in (*args, *kwargs.values())):
        return f(*args, **kwargs)
    handler = NUMBER_CALLS[f]
    return perform(lambda *a, **k: handler(_NUMBER_INTERPRETER, *a, **k), f, args, kwargs)


def _scalar(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
    """`np.float64(x)` and its kind."""

    def recorded(x: Any) -> Any:
        t = lift(x)
        if isinstance(t.type, PyScalar):
            trace = concrete_trace()
            assert trace is not None
            return wrap(trace, trace.emit("np_scalar", (t.value(),), dtype=dtype_name(dtype)))
        return t.astype(dtype)[()]  # type: ignore[attr-defined]

    dtype = np.dtype(cls)
    return perform(recorded, cls, args, kwargs) if has_tracer(args) else cls(*args, **kwargs)


def _sum(items: Any, /, start: Any = 0) -> Any:
    """`sum`: of Python's floats it may be more exact than additions one after the other."""
    values = list(items)
    out, trace = sum(values, start), concrete_trace()
    if trace is not None and isinstance(out, TracedScalar) and out.is_python:
        given = Given(trace)
        trace.builder.table[out.value()] = sum(map(given.of, values), given.of(start))
    return out


def _isinstance(x: Any, cls: Any) -> bool:
    return issubclass(class_of(x), cls) if isinstance(x, Tracer) else isinstance(x, cls)


def _type(x: Any, *more: Any, **kwargs: Any) -> Any:
    if more:
        return type(x, *more, **kwargs)
    return x.__class__ if is_told(x) else class_of(x)


def _text_method(f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """An operation that gives texts: they show what its arguments show."""
    args = tuple(list(x) if isinstance(x, Iterator) else x for x in args)
    trace = concrete_trace()
    if trace is None or not (has_tracer(args) or has_tracer(kwargs)):
        return f(*args, **kwargs)
    given = Given(trace, copies=False)
    result = f(*map(given.of, args), **{k: given.of(x) for k, x in kwargs.items()})
    return shown(trace, result) if given.active or given.told else result


def _shown(f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """An exception holds numbers, whatever depends on them."""
    given = Given(concrete_trace())
    return f(*map(given.of, args), **{k: given.of(x) for k, x in kwargs.items()})


def _opaque(f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Code that is neither the program's nor known: it gets the values."""
    trace = concrete_trace()
    if trace is None or not (has_tracer(args) or has_tracer(kwargs)):
        return f(*args, **kwargs)
    return plainly(trace, f, args, kwargs)
