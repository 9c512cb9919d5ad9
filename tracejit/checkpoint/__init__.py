"""Checkpoints: what a program has reached is saved, whole or not at all, and restored in place.

    checkpoint.save("run", step=k, net=net, opt=opt, loader=loader, keep=5)
    checkpoint.restore("run", net=net, opt=opt, loader=loader)

`tracejit.checkpoint(f)` is `tracejit.remat(f)`, which had this name.
"""

import sys
from types import ModuleType
from typing import Any

from tracejit.api import remat
from tracejit.checkpoint.errors import (
    CheckpointError,
    CheckpointWarning,
    MismatchError,
    NoCheckpointError,
    StorageError,
)
from tracejit.checkpoint.restoring import Restored, best, latest, restore, steps
from tracejit.checkpoint.saver import Saver, save, wait

__all__ = [
    "CheckpointError",
    "CheckpointWarning",
    "MismatchError",
    "NoCheckpointError",
    "Restored",
    "Saver",
    "StorageError",
    "best",
    "latest",
    "restore",
    "save",
    "steps",
    "wait",
]


class _Callable(ModuleType):
    def __call__(self, function: Any) -> Any:
        return remat(function)


def _traced_call(interpreter: Any, module: Any, function: Any) -> Any:
    return remat.__tracejit_traced__(interpreter, function)  # type: ignore[attr-defined]


_Callable.__call__.__tracejit_traced__ = _traced_call  # type: ignore[attr-defined]
sys.modules[__name__].__class__ = _Callable
