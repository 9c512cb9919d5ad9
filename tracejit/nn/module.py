"""The base of layers: what a model's arrays are called, stored and loaded, and its two modes.

A module is a class with arrays. `Module` only adds the methods below, each of which is a function
here for objects of any class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.frontend.tracing.contents import contents_of
from tracejit.frontend.tracing.instances import is_instance

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
    for path, array in _named(tree.entries(module)).items():
        if id(array) not in seen:
            found[path] = array
        seen.add(id(array))
    return found


def state_dict(module: Any) -> dict[str, Any]:
    """All arrays of floats of an object, and its buffers, by their paths; shared ones by each."""
    return _named(tree.entries(module, buffers=True))


def load_state_dict(module: Any, state: Mapping[str, Any], strict: bool = True) -> Any:
    """Copy arrays to where those of an object with the same paths lie. Gives the object.

    With `strict`, raises KeyError for paths that only one of them has. Raises ValueError for an
    array of another shape, for one here that cannot be written, and for two arrays of one that is
    shared here; TypeError for one whose numbers are of another kind. Where it raises, nothing has
    been copied.
    """
    own = state_dict(module)
    missing, other = [k for k in own if k not in state], [k for k in state if k not in own]
    if strict and (missing or other):
        lacks = "".join(f"; {k} is missing" for k in missing)
        raise KeyError(f"another model's state{lacks}" + "".join(f"; no {k} here" for k in other))
    found = [(k, array, np.asarray(state[k])) for k, array in own.items() if k in state]
    first: dict[int, tuple[str, Any]] = {}
    for k, array, new in found:
        if array.shape != new.shape:
            raise ValueError(f"{k} has the shape {array.shape}, not {new.shape}")
        if not np.can_cast(new.dtype, array.dtype, "same_kind"):
            raise TypeError(f"{k} has the dtype {array.dtype}, not {new.dtype}")
        if not array.flags.writeable:
            raise ValueError(f"{k} is read-only")
        name, given = first.setdefault(id(array), (k, new))
        if given is not new and not np.array_equal(given, new, equal_nan=True):
            raise ValueError(f"{name} and {k} are one array here, and two in the state")
    # What is read may lie where something is stored before.
    own_memory = [array for _, array, _ in found]
    news = [
        new.copy() if any(x is not a and np.may_share_memory(x, new) for x in own_memory) else new
        for _, a, new in found
    ]
    for (_, array, _), new in zip(found, news, strict=True):
        array[...] = new
    return module


def submodules(module: Any) -> Iterator[tuple[str, Any]]:
    """The modules in an object, each once with its path, the object itself first, with `""`.

    Lists, tuples, dicts and objects of all classes of the program are searched.
    """
    for path, x in _objects(module, "", set()):
        if isinstance(x, Module) or x is module:
            yield path, x


def set_training(module: Any, mode: bool) -> Any:
    """Set `training` of an object, of all modules in it, and of all else there that has it.

    Gives the object.
    """
    for _, part in list(_objects(module, "", set())):
        if getattr(type(part), "training", None) is mode:
            # As it was made: what was compiled for that is for this, too.
            getattr(part, "__dict__", {}).pop("training", None)
        elif part is module and hasattr(part, "__dict__") or hasattr(part, "training"):
            if getattr(part, "training", None) is not mode:
                part.training = mode
    return module


def _objects(x: Any, path: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """The objects in another, this first, each once with its path."""
    parts: list[tuple[Any, Any]] = []
    if isinstance(x, (list, tuple, dict)):
        names = x if isinstance(x, dict) else getattr(x, "_fields", range(len(x)))
        parts += zip(names, x.values() if isinstance(x, dict) else x, strict=True)
    is_object = is_instance(x) or isinstance(x, Module) or not (path or parts)
    if not (parts or is_object) or id(x) in seen:
        return
    seen.add(id(x))
    if is_object:
        yield path, x
        parts += contents_of(x).items()
    for key, part in parts:
        yield from _objects(part, f"{path}.{key}" if path else str(key), seen)


def _named(entries: list[tuple[tuple[Any, ...], Any]]) -> dict[str, Any]:
    """Arrays by their paths. Raises ValueError where two have one."""
    found: dict[str, Any] = {}
    for keys, array in entries:
        path = ".".join(map(str, keys))
        if path in found:
            raise ValueError(f"two arrays have the path {path}: rename a key or an attribute")
        found[path] = array
    return found
