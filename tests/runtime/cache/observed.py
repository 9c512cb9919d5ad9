"""Calls compiled functions of modules, and says what came of it: a process of its own.

    python observed.py FOLDER MODULE ...

A module has a compiled function `f` and `calls`, each a function of `f` or of the plain one. What
is printed is JSON, for each module what both have given, and what the cache says of `f`.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

#: What a process does not import that finds everything in the cache.
COMPILER = tuple(f"tracejit.{x}" for x in ("frontend", "transforms", "passes", "codegen"))


def shown(x: Any) -> Any:
    """A result as JSON: equal ones are the same to a program."""
    import numpy as np

    if isinstance(x, np.ndarray):
        flags = x.flags.c_contiguous, x.flags.writeable, x.base is not None
        return ["array", x.dtype.str, x.shape, x.strides, flags, repr(x.tolist())]
    if isinstance(x, (list, tuple)):
        return [type(x).__name__, *map(shown, x)]
    if isinstance(x, dict):
        return ["dict", *([shown(k), shown(v)] for k, v in x.items())]
    return [type(x).__qualname__, repr(x)]


def outcome(call: Callable[[Any], Any], f: Any) -> Any:
    """What a call gives, prints and raises."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = shown(call(f))
        except Exception as e:
            lines = [(x.name, x.lineno, x.line) for x in traceback.extract_tb(e.__traceback__)]
            found = ["raised", type(e).__name__, str(e), lines[2:]]
    texts = [f"{w.category.__name__}: {w.message}" for w in told]
    return [found, out.getvalue(), texts]


def observed(module: Any) -> dict[str, Any]:
    """What is printed of a module."""
    f = module.f
    got = [outcome(call, f) for call in module.calls]
    known = f._cached
    warm = f._state is None
    plain = [outcome(call, f.__tracejit__) for call in module.calls]
    return {
        "got": got,
        "plain": plain,
        "warm": warm,
        "files": len(known.files) if known else 0,
        "refused": sorted(known.refused.values()) if known else [],
        "unwritten": sorted(known.unwritten.values()) if known else [],
        "why_not": known.why_not if known else "",
    }


def main(folder: str, *names: str) -> None:
    sys.path.insert(0, folder)
    found: dict[str, Any] = {}
    for name in names:
        try:
            found[name] = observed(importlib.import_module(name))
        except BaseException:
            found[name] = {"error": traceback.format_exc()}
    compiler = sorted(m for m in sys.modules if m.startswith(COMPILER))
    print(json.dumps({"modules": found, "compiler": compiler}))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
