"""SciPy's minimisers, with parameters in any tree and derivatives that are compiled.

    found = tracejit.interop.scipy.minimize(loss, {"w": w, "b": b}, args=(x, y))
    found.x["w"]

    tracejit.interop.scipy.minimize(loss, net, args=(x, y), method="trust-ncg", in_place=True)

`loss(parameters, *args)` is plain NumPy and gives one real number. It is compiled with its gradient
once for each shape of the parameters and arguments, for all calls of `minimize` with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tracejit.api import hessian, hvp, jacobian, jit, value_and_grad
from tracejit.interop.programs import (
    floats,
    of_vector,
    raveled,
    residuals_of_vector,
    unraveled,
)

__all__ = ["least_squares", "minimize", "ravel"]

#: Methods that take no gradient; a product of the Hessian; the Hessian.
_VALUES = frozenset({"nelder-mead", "powell", "cobyla", "cobyqa"})
_PRODUCTS = frozenset({"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"})
_HESSIANS = frozenset({"dogleg", "trust-exact"})
#: Functions whose programs are kept.
_KEPT = 32


def ravel(x: Any) -> tuple[Any, Callable[[Any], Any]]:
    """(vector, unravel): the floats of a tree as float64, and what makes a tree like it of such.

    Raises TypeError for complex numbers, and for a tree without floats.
    """
    found = [np.result_type(leaf) for leaf in floats(x)]
    if not found or any(dtype.kind == "c" for dtype in found):
        what = "complex numbers" if found else "no floats"
        raise TypeError(f"the parameters are real floats, and there are {what} in them")
    return raveled(x), lambda vector: unraveled(np.asarray(vector, np.float64), x)


def minimize(
    loss: Callable[..., Any],
    x0: Any,
    args: Sequence[Any] = (),
    *,
    method: str | None = None,
    in_place: bool = False,
    **options: Any,
) -> Any:
    """Minimise `loss(x, *args)`, starting at `x0`: `scipy.optimize.minimize` with derivatives.

    `x0` is an array, or a tree of arrays and numbers (also an object): its floats are the
    parameters. The `.x` of SciPy's result is a tree like it, and with `in_place` it is `x0` itself,
    whose arrays are overwritten. All other vectors (`.jac`, those of `bounds`, `constraints` and
    `callback`) have the parameters in the order of `ravel`. Methods that use it have the product of
    the Hessian with a direction, "dogleg" and "trust-exact" the Hessian. Other options are SciPy's.

    Raises TypeError for complex parameters, for a loss that is not one real number, and for
    numbers that are to be changed in place.
    """
    from scipy.optimize import minimize as scipy_minimize

    start, unravel = ravel(x0)
    put = _writer(x0) if in_place else unravel
    more = (x0, tuple(args))
    name = (method or "").lower() if not callable(method) else ""
    if name in _VALUES:
        options["fun"] = _value(loss)
    else:
        options.update(fun=_with_gradient(loss), jac=True)
    if name in _PRODUCTS and not {"hess", "hessp"} & set(options):
        product = _product(loss)
        options["hessp"] = lambda x, p, like, args: product(x, like, args, p)
    if name in _HESSIANS:
        options.setdefault("hess", _hessian(loss))
    found = scipy_minimize(x0=start, args=more, method=method, **options)
    found.x = put(found.x)
    return found


def least_squares(
    residuals: Callable[..., Any],
    x0: Any,
    args: Sequence[Any] = (),
    *,
    in_place: bool = False,
    **options: Any,
) -> Any:
    """Minimise the sum of squares of `residuals(x, *args)`: `scipy.optimize.least_squares`.

    The parameters are as in `minimize`; the residuals are an array, or arrays in a tree. Their
    Jacobian is compiled: a pass for each parameter, or for each residual where these are fewer.
    """
    from scipy.optimize import least_squares as scipy_least_squares

    start, unravel = ravel(x0)
    put = _writer(x0) if in_place else unravel
    more = (x0, tuple(args))
    function: Any = _residuals(residuals)
    fewer = function(start, *more).size < start.size
    jac = _jacobian(residuals, "reverse" if fewer else "forward")
    found = scipy_least_squares(function, start, jac=jac, args=more, **options)
    found.x = put(found.x)
    return found


def _writer(x: Any) -> Callable[[Any], Any]:
    """What writes a vector to the arrays of a tree, and gives the tree. Raises TypeError."""
    leaves = floats(x)
    if not all(isinstance(leaf, np.ndarray) and leaf.flags.writeable for leaf in leaves):
        raise TypeError("only arrays that can be written to are changed in place")

    def put(vector: Any) -> Any:
        ends = np.cumsum([leaf.size for leaf in leaves])
        for leaf, end in zip(leaves, ends, strict=True):
            leaf[...] = vector[end - leaf.size : end].reshape(leaf.shape)
        return x

    return put


_value, _with_gradient, _product, _hessian, _residuals = (
    lru_cache(_KEPT)(make)
    for make in (
        lambda f: jit(of_vector(f)),
        lambda f: value_and_grad(of_vector(f)),
        lambda f: hvp(of_vector(f)),
        lambda f: hessian(of_vector(f)),
        lambda f: jit(residuals_of_vector(f)),
    )
)


@lru_cache(_KEPT)
def _jacobian(f: Callable[..., Any], mode: str) -> Any:
    return jacobian(residuals_of_vector(f), mode=mode)
