"""Layers, losses and what goes with them: plain NumPy on classes with arrays."""

from tracejit.nn.module import (
    Module,
    load_state_dict,
    parameters,
    set_training,
    state_dict,
    submodules,
)

__all__ = [
    "Module",
    "load_state_dict",
    "parameters",
    "set_training",
    "state_dict",
    "submodules",
]
