"""A lowered trace becomes machine code that answers calls: program, entry, results around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tracejit.frontend.containers import TreeDef
from tracejit.frontend.tracer import View
from tracejit.ir import dims
from tracejit.ir.dims import Poly
from tracejit.ir.op import OPS
from tracejit.runtime import native
from tracejit.runtime.binding import Form
from tracejit.runtime.compile import Lowered, Traced
from tracejit.runtime.entry_spec import ArrayLeaf, EntrySpec, ScalarLeaf
from tracejit.runtime.native import BAIL, MISS

__all__ = ["Variant", "compile_variant"]


def apply_views(
    array: Any, views: Sequence[View], indices: Sequence[Any], sizes: dict[str, int]
) -> Any:
    """The NumPy view of `array` that a chain of index ops means; `indices` are those of gathers."""
    remaining = list(indices)
    for view in views:
        attrs = {k: _concrete(a, sizes) for k, a in view.attrs.items()}
        if view.op == "broadcast_to":
            array = np.broadcast_to(array, attrs["shape"])
        elif view.op == "gather":
            count = len(view.indices)
            array = _gathered(array, remaining[:count])
            del remaining[:count]
        elif view.op in ("real", "imag"):
            array = getattr(array, view.op)
        else:
            (array,) = OPS[view.op].evaluate([array], attrs)
    return array


def _gathered(array: Any, indices: Sequence[Any]) -> Any:
    """The view at numbers, or along the diagonal that index arrays step through."""
    if not np.ndim(indices[0]):
        return array[(*(int(i) for i in indices), ...)]
    first, second = indices
    if not first.size:
        return np.moveaxis(np.diagonal(array)[..., :0], -1, 0)
    return np.moveaxis(np.diagonal(array, int(second[0] - first[0])), -1, 0)


def _concrete(attr: Any, sizes: dict[str, int]) -> Any:
    if isinstance(attr, Poly):
        return dims.evaluate(attr, sizes)
    if isinstance(attr, tuple):
        return tuple(_concrete(a, sizes) for a in attr)
    return attr


@dataclass
class Variant:
    """A compiled specialisation of one structure of arguments."""

    traced: Traced
    #: What the program takes and gives: flat leaves and outputs.
    spec: EntrySpec
    #: The arguments around the leaves.
    arguments: TreeDef
    #: The symbol of the program in `library`.
    name: str
    library: Any
    #: The outputs are the user's result itself.
    direct: bool
    #: Forms of call that are answered natively, or never will be.
    forms: set[Form] = field(default_factory=set)
    #: Its published entry, for the call that it was compiled for; MISS and BAIL as for leaves.
    first: Callable[..., Any] | None = None
    #: What outside the arguments has changed since the trace.
    stale: str = ""
    _entry: Callable[..., Any] | None = None

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """The user's result for flat leaves; MISS or BAIL."""
        capture = self.traced.capture
        if capture is not None:
            captured = capture.reread()
            if isinstance(captured, str):
                self.stale = captured
                return MISS
            self.stale = ""
            leaves = [*leaves, *captured]
        entry = self._entry
        if entry is None:
            entry = self._entry = self._flat_entry()
        outputs = entry(*leaves)
        if outputs is MISS or outputs is BAIL:
            return outputs
        return outputs if self.direct else self._results(outputs, leaves)

    def _flat_entry(self) -> Callable[..., Any]:
        if not native.available():
            return native.python_entry(self.spec, self.library.address(self.name))
        name = f"{self.name}_flat"
        return native.flat_callable(self.link(self.spec, name), name, self.spec)

    def link(self, spec: EntrySpec, name: str) -> Any:
        """A library with one more entry for the program."""
        from tracejit.codegen.engine import compile_module

        glue, symbols = native.entry_ir(spec, self.name, name)
        symbols[self.name] = self.library.address(self.name)
        exports = native.entry_exports(name)
        return compile_module("", symbols, exports, glue=glue, keep=(self.library, spec))

    def _results(self, outputs: Any, leaves: Sequence[Any]) -> Any:
        """The user's result from the entry's outputs."""
        outs = list(outputs)
        flat: list[Any] = []
        sizes: dict[str, int] | None = None
        for plan in self.traced.plans:
            if plan.same_as is not None:
                flat.append(flat[plan.same_as])
                continue
            if plan.leaf is not None:
                x = leaves[plan.leaf]
            else:
                assert plan.index is not None
                x = outs[plan.index]
            if plan.views:
                if sizes is None:
                    sizes = self._sizes(leaves)
                x = apply_views(x, plan.views, [outs[k] for k in plan.operands], sizes)
            flat.append(x)
        return self.traced.rebuild(flat)

    def _sizes(self, leaves: Sequence[Any]) -> dict[str, int]:
        sizes: dict[str, int] = {}
        for leaf, x in zip(self.traced.specialization.leaves, leaves, strict=True):
            if isinstance(leaf, ArrayLeaf):
                for d, n in zip(leaf.dims, x.shape, strict=True):
                    if isinstance(d, str):
                        sizes[d] = n
            elif isinstance(leaf, ScalarLeaf) and leaf.size is not None:
                sizes[leaf.size] = x
        return sizes


def compile_variant(
    lowered: Lowered, arguments: TreeDef, call: EntrySpec | None, entry_name: str
) -> Variant:
    """Compile a program, and with it the entry `call` under the name `entry_name` if there is one.

    Without one the program's library has an entry for flat leaves, where native entries work.
    Raises TraceError for what has no native code.
    """
    from tracejit.codegen.engine import compile_module

    flat, program = lowered.spec, lowered.program
    glue, symbols, exports = "", dict[str, int](), [lowered.name]
    if native.available():
        glue, symbols = native.entry_ir(call or flat, lowered.name, entry_name)
        exports += native.entry_exports(entry_name)
    library = compile_module(
        program.text,
        {**program.symbols, **symbols},
        exports,
        glue=glue,
        keep=(program.keep, call or flat),
    )
    direct = lowered.traced.shape_of_result != "other"
    variant = Variant(lowered.traced, flat, arguments, lowered.name, library, direct)
    if call is None and native.available():
        variant._entry = native.flat_callable(library, entry_name, flat)
    return variant
