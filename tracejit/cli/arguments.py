"""Arguments from text: types give random arrays, literals themselves."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from tracejit.cli.errors import Usage
from tracejit.ir.dims import Poly
from tracejit.ir.types import ArrayType, NpScalar, PyScalar, Type, type_from_ast

__all__ = ["example", "parse_args", "read_sizes"]


def read_sizes(text: str) -> dict[str, int]:
    """Sizes from "n=8, m=3". Raises Usage."""
    try:
        keywords = ast.parse(f"f({text})", mode="eval").body
        assert isinstance(keywords, ast.Call) and not keywords.args
        given = {k.arg or "**": ast.literal_eval(k.value) for k in keywords.keywords}
    except (SyntaxError, ValueError, AssertionError):
        raise Usage(f'--sizes cannot be read: {text!r}; write "n=8, m=3"') from None
    for name, size in given.items():
        if type(size) is not int or size < 0:
            raise Usage(f"the size {name} is not a number from 0: {size!r}")
    return given


def parse_args(text: str) -> list[Any]:
    """Example arguments from "f64[10], 3, True": types give random arrays, literals themselves."""
    try:
        expression = ast.parse(f"({text},)" if text.strip() else "()", mode="eval").body
    except (SyntaxError, ValueError):
        raise Usage(f"--args cannot be read: {text!r}") from None
    assert isinstance(expression, ast.Tuple)
    rng = np.random.default_rng(0)
    return [_argument(item, rng) for item in expression.elts]


def _argument(item: ast.expr, rng: np.random.Generator) -> Any:
    try:
        if not isinstance(item, ast.Constant):
            return example(type_from_ast(item), rng)
    except ValueError as error:
        problem = str(error)
    else:
        problem = ""
    try:
        return ast.literal_eval(item)
    except ValueError:
        raise Usage(f"--args: {problem or ast.unparse(item)}") from None


def example(kind: Type, rng: np.random.Generator) -> Any:
    """A random value of a type whose sizes are numbers. Raises ValueError for any other type."""
    if isinstance(kind, ArrayType):
        if any(isinstance(d, Poly) for d in kind.shape):
            raise ValueError(f"the sizes of {kind} must be numbers")
        shape = tuple(kind.shape[a] for a in kind.order)
        back = np.argsort(kind.order)
        return np.asarray(_numbers(kind.dtype, shape, rng)).transpose(back)
    if isinstance(kind, NpScalar):
        return _numbers(kind.dtype, (), rng)[()]
    if isinstance(kind, PyScalar):
        return _numbers(kind.dtype, (), rng).item()
    raise ValueError(f"there is no example of type {kind}")


def _numbers(dtype: np.dtype[Any], shape: tuple[Any, ...], rng: np.random.Generator) -> Any:
    if dtype.kind == "b":
        return np.asarray(rng.integers(0, 2, shape)).astype(dtype)
    if dtype.kind in "iu":
        return np.asarray(rng.integers(1, 10, shape)).astype(dtype)
    numbers = np.asarray(rng.standard_normal(shape))
    if dtype.kind == "c":
        numbers = numbers + 1j * rng.standard_normal(shape)
    return numbers.astype(dtype)
