"""tracejit: NumPy functions, unchanged, compiled to native code.

    @tracejit.jit
    def f(x, y):
        return np.where(x > 0, np.sin(x) * y, 0).sum()

`with tracejit.eager():` runs decorated functions as plain Python; `f.report()` says what was
compiled and why, and what was not.
"""

from tracejit import errors
from tracejit.api import cond, jit, while_loop
from tracejit.config import eager
from tracejit.errors import explain

__all__ = ["__version__", "cond", "eager", "errors", "explain", "jit", "while_loop"]

__version__ = "0.1.0"
