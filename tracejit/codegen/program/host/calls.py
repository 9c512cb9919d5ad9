"""Host calls: an op without native code runs through NumPy, on the compiled program's own memory.

A program calls `tj_host` (see `support/host_call_text.py`). The slots of a site are, in order: its
inputs (arrays: data pointer; scalars: their bits, two slots), the sizes it mentions, and its
outputs (arrays: data pointer; scalars: two slots that the call writes to).

`HostCallSite` is the general way: it looks at the slots and evaluates the op. After some calls it
prepares a function, which `functions.py` makes: for all sizes where these are the sizes of
dense arrays only, else for the present ones once they have come often. In the former case words
with sizes and strides follow the slots, and one that is not 0 where a size is unusual.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.base.lazy_dataclass import dataclass
from tracejit.base.locks import long_lock
from tracejit.codegen.program.host.arrays import Staying, byte_strides, reader, scalar_at
from tracejit.codegen.program.host.functions import make_function, settle, ufunc_of
from tracejit.codegen.program.host.retelling import retold
from tracejit.ir.dims import Dim, Poly, evaluate, free_symbols
from tracejit.ir.evaluate import concrete_attrs
from tracejit.ir.graph import Node, attr_sizes
from tracejit.ir.types import TOKEN, ArrayType, Type, type_sizes
from tracejit.link.host_sites import HostSite
from tracejit.link.later import Retold
from tracejit.link.quiet import quietly

__all__ = ["PATIENCE", "HostCallSite", "slot_count"]

#: After how many calls for the same sizes a function is prepared, which takes as long as they do.
PATIENCE = 16


def slot_count(t: Type) -> int:
    """How many slots a value takes."""
    if t == TOKEN:
        return 0
    return 1 if isinstance(t, ArrayType) else 2


@dataclass(frozen=True)
class _Layout:
    """What a site's slots mean for certain sizes: made once, as most sites see the same again."""

    key: tuple[int, ...]
    sizes: dict[str, int]
    attrs: dict[str, Any]
    readers: tuple[Callable[[int], Any], ...]


class HostCallSite:
    """One call site. `strides` gives the element strides of inputs that are not dense."""

    def __init__(self, node: Node, strides: Sequence[tuple[Dim, ...] | None]) -> None:
        self.node = node
        self.strides = strides
        sizes = node.sizes()
        for v in (*node.inputs, *node.outputs):
            sizes |= type_sizes(v.type)
        for s in strides:
            sizes |= set().union(*(free_symbols(d) for d in s or ()))
        self.sizes = tuple(sorted(sizes - set(node.binds)))
        given, written = ([slot_count(v.type) for v in vs] for vs in (node.inputs, node.outputs))
        ends = list(itertools.accumulate((*given, len(self.sizes), *written), initial=0))
        #: Where each input, the sizes and each output lie, in bytes.
        places = [8 * end for end in ends]
        self._inputs = tuple(places[: len(given)])
        self._sizes_at = places[len(given)]
        self._outputs = tuple(places[len(given) + 1 : -1])
        #: Where those sizes lie that shapes of arrays depend on, if native code sets the shapes.
        self.words: dict[Dim, int] = {}
        #: What is longer than 1 then; a slot that is not 0 where it is not.
        self.longer: list[Dim] = []
        self.is_free = bool(self.sizes) and self._are_free()
        if self.is_free:
            self._place_words(places[-1])
        self.slots = ends[-1] + len(self.words) + 1
        self.misfit = 8 * (self.slots - 1)
        self._key_type = ctypes.c_int64 * len(self.sizes)
        self._layout: _Layout | None = None
        outputs = list(zip(node.outputs, self._outputs, strict=True))
        self.native = HostSite([at for v, at in outputs if isinstance(v.type, ArrayType)])
        self._scalars = [
            (v.type, at)
            for v, at in outputs
            if v.type != TOKEN and not isinstance(v.type, ArrayType)
        ]
        self._preparing = long_lock()
        #: How many calls there have been in a row for the sizes of the layout.
        self._seen = 0

    def retold(self, method: str) -> Retold | None:
        """How another process finds a method of such a site; None where it cannot."""
        return retold(type(self), method, self.node, self.strides)

    def run(self, slots: int) -> tuple[np.ndarray[Any, Any], ...] | None:
        """Evaluate the op for the operands that the slots point to, and write its scalars there.

        The arrays among the results, dense as their types say; None where the run must bail out.
        """
        try:
            key: tuple[int, ...] = ()
            if self.sizes:
                key = tuple(self._key_type.from_address(slots + self._sizes_at))
            layout = self._layout
            is_known = layout is not None and layout.key == key
            if layout is None or not is_known:
                # Threads may each make one: any of them will do.
                layout = self._layout = self._make_layout(key)
            inputs = [
                read(slots + at) for read, at in zip(layout.readers, self._inputs, strict=True)
            ]
            with quietly():
                results = self.node.op.evaluate(inputs, dict(layout.attrs))
            arrays, scalars = settle(self.node.outputs, results, layout.sizes)
            for (t, at), x in zip(self._scalars, scalars, strict=True):
                scalar_at(t, slots + at)[()] = x
            self._seen = self._seen + 1 if is_known or self.is_free else 0
            if self._seen >= PATIENCE:
                self._prepare(layout, slots)
        except Exception:
            # The eager run that follows raises the user's own error.
            return None
        return arrays

    def _make_layout(self, key: tuple[int, ...]) -> _Layout:
        sizes = dict(zip(self.sizes, key, strict=True))
        node = self.node
        readers = tuple(
            reader(v.type, sizes, strides)
            for v, strides in zip(node.inputs, self.strides, strict=True)
        )
        return _Layout(key, sizes, concrete_attrs(node, sizes), readers)

    def _are_free(self) -> bool:
        """Whether sizes are those of dense arrays only: one function does for all of them then."""
        attrs = {k: a for k, a in self.node.attrs.items() if k != "types"}
        if any(type(a) in (tuple, Poly) and attr_sizes(a) for a in attrs.values()):
            return False
        for described in self.node.attrs.get("types", ()):
            if described[0] == "array" and attr_sizes(described):
                if not all(isinstance(d, (int, Poly)) for d in described[2]):
                    return False
        for v, steps in zip(self.node.inputs, self.strides, strict=True):
            if isinstance(t := v.type, ArrayType) and (type_sizes(t) or steps is not None):
                is_fixed = not type_sizes(t) and not any(map(free_symbols, steps or ()))
                if not is_fixed and (steps is not None or t.order != tuple(range(t.ndim))):
                    return False
        return True

    def _place_words(self, at: int) -> None:
        node = self.node
        types = [v.type for v in (*node.inputs, *(node.outputs if self._fills(None) else ()))]
        numbers: list[Dim] = []
        for t in types:
            if isinstance(t, ArrayType) and type_sizes(t):
                numbers += [*t.shape, *byte_strides(t)]
                self.longer += [d for d in t.shape if t.ndim > 1 and isinstance(d, Poly)]
        for described in node.attrs.get("types", ()):
            numbers += described[2] if described[0] == "array" else ()
        for d in numbers:
            if isinstance(d, Poly):
                self.words.setdefault(d, at + 8 * len(self.words))
        self.longer = list(dict.fromkeys(self.longer))

    def _prepare(self, layout: _Layout, slots: int) -> None:
        """Have native code call a function for these sizes; the slots are those of this call."""
        if self.native.serves(layout.key) or not self._preparing.acquire(blocking=False):
            return
        try:
            if self.is_free and self._prepare_free(layout, slots):
                return
            stays = Staying(slots, {})
            lists = self._stay(stays, layout.sizes, self._fills(layout.sizes))

            def now() -> Any:
                return layout.attrs, layout.sizes

            forget = self.native.forgetter()
            function = make_function(self.node, layout.attrs, now, lists, stays.arrays, forget)
            if function is None or stays.misplaced:
                self.native.give_up()
                return
            pairs = [(self._sizes_at + 8 * k, n) for k, n in enumerate(layout.key)]
            self.native.prepare(function, layout.key, pairs, stays.places)
        finally:
            self._preparing.release()

    def _prepare_free(self, layout: _Layout, slots: int) -> bool:
        """The same for all sizes; False where these are none to begin with."""
        node, names, stays = self.node, self.sizes, Staying(slots, self.words)
        numbers = stays.numbers(self._sizes_at, len(names))
        lists = self._stay(stays, layout.sizes, self._fills(None))

        def now() -> Any:
            sizes = dict(zip(names, numbers.tolist(), strict=True))
            return concrete_attrs(node, sizes), sizes

        if stays.misplaced or stays.unusual:
            return False
        forget = self.native.forgetter()
        function = make_function(node, node.attrs, now, lists, stays.arrays, forget)
        if function is None:
            return False
        self.native.prepare(function, None, [(self.misfit, 0)], stays.places)
        return True

    def _stay(self, stays: Staying, sizes: dict[str, int], fills: bool) -> tuple[list[Any], ...]:
        inputs = zip(self.node.inputs, self._inputs, self.strides, strict=True)
        operands = [stays.value(v.type, at, sizes, steps) for v, at, steps in inputs]
        scalars = [stays.value(t, at, sizes) for t, at in self._scalars]
        out = []
        if fills:
            out = [stays.value(self.node.outputs[0].type, self._outputs[0], sizes)]
        models = [
            stays.model(t[2], sizes) if stays.words and attr_sizes(t) else None
            for t in self.node.attrs.get("types", ())
        ]
        return operands, scalars, out, models

    def _fills(self, sizes: dict[str, int] | None) -> bool:
        """Whether a ufunc can write its result where it belongs: no operand is broadcast.

        Without sizes: whatever they are, in C order.
        """
        if ufunc_of(self.node) is None:
            return False
        shapes: set[Any] = set()
        for v in (*self.node.inputs, *self.node.outputs):
            assert isinstance(t := v.type, ArrayType)
            if sizes is None and t.order != tuple(range(t.ndim)):
                return False
            shapes.add(t.shape if sizes is None else tuple(evaluate(d, sizes) for d in t.shape))
        return len(shapes) == 1
