"""What the traces of a call have read that cannot be compiled becomes an entry without a program.

It accepts the calls for which every one of these traces would read the same, and so end in the same
errors: for these sizes, for numbers that a trace has taken as constants, for what is outside.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.llvm.engine import Library, compile_module
from tracejit.frontend.capture.captured import Attempt
from tracejit.frontend.capture.guards import Equal
from tracejit.frontend.capture.paths import Positional
from tracejit.frontend.tracing.pytree import TreeDef
from tracejit.runtime import native
from tracejit.runtime.cache.keys import call_kind
from tracejit.runtime.call.binding import Form, Positions
from tracejit.runtime.call.entry_spec import (
    ArrayLeaf,
    EntrySpec,
    Leaf,
    ScalarLeaf,
)
from tracejit.runtime.call.signature import Specialization
from tracejit.runtime.compile.publish import call_spec
from tracejit.runtime.report.report import Fallback

__all__ = ["Verdict", "verdict_of"]

_COUNT = itertools.count()


@dataclass
class Verdict:
    """Why calls run eagerly that fit a spec."""

    #: What each trace asks of a call.
    specs: list[EntrySpec]
    fallback: Fallback
    #: Lines (file, number) of which no part is compiled.
    guilty: set[tuple[str, int]]
    #: As `Captured` has them.
    bindings: list[tuple[dict[str, Any], str, Any]]
    names: list[tuple[dict[str, Any], str, Any]]
    signature: str
    #: The kind of the call, before it was made.
    kind: str

    def __post_init__(self) -> None:
        self._name = f"tj_verdict_{next(_COUNT)}"
        distinct = tuple([paths for spec in self.specs for paths in spec.distinct])
        leaves = tuple([leaf for spec in self.specs for leaf in spec.leaves])
        self.spec = dataclasses.replace(self.specs[0], leaves=leaves, distinct=distinct)
        self._glue, self.symbols = native.entry_ir(self.spec, self._name, f"{self._name}_entry")

    def compiled(self) -> Library:
        """The library of the entry, which gives an empty tuple for the calls that it accepts."""
        program = f'define i32 @"{self._name}"(ptr %in, ptr %out) {{\n  ret i32 0\n}}\n'
        exports = native.entry_exports(f"{self._name}_entry")
        return compile_module(program, self.symbols, exports, glue=self._glue, keep=self.spec)


def verdict_of(
    attempts: Sequence[Attempt],
    fallback: Fallback,
    guilty: set[tuple[str, int]],
    arguments: TreeDef,
    form: Form,
    places: Positions,
    given: tuple[tuple[Any, ...], dict[str, Any]],
    before: Verdict | None,
) -> Verdict | None:
    """What holds for calls like this one in other processes, after these attempts to trace it and
    those of a verdict `before`; None where that cannot be told.
    """
    if not attempts or not native.available():
        return None
    specs = [] if before is None else [*before.specs]
    known = ([], []) if before is None else (before.bindings, before.names)
    for attempt in attempts:
        spec = _spec(attempt, arguments, form, places)
        if spec is None:
            return None
        specs.append(spec)
    return Verdict(
        specs,
        fallback,
        set(guilty),
        [*known[0], *(binding for attempt in attempts for binding in attempt.capture.bindings)],
        [*known[1], *(name for attempt in attempts for name in attempt.capture.names)],
        attempts[-1].specialization.text,
        call_kind(*given),
    )


def _spec(attempt: Attempt, arguments: TreeDef, form: Form, places: Positions) -> EntrySpec | None:
    """What a call must be for one trace to read the same; None where only Python could tell."""
    capture, chosen, lasts = attempt
    if capture is None or not lasts:
        return None
    leaves = [_exact(leaf, chosen) for leaf in chosen.leaves]
    if len(leaves) != arguments.count + len(capture.inputs):
        return None  # It has ended at an input.
    paths = [Positional(k) for k in range(len(leaves))]
    flat = EntrySpec(tuple(zip(paths, leaves, strict=True)), len(leaves), result="tuple")
    spec = call_spec(flat, arguments, capture, form, places)
    return None if spec is None or spec.reread is not None else spec


def _exact(leaf: Leaf, chosen: Specialization) -> Leaf:
    """A leaf with its present sizes."""
    if isinstance(leaf, ScalarLeaf) and leaf.size is not None:
        return Equal(chosen.sizes[leaf.size])
    if not isinstance(leaf, ArrayLeaf):
        return leaf
    dims = _values(leaf.dims, chosen.sizes)
    return dataclasses.replace(leaf, dims=dims, strides=_values(leaf.strides, chosen.strides))


def _values(symbols: Sequence[int | str], known: dict[str, int]) -> tuple[int, ...]:
    return tuple([known[s] if isinstance(s, str) else s for s in symbols])
