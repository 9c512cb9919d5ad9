"""The base of layers: what a model's arrays are called, stored and loaded, and its two modes.

A module is a class with arrays. `Module` only adds the methods below, each of which is a function
here for objects of any class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tracejit import tree

__all__ = ["Module", "load_state_dict", "parameters", "set_training", "state_dict", "submodules"]


class Module:
    """A layer or a model: a class with arrays.

    Its arrays of floats are what is trained. Those that are state (running statistics) are named in
    the class attribute `__buffers__`: they are no leaves of `tracejit.tree`, have no gradient, and
    no optimiser sees them; `state_dict` has them.
    """

    __buffers__: tuple[str, ...] = ()
    #: Whether layers that learn from the batches they see do so.
    training = True

    def parameters(self) -> dict[str, Any]:
        """The arrays that are trained, each once, by their paths: `{"layers.0.weight": ...}`."""
        return parameters(self)

    def state_dict(self) -> dict[str, Any]:
        """The arrays themselves, buffers among them, by their paths, as PyTorch calls them."""
        return state_dict(self)

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> Any:
        """Copy arrays of a state dict to where the own ones lie; see `load_state_dict`."""
        return load_state_dict(self, state, strict)

    def train(self, mode: bool = True) -> Any:
        """Let this module, and all in it, learn from the batches that they see. Gives itself."""
        return set_training(self, mode)

    def eval(self) -> Any:
        """Let this module, and all in it, use what they have learnt. Gives itself."""
        return set_training(self, False)


def parameters(module: Any) -> dict[str, Any]:
    """The arrays of floats of an object that are no buffers, each once, by their paths."""
    found: dict[str, Any] = {}
    seen: set[int] = set()
    for keys, array in tree.entries(module):
        if id(array) not in seen:
            found[_path(keys)] = array
        seen.add(id(array))
    return found


def state_dict(module: Any) -> dict[str, Any]:
    """All arrays of floats of an object, and its buffers, by their paths; shared ones by each."""
    return {_path(keys): array for keys, array in tree.entries(module, buffers=True)}


def load_state_dict(module: Any, state: Mapping[str, Any], strict: bool = True) -> Any:
    """Copy arrays to where those of an object with the same paths lie. Gives the object.

    With `strict`, raises KeyError for paths that only one of them has. Raises ValueError for an
    array of another shape, TypeError for one whose numbers are of another kind. Where it raises,
    nothing has been copied.
    """
    own = state_dict(module)
    missing, other = [k for k in own if k not in state], [k for k in state if k not in own]
    if strict and (missing or other):
        lacks = "".join(f"; {k} is missing" for k in missing)
        raise KeyError(f"another model's state{lacks}" + "".join(f"; no {k} here" for k in other))
    found = [(k, array, np.asarray(state[k])) for k, array in own.items() if k in state]
    for k, array, new in found:
        if array.shape != new.shape:
            raise ValueError(f"{k} has the shape {array.shape}, not {new.shape}")
        if not np.can_cast(new.dtype, array.dtype, "same_kind"):
            raise TypeError(f"{k} has the dtype {array.dtype}, not {new.dtype}")
    for _, array, new in found:
        array[...] = new
    return module


def submodules(module: Any) -> Iterator[tuple[str, Any]]:
    """The modules in an object, each once with its path, the object itself first, with `""`."""
    seen: set[int] = set()

    def found(x: Any, path: str) -> Iterator[tuple[str, Any]]:
        if isinstance(x, (list, tuple, dict)):
            parts = x.items() if isinstance(x, dict) else enumerate(x)
        elif (isinstance(x, Module) or x is module) and id(x) not in seen:
            seen.add(id(x))
            yield path, x
            parts = vars(x).items()
        else:
            return
        for key, part in parts:
            yield from found(part, f"{path}.{key}" if path else str(key))

    yield from found(module, "")


def set_training(module: Any, mode: bool) -> Any:
    """Set `training` of a module and of all modules in it. Gives the module."""
    for _, part in list(submodules(module)):
        if getattr(type(part), "training", None) is mode:
            # As it was made: what was compiled for that is for this, too.
            vars(part).pop("training", None)
        elif getattr(part, "training", None) is not mode:
            part.training = mode
    return module


def _path(keys: tuple[Any, ...]) -> str:
    return ".".join(map(str, keys))
