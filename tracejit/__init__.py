"""tracejit: NumPy functions, unchanged, compiled to native code.

    @tracejit.jit
    def f(x, y):
        return np.where(x > 0, np.sin(x) * y, 0).sum()

`with tracejit.eager():` runs decorated functions as plain Python; `f.report()` says what was
compiled and why, and what was not.
"""

from tracejit import config, errors, tree
from tracejit.api import (
    checkpoint,
    custom_jvp,
    custom_vjp,
    grad,
    hessian,
    hvp,
    jacobian,
    jit,
    jvp,
    stop_gradient,
    value_and_grad,
    vjp,
    vmap,
)
from tracejit.config import eager
from tracejit.errors import FallbackWarning, explain
from tracejit.forms import cond, fori_loop, scan, while_loop
from tracejit.sparse import RowGradient

__all__ = [
    "FallbackWarning",
    "RowGradient",
    "__version__",
    "checkpoint",
    "cond",
    "config",
    "custom_jvp",
    "custom_vjp",
    "eager",
    "errors",
    "explain",
    "fori_loop",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jit",
    "jvp",
    "scan",
    "stop_gradient",
    "tree",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]

__version__ = "0.1.0"
