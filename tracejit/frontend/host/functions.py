"""How functions that a program calls while it runs are spelled, and what arguments they take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tracejit.ops.host.exchange import EXCHANGED, EXCHANGED_FOR_GOOD
from tracejit.ops.host.functions import find_function
from tracejit.ops.host.random import DRAW, DRAWN, START

__all__ = ["may_crash", "spelled", "spelled_call", "takes_keywords"]


def may_crash(path: str) -> bool:
    """Whether a function may trust what it is given: SciPy's but for ufuncs. NumPy's look at it."""
    f = find_function(path) if path.startswith("scipy") else None
    return f is not None and not isinstance(getattr(f, "__self__", f), np.ufunc)


def takes_keywords(names: Any) -> bool:
    """Whether no argument of these names is memory that the function writes to."""
    return not any(
        name in ("out", "output", "like", "dst") or name.startswith("overwrite") for name in names
    )


def spelled_call(attrs: Mapping[str, Any]) -> str:
    """The function of a call with these attributes as its users write it."""
    if attrs["function"] in (DRAW, DRAWN):
        return f"random numbers: {attrs['arguments'][attrs['function'] == DRAWN][1]}"
    if attrs["function"] in (EXCHANGED, EXCHANGED_FOR_GOOD):
        return f"tracejit.dist.{attrs['arguments'][0][1]}"
    return "np.random.default_rng" if attrs["function"] == START else spelled(attrs["function"])


def spelled(path: str) -> str:
    """The function of a path as its users write it."""
    module, _, name = path.partition(":")
    public = [part for part in module.split(".") if not part.startswith("_")]
    return ".".join(["np" if public[0] == "numpy" else public[0], *public[1:], name])
