"""Arrays of a model to a safetensors file and back, with PyTorch's names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from tracejit.base.tensor_files import Renaming, TensorFile, renamed, write
from tracejit.nn.module import load_state_dict, state_dict

__all__ = ["load_weights", "save_weights"]


def save_weights(path: str | os.PathLike[str], net: Any) -> None:
    """Write the arrays of `state_dict(net)` to a safetensors file, by their names there.

    PyTorch reads it: `model.load_state_dict(safetensors.torch.load_file(path))`. An array that has
    several names is written under each. The file replaces one that is there when it is whole, and
    not before. Raises TypeError for a dtype that safetensors files do not have.
    """
    found = {name: np.asarray(x) for name, x in state_dict(net).items()}
    for name, x in found.items():
        if x.dtype.kind not in "fiub" and x.dtype != np.complex64 or x.dtype.itemsize > 8:
            raise TypeError(f"{name} has the dtype {x.dtype}, which safetensors files have not")
        found[name] = np.ascontiguousarray(x, x.dtype.newbyteorder("<")).reshape(x.shape)
    target = Path(path)
    new = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with open(new, "wb") as file:
            # What `torch.save_file` and others write, and some readers ask for.
            write(file, found, {"format": "pt"})
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, target)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def load_weights(
    path: str | os.PathLike[str],
    net: Any,
    strict: bool = True,
    rename: Renaming = None,
) -> Any:
    """Copy the arrays of a safetensors file to where those of `net` with their names lie.

    `rename` gives the name here of a name in the file: a function, or a dict in which names that
    are not found stay; "a" also stands for all names that begin with "a.". bfloat16 is read as
    float32. `net` is an object of any class; it is the result.

    As with `load_state_dict`, raises KeyError under `strict` where only one has a name, ValueError
    for another shape, TypeError for numbers of another kind or a dtype that NumPy does not have;
    ValueError, too, for a file that is not whole and for two arrays of one name. Where it raises,
    nothing has been copied. Arrays that have been saved once for several names, as
    PyTorch's `save_model` does, are taken for all of them.
    """
    own = state_dict(net)
    state: dict[str, Any] = {}
    with TensorFile(path) as file:
        for old in file.entries:
            name = renamed(old, rename)
            if name in state:
                raise ValueError(f"{path}: two arrays would be {name}")
            if strict or name in own:
                state[name] = file.read(old)
    given: dict[int, str] = {}
    for name in filter(own.__contains__, state):
        first = given.setdefault(id(own[name]), name)
        if not np.array_equal(state[first], state[name], equal_nan=True):
            raise ValueError(f"{first} and {name} are one array here, and two in {path}")
    for name, x in own.items():
        if name not in state and id(x) in given:
            state[name] = state[given[id(x)]]
    return load_state_dict(net, state, strict)
