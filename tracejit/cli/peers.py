"""The function of a call as Numba and JAX would compile it, where they can take it as it is."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from tracejit.base.late import imported

__all__ = ["Peer", "jax_peer", "numba_peer"]

#: (the function, its arguments, its keywords)
Peer = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


def numba_peer(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Peer:
    """`numba.njit` of the function, and of those of its module that it calls. Raises ImportError,
    TypeError.
    """
    numba = imported("numba")
    _require_function(function)
    names = dict(function.__globals__)
    for name in _called(function, names):
        names[name] = numba.njit(_with_names(names[name], names))
    return numba.njit(_with_names(function, names)), args, kwargs


def jax_peer(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Peer:
    """`jax.jit` of the function with jax.numpy for NumPy, in float64 where NumPy has it; what is no
    array or float is static. Raises ImportError, TypeError.
    """
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    jax = imported("jax")
    jax.config.update("jax_enable_x64", True)
    _require_function(function)
    names = {
        name: _like_numpy(jax.numpy, x) if isinstance(x, ModuleType) else x
        for name, x in function.__globals__.items()
    }
    for name in _called(function, names):
        names[name] = _with_names(names[name], names)
    static = [k for k, x in enumerate(args) if not _is_traced(x)]
    named = [name for name, x in kwargs.items() if not _is_traced(x)]
    made = _with_names(function, names)
    compiled = jax.jit(made, static_argnums=static, static_argnames=named)
    args = tuple(jax.numpy.asarray(x) if isinstance(x, np.ndarray) else x for x in args)
    kwargs = {
        n: jax.numpy.asarray(x) if isinstance(x, np.ndarray) else x for n, x in kwargs.items()
    }

    def call(*args: Any, **kwargs: Any) -> Any:
        return jax.block_until_ready(compiled(*args, **kwargs))

    return call, args, kwargs


def _require_function(function: Any) -> None:
    if not isinstance(function, FunctionType):
        raise TypeError(f"a {type(function).__name__} is no function of Python")


def _is_traced(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic, float, complex, list, tuple, dict))


def _like_numpy(jnp: Any, module: ModuleType) -> Any:
    """The module of JAX in place of one of NumPy."""
    top, _, rest = module.__name__.partition(".")
    return module if top != "numpy" else getattr(jnp, rest, module) if rest else jnp


def _called(function: FunctionType, names: dict[str, Any]) -> list[str]:
    """The names of the functions of the same module that this one calls, and those call."""
    found: list[str] = []
    ahead: list[Any] = [function]
    while ahead:
        for name in ahead.pop().__code__.co_names:
            callee = getattr(names.get(name), "__tracejit__", names.get(name))
            if isinstance(callee, FunctionType) and name not in found:
                if callee.__module__ == function.__module__ and callee is not function:
                    names[name] = callee
                    found.append(name)
                    ahead.append(callee)
    return found


def _with_names(function: Any, names: dict[str, Any]) -> FunctionType:
    """The function with other globals."""
    made = FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__module__ = function.__module__
    return made
