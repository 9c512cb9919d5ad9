"""The rules of `simplify` for products with absorbing zeros; each docstring is an equation.

A absorbing zero shows only where the plain product would be NaN: beside an infinity or a NaN, and
where 0 is divided by 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ir.graph import Node, Value
from tracejit.passes.simplify.rewriter import Rewriter, rule

__all__: list[str] = []


def _finite(c: Any) -> bool:
    return c is not None and bool(np.isfinite(c))


def _not_zero(c: Any) -> bool:
    return c is not None and bool(c != 0)


@rule("multiply_no_nan")
def multiply_no_nan_by_number(r: Rewriter, node: Node) -> Value | None:
    """v (*) c -> v * c for a finite c;  c (*) x -> c * x for c != 0"""
    v, x = (r.number(operand) for operand in node.inputs)
    return r.make("multiply", node.inputs) if _finite(x) or _not_zero(v) else None


@rule("multiply_no_nan", "product_no_nan")
def square_no_nan(r: Rewriter, node: Node) -> Value | None:
    """x (*) x -> x * x"""
    return r.make("multiply", node.inputs) if node.inputs[0] is node.inputs[1] else None


@rule("product_no_nan")
def product_no_nan_by_number(r: Rewriter, node: Node) -> Value | None:
    """v (*) c -> v * c, c (*) v -> c * v for a finite c != 0"""
    numbers = [r.number(operand) for operand in node.inputs]
    plain = any(_finite(c) and _not_zero(c) for c in numbers)
    return r.make("multiply", node.inputs) if plain else None


@rule("divide_no_nan")
def divide_no_nan_by_number(r: Rewriter, node: Node) -> Value | None:
    """v (/) c -> v / c for a real c != 0 and no NaN;  c (/) x -> c / x for c != 0

    A complex quotient may be NaN for a finite divisor that is very small.
    """
    v, x = (r.number(operand) for operand in node.inputs)
    known = _not_zero(x) and x.dtype.kind == "f" and not np.isnan(x)
    return r.make("divide", node.inputs) if known or _not_zero(v) else None
