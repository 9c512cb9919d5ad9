"""Transforms of programs that run as plain Python: each operation is computed when it is met.

A run is recorded operation by operation, with its values; what the transform then records, such as
a backward pass, is computed at once too. A transform met inside such a run records on the same
tape, and what it has recorded is differentiated in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.errors import Bailout, TraceError, Underivable
from tracejit.frontend.eager.arguments import Arguments, in_containers
from tracejit.frontend.eager.calls import EagerInterpreter
from tracejit.frontend.eager.tracers import ConcreteArray, ConcreteScalar
from tracejit.frontend.tracing.concrete_trace import ConcreteTrace, LostGradient, concrete_trace
from tracejit.frontend.tracing.traceable import Traceable

if TYPE_CHECKING:
    from tracejit.frontend.tracing.trace import Trace

from tracejit.base.originals import import_compiler

__all__ = ["pull_eagerly", "run_eagerly"]


def run_eagerly(
    name: str,
    transformed: Traceable,
    function: Callable[..., Any],
    record: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """What `transformed` gives for these arguments, computed operation by operation.

    It is called `name`, and made of `function`; `record(interpreter, function, args, kwargs)` gives
    its result on tracers.

    The program's prints, breakpoints, warnings and exceptions are its own, from its lines, and see
    real numbers. Arrays and containers among the arguments hold afterwards, after an exception of
    the program's too, what it has stored into them. Raises LostGradient, a TypeError, where a
    derivative would have to pass through what has none: after this, and after other errors of the
    transform itself, they are as they were.
    """
    import_compiler()
    outer = concrete_trace()
    if outer is not None:
        return EagerInterpreter(outer).transformed(transformed, *args, **kwargs)

    def run(interpreter: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return record(interpreter, function, args, kwargs)

    trace = ConcreteTrace(name, (ConcreteArray, ConcreteScalar))
    return _run(trace, run, args, kwargs, function)


def pull_eagerly(trace: Trace, pull: Callable[..., Any], cotangent: Any) -> Any:
    """What `pull(interpreter, args, kwargs)` gives for a cotangent, in the trace of a run.

    Raises as `run_eagerly`, and TypeError for a trace that is compiled.
    """
    if not isinstance(trace, ConcreteTrace):
        raise TypeError("a pullback of a compiled function is called outside it")
    return _run(trace, pull, (cotangent,), {})


def _run(
    trace: ConcreteTrace,
    record: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    function: Callable[..., Any] | None = None,
) -> Any:
    with trace.active():
        arguments = Arguments(trace, args, kwargs, is_inner=False)
        interpreter: Any = EagerInterpreter(trace)
        try:
            with np.errstate(all="ignore"):
                result = record(interpreter, arguments.args, arguments.kwargs)
            if trace.lost is not None:
                raise trace.lost
            if function is not None:
                arguments.require_no_other_name(function)
            arguments.put_back()
        except LostGradient:
            raise
        except Underivable as e:
            raise LostGradient(str(e), e.where) from None
        except Bailout as e:
            # What the program itself computes raises its own errors: this is of its derivative.
            raise e.__cause__ or ArithmeticError(f"a derivative has no value here: {e}") from None
        except TraceError as e:
            raise LostGradient(e.detail or e.code, e.where) from None
        except BaseException as e:
            if trace.lost is not None and isinstance(e, Exception):
                raise trace.lost from None
            if e is trace.raised:
                arguments.put_back()
            raise
        finally:
            arguments.finish()
    return in_containers(arguments.original, result)
