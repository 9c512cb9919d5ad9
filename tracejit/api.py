"""The public interface: `jit` and the explicit forms of control flow."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from tracejit.runtime.dispatch import Jitted

__all__ = ["jit"]


@overload
def jit(
    function: Callable[..., Any], /, *, strict: bool = False, bounds_check: bool = True
) -> Jitted: ...


@overload
def jit(
    *, strict: bool = False, bounds_check: bool = True
) -> Callable[[Callable[..., Any]], Jitted]: ...


def jit(function: Any = None, /, *, strict: bool = False, bounds_check: bool = True) -> Any:
    """Compile a function of NumPy arrays when it is called.

    The result answers calls as the function itself would: same values, dtypes, shapes, result types
    and exceptions. What cannot be compiled runs eagerly and is listed in `.report()`; with
    `strict=True` it raises `tracejit.errors.FallbackError` instead.

    With `bounds_check=False` the code relies on every index that it computes to lie inside its
    axis, in the functions that this one calls too; negative ones count from the end, as always.
    What happens for an index outside is not defined: other memory is read, or written over.

    `function` is a Python function, a method, a `functools.partial` of one, or an object whose
    class defines `__call__` in Python. Raises TypeError for anything else.
    """
    from tracejit.runtime.dispatch import Jitted

    if function is None:
        return lambda f: jit(f, strict=strict, bounds_check=bounds_check)
    if isinstance(function, Jitted):
        if bounds_check and not strict:
            return function
        strict, bounds_check = strict or function._strict, bounds_check and function._bounds_check
        return Jitted(function.__tracejit__, strict, bounds_check)
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(jit(function.__func__, strict=strict, bounds_check=bounds_check))
    called = function if isinstance(function, functools.partial) else type(function).__call__
    if not callable(function) or not (hasattr(function, "__code__") or _is_python(called)):
        raise TypeError(f"jit takes a Python function, not {type(function).__name__}")
    return Jitted(function, strict, bounds_check)


def _is_python(called: Any) -> bool:
    """Whether a callable is, or wraps, a Python function."""
    while isinstance(called, functools.partial):
        called = called.func
    return hasattr(called, "__code__") or hasattr(type(called).__call__, "__code__")
