"""Other packages: tensors, estimators and minimisers around compiled functions.

`interop.torch`, `interop.jax`, `interop.scipy` and `interop.sklearn` are imported when they are
first asked for, and need the package of that name.
"""

from __future__ import annotations

import importlib.util
from types import ModuleType

from tracejit.base.late import imported

_MODULES = ("jax", "scipy", "sklearn", "torch")


def __getattr__(name: str) -> ModuleType:
    if name in _MODULES:
        module: ModuleType = imported(f"tracejit.interop.{name}")
        return module
    raise AttributeError(f"module 'tracejit.interop' has no attribute {name!r}")


def __dir__() -> list[str]:
    installed = {name for name in _MODULES if importlib.util.find_spec(name) is not None}
    return sorted({*globals(), *installed})
