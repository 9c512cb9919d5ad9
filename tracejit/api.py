"""The public interface: `jit` and the explicit forms of control flow."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from tracejit.runtime.dispatch import Jitted

__all__ = ["grad", "jit", "value_and_grad"]


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


def grad(
    function: Callable[..., Any],
    argnums: int | Sequence[int] | None = None,
    argnames: str | Sequence[str] | None = None,
    has_aux: bool = False,
) -> Jitted:
    """The gradient of a function that gives one real number.

    The result takes the arguments of `function` and gives the derivative by the argument `argnums`
    (the first by default), of its structure, shapes and dtypes; a tuple of them where `argnums` is
    a sequence, or names are given. These arguments are floats, complex numbers, arrays of them, or
    lists, tuples, dicts and dataclasses of such. With `has_aux` the function gives a pair (value,
    auxiliary), and the result a pair (gradient, auxiliary).

    It is compiled when it is called, like a function under `jit`, through branches, loops and
    stores; under `eager()` it runs operation by operation on real values. Of a function of complex
    z = x + iy the gradient is du/dx - i du/dy, as in JAX. At kinks: `abs` and `norm` at 0 give 0,
    `maximum` of equal operands half to each, `sqrt` at 0 infinity.

    Raises TypeError for a result that is not one real floating-point number, for arguments that
    have no derivative, and where the derivative of an operation is not known.
    """
    return _transformed("gradient", "Gradient", function, argnums, argnames, has_aux, False)


def value_and_grad(
    function: Callable[..., Any],
    argnums: int | Sequence[int] | None = None,
    argnames: str | Sequence[str] | None = None,
    has_aux: bool = False,
) -> Jitted:
    """As `grad`; the result gives a pair (value, gradient), the value being what `function` gives.

    Raises as `grad`.
    """
    return _transformed("gradient", "Gradient", function, argnums, argnames, has_aux, True)


def _transformed(module: str, name: str, *args: Any) -> Jitted:
    """A compiled function that a class of `tracejit.transforms` makes."""
    from tracejit.runtime.dispatch import Jitted

    found = importlib.import_module(f"tracejit.transforms.{module}")
    return Jitted(getattr(found, name)(*args))
