"""Arguments from text: types give random arrays, literals themselves, other expressions values."""

from __future__ import annotations

import argparse
import ast
import linecache
from collections.abc import Mapping
from typing import Any

import numpy as np

from tracejit.cli.errors import Usage, unknown
from tracejit.ir.dims import Poly
from tracejit.ir.types import (
    ArrayType,
    NpScalar,
    PyScalar,
    Type,
    dtype_name,
    type_from_ast,
    type_sizes,
    type_substitute,
)

__all__ = ["DEFAULT_SIZE", "evaluate_text", "example", "natural", "parse_args", "read_sizes"]

#: The size that a symbol such as n in f64[n] stands for where --sizes does not say.
DEFAULT_SIZE = 100


def natural(text: str) -> int:
    """A number from 0, as the type of an option."""
    if not text.strip().isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0")
    return int(text)


def read_sizes(text: str) -> dict[str, int]:
    """Sizes from "n=8, m=3". Raises Usage."""
    try:
        keywords = ast.parse(f"f({text})", mode="eval").body
        assert isinstance(keywords, ast.Call) and not keywords.args
        given = {k.arg or "**": ast.literal_eval(k.value) for k in keywords.keywords}
        assert len(given) == len(keywords.keywords)
    except (SyntaxError, ValueError, AssertionError):
        raise Usage(f'--sizes cannot be read: {text!r}; write "n=8, m=3"') from None
    for name, size in given.items():
        if type(size) is not int or size < 0:
            raise Usage(f"the size {name} is not a number from 0: {size!r}")
    return given


def parse_args(
    text: str, sizes: str = "", seed: int = 0, names: Mapping[str, Any] | None = None
) -> tuple[list[Any], dict[str, Any]]:
    """Arguments and keywords from "f64[n, 10], 3, axis=0"; `names` are those of expressions.

    Size symbols are those of `sizes`, "n=8, m=3", or else 100; a symbol by itself is that number.
    Raises Usage.
    """
    try:
        call = ast.parse(f"f({text})", mode="eval").body
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    except (SyntaxError, ValueError, AssertionError):
        raise Usage(f"--args cannot be read: {text!r}") from None
    items = [*call.args, *(k.value for k in call.keywords)]
    if any(k.arg is None for k in call.keywords) or any(isinstance(x, ast.Starred) for x in items):
        raise Usage(f"--args takes no stars: {text!r}")
    if len({k.arg for k in call.keywords}) < len(call.keywords):
        raise Usage(f"--args: a keyword is given twice: {text!r}")
    types = [_type(item) for item in items]
    known = {
        name: DEFAULT_SIZE for t in types if isinstance(t, ArrayType) for name in type_sizes(t)
    }
    given = read_sizes(sizes)
    for name in given:
        if name not in known and not any(isinstance(x, ast.Name) and x.id == name for x in items):
            raise unknown("size", name, known)
    known |= given
    rng = np.random.default_rng(seed)
    values = [
        _value(item, kind, known, rng, {} if names is None else names)
        for item, kind in zip(items, types, strict=True)
    ]
    count = len(call.args)
    keywords = {str(k.arg): value for k, value in zip(call.keywords, values[count:], strict=True)}
    return values[:count], keywords


def _type(item: ast.expr) -> Type | None:
    """The type that an expression is, if it is one."""
    if isinstance(item, ast.Constant):
        return None
    try:
        return type_from_ast(item)
    except ValueError:
        return None


def _value(
    item: ast.expr,
    kind: Type | None,
    sizes: Mapping[str, int],
    rng: np.random.Generator,
    names: Mapping[str, Any],
) -> Any:
    if kind is not None:
        try:
            return example(type_substitute(kind, sizes), rng)
        except (ValueError, MemoryError) as error:
            raise Usage(f"--args: no array of type {ast.unparse(item)}: {error}") from None
    if isinstance(item, ast.Name) and item.id in sizes:
        return sizes[item.id]
    try:
        return ast.literal_eval(item)
    except ValueError:
        pass
    meant = _spelled_as_in_numpy(item)
    if meant:
        raise Usage(f"--args: there is no type {ast.unparse(item)}; did you mean {meant}?")
    return evaluate_text(ast.unparse(item), names, "--args")


def _spelled_as_in_numpy(item: ast.expr) -> str:
    """The type meant by float64[3] or np.float64[3]; '' where none is."""
    if not isinstance(item, ast.Subscript):
        return ""
    name = ast.unparse(item.value).rpartition(".")[2]
    try:
        return f"{dtype_name(np.dtype(name))}[{ast.unparse(item.slice)}]"
    except (TypeError, ValueError):
        return ""


def evaluate_text(text: str, names: Mapping[str, Any], option: str) -> Any:
    """The value of an expression of the command line. Raises Usage.

    Its source can be found, so that a lambda in it can be compiled.
    """
    file = f"<{option} {text}>"
    linecache.cache[file] = (len(text), None, [text + "\n"], file)
    try:
        return eval(compile(text, file, "eval"), dict(names))
    except (Exception, SystemExit) as error:
        raise Usage(
            f"{option}: {text} is neither a type nor a value: {type(error).__name__}: {error}"
        ) from None


def example(kind: Type, rng: np.random.Generator) -> Any:
    """A random value of a type whose sizes are numbers. Raises ValueError for any other type."""
    if isinstance(kind, ArrayType):
        if any(isinstance(d, Poly) for d in kind.shape):
            raise ValueError(f"the sizes of {kind} must be numbers")
        if any(isinstance(d, int) and d < 0 for d in kind.shape):
            raise ValueError(f"{kind} has a negative size")
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
