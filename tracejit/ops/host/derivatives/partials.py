"""Derivatives of elementwise functions that are called: rules from formulas of partial derivatives.

    elementwise("scipy.special:xlog1py", lambda x, y, out: log1p(y), lambda x, y, out: x / (1 + y))

A formula takes the operands and the result, and gives the partial derivative by one operand: a
term, as for ops. What it does not use is neither kept nor computed again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tracejit.errors import Underivable
from tracejit.ir.derivatives import DerivativeBuilder, NodeAdaptor
from tracejit.ir.graph import Value
from tracejit.ir.terms import Number, Term, product
from tracejit.ir.types import ArrayType, NpScalar, Type, dtype_name, dtype_of
from tracejit.ops.array.elementwise import op_of
from tracejit.ops.host.derivatives.decompositions import real_dtype
from tracejit.ops.host.derivatives.registry import (
    HostAdaptor,
    as_array,
    host,
    matched,
    rule,
    sum_of,
)
from tracejit.ops.host.functions import find_function
from tracejit.ops.rules.partials import LinearMap, Partial

__all__ = ["ELEMENTWISE", "call", "elementwise"]

#: What a ufunc may be given beside its operands, where that changes nothing.
_USUAL = {"where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True}

#: The partial derivatives of elementwise functions, by their paths.
ELEMENTWISE: dict[str, tuple[Partial, ...]] = {}


def call(path: str, *operands: Number, **keywords: Any) -> Term:
    """A function of NumPy or SciPy of terms, by its op if there is one.

    Raises Underivable where it takes no such dtypes.
    """
    (first, *_) = (t for t in operands if isinstance(t, Term))
    c, at = first.c, first.at
    assert isinstance(at, HostAdaptor | NodeAdaptor)
    like = at.call.outputs[0] if isinstance(at, HostAdaptor) else at.outputs[0]
    real = _in_dtype(like, real_dtype(dtype_of(like)))
    given = [t.value if isinstance(t, Term) else c.full(real, t) for t in operands]
    dtypes = tuple([dtype_of(v.type) for v in given])
    op = op_of(find_function(path))
    if op is not None and not keywords and op.native([dtype_name(d) for d in dtypes], {}):
        return first.of(c.op(op.name, *given))
    sample = _sampled(path, dtypes, isinstance(like, ArrayType), tuple(keywords.items()))
    if sample is None:
        names = " and ".join(sorted({str(d) for d in dtypes}))
        whole, lacks = (p.replace(":", ".") for p in (_named(at), path))
        raise Underivable(f"{whole} has no derivative rule for {names}: {lacks} lacks it")
    dtype, is_scalar = sample
    shape = like.shape if isinstance(like, ArrayType) else None
    made = NpScalar(dtype) if shape is None or (is_scalar and not shape) else None
    (out,) = host(c, path, given, made or ArrayType(dtype, shape or ()), **keywords)
    return first.of(_precise(c, out if shape is None else as_array(c, out), like))


def _named(at: HostAdaptor | NodeAdaptor) -> str:
    return at.path if isinstance(at, HostAdaptor) else at.op.name


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
    path: str, *partials: Partial, names: Sequence[str] = (), takes_complex: bool = False
) -> None:
    """Enter the rule of an elementwise function; `partials` are by its operands, None: no rule.

    Of a function with several results a formula gets all of them, and gives as many derivatives.
    `names` are the operands' parameters, where the function is none of NumPy's ufuncs. A formula
    that holds for complex numbers has to be that of a holomorphic function.
    """
    if not names:
        names = ["x"] if len(partials) == 1 else [f"x{k + 1}" for k in range(len(partials))]
    ELEMENTWISE[path] = partials
    formulas = {n: f for n, f in zip(names, partials, strict=True) if f is not None}

    def partials_by(at: HostAdaptor, name: str) -> Sequence[Number]:
        """The partial derivatives of all results by one operand."""
        likes = at.call.outputs
        dtypes = [dtype_of(t) for t in (*likes, *(at.type(n) for n in at.places))]
        if not takes_complex and any(d.kind == "c" for d in dtypes):
            raise at.underivable("has no derivative rule for complex numbers")
        at.only(**{k: x for k, x in _USUAL.items() if k in at.given and k not in names})
        operands = [_operand(at, n, likes[0]) for n in names]
        results = [_result(at, k) for k in range(len(likes))]
        formula = formulas[name]
        assert not isinstance(formula, LinearMap)
        if not callable(formula):
            return (formula,)
        found = formula(*operands, results[0] if len(results) == 1 else results)
        return found if isinstance(found, tuple) else (found,)

    def times(at: HostAdaptor, v: Value, partial: Number) -> Value:
        c, like = at.c, at.call.outputs[0]
        return product(c, _spread(c, _precise(c, v, like), like), partial)

    def jvp(at: HostAdaptor, tangents: Mapping[str, Value]) -> Sequence[Value | None]:
        total: list[Value] = []
        for name, t in tangents.items():
            found = [times(at, t, p) for p in partials_by(at, name)]
            total = [at.c.add(a, b) for a, b in zip(total, found, strict=True)] if total else found
        return total

    def vjp(at: HostAdaptor, cotangents: Sequence[Value | None]) -> Mapping[str, Value | None]:
        c = at.c
        out: dict[str, Value | None] = {}
        for name in filter(at.wanted, at.places):
            pairs = zip(cotangents, partials_by(at, name), strict=True)
            total = sum_of(c, *(times(at, g, p) for g, p in pairs if g is not None))
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


def _in_dtype(like: Type, dtype: np.dtype[Any]) -> Type:
    return ArrayType(dtype, like.shape) if isinstance(like, ArrayType) else NpScalar(dtype)
