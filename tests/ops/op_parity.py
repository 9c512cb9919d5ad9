"""How far the result of an op may lie from another's: its parity class as a bound for operands."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special

from tracejit.ir.evaluate import type_of
from tracejit.ir.op import OPS, Op

__all__ = ["parity_bound", "tolerance", "tolerances", "zeros_are_open"]


def parity_bound(parity: str) -> dict[str, Any]:
    """The bound of `assert_same` that a parity class means without knowledge of the operands."""
    match = re.fullmatch(r"(exact|order|host|ulp)(?:\(([\d.]+)\))?", parity)
    assert match, f"{parity!r} is not a parity class"
    return {"parity": "exact" if match[1] == "host" else match[1], "ulp": float(match[2] or 1)}


def tolerance(op: Op, inputs: Sequence[Any], attrs: dict[str, Any]) -> dict[str, Any]:
    """The bound of `assert_same` that the op's parity class means for these operands."""
    bound = parity_bound(op.parity_of([type_of(x) for x in inputs]))
    if op.name == "cumprod" and inputs[0].dtype.kind == "c":
        # Complex products differ in the last place between NumPy's own loops.
        with np.errstate(all="ignore"):
            scale = np.abs(np.cumprod(inputs[0].astype(complex), axis=attrs["axis"]))
        return {"parity": "order", "ulp": 2 * inputs[0].shape[attrs["axis"]], "scale": scale}
    if op.name.startswith("logaddexp"):
        # It cancels where its result is small: the larger operand has the last place that counts.
        with np.errstate(all="ignore"):
            both = [np.where(np.isfinite(x), np.abs(x), 0) for x in inputs]
            scale = np.maximum(np.maximum(*both), 1)
        return {"parity": "order", "ulp": bound["ulp"], "scale": scale}
    if op.name == "log1p" and inputs[0].dtype.kind == "c":
        # NumPy's is the logarithm of a rounded 1 + z.
        with np.errstate(all="ignore"):
            scale = np.maximum(_finite(np.log1p(inputs[0])), 1)
        return {"parity": "order", "ulp": bound["ulp"], "scale": scale}
    if op.name == "power" and inputs[0].dtype.kind == "c":
        # exp(b log(a)): the last place of the exponent counts. Nothing is left of a large angle,
        # and which side of the largest number a result lies on is for the last place, too.
        with np.errstate(all="ignore"):
            base, exponent = (x.astype(complex) for x in inputs)
            grown = exponent * np.log(np.where(base == 0, 1, base))
            steep, power = _finite(grown), np.power(base, exponent)
            scale = _finite(power) * (1 + steep)
            lost = steep * np.finfo(inputs[0].dtype).eps > 1e-3
            lost |= np.abs(scale / (1 + steep)) > 0.99 * float(np.finfo(inputs[0].dtype).max)
            # On an axis NumPy's other part is infinite times a rounding error.
            on_axis = np.abs(np.sin(2 * grown.imag)) < 1e-14 * (1 + steep)
            lost |= np.isinf(power) & on_axis & (grown.imag != 0)
        return {"parity": "order", "ulp": 8, "scale": scale, "ignore": lost}
    if op.name in _SIZES:
        with np.errstate(all="ignore"):
            return {"parity": "order", "ulp": bound["ulp"], "scale": _SIZES[op.name](*inputs)}
    if bound["parity"] != "order":
        return bound
    # Two sums in any order differ by at most n - 1 roundings each of the sum of magnitudes; trees
    # of the depth of NumPy's blocks need no more than 24.
    x = inputs[0]
    with np.errstate(all="ignore"):
        if op.name == "reduce_sum":
            count = math.prod(x.shape[a] for a in attrs["axes"])
            scale = np.sum(np.abs(x).astype(float), axis=attrs["axes"])
            return {"parity": "order", "ulp": min(max(count - 1, 0), 24), "scale": scale}
        if op.name == "reduce_prod":
            count = math.prod(x.shape[a] for a in attrs["axes"])
            scale = np.abs(np.prod(x.astype(complex), axis=attrs["axes"]))
            return {"parity": "order", "ulp": 2 * max(count - 1, 0), "scale": scale}
        if op.name == "matmul":
            scale = np.matmul(*(np.abs(v).astype(float) for v in inputs))
            return {"parity": "order", "ulp": 2 * x.shape[-1] + 2, "scale": scale}
    # Well conditioned matrices of at most four rows.
    return {"parity": "order", "ulp": 64}


def _finite(x: Any) -> Any:
    return np.where(np.isfinite(x), np.abs(x), 0)


def _wave(x: Any) -> Any:
    """The size of the Bessel functions' waves."""
    return np.minimum(1, 1 / np.sqrt(np.maximum(np.abs(x), 1)))


#: Functions of SciPy -> the size that the errors of its results and of ours are small against.
_SIZES: dict[str, Any] = {
    # Zeros at irrational numbers.
    "gammaln": lambda x: _finite(special.gammaln(x)) + np.where(x < 0, 4, 0),
    "psi": lambda x: _finite(special.psi(x)) + np.where(x < 0, 4, 0),
    # SciPy rounds the phase, of the size of x.
    "j0": lambda x: _wave(x) * (1 + _finite(x)),
    "j1": lambda x: (
        np.minimum(_wave(x), np.abs(x)) * (1 + _finite(x)) + 64 * np.finfo(x.dtype).tiny
    ),
    "y0": lambda x: (_wave(x) + _finite(special.y0(x))) * (1 + _finite(x)),
    "y1": lambda x: (_wave(x) + _finite(special.y1(x))) * (1 + _finite(x)),
    # SciPy adds terms that cancel.
    "kl_div": lambda x, y: np.abs(x) + np.abs(y) + _finite(special.rel_entr(x, y)),
    # SciPy rounds the square in exp(-x**2).
    "erfc": lambda x: special.erfc(x) * (1 + np.minimum(np.square(x), 800)),
    "ndtr": lambda x: special.ndtr(x) * (1 + np.minimum(np.square(x), 1600)),
    "log_ndtr": lambda x: _finite(special.log_ndtr(x)) * (1 + np.minimum(np.square(x), 1600)),
    # SciPy's exp(-x) is infinite where the result is subnormal.
    "expit": lambda x: special.expit(x) + np.finfo(x.dtype).tiny / np.finfo(x.dtype).eps,
}


def tolerances(op: Op, inputs: Sequence[Any]) -> list[dict[str, Any]]:
    """The bounds of an op with several results."""
    if op.name == "lu_factor":
        return [tolerance(op, inputs, {}), {}]
    assert op.name == "matmul_both"
    matrix, *vectors = inputs
    return [tolerance(OPS["matmul"], x, {}) for x in ((matrix, vectors[0]), (vectors[1], matrix))]


def zeros_are_open(op: Op) -> bool:
    """Whether either zero may be the result: it is one of several equal elements, any of them."""
    name = "minimum", "maximum", "fmin", "fmax", "sort"
    return getattr(op, "combine", "") in ("min", "max") or op.name in name
