"""Functions for other programs: compiled ahead of time as libraries, and graphs as pictures"""

import sys
from types import ModuleType
from typing import Any

from tracejit.export.ahead import compile
from tracejit.export.events import tensorboard
from tracejit.export.exported import Exported
from tracejit.export.pictures import dot, svg

__all__ = ["Exported", "compile", "dot", "svg", "tensorboard"]


class _Callable(ModuleType):
    """The package itself: `tracejit.export(f, ...)` is `tracejit.export.compile(f, ...)`."""

    def __call__(self, function: Any, *signatures: str, **options: Any) -> Exported:
        return compile(function, *signatures, **options)


sys.modules[__name__].__class__ = _Callable
