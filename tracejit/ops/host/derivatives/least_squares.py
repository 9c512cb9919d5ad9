"""Derivatives of least squares, at constant rank: of solutions, residuals and singular values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracejit.ir.derivatives import NoTangent
from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType, dtype_of, shape_of
from tracejit.ops.host.derivatives.decompositions import (
    Tangents,
    real_dtype,
    values_jvp,
)
from tracejit.ops.host.derivatives.matrices import inverse_jvp
from tracejit.ops.host.derivatives.registry import HostAdaptor, host, rule, sum_of
from tracejit.ops.rules.linalg import columns
from tracejit.ops.rules.shape import slice_of

__all__: list[str] = []


class _Fit:
    """A least squares problem: A, its pseudo-inverse, and the right sides as columns."""

    def __init__(self, at: HostAdaptor) -> None:
        c = self.c = at.c
        self.at = at
        self.dtype = dtype_of(at.call.outputs[0])
        self.a, b = (c.cast(at.x(name), self.dtype) for name in "ab")
        t = self.a.type
        assert isinstance(t, ArrayType)
        if t.ndim != 2:
            raise at.underivable("of stacks has no derivative rule")
        cutoff = self._cutoff(t)
        inverse = ArrayType(t.dtype, t.shape[::-1])
        (self.p,) = host(c, "numpy.linalg:pinv", [self.a], inverse, rcond=cutoff)
        self.vector = len(shape_of(b.type)) == 1
        self.b = self.matrix(b)

    def given_cutoff(self) -> float | None:
        """Which singular values are taken for 0, relative to the largest one, if the call says."""
        cutoff = self.at.constant("cond" if self.at.path.startswith("scipy") else "rcond")
        return None if cutoff is None or cutoff < 0 else float(cutoff)

    def _cutoff(self, t: ArrayType) -> float:
        """The same, or what the library takes."""
        eps = float(np.finfo(t.dtype).eps)
        cutoff = self.given_cutoff()
        if cutoff is not None:
            return cutoff
        is_scipy = self.at.path.startswith("scipy")
        if is_scipy or self.at.constant("rcond") is not None:
            return eps
        if not all(isinstance(d, int) for d in t.shape):
            raise self.at.underivable(
                "with sizes known at run time and no rcond= has no derivative rule"
            )
        return eps * max(d for d in t.shape if isinstance(d, int))

    def matrix(self, v: Value) -> Value:
        v = self.c.cast(v, self.dtype)
        return columns(self.c, v) if self.vector else v

    def rest(self) -> Value:
        """conj(b - A x)."""
        c = self.c
        return c.conj(c.sub(self.b, c.matmul(self.a, self.matrix(self.at.call.y()))))

    def changed(self, tangents: Tangents) -> Value:
        """db - dA x."""
        c, parts = self.c, []
        x = self.matrix(self.at.call.y())
        if "a" in tangents:
            parts.append(c.neg(c.matmul(c.cast(tangents["a"], self.dtype), x)))
        if "b" in tangents:
            parts.append(self.matrix(tangents["b"]))
        out = sum_of(c, *parts)
        assert out is not None
        return out


def _lstsq_jvp(at: HostAdaptor, tangents: Tangents) -> Sequence[Value | NoTangent | None]:
    """The residuals |b - A x|**2 change by 2 Re (b - A x)^H (db - dA x), as A^H (b - A x) = 0."""
    c, fit = at.c, _Fit(at)
    parts = []
    if "a" in tangents:
        t = c.cast(tangents["a"], fit.dtype)
        changed = inverse_jvp(at, fit.a, fit.p, t, fit.given_cutoff())
        parts.append(c.matmul(changed, fit.b))
    if "b" in tangents:
        parts.append(c.matmul(fit.p, fit.matrix(tangents["b"])))
    out = sum_of(c, *parts)
    assert out is not None
    found: list[Value | NoTangent | None] = [c.reshape(out, shape_of(at.call.outputs[0]))]
    if not _has_residuals(at):
        return found
    change = fit.changed(tangents)
    each = c.cast(c.mul(fit.rest(), change), real_dtype(fit.dtype))
    each = c.scale(c.sum(each, [0]), 2)
    found += [slice_of(c, each, (0,), shape_of(at.call.outputs[1])), None]
    if "a" in tangents:
        found.append(values_jvp(at, fit.a, c.cast(tangents["a"], fit.dtype))[0])
    else:
        found.append(None)
    return found


def _has_residuals(at: HostAdaptor) -> bool:
    """Whether the call is one of NumPy's, whose residuals have a rule."""
    return at.path.startswith("numpy")


rule(["numpy.linalg:lstsq", "scipy.linalg._basic:lstsq"], "a", "b", jvp=_lstsq_jvp)
