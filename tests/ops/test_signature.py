"""Signatures: what they take, what they give, and what they say of operands that do not fit."""

from __future__ import annotations

from typing import Any

import pytest

from tracejit.errors import GraphError
from tracejit.ir.dims import symbol
from tracejit.ir.types import DTYPES, PYINT, ArrayType
from tracejit.ops.signature import Signature

N = symbol("n")
F, C, I64 = DTYPES["f64"], DTYPES["c128"], DTYPES["i64"]


def array(*shape: Any, dtype: Any = F, order: Any = None) -> ArrayType:
    return ArrayType(dtype, shape) if order is None else ArrayType(dtype, shape, order)


@pytest.mark.parametrize(
    ("text", "inputs", "attrs", "results"),
    [
        ("a: [.., n, n] -> a", [array(2, N, N, order=(0, 2, 1))], {}, (array(2, N, N),)),
        (
            "a: f64|c128[.., n, n] -> a[.., n], i64[..]",
            [array(2, 3, 3, dtype=C)],
            {},
            (array(2, 3, dtype=C), array(2, dtype=I64)),
        ),
        ("a: f[m, k], b: a[k, n] -> a[m, n]", [array(2, N), array(N, 4)], {}, (array(2, 4),)),
        ("a: [n], b: i64[n] -> b", [array(N), array(N, dtype=I64)], {}, (array(N, dtype=I64),)),
        ("x: iuf[.., n]; axis, stable?: bool -> x", [array(3)], {"axis": 0}, (array(3),)),
        ("x: [.., n]; axis", [array(3)], {"axis": 0}, None),
        ("x: [] -> b1[]", [array()], {}, (array(dtype=DTYPES["b1"]),)),
    ],
)
def test_what_it_gives(text: str, inputs: Any, attrs: Any, results: Any) -> None:
    assert Signature(text).results("op", inputs, attrs) == results


@pytest.mark.parametrize(
    ("text", "inputs", "attrs", "message"),
    [
        ("a: [n], b: a -> a", [array(3)], {}, "op takes 2 operands, not 1"),
        ("a: [n] -> a", [array(3)], {"axis": 0}, r"op has no attributes \['axis'\]"),
        ("a: [n]; axis -> a", [array(3)], {}, r"op lacks the attributes \['axis'\]"),
        ("a: [n]; axis -> a", [array(3)], {"axis": 1}, r"op: 1 is not an axis of f64\[3\]"),
        ("a: [n]; how: bool -> a", [array(3)], {"how": 1}, "op: how must be a bool"),
        ("a: [n] -> a", [PYINT], {}, "op takes an array, not int"),
        ("a: [.., m, n] -> a", [array(3)], {}, "op takes at least 2 axes, not 1"),
        ("a: [n, n] -> a", [array(3, N)], {}, r"op: f64\[3, n\] is not square"),
        ("a: [n], b: [n] -> a", [array(3), array(4)], {}, r"f64\[3\] and f64\[4\] do not fit"),
        ("a: [n], b: [n] -> a", [array(3), array(2, 3)], {}, "do not fit"),
        ("a: [..], b: a -> a", [array(3), array(3, dtype=C)], {}, "do not fit"),
        ("a: f64|c128[n] -> a", [array(3, dtype=I64)], {}, "op has no rule for int64"),
        ("a: fc[n] -> a", [array(3, dtype=I64)], {}, "op has no rule for int64"),
    ],
)
def test_what_it_refuses(text: str, inputs: Any, attrs: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        Signature(text).results("op", inputs, attrs)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: f64 -> a", "'f64' is no dtype with axes"),
        ("a: q[n] -> a", "'q' is no dtype, no kinds of them, and no operand"),
        ("a: f64|f63[n] -> a", "'f64|f63' is no dtype"),
        ("a: [n, ..] -> a", r"'\[n, ..\]' is no dtype with axes"),
        ("a: [n] -> b", "'b' is no dtype with axes"),
        ("a: [n] -> a[m]", "no operand has m"),
        ("a: [n] -> f[n]", "a result is not of one dtype"),
        ("a: [n]; how: truth -> a", "'how: truth' are no attributes"),
    ],
)
def test_what_is_no_signature(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Signature(text)
