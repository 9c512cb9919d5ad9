"""Two more readers of a program's graph: the evaluator, and the executor of its dataflow form.

`Readers` traces a function as the dispatcher would after having seen all its calls, so that ints
and sizes that vary are symbols, and makes of a reader's outputs what a call of the function makes:
a result, or an exception, and the arguments afterwards.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import numpy as np

import tracejit
from tests.support.compare import Outcome, clone, leaves
from tracejit.errors import Bailout, TraceError
from tracejit.frontend.capture.captured import Call, Learned
from tracejit.frontend.tracing.pytree import flatten
from tracejit.frontend.tracing.restarts import Recursive
from tracejit.ir import dims
from tracejit.ir.evaluate import evaluate
from tracejit.ops.control.effects import RaiseError
from tracejit.runtime.call.signature import History, Specialization, rank_key, specialize
from tracejit.runtime.compile.results import Results
from tracejit.runtime.compile.stages import Lowered, trace_call
from tracejit.runtime.dataflow.executor import run_dataflow

READERS = ("evaluator", "executor")


class NotTracedError(Exception):
    """The compiler refuses to trace the call: its message."""


class RaisedInTraceError(Exception):
    """The function raised its own exception, the cause of this one, while it was traced."""


class NotForReadersError(Exception):
    """The call is compiled under guards that graphs know nothing of."""


@dataclasses.dataclass
class _Reading:
    """A call's copies, its lowering, and the inputs and sizes of the graph."""

    lowered: Lowered
    args: tuple[Any, ...]
    leaves: list[Any]
    inputs: list[Any]
    sizes: dict[str, int]


class Readers:
    """The graphs of one function for the calls given, which decide what is a symbol in them."""

    def __init__(self, f: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> None:
        self.function = tracejit.jit(f).__tracejit__
        self._captured: dict[str, list[tuple[int, ...]]] = {}
        self._learned = Learned()
        self._histories: dict[Any, History] = {}
        self._lowered: dict[str, list[Lowered]] = {}
        for args in calls:
            with contextlib.suppress(TraceError):
                flat, _ = flatten(args, {})
                specialize(flat, self._history(flat))

    def _history(self, flat: Sequence[Any]) -> History:
        return self._histories.setdefault(rank_key(flat), History())

    def run(self, reader: str, args: Sequence[Any]) -> Outcome:
        """What a reader makes of a call, on copies of the arguments.

        Raises Bailout where compiled code would give up, NotTracedError or RaisedInTraceError
        where there is no graph, NotForReadersError where arguments share memory or are read-only.
        """
        reading = self._read(clone(tuple(args)))
        graph = reading.lowered.traced.graph
        states: dict[int, dict[int, Any]] = {}
        try:
            with _noting_states(states), _quietly():
                if reader == "evaluator":
                    outputs = evaluate(graph, reading.inputs, reading.sizes)
                else:
                    flat = reading.lowered.dataflow
                    outputs = run_dataflow(flat, reading.inputs, reading.sizes).outputs
        except Bailout:
            raise
        except Exception as exception:
            if id(exception) not in states:
                raise
            for k, value in states[id(exception)].items():
                reading.inputs[k][...] = value
            return Outcome(None, exception, reading.args, {})
        # A reader may give an input itself, or one array twice, for what has memory of its own.
        outputs = tuple(np.array(x) if isinstance(x, np.ndarray) else x for x in outputs)
        result = Results.of(reading.lowered.traced)(outputs, reading.leaves)
        for kind, value in zip(graph.results, outputs, strict=False):
            if kind.startswith("write "):
                reading.inputs[int(kind.removeprefix("write "))][...] = value
        return Outcome(result, None, reading.args, {})

    def _read(self, args: tuple[Any, ...]) -> _Reading:
        arrays = [x for x in leaves(args) if isinstance(x, np.ndarray)]
        if any(np.may_share_memory(a, b) for a, b in itertools.combinations(arrays, 2)):
            raise NotForReadersError("arguments that share memory")
        if not all(x.flags.writeable for x in arrays):
            raise NotForReadersError("an argument that cannot be written")
        try:
            flat, tree = flatten(args, {})
            try:
                lowered, chosen = self._lower(flat, tree, scalars_static=False)
            except TraceError as e:
                if e.code not in ("TJ001", "TJ015"):
                    raise
                lowered, chosen = self._lower(flat, tree, scalars_static=True)
        except TraceError as e:
            raise NotTracedError(str(e)) from e
        capture = lowered.traced.capture
        if capture is not None:
            flat = [*flat, *capture.reread(Call(flat, (args, {})))]
        types = lowered.traced.specialization.types
        inputs = [x for x, t in zip(flat, types, strict=True) if t is not None]
        sizes = {**lowered.traced.specialization.sizes, **chosen.sizes}
        return _Reading(
            lowered, args, flat, inputs, {s: sizes[s] for s in lowered.traced.graph.sizes}
        )

    def _lower(
        self, flat: list[Any], tree: Any, *, scalars_static: bool
    ) -> tuple[Lowered, Specialization]:
        chosen = specialize(flat, self._history(flat), scalars_static=scalars_static)
        return self._known(chosen, tree) or self._trace(chosen, flat, tree), chosen

    def _known(self, chosen: Specialization, tree: Any) -> Lowered | None:
        for lowered in self._lowered.get(_key(chosen, tree), ()):
            sizes = {**lowered.traced.specialization.sizes, **chosen.sizes, **chosen.strides}
            if all(_holds(guard, sizes) for guard in lowered.traced.guards):
                return lowered
        return None

    def _trace(self, chosen: Specialization, flat: list[Any], tree: Any) -> Lowered:
        key = _key(chosen, tree)
        with _quietly():
            try:
                traced = trace_call(
                    self.function, chosen, flat, tree, self._captured, learned=self._learned
                )
            except Recursive as e:
                self._learned.recursive.add(e.callee)
                again = specialize(flat, self._history(flat), scalars_static=False)
                return self._trace(again, flat, tree)
            except (TraceError, Bailout):
                raise
            except Exception as e:
                raise RaisedInTraceError(repr(e)) from e
            lowered = Lowered(traced)
        self._lowered.setdefault(key, []).append(lowered)
        return lowered


def _key(chosen: Specialization, tree: Any) -> str:
    return f"{tree!r} {chosen.leaves!r}"


def _holds(guard: Any, sizes: dict[str, int]) -> bool:
    left, relation, right = guard
    a, b = dims.evaluate(left, sizes), dims.evaluate(right, sizes)
    return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b}[relation]


def same_error(plain: BaseException | None, traced: BaseException | None) -> bool:
    """Whether a program that raises `plain` may raise `traced` while it is traced.

    Names are cells of nested functions then: the unbound ones raise NameError.
    """
    return type(plain) is type(traced) or (
        isinstance(plain, UnboundLocalError) and type(traced) is NameError
    )


@contextlib.contextmanager
def _noting_states(states: dict[int, dict[int, Any]]) -> Iterator[None]:
    """Notes by the id of each exception that `raise_error` makes what its states hold then."""
    make = RaiseError.exception
    kept: list[BaseException] = []

    def exception(self: RaiseError, inputs: Sequence[Any], attrs: Any) -> BaseException:
        error = make(self, inputs, attrs)
        numbers = attrs.get("states", ())
        values = inputs[len(inputs) - len(numbers) :]
        states[id(error)] = {k: np.array(v) for k, v in zip(numbers, values, strict=True)}
        kept.append(error)
        return error

    with mock.patch.object(RaiseError, "exception", exception):
        yield


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        yield
