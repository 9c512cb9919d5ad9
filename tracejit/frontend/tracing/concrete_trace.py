"""A trace of concrete values: each operation is evaluated when it is recorded.

No size is symbolic and every tracer knows its value, so that the program's own control flow runs as
Python, and what is recorded has no branches and no loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tracejit.errors import Bailout, Underivable, Where
from tracejit.frontend.tracing.memory.storage import Storage
from tracejit.frontend.tracing.sizes import ShapeEnv
from tracejit.frontend.tracing.trace import Trace, current_trace, user_frame
from tracejit.frontend.tracing.tracer import TracedArray
from tracejit.ir.dims import Dim
from tracejit.ir.evaluating import EvaluatingBuilder
from tracejit.ir.graph import Attr, Graph, Value
from tracejit.ir.types import DTYPES, PYINT, ArrayType, NpScalar, PyScalar, Type, dtype_name

__all__ = ["TRACED_DTYPES", "ConcreteTrace", "LostGradient", "concrete_trace", "is_float"]

#: Arrays of these dtypes are traced; all others are plain.
TRACED_DTYPES = frozenset(d for d in DTYPES.values() if d.kind in "fc")


class LostGradient(Underivable, TypeError):
    """A value that depends on what is differentiated goes where no derivative follows it.

    The trace remembers the first one: a program that handles it has gone another way than it would.
    """

    def __init__(self, what: str, where: Where | None = None) -> None:
        frame = user_frame()
        if where is None and frame is not None:
            where = Where.of(frame.f_code, frame.f_lineno, frame.f_lasti)
        what = what.removesuffix(" has no derivative rule")
        text = f"the gradient cannot pass through {what}"
        if where is not None:
            text += f'\n  File "{where.file}", line {where.line}, in {where.function or "?"}'
            text += "".join("\n    " + line for line in where.excerpt().splitlines())
        super().__init__(text)
        self.what, self.where = what, where
        trace = concrete_trace()
        if trace is not None:
            trace.lost = trace.lost or self


def is_float(x: Any) -> bool:
    """Whether `x` is an array or a NumPy scalar that may carry a derivative."""
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "fc"


def concrete_trace() -> ConcreteTrace | None:
    """The innermost trace of this context, if its values are concrete."""
    trace = current_trace()
    return trace if isinstance(trace, ConcreteTrace) else None


class ConcreteTrace(Trace):
    """A trace whose values are known. It takes more nodes than any compiled program has."""

    builder: EvaluatingBuilder
    tracers: tuple[type[Any], type[Any]]

    def __init__(self, name: str, tracers: tuple[type[Any], type[Any]]) -> None:
        """`tracers` are the classes of arrays and of numbers that know their values."""
        super().__init__(name, ShapeEnv())
        self.tracers = tracers
        self.builder = EvaluatingBuilder(name, self._learn)
        #: How deep in the front end's own code the run is.
        self.busy = 0
        #: Whether the run is over: then its tracers are as good as numbers.
        self.ended = False
        #: Memory that stands for arrays of tracers, so that these are not differentiated by too.
        self.placeholders: dict[Storage, TracedArray] = {}
        #: Memory that stands for the caller's arrays.
        self.originals: dict[Storage, np.ndarray[Any, Any]] = {}
        #: What the program has raised last, out of the function that was called.
        self.raised: BaseException | None = None
        #: The first derivative that was lost.
        self.lost: LostGradient | None = None
        #: Whether the bits of what is differentiated have been seen as integers.
        self.bits_seen = False
        #: The program's functions rewritten over the interpreter, by identity; both are kept alive.
        self.functions: dict[int, tuple[Any, Any]] = {}

    def _learn(self, name: str, size: int) -> None:
        """A size symbol has got its value."""
        self.env.learn(name, size)

    @contextmanager
    def active(self) -> Iterator[Trace]:
        try:
            with super().active():
                yield self
        finally:
            # What it leaves behind still has values.
            self.alive = self.ended = True

    def emit_all(
        self,
        name: str,
        inputs: Sequence[Value],
        attrs: dict[str, Attr],
        *,
        regions: tuple[Graph, ...] = (),
        binds: tuple[str, ...] = (),
        where: Where | None = None,
    ) -> tuple[Value, ...]:
        self.counter[0] = 0  # a run may be as long as it likes
        return super().emit_all(name, inputs, attrs, regions=regions, binds=binds, where=where)

    def concrete(self, value: Value) -> Any:
        """What a value is: not to be written to, and an array not to be kept."""
        return self.builder.concrete(value)

    def is_active(self, value: Value) -> bool:
        """Whether a value depends on what is differentiated."""
        return value in self.builder.active

    def constant(self, value: Any, type_: Type) -> Value:
        if isinstance(type_, ArrayType):
            return self.foreign(np.asarray(value, type_.dtype))
        concrete = type_.dtype.type(value) if isinstance(type_, NpScalar) else value
        return self.builder.given(type_, concrete)

    def foreign(self, array: np.ndarray[Any, Any]) -> Value:
        """The present contents of an array that no tracer stands for.

        Raises TypeError for a dtype that graphs cannot hold.
        """
        order = tuple(sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis])))
        kept = np.array(array, DTYPES[dtype_name(array.dtype)], order="K", subok=False)
        if not kept.transpose(order).flags.c_contiguous:
            order, kept = tuple(range(array.ndim)), np.array(kept, order="C")
        return self.builder.given(ArrayType(kept.dtype, kept.shape, order), kept)

    def number(self, x: Any) -> Value:
        """A number as a value that nothing recorded computes."""
        t: Type = NpScalar(x.dtype) if isinstance(x, np.generic) else PyScalar(type(x).__name__)
        return self.builder.given(t, x)

    def placeholder(self, x: TracedArray, of: Any) -> None:
        """Note that the memory of `x` is that of another array under a name of its own."""
        self.placeholders[x.storage] = of
        if not of.is_writeable:
            x.storage.input = -1

    def original(self, x: Any) -> Any:
        """`x`, or the caller's own array that it stands for: what tells whether two are one."""
        while isinstance(x, TracedArray) and not x.views and x.storage in self.placeholders:
            x = self.placeholders[x.storage]
        is_whole = isinstance(x, TracedArray) and not x.views
        return self.originals.get(x.storage, x) if is_whole else x

    def bound(self, value: Value, low: int = 0) -> Dim:
        size = int(self.concrete(value))
        if size < low:
            raise Bailout(f"a size of {size}")
        return size

    def bound_as_given(self, value: Value) -> Dim:
        return self.bound(value)

    def size_value(self, dim: Dim) -> Value:
        return self.constant(self.env.concrete(dim), PYINT)
