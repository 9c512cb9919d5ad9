"""tracejit: NumPy functions, unchanged, compiled to native code.

    @tracejit.jit
    def f(x, y):
        return np.where(x > 0, np.sin(x) * y, 0).sum()

`with tracejit.eager():` runs decorated functions as plain Python; `f.report()` says what was
compiled and why, and what was not.
"""

import sys
from collections.abc import Callable as _Callable
from typing import Any as _Any

from tracejit import config, errors, tree
from tracejit.api import (
    custom_jvp,
    custom_vjp,
    grad,
    hessian,
    hvp,
    jacobian,
    jit,
    jvp,
    remat,
    stop_gradient,
    value_and_grad,
    vjp,
    vmap,
)
from tracejit.base.late import TOOLS as _TOOLS
from tracejit.base.late import imported as _imported
from tracejit.base.originals import hold as _hold
from tracejit.base.placing import device
from tracejit.config import eager
from tracejit.errors import FallbackWarning, explain
from tracejit.forms import cond, fori_loop, scan, while_loop
from tracejit.sparse import RowGradient

__all__ = [
    "FallbackWarning",
    "RowGradient",
    "__version__",
    "cond",
    "config",
    "custom_jvp",
    "custom_vjp",
    "device",
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
    "remat",
    "scan",
    "stop_gradient",
    "tree",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]

__version__ = "0.1.0"

#: What is imported when it is first asked for.
_PACKAGES = frozenset(
    "checkpoint data dist export inspect interop monitor nn optim profiler view".split()
)

_hold()


def _tool(module: str, name: str) -> _Callable[..., _Any]:
    return lambda *args: getattr(_imported(f"tracejit.{module}"), name)(*args)


_TOOLS.update(
    all_reasons=_tool("inspect.reasons", "all_reasons"),
    compiled_gate=_tool("runtime.native", "compiled_gate"),
    costs_of_devices=_tool("dist.placed.pool", "costs"),
    display=_tool("monitor.displays", "display_for"),
    html=_tool("notebook.html", "html_of"),
    import_ops=lambda: _imported("tracejit.ops"),
    print_graph=_tool("ir.text.syntax", "print_graph"),
    profile=_tool("profiler", "profile_call"),
    run_pieces=_tool("dist.placed.pool", "run_pieces"),
    view=_tool("view.page", "view"),
)


def __getattr__(name: str) -> object:
    if name in _PACKAGES:
        return _imported(f"tracejit.{name}")
    if name == "profile":
        return _imported("tracejit.profiler").profile
    if name == "load_ipython_extension":  # what `%load_ext tracejit` looks for
        return _imported("tracejit.notebook").load
    # Python's own traceback says what was meant.
    text = f"module 'tracejit' has no attribute {name!r}"
    raise AttributeError(text, name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return sorted({*globals(), *_PACKAGES, "profile"})
