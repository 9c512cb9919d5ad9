"""A benchmark program's kernel in another compiler's hands, as a function over NumPy arrays."""

import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .harness import rebind
from .programs.program import Kernel


def numba_version(kernel: Kernel) -> Kernel:
    """The same source under `numba.njit`, and so are the functions of its module that it calls."""
    import numba

    def with_helpers(function: types.FunctionType) -> Kernel:
        helpers = {
            name: with_helpers(value)
            for name in function.__code__.co_names
            if isinstance(value := function.__globals__.get(name), types.FunctionType)
            and value.__module__ == function.__module__
        }
        return numba.njit(rebind(function, **helpers))

    assert isinstance(kernel, types.FunctionType)
    return with_helpers(kernel)


def jax_outcome(version: Callable[..., dict[str, Any]], names: Sequence[str]) -> Kernel:
    """The JAX version as a kernel that changes its arguments: what the check compares."""

    def kernel(*arguments: Any) -> Any:
        outcome = dict(version(*arguments))
        result = outcome.pop("result", None)
        for name, array in outcome.items():
            np.copyto(arguments[names.index(name)], np.asarray(array), casting="no")
        return on_host(result)

    return kernel


def on_host(result: Any) -> Any:
    """JAX arrays as NumPy arrays, those without axes as numbers."""
    if isinstance(result, tuple):
        return tuple(on_host(x) for x in result)
    if result is None:
        return None
    return np.asarray(result) if result.ndim else result.item()
