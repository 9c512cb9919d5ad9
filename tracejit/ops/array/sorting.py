"""Sorting along one axis, by NumPy's own loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tracejit.ir.graph import Attrs, Value
from tracejit.ir.op import Op, register
from tracejit.ir.types import DTYPES
from tracejit.ops.checks import c_array
from tracejit.ops.rules.reduction import put_back, taken
from tracejit.ops.samples import arrays, edges
from tracejit.ops.signature import Signature

if TYPE_CHECKING:
    from tracejit.ir.batching import BatchAdaptor
    from tracejit.ir.derivatives import DerivativeBuilder, Into, NodeAdaptor

__all__: list[str] = []


def _samples() -> list[tuple[list[Any], dict[str, Any]]]:
    out: list[tuple[list[Any], dict[str, Any]]] = []
    for x in arrays((3, 4), (5,), (0, 2)):
        out += [([x], {"axis": a}) for a in range(x.ndim)]
    for dtype in DTYPES:
        values = edges(dtype)
        out.append(([np.concatenate([values, values])], {"axis": 0}))
    return out


@register
class Sort(Op):
    """The elements in ascending order along `axis`; NaNs last.

    Derivatives move as a stable sort moves the elements: equal ones keep their order.
    """

    name: ClassVar[str] = "sort"
    kind: ClassVar[str] = "library"
    sorts: ClassVar[bool] = True
    numpy: ClassVar[Any] = np.sort
    by_package = staticmethod(lambda xp, x, attrs: (xp.sort(x[0], axis=attrs["axis"]),))
    signature: ClassVar[Any] = Signature("x: [.., n]; axis -> x")

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        return (c_array(np.sort(inputs[0], axis=attrs["axis"])),)

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | None]:
        """The tangents, moved."""
        (t,), axis = tangents, at.attrs["axis"]
        if t is None:
            return (None,)
        return (taken(c, t, self._order(c, at), axis),)

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | None]:
        """The cotangents, moved back."""
        (g,), axis = cotangents, at.attrs["axis"]
        if g is None or not at.wanted[0]:
            return (None,)
        return (put_back(c, g, self._order(c, at), axis),)

    def _order(self, c: DerivativeBuilder, at: NodeAdaptor) -> Value:
        return c.op("argsort", at.x(0), axis=at.attrs["axis"], stable=True)

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        return (c.op(self.name, *at.values, axis=at.attrs["axis"] + 1),)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        return _samples()


@register
class ArgSort(Op):
    """The i64 positions that sort along `axis`; equal elements keep their order if `stable`."""

    name: ClassVar[str] = "argsort"
    kind: ClassVar[str] = "library"
    sorts: ClassVar[bool] = True
    numpy: ClassVar[Any] = np.argsort
    constant: ClassVar[bool] = True
    signature: ClassVar[Any] = Signature("x: [.., n]; axis, stable: bool -> i64[.., n]")

    @staticmethod
    def by_package(xp: Any, x: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
        kind = "stable" if attrs["stable"] else None
        return (xp.argsort(x[0], axis=attrs["axis"], kind=kind),)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        stable = attrs["stable"] or None
        out = np.argsort(inputs[0], axis=attrs["axis"], stable=stable)
        return (c_array(out.astype(np.int64, copy=False)),)

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        return c.ops(self.name, at.values, **{**at.attrs, "axis": at.attrs["axis"] + 1})

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        return [(x, {**a, "stable": s}) for x, a in _samples() for s in (False, True)]
