"""Calls in a traced program: which callee is rewritten, runs, records nodes, or is unknown.

The program's own functions are rewritten and run; functions of NumPy go to their handlers; a closed
table of pure functions of Python runs on values known while tracing. Any other callee raises
TraceError TJ002, so that what it would give is never frozen.
"""

from __future__ import annotations

import functools
import inspect
import os
import warnings
from collections.abc import Sequence
from types import (
    BuiltinFunctionType,
    FunctionType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from tracejit.base.locks import once
from tracejit.errors import PACKAGE, TraceError
from tracejit.forms import FORMS
from tracejit.frontend.containers.listed_arrays import takes_arrays
from tracejit.frontend.containers.traced import DIRECT, PERMUTING, TRACED
from tracejit.frontend.interpreter.functions import call_rewritten, run_function
from tracejit.frontend.interpreter.known import is_plain_call
from tracejit.frontend.numpy.conversion import asarray, cast_value
from tracejit.frontend.numpy.registry import (
    CREATORS,
    HANDLERS,
    PRELUDE,
    call_function,
    given_to,
    is_of_prelude,
)
from tracejit.frontend.numpy.ufunc_calls import array_ufunc, laid_out_by_iterator
from tracejit.frontend.python import choices, objects
from tracejit.frontend.python.call_table import CALLS
from tracejit.frontend.rewrite.source import is_library_file
from tracejit.frontend.tracing.checks import has_traced, require_known, require_plain
from tracejit.frontend.tracing.instances import is_instance
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.restarts import Uncovered
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.traceable import Traceable
from tracejit.frontend.tracing.tracer import (
    TracedArray,
    TracedScalar,
    Tracer,
    here,
    lift,
    user_line,
    wrap,
)
from tracejit.frontend.tracing.union import Union
from tracejit.ir.types import PyScalar, dtype_name, dtype_of

__all__ = ["call", "operations_of", "takes_unions"]

_FRONTEND = os.path.join(PACKAGE, "frontend", "")

#: NumPy functions without a handler that depend only on their arguments, and change nothing.
_PURE_NUMPY = frozenset(
    getattr(np, name)
    for name in (
        "base_repr binary_repr broadcast_shapes can_cast common_type format_float_positional "
        "format_float_scientific isscalar issubdtype iterable min_scalar_type mintypecode ndim "
        "promote_types result_type shape size typename"
    ).split()
) | {np.lib.array_utils.normalize_axis_index, np.lib.array_utils.normalize_axis_tuple}

#: Arrays of at most so many elements become part of a program.
_SMALL = 2**14


#: Operations of Python that take as long as a call of a function, and of one of NumPy.
_CALL, _NUMPY_CALL = 3, 90
#: Whatever a function in C may go through.
_SIZED = (list, tuple, dict, set, frozenset, range, str, bytes)

#: Compilers of functions, by the package of their objects -> the attribute for the plain function.
_PLAIN = {"tracejit": "__tracejit__", "numba": "py_func"}

#: Functions that look at no item of what they are given.
_HANDS_ON = (enumerate, zip, reversed, list, tuple, iter, len)

#: Functions that iterate over arguments -> the first of these, and the end of them.
_ITERATED: dict[Any, tuple[int, int | None]] = {
    **dict.fromkeys((sum, min, max, any, all, list, tuple, set, frozenset, sorted), (0, 1)),
    **dict.fromkeys((enumerate, iter), (0, 1)),
    **dict.fromkeys((filter, functools.reduce), (1, 2)),
    zip: (0, None),
    map: (1, None),
}

#: The type of what `functools.lru_cache` makes.
_CACHED = type(functools.lru_cache(lambda: None))
#: Why a handler gives up a function, or a form of it, that NumPy may still be called for.
_HOSTED = ("TJ002", "TJ004")


def _is_hosted(f: Any) -> bool:
    from tracejit.frontend.host.calls import is_hosted

    return is_hosted(f)


def _host_call(
    interpreter: Interpreter,
    f: Any,
    args: Any,
    kwargs: Any,
    refused: TraceError,
    method: str = "__call__",
) -> Any:
    from tracejit.frontend.host.calls import host_call

    return host_call(interpreter, f, args, kwargs, refused, method)


def _is_own(interpreter: Interpreter, f: FunctionType) -> bool:
    """Whether `f` belongs to the program, or to the package of the compiled function."""
    top = (f.__module__ or "").partition(".")[0]
    return top == interpreter.home or not is_library_file(f.__code__.co_filename)


def _name(f: Any) -> str:
    module = getattr(f, "__module__", None)
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", None) or type(f).__name__
    whole = f"{module}.{name}" if module and module != "builtins" else str(name)
    return f"{whole}, a functools.lru_cache" if type(f) is _CACHED else whole


def takes_unions(interpreter: Interpreter, f: Any, args: Sequence[Any]) -> bool:
    """Whether a callee deals itself with values that a branch left different."""

    if any(f is known for known in _HANDS_ON):
        return not any(isinstance(x, Union) for x in args)
    if isinstance(f, FunctionType):
        known = f in HANDLERS or f in CALLS or _is_numpy(f) or _is_hosted(f)
        return not known
    if isinstance(f, BuiltinFunctionType):
        if f is print:
            return True
        known = f in CALLS or isinstance(f.__self__, (np.ufunc, type(np)))
        return not known and not _is_numpy(f) and f not in CALLS
    if isinstance(f, type):
        return f is range or f not in CALLS and not issubclass(f, (np.generic, np.dtype))
    return not isinstance(f, np.ufunc) and not _is_of_numpy(f) and not _is_hosted(f)


def operations_of(f: Any, args: tuple[Any, ...]) -> int:
    """About how many operations of Python a call itself takes, without what the callee does in
    operations of its own: functions of NumPy are slow, and functions in C may go through all that
    they are given."""
    in_c = type(f) is BuiltinFunctionType
    if _is_of_numpy(f) or (in_c or type(f) is FunctionType) and _is_numpy(f):
        return _NUMPY_CALL
    if not in_c:
        return _CALL
    return sum(len(x) for x in args if type(x) in _SIZED)


def call(interpreter: Interpreter, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`f(*args, **kwargs)`. Raises TraceError TJ002 for a callee that is not known to be pure."""
    cls = type(f)
    if is_plain_call(f, args, kwargs):
        return f(*args)
    if cls is FunctionType:
        return _call_function(interpreter, f, args, kwargs)
    if isinstance(f, np.ufunc):
        return _call_ufunc(interpreter, f, "__call__", args, kwargs)
    if isinstance(f, type):
        return _call_class(interpreter, f, args, kwargs)
    return _call_other(interpreter, f, args, kwargs)


def _call_other(
    interpreter: Interpreter, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """What is no function of Python, ufunc or class."""
    if isinstance(f, Traceable):
        return f.traced_call(interpreter, args, kwargs)
    from tracejit.frontend.python import construction
    from tracejit.frontend.python.random import RandomFunction, random_function
    from tracejit.frontend.python.text.streams import StreamMethod
    from tracejit.frontend.python.unread_lists import Growth

    cls = type(f)
    drawing = random_function(interpreter, f)
    if drawing is not None:
        return drawing.call(interpreter, *args, **kwargs)
    if cls is BuiltinFunctionType:
        return _call_builtin(interpreter, f, args, kwargs)
    if _is_of_numpy(f) or _is_multimethod(f):
        return _call_numpy(interpreter, f, args, kwargs)
    if cls in (MethodDescriptorType, WrapperDescriptorType):
        return _call_unbound(interpreter, f, args, kwargs)
    if cls is functools.partial:
        return _call_partial(interpreter, f, args, kwargs)
    if construction.is_empty_init(f) and not kwargs and not args:
        return None
    if isinstance(f, (Tracer, SymInt)):
        raise TypeError("a number or array is not callable")
    if isinstance(f, (Growth, StreamMethod, RandomFunction)):
        return f.call(interpreter, *args, **kwargs)
    plain = _PLAIN.get(_package(cls))
    if plain is not None and hasattr(f, plain):
        return interpreter.call(_plain(interpreter, f, plain), *args, **kwargs)
    method = objects.special(interpreter, f, "__call__")
    if method is None:
        raise TraceError("TJ002", _name(f), user_line())
    return interpreter.call(method, *args, **kwargs)


def _plain(interpreter: Interpreter, f: Any, name: str) -> Any:
    """The plain function of a compiled one, which is its attribute `name`."""
    capture = interpreter.capture
    source = capture.source_of(f)
    if source is None or not hasattr(f, name):
        raise TraceError("TJ002", _name(f), user_line())
    found = getattr(f, name)
    if name != _PLAIN["tracejit"]:
        return capture.attribute(source, name, found)
    # A compiled function stands for the same one as long as it lives: calls need not ask it.
    capture.require_identity(f)
    capture.require_identity(found)
    return capture.reach(capture.object_source(found, f"{source.label}.{name}"))


def _package(cls: type) -> str:
    return cls.__module__.partition(".")[0]


def _call_function(
    interpreter: Interpreter, f: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:

    if interpreter.is_local(f):
        return run_function(
            interpreter, f, f, args, kwargs, is_generator=id(f) in interpreter.local_generators
        )
    if f.__code__.co_name == "helper":
        from tracejit.frontend.python import contexts

        if f.__code__ is contexts.CONTEXT_MANAGER:
            return contexts.generator_context(interpreter, f, args, kwargs)
    handler = CALLS.get(f)
    if handler is not None:
        return handler(interpreter, *args, **kwargs)
    traced = getattr(f, "__tracejit_traced__", None)
    if traced is not None:
        return traced(interpreter, *args, **kwargs)
    if f in TRACED:
        from tracejit.frontend.interpreter.library import call_library

        with interpreter.aliases.permuting(f in PERMUTING):
            return call_library(interpreter, f, args, kwargs)
    if f in DIRECT:
        return f(*args, **kwargs)
    if f in FORMS or f in choices.FORMS:
        interpreter.capture.object_source(f, f.__name__)
        return call_rewritten(interpreter, f, args, kwargs)
    if is_of_prelude(f):
        from tracejit.frontend.interpreter.library import call_in_prelude

        return call_in_prelude(interpreter, f, args, kwargs)
    if f.__code__.co_filename.startswith(_FRONTEND):
        require_known([*args, *kwargs.values()], "an argument")
        return f(*args, **kwargs)
    if _is_numpy(f):
        return _call_numpy(interpreter, f, args, kwargs)
    if f.__name__ in ("_replace", "_asdict", "_make") and is_library_file(f.__code__.co_filename):
        return interpreter.fresh(f(*args, **kwargs))
    if not _is_own(interpreter, f):
        return _call_library_function(interpreter, f, args, kwargs)
    return call_rewritten(interpreter, f, args, kwargs)


def _call_library_function(
    interpreter: Interpreter, f: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A function of a library that is not compiled as it is."""
    from tracejit.frontend.interpreter.library import call_prelude, in_prelude

    function = in_prelude(f, args, kwargs)
    refused = TraceError("TJ002", _name(f), user_line())
    if function is not None:
        try:
            return call_prelude(interpreter, f, function, args, kwargs)
        except Uncovered as e:
            refused = e
    require_known([*args, *kwargs.values()], f"an argument of {_name(f)}")
    return _host_call(interpreter, f, args, kwargs, refused)


def _iterables(interpreter: Interpreter, f: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments with iterators for objects of the program, where the callee asks for such."""
    start, end = _ITERATED.get(f, (0, 0))
    places = range(*slice(start, end).indices(len(args)))
    if f in (min, max) and len(args) > 1 or not any(is_instance(args[k]) for k in places):
        return args
    return tuple([interpreter.iterable(x) if k in places else x for k, x in enumerate(args)])


def _call_builtin(
    interpreter: Interpreter, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    handler = CALLS.get(f)
    if handler is not None:
        return handler(interpreter, *_iterables(interpreter, f, args), **kwargs)
    if _is_numpy(f):
        return _call_numpy(interpreter, f, args, kwargs)
    owner = f.__self__
    if isinstance(owner, np.ufunc):
        return _call_ufunc(interpreter, owner, f.__name__, args, kwargs)
    if isinstance(owner, type(np)) or owner is None or interpreter.capture.is_outside(f):
        raise TraceError("TJ002", _name(f), user_line())
    from tracejit.frontend.python.container_methods import call_method

    return call_method(interpreter, f, args, kwargs)


def _call_unbound(
    interpreter: Interpreter, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`str.upper(s)` and its kind."""
    if f is object.__setattr__ and len(args) == 3 and not kwargs:
        interpreter.require_mutable(args[0])
        f(*args)
        return None
    if f is object.__init__ and len(args) == 1 and not kwargs:
        return None
    if not args or type(args[0]) is not f.__objclass__ or f.__name__.startswith("__"):
        raise TraceError("TJ002", _name(f), user_line())
    return interpreter.call(getattr(args[0], f.__name__), *args[1:], **kwargs)


def _call_partial(
    interpreter: Interpreter, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    parts = {name: getattr(f, name) for name in ("func", "args", "keywords")}
    if not interpreter.is_local(f):
        source = interpreter.capture.source_of(f)
        if source is None or f.__dict__:
            raise TraceError("TJ006", "a functools.partial", user_line())
        parts = {k: interpreter.capture.attribute(source, k, v) for k, v in parts.items()}
    inner, first, named = parts.values()
    return interpreter.call(inner, *first, *args, **{**named, **kwargs})


def _call_class(
    interpreter: Interpreter, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    if cls.__name__ == "prange" and _package(cls) == "numba":
        cls = range
    handler = CALLS.get(cls)
    if handler is not None:
        interpreter.capture.library_methods(cls)
        return handler(interpreter, *_iterables(interpreter, cls, args), **kwargs)
    if issubclass(cls, (np.bool_, np.number)):
        if np.dtype(cls).char in "qQ" and np.dtype(cls).name in ("int64", "uint64"):
            # Equal to another type of 64 bits, and yet another class.
            raise TraceError("TJ004", _name(cls), user_line())
        return _convert(interpreter, cls, args, kwargs)
    if cls in (np.dtype, np.finfo, np.iinfo) or issubclass(cls, np.dtype):
        require_known([*args, *kwargs.values()], "an argument")
        if has_traced(args):
            raise TraceError("TJ004", _name(cls), user_line())
        return cls(*args, **kwargs)
    if issubclass(cls, BaseException):
        from tracejit.frontend.python import effects

        return effects.make_error(interpreter, cls, args, kwargs)
    from tracejit.frontend.python import construction

    return construction.construct(interpreter, cls, args, kwargs)


# NumPy -------------------------------------------------------------------------------------------


#: Functions that make no array of a sequence.
_OF_ARRAYS = frozenset(
    getattr(np, name)
    for name in (
        "astype can_cast diag_indices_from dsplit fill_diagonal hsplit isfortran result_type split "
        "tril_indices_from trim_zeros triu_indices_from unstack vsplit"
    ).split()
)


def _is_numpy(f: FunctionType | BuiltinFunctionType) -> bool:
    module = f.__module__
    return f in HANDLERS or isinstance(module, str) and module.partition(".")[0] == "numpy"


def _is_of_numpy(f: Any) -> bool:
    return type(f).__module__.partition(".")[0] == "numpy"


def _is_multimethod(f: Any) -> bool:
    """Whether `f` is a function of SciPy that other libraries may stand in for."""

    return type(f).__module__ == "uarray" and _is_hosted(f)


@takes_arrays
def _call_numpy(
    interpreter: Interpreter, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    from tracejit.frontend.interpreter.library import call_prelude, in_prelude

    if f in _OF_ARRAYS:
        _require_arrays(
            f, *args[:1], *(kwargs[k] for k in ("a", "arr", "ary", "filt", "from_") if k in kwargs)
        )
    refused: TraceError | None = None
    function = in_prelude(f, args, kwargs)
    if function is not None:
        try:
            return interpreter.fresh(call_prelude(interpreter, f, function, args, kwargs))
        except Uncovered as e:
            refused = e
    if kwargs and not kwargs.keys() <= (_keywords(f) or kwargs.keys()):
        f(*args, **kwargs)  # NumPy says that it takes no such keyword.
        raise TraceError("TJ002", f"{_name(f)} with {', '.join(kwargs)}=", user_line())
    kwargs = given_to(f, args, kwargs)
    require_known([*args, *kwargs.values()], f"an argument of {_name(f)}")
    traced = has_traced(args) or has_traced(kwargs)
    if f in HANDLERS and (traced or f in CREATORS):
        try:
            return interpreter.fresh(call_function(f, args, kwargs))
        except TraceError as e:
            if not traced or e.code not in _HOSTED:
                raise
            refused = e
    is_known = f in HANDLERS or f in PRELUDE or f in _PURE_NUMPY
    if not traced and not is_known:
        found = _constant_of(f, args, kwargs)
        if found is not None:
            return interpreter.fresh(found)
    if traced or not is_known:
        code = "TJ004" if is_known else "TJ002"
        refused = refused or TraceError(code, _name(f), user_line())
        return _host_call(interpreter, f, args, kwargs, refused)
    with np.errstate(all="ignore"):
        return interpreter.fresh(f(*args, **kwargs))


def _require_arrays(f: Any, *given: Any) -> None:
    for x in given:
        if type(x) in (list, tuple) or isinstance(x, TracedArray) and x.storage.listed:
            raise TraceError("TJ004", f"{_name(f)} of a sequence", user_line())


def _constant_of(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a pure function gives for plain arguments, if it is a small array or a tuple of such."""

    if not _is_hosted(f):
        return None
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = f(*args, **kwargs)
            parts = found if type(found) is tuple else (found,)
            small = all(type(dtype_name(x.dtype)) is str and x.size <= _SMALL for x in parts)
        except Exception:
            return None
    given = any(isinstance(x, np.ndarray) for x in (*args, *kwargs.values()))
    own = all(type(x) is np.ndarray and (x.flags.owndata or not given) for x in parts)
    return found if own and small else None


@functools.cache
def _keywords(f: Any) -> frozenset[str] | None:
    """The names that a function of NumPy takes; None where that is not known."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return frozenset(p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY)


def _is_no_output(out: Any) -> bool:
    return isinstance(out, tuple) and len(out) == 1 and out[0] is None


@once
def _knows_array_results() -> bool:
    """Whether `out=...` asks ufuncs for an array: since NumPy 2.3."""
    try:
        return isinstance(np.negative(1.0, out=...), np.ndarray)
    except TypeError:
        return False


@takes_arrays
def _call_ufunc(
    interpreter: Interpreter,
    ufunc: np.ufunc,
    method: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:

    if kwargs.get("out") is Ellipsis and _knows_array_results():
        kwargs = {k: v for k, v in kwargs.items() if k != "out"}
        return _as_arrays(_call_ufunc(interpreter, ufunc, method, args, kwargs))
    if method != "__call__" and _is_no_output(kwargs.get("out")):
        # Before it hands a call on, NumPy takes out what it refuses by itself.
        raise TraceError("TJ004", f"{ufunc.__name__}.{method} with out=", user_line())
    require_known([*args, *kwargs.values()], f"an operand of {ufunc.__name__}")
    if any(isinstance(x, Tracer) for x in args):
        # By way of NumPy, which sorts the arguments of every method.
        try:
            return getattr(ufunc, method)(*args, **kwargs)
        except TraceError as e:
            if e.code not in _HOSTED:
                raise
            made = _host_call(interpreter, ufunc, args, kwargs, e, method)
            return laid_out_by_iterator(made, method, *args, **kwargs)
    if has_traced(args) or has_traced(kwargs):
        if method != "__call__" or len(args) != ufunc.nin or kwargs:
            raise TraceError("TJ004", f"{ufunc.__name__}.{method}", user_line())
        return array_ufunc(ufunc, method, args, kwargs)
    # np.frompyfunc wraps a Python function: its one loop is over objects.
    if method == "at" or ufunc.types == ["O" * ufunc.nin + "->" + "O" * ufunc.nout]:
        raise TraceError("TJ002", ufunc.__name__, user_line())
    with np.errstate(all="ignore"):
        return interpreter.fresh(
            (ufunc if method == "__call__" else getattr(ufunc, method))(*args, **kwargs)
        )


def _as_arrays(results: Any) -> Any:
    """What `out=...` gives: arrays, also where a ufunc would give scalars."""
    return tuple(map(asarray, results)) if isinstance(results, tuple) else asarray(results)


def _convert(
    interpreter: Interpreter, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`np.float64(x)` and its kind."""
    if not has_traced(args):
        require_plain([*args, kwargs], cls.__name__)
        with np.errstate(all="ignore"):
            return interpreter.fresh(cls(*args, **kwargs))
    if len(args) != 1 or kwargs:
        raise TraceError("TJ004", cls.__name__, user_line())
    require_known(args, "an argument")
    dtype, x = np.dtype(cls), lift(args[0])
    if dtype_of(x.type).kind == "c" and dtype.kind not in "cb":
        raise TraceError("TJ004", f"{cls.__name__} of a complex value", user_line())
    trace = here()
    if isinstance(x, TracedArray):
        out = x.astype(dtype, copy=False)  # an array of that dtype is given back itself
        return out if out.ndim else wrap(trace, trace.emit("element", (out.value(),)))
    assert isinstance(x, TracedScalar)
    if isinstance(x.type, PyScalar):
        if x.type.kind == "float" and dtype.kind in "iu":
            raise TraceError("TJ004", f"{cls.__name__} of a Python float", user_line())
        return wrap(trace, trace.emit("np_scalar", (x.value(),), dtype=dtype_name(dtype)))
    return wrap(trace, cast_value(x.value(), dtype))
