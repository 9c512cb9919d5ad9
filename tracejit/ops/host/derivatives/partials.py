"""Derivatives of elementwise functions that are called: rules from formulas of partial derivatives.

    elementwise("scipy.special:xlog1py", lambda x, y, out: log1p(y), lambda x, y, out: x / (1 + y))

A formula takes the operands and the result, and gives the partial derivative by one operand. It
computes with them as with numbers; what it does not use is neither kept nor computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from tracejit.ir.derivatives import DerivativeBuilder
from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType, NpScalar, Type, dtype_of
from tracejit.locks import once_computed
from tracejit.ops.host.derivatives.decompositions import real_dtype
from tracejit.ops.host.derivatives.registry import HostAdaptor, as_array, host, matched, rule
from tracejit.ops.host.functions import find_function

__all__ = ["Formula", "Term", "call", "elementwise", "function", "select"]

#: What a ufunc may be given beside its operands, where that changes nothing.
_USUAL = {"where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True}


class Term:
    """Numbers, one for each element of a call's results; they are computed when they are asked for.

    They are real or complex, in the precision of the results.
    """

    def __init__(self, at: HostAdaptor, make: Callable[[], Value]) -> None:
        self.at, self._make = at, make

    @property
    def c(self) -> DerivativeBuilder:
        """Where nodes are recorded."""
        return self.at.c

    @once_computed
    def value(self) -> Value:
        """The numbers."""
        return self._make()

    def of(self, v: Value) -> Term:
        """Other numbers of the call."""
        return Term(self.at, lambda: v)

    def full(self, number: complex) -> Term:
        """One number for all."""
        like = self.at.call.outputs[0]
        dtype = dtype_of(like) if isinstance(number, complex) else real_dtype(dtype_of(like))
        made: Type = NpScalar(dtype)
        if isinstance(like, ArrayType):
            made = ArrayType(dtype, like.shape)
        return self.of(self.c.full(made, number))

    def _other(self, x: Term | complex) -> Term:
        return x if isinstance(x, Term) else self.full(x)

    def __add__(self, x: Term | complex) -> Term:
        return self.of(self.c.add(self.value, self._other(x).value))

    def __sub__(self, x: Term | complex) -> Term:
        return self.of(self.c.sub(self.value, self._other(x).value))

    def __rsub__(self, x: complex) -> Term:
        return self.full(x) - self

    def __mul__(self, x: Term | complex) -> Term:
        return self.of(self.c.mul(self.value, self._other(x).value))

    def __truediv__(self, x: Term | complex) -> Term:
        return self.of(self.c.div(self.value, self._other(x).value))

    def __rtruediv__(self, x: complex) -> Term:
        return self.full(x) / self

    def __neg__(self) -> Term:
        return self.of(self.c.neg(self.value))

    __radd__, __rmul__ = __add__, __mul__


#: (operands, and the result or the results) -> a partial derivative, or one for each result.
Formula: TypeAlias = "Callable[..., Term | float | tuple[Term | float, ...]]"


# What formulas may use ---------------------------------------------------------------------------


def function(name: str) -> Callable[[Term], Term]:
    """An op of one operand as a function of terms."""
    return lambda x: x.of(x.c.op(name, x.value))


def select(test: str, x: Term, y: float, a: Term | float, b: Term | float) -> Term:
    """`a` where the comparison of x with y holds, else `b`."""
    a, b = (t if isinstance(t, Term) else x.full(t) for t in (a, b))
    return x.of(x.c.where(x.c.compare(test, x.value, y), a.value, b.value))


def call(path: str, *operands: Term | float, **keywords: Any) -> Term:
    """A function of NumPy or SciPy of terms. Raises Underivable if it takes no such dtypes."""
    (first, *_) = (t for t in operands if isinstance(t, Term))
    c, like = first.c, first.at.call.outputs[0]
    given = [t.value if isinstance(t, Term) else first.full(t).value for t in operands]
    dtypes = tuple([dtype_of(v.type) for v in given])
    sample = _sampled(path, dtypes, isinstance(like, ArrayType), tuple(keywords.items()))
    if sample is None:
        names = " and ".join(sorted({str(d) for d in dtypes}))
        name = path.replace(":", ".")
        raise first.at.underivable(f"has no derivative rule for {names}: {name} lacks it")
    dtype, is_scalar = sample
    shape = like.shape if isinstance(like, ArrayType) else None
    made = NpScalar(dtype) if shape is None or (is_scalar and not shape) else None
    (out,) = host(c, path, given, made or ArrayType(dtype, shape or ()), **keywords)
    return first.of(_precise(c, out if shape is None else as_array(c, out), like))


@lru_cache(maxsize=512)
def _sampled(
    path: str, dtypes: tuple[np.dtype[Any], ...], is_array: bool, keywords: Any
) -> tuple[np.dtype[Any], bool] | None:
    """The dtype of the function's results, and whether it is a scalar where no operand has axes."""
    ones = [np.ones((), d) if is_array else d.type(1) for d in dtypes]
    try:
        with np.errstate(all="ignore"):
            found = find_function(path)(*ones, **dict(keywords))
    except TypeError:
        return None
    return np.asarray(found).dtype, isinstance(found, np.generic)


# Rules -------------------------------------------------------------------------------------------


def elementwise(
    path: str, *partials: Formula | None, names: Sequence[str] = (), takes_complex: bool = False
) -> None:
    """Enter the rule of an elementwise function; `partials` are by its operands, None: no rule.

    `names` are the operands' parameters, where the function is none of NumPy's ufuncs. A formula
    that holds for complex numbers has to be that of a holomorphic function.
    """
    if not names:
        names = ["x"] if len(partials) == 1 else [f"x{k + 1}" for k in range(len(partials))]
    formulas = {n: f for n, f in zip(names, partials, strict=True) if f is not None}

    def terms(at: HostAdaptor, name: str, v: Value) -> list[Value]:
        """v times the partial derivatives of all results by one operand."""
        c, likes = at.c, at.call.outputs
        formula = formulas[name]
        dtypes = [dtype_of(t) for t in (*likes, *(at.type(n) for n in at.places))]
        if not takes_complex and any(d.kind == "c" for d in dtypes):
            raise at.underivable("has no derivative rule for complex numbers")
        at.only(**{k: x for k, x in _USUAL.items() if k in at.given and k not in names})
        operands = [_operand(at, n, likes[0]) for n in names]
        results = [_result(at, k) for k in range(len(likes))]
        found = formula(*operands, results[0] if len(results) == 1 else results)
        parts = found if isinstance(found, tuple) else (found,)
        given = _spread(c, _precise(c, v, likes[0]), likes[0])
        full = [p if isinstance(p, Term) else results[0].full(p) for p in parts]
        return [c.mul_no_nan(given, p.value) for p in full]

    def jvp(at: HostAdaptor, tangents: Mapping[str, Value]) -> Sequence[Value | None]:
        c = at.c
        total: list[Value] = []
        for name, t in tangents.items():
            found = terms(at, name, t)
            total = [c.add(a, b) for a, b in zip(total, found, strict=True)] if total else found
        return total

    def vjp(at: HostAdaptor, cotangents: Sequence[Value | None]) -> Mapping[str, Value | None]:
        c = at.c
        out: dict[str, Value | None] = {}
        for name in filter(at.wanted, at.places):
            total: Value | None = None
            for k, g in enumerate(cotangents):
                if g is not None:
                    term = terms(at, name, g)[k]
                    total = term if total is None else c.add(total, term)
            if total is not None:
                t = at.type(name)
                out[name] = matched(c, c.sum_to(total, t), t)
        return out

    rule([path], *formulas, jvp=jvp, vjp=vjp)


def _operand(at: HostAdaptor, name: str, like: Type) -> Term:
    return Term(at, lambda: _spread(at.c, _precise(at.c, at.x(name), like), like))


def _result(at: HostAdaptor, k: int) -> Term:
    return Term(at, lambda: at.call.y(k))


def _precise(c: DerivativeBuilder, v: Value, like: Type) -> Value:
    """Numbers, real or complex, in the precision of a type."""
    v, dtype = c.number(v), dtype_of(like)
    if dtype.kind == "f" and dtype_of(v.type).kind == "c":
        dtype = np.result_type(dtype, np.complex64)
    elif dtype_of(v.type).kind != "c":
        dtype = real_dtype(dtype)
    return c.cast(v, dtype)


def _spread(c: DerivativeBuilder, v: Value, like: Type) -> Value:
    """Numbers in the shape of a type."""
    return v if isinstance(v.type, NpScalar) and isinstance(like, NpScalar) else c.shaped(v, like)
