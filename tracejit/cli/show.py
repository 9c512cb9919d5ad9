"""`tracejit show`: a function, by its name, as text at any stage of its compile."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tracejit.api import jit, value_and_grad
from tracejit.cli.errors import Failure, Usage
from tracejit.errors import DeviceError, FallbackError, GraphError, TraceError
from tracejit.ir.dims import Poly
from tracejit.ir.types import ArrayType, NpScalar, PyScalar, Type, type_from_ast

__all__ = ["example", "parse_args", "show"]


def show(
    target: str, args: str, stage: str, grad: str | None = None, device: str | None = None
) -> int:
    """Print a stage of `target` ("pkg.mod:f" or "file.py:f") for example arguments.

    With `grad` it is that of its value and gradient, by the arguments of these numbers, or for ""
    by all that are floats. For a `device` it is what would run there, without one, too.
    """
    values = parse_args(args)
    function = _find(target)
    if grad is not None:
        function = _value_and_grad(function, grad, values)
    lowered = _lower(function, values, target, device)
    if stage != "all" and stage not in lowered.stages:
        raise Usage(f"there is no stage {stage}; there are {', '.join(lowered.stages)} and all")
    for name in lowered.stages if stage == "all" else [stage]:
        if stage == "all":
            print(f"# {name}")
        print(_text(lowered, name).rstrip("\n"))
    return 0


def _value_and_grad(function: Any, numbers: str, values: list[Any]) -> Any:
    try:
        places = [int(k) for k in numbers.split(",") if k.strip()]
    except ValueError:
        raise Usage(f"--grad takes numbers of arguments, not {numbers!r}") from None
    if not numbers:
        places = [k for k, x in enumerate(values) if np.asarray(x).dtype.kind in "fc"]
    if not places or not all(-len(values) <= k < len(values) for k in places):
        raise Usage(f"--grad: there is no such argument among {len(values)}")
    return value_and_grad(function, places[0] if len(places) == 1 else tuple(places))


def _lower(function: Any, values: list[Any], target: str, device: str | None) -> Any:
    try:
        compiled = function if hasattr(function, "lower") else jit(function)
        compiled = compiled if device is None else jit(compiled, device=device)
        return compiled.lower(*values)
    except (TraceError, FallbackError) as error:
        raise Failure(f"{target} runs eagerly\n{error}") from None
    except GraphError as error:
        raise Failure(f"{target}: the compiler failed: {error}") from None
    except Exception as error:
        raise Failure(f"{target}: {_describe(error)}") from None


def _text(lowered: Any, stage: str) -> str:
    try:
        text: str = lowered.text(stage)
        return text
    except GraphError as error:
        raise Failure(f"the compiler failed: {error}") from None
    except (DeviceError, TraceError) as error:
        raise Failure(str(error)) from None


def _describe(error: BaseException) -> str:
    """An exception of the user's code in one or two lines."""
    frames = traceback.extract_tb(error.__traceback__)
    inner = str(Path(__file__).resolve().parent.parent)
    own = [f for f in frames if not f.filename.startswith((inner, "<frozen"))]
    place = f'\n    File "{own[-1].filename}", line {own[-1].lineno}: {own[-1].line}' if own else ""
    return f"{type(error).__name__}: {error}{place}"


def _find(target: str) -> Any:
    """The object that "pkg.mod:name.name" or "file.py:name" names."""
    module_name, colon, path = target.rpartition(":")
    if not colon or not module_name or not path:
        raise Usage(f"{target!r} is not MODULE:FUNCTION or path/to/file.py:FUNCTION")
    found: Any = _module(module_name)
    for name in path.split("."):
        if not hasattr(found, name):
            raise Failure(f"{module_name} has no {path}")
        found = getattr(found, name)
    if not callable(found):
        raise Failure(f"{target} is not a function but of type {type(found).__name__}")
    return found


def _module(name: str) -> ModuleType:
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        if name.endswith(".py") or "/" in name:
            return _module_of_file(Path(name))
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise Failure(f"cannot import {name}: {error}") from None
    except Exception as error:
        raise Failure(f"cannot import {name}: {_describe(error)}") from None


def _module_of_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise Failure(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise Failure(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # As for a script: its neighbours can be imported, and it is found by its name.
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


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
