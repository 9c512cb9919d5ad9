"""The public interface: `jit` and the explicit forms of control flow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from tracejit.runtime.dispatch import Jitted

__all__ = ["jit"]


@overload
def jit(function: Callable[..., Any], /, *, strict: bool = False) -> Jitted: ...


@overload
def jit(*, strict: bool = False) -> Callable[[Callable[..., Any]], Jitted]: ...


def jit(function: Any = None, /, *, strict: bool = False) -> Any:
    """Compile a function of NumPy arrays when it is called.

    The result answers calls as the function itself would: same values, dtypes, shapes, result types
    and exceptions. What cannot be compiled runs eagerly and is listed in `.report()`; with
    `strict=True` it raises `tracejit.errors.FallbackError` instead.

    Raises TypeError if `function` is not a Python function.
    """
    if function is None:
        return lambda f: jit(f, strict=strict)
    if isinstance(function, Jitted):
        return function if not strict else Jitted(function.__tracejit__, strict)
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(jit(function.__func__, strict=strict))
    if not callable(function) or not hasattr(function, "__code__"):
        raise TypeError(f"jit takes a Python function, not {type(function).__name__}")
    return Jitted(function, strict)
