"""Operations on concrete tracers: recorded where that is known how, else done on plain values."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from tracejit.frontend.eager.text import is_told, plain_text, shown, told_number
from tracejit.frontend.tracing.concrete_trace import (
    TRACED_DTYPES,
    ConcreteTrace,
    LostGradient,
    concrete_trace,
    is_float,
)
from tracejit.frontend.tracing.pytree import is_namedtuple
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.trace import user_frame
from tracejit.frontend.tracing.tracer import TracedArray, TracedScalar, Tracer, wrap

__all__ = ["Given", "has_tracer", "made", "perform", "plainly", "user_warnings"]

_FLAGS = type(np.zeros(0).flags)
_NO_KEYWORDS: Mapping[str, Any] = {}


def perform(
    recorded: Callable[..., Any],
    plain: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] = _NO_KEYWORDS,
    pure: bool = False,
) -> Any:
    """What the program's operation `plain` gives; `recorded` does the same in the trace.

    Where `recorded` fails, `plain` is done on the values, and raises what it raises. One that is
    `pure` gives new objects only, and is not recorded where no derivative depends on it. Raises
    LostGradient where a derivative does depend on what could not be recorded.
    """
    trace = concrete_trace()
    if trace is None:
        given = Given(None)
        values = [given.of(x) for x in args]
        named = {k: given.of(x) for k, x in kwargs.items()}
        given.refuse_active("another thread or context than the function's")
        return plain(*values, **named)
    if trace.busy:
        return recorded(*args, **kwargs)
    args = [_local(trace, x) for x in args]
    if pure:
        given = Given(trace, copies=False)
        values = [given.of(x) for x in args]
        named = {k: given.of(x) for k, x in kwargs.items()}
        if not given.active:
            with user_warnings(plain, values):
                return given.back(plain(*values, **named))
    if any(map(has_text, (*args, *kwargs.values()))):
        return plainly(trace, plain, args, kwargs)
    error: Exception
    before = len(trace.builder.nodes)
    trace.busy += 1
    try:
        with user_warnings(plain, args):
            result = recorded(*args, **kwargs)
        if any(node.op.parity == "order" for node in trace.builder.nodes[before:]):
            _rounded_as(trace, plain, args, kwargs, result)
        return settled(trace, result)
    except LostGradient:
        raise
    except Exception as e:
        error = e
    finally:
        trace.busy -= 1
    return plainly(trace, plain, args, kwargs, error)


def _rounded_as(
    trace: ConcreteTrace,
    plain: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    result: Any,
) -> None:
    """Let new results be what NumPy gives, which adds up in another order than the ops' meaning.

    What gives none has been done for what it stores, and is not done twice.
    """
    new = result if type(result) is tuple else (result,)
    if kwargs.get("out") is not None or any(x is y for x in new for y in args):
        return
    if not any(isinstance(x, Tracer) for x in new):
        return
    given = Given(trace, copies=False)
    with np.errstate(all="ignore"):
        exact = plain(*map(given.of, args), **{k: given.of(x) for k, x in kwargs.items()})
    for x, y in zip(new, exact if type(result) is tuple else (exact,), strict=True):
        if not isinstance(x, Tracer) or isinstance(x, TracedArray) and x.views:
            continue
        value, known = x.value(), trace.concrete(x.value())
        if type(y) is not type(known) or getattr(y, "dtype", None) != getattr(known, "dtype", None):
            continue
        if not isinstance(y, np.ndarray):
            trace.builder.table[value] = y
        elif y.shape == known.shape:
            trace.builder.table[value] = kept = np.empty_like(known)
            np.copyto(kept, y)


def _local(trace: ConcreteTrace, x: Any) -> Any:
    """`x`; what a run has left that is over counts as a number or array from outside."""
    if not isinstance(x, Tracer) or x.trace is trace:
        return x
    given = Given(None)
    known = given.of(x)
    given.refuse_active("a run inside the one that it belongs to")
    return made(trace, known) if isinstance(known, np.ndarray) else known


def plainly(
    trace: ConcreteTrace,
    plain: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    error: Exception | None = None,
) -> Any:
    """`plain` on the values: what it stores into arrays is in the tracers afterwards.

    Raises LostGradient, for the reason `error`, where a derivative depends on what it gives.
    """
    given = Given(trace)
    values = [given.of(x) for x in args]
    named = {k: given.of(x) for k, x in kwargs.items()}
    name = getattr(plain, "__name__", None) or type(plain).__name__
    with user_warnings(plain, values):
        try:
            result = given.run(lambda: plain(*values, **named))
        except _StoresError:
            raise LostGradient(f"what {name}() stores") from error
    if given.active and _carries(result) or given.told and told_number(result):
        raise LostGradient(f"{name}()") from error
    if given.active or given.told:
        result = shown(trace, result)
    given.put_back(name)
    return given.back(result)


class _StoresError(Exception):
    """A call stores into an array while a derivative depends on what it is given."""


class Given:
    """The values of arguments, for a call that knows no tracers."""

    def __init__(self, trace: ConcreteTrace | None, copies: bool = True) -> None:
        self.trace, self.copies = trace, copies
        #: Whether a derivative depends on an argument, and those on which one does.
        self.active = False
        #: Whether one is a text that shows what the derivative is by.
        self.told = False
        self.seen: list[Any] = []
        #: id of a tracer -> (the tracer, its bytes, the array that is handed over).
        self.arrays: dict[int, tuple[TracedArray, bytes, Any]] = {}
        #: Lists and dicts that hold tracers, what is handed over, and what that held.
        self.containers: list[tuple[Any, Any, Any]] = []

    def of(self, x: Any) -> Any:
        """An argument with values in place of tracers."""
        if isinstance(x, Tracer):
            return self._tracer(x)
        if type(x) is slice:
            return slice(*map(self.of, (x.start, x.stop, x.step)))
        if is_told(x):
            self.told = True
            return plain_text(x)
        if not has_tracer(x):
            return x
        if isinstance(x, tuple):
            return tuple.__new__(type(x), [self.of(v) for v in x])
        new = [self.of(v) for v in x] if type(x) is list else {k: self.of(v) for k, v in x.items()}
        self.containers.append((x, new, new.copy()))
        return new

    def _tracer(self, x: Any) -> Any:
        if x.is_active:
            self.active = True
            self.seen.append(x)
        known = x.known()
        if not isinstance(known, np.ndarray):
            return known
        if not self.copies:
            return known
        if id(x) not in self.arrays:
            copy = known.copy(order="K")
            copy.flags.writeable = x.is_writeable
            self.arrays[id(x)] = x, known.tobytes(), copy
        return self.arrays[id(x)][2]

    def refuse_active(self, what: str) -> None:
        """Raise LostGradient, and let the run know, if a derivative depends on a value."""
        if self.active:
            error = LostGradient(what)
            for x in self.seen:
                x.trace.lost = x.trace.lost or error
            raise error

    def run(self, call: Callable[[], Any]) -> Any:
        """The result of a call on these values.

        Raises _StoresError where NumPy is asked to store into an array and a derivative depends on
        any: what is stored may be what was there.
        """
        if not (self.active or self.told):
            return call()
        for _, _, copy in self.arrays.values():
            copy.flags.writeable = False
        try:
            return call()
        except ValueError as e:
            text = str(e)
            if not text.endswith("read-only"):
                raise
        finally:
            for x, _, copy in self.arrays.values():
                copy.flags.writeable = x.is_writeable
        result = call()
        if not text.startswith("buffer"):
            raise _StoresError
        return result

    def put_back(self, name: str) -> None:
        """Let the tracers and containers hold what the call has left in their stand-ins."""
        assert self.trace is not None
        for x, known, copy in self.arrays.values():
            if copy.tobytes() != known:
                if self.active or self.told:
                    raise LostGradient(f"what {name}() stores")
                x.store(self.trace.foreign(copy))
        for x, new, before in self.containers:
            keys = range(len(new)) if type(x) is list else list(new)
            if len(new) == len(before) and all(
                (type(x) is list or k in before) and new[k] is before[k] for k in keys
            ):
                continue
            if self.active or self.told:
                raise LostGradient(f"what {name}() puts into a {type(x).__name__}")
            items = [self.back(new[k]) for k in keys]
            if type(x) is list:
                x[:] = items
            else:
                x.clear()
                x.update(zip(keys, items, strict=True))

    def back(self, x: Any) -> Any:
        """A result: new arrays of floats are traced, since derivatives may be stored there."""
        if isinstance(x, np.ndarray):
            for tracer, _, copy in self.arrays.values():
                if x is copy:
                    return tracer
            shared = any(np.may_share_memory(x, copy) for _, _, copy in self.arrays.values())
            return made(self.trace, x, writeable=not shared)
        if type(x) is list:
            return [self.back(v) for v in x]
        if isinstance(x, tuple) and (type(x) is tuple or is_namedtuple(type(x))):
            return tuple.__new__(type(x), [self.back(v) for v in x])
        return x


def made(trace: ConcreteTrace | None, x: Any, writeable: bool = True) -> Any:
    """A new array as the program shall see it: a tracer, if floats can be stored into it."""
    if trace is None or type(x) is not np.ndarray or x.dtype not in TRACED_DTYPES:
        return x
    out = wrap(trace, trace.foreign(x))
    assert isinstance(out, TracedArray)
    if not writeable:
        out.storage.input = -1
    return out


def settled(trace: ConcreteTrace, x: Any) -> Any:
    """A recorded result as the program shall see it: numbers that carry no derivative are plain."""
    array, scalar = trace.tracers
    if isinstance(x, TracedScalar):
        value = x.value()
        if not trace.is_active(value):
            return trace.concrete(value)
        return x if isinstance(x, scalar) else wrap(trace, value)
    if isinstance(x, TracedArray):
        if x.dtype not in TRACED_DTYPES:
            return np.array(trace.concrete(x.value()), order="K")
        return x if isinstance(x, array) else array(trace, x.storage, x.views)
    if isinstance(x, SymInt):
        return int(x)
    if type(x) is list:
        return [settled(trace, v) for v in x]
    if isinstance(x, tuple) and (type(x) is tuple or is_namedtuple(type(x))):
        return tuple.__new__(type(x), [settled(trace, v) for v in x])
    return x


def has_tracer(x: Any) -> bool:
    """Whether a tracer, or a text that shows one, is in `x`, containers included."""
    if isinstance(x, Tracer) or is_told(x):
        return True
    if type(x) is dict:
        return any(map(has_tracer, x.values()))
    if type(x) is slice:
        return any(map(has_tracer, (x.start, x.stop, x.step)))
    return (type(x) in (list, tuple) or is_namedtuple(type(x))) and any(map(has_tracer, x))


def has_text(x: Any) -> bool:
    """Whether a text that shows what the derivative is by is in `x`, lists and tuples included."""
    return is_told(x) or type(x) in (list, tuple) and any(map(has_text, x))


def _carries(x: Any) -> bool:
    """Whether a result may hold numbers that have a derivative."""
    if x is None or isinstance(x, (bool, int, str, bytes, np.dtype, type, _FLAGS)):
        return False
    if isinstance(x, (np.ndarray, np.generic)):
        return is_float(x) or x.dtype.kind in "OUS"
    if type(x) in (list, tuple, set, frozenset) or is_namedtuple(type(x)):
        return any(map(_carries, x))
    return type(x) is not dict or any(map(_carries, x.values()))


# Warnings ----------------------------------------------------------------------------------------

#: What NumPy calls an operator on its scalars.
_SCALAR_OPERATORS: dict[Any, str] = {
    operator.add: "add",
    operator.sub: "subtract",
    operator.mul: "multiply",
    operator.truediv: "divide",
    operator.floordiv: "floor_divide",
    operator.mod: "remainder",
    operator.pow: "power",
    operator.neg: "negative",
}


@contextmanager
def user_warnings(plain: Any, operands: Sequence[Any]) -> Iterator[None]:
    """NumPy's floating-point warnings come from the user's line, and name the user's operation."""
    modes = np.geterr()
    if "warn" not in modes.values() or "call" in modes.values() or "log" in modes.values():
        yield
        return
    # Objects with a call of their own need not have a hash.
    scalar = _SCALAR_OPERATORS.get(plain) if type(plain) is BuiltinFunctionType else None
    name = scalar or getattr(plain, "__name__", "operation")
    if scalar and not any(getattr(x, "ndim", 0) for x in operands):
        name = f"scalar {name}"

    def warn(kind: str, flag: int) -> None:
        frame = user_frame()
        if frame is None:
            return
        module = frame.f_globals.get("__name__", "<string>")
        registry = frame.f_globals.setdefault("__warningregistry__", {})
        place = frame.f_code.co_filename, frame.f_lineno
        text = f"{kind} encountered in {name}"
        warnings.warn_explicit(text, RuntimeWarning, *place, module, registry)

    changed: Any = {k: "call" if mode == "warn" else mode for k, mode in modes.items()}
    with np.errstate(call=warn, **changed):
        yield
