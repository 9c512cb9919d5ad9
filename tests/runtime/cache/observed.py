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

#: The files of programs.
PROGRAMS: set[str] = set()


def shown(x: Any) -> Any:
    """A result as JSON: equal ones are the same to a program."""
    import numpy as np

    if isinstance(x, np.ndarray):
        # A library's capsule may hold an array's memory: that makes it no view.
        is_view = isinstance(x.base, np.ndarray)
        flags = x.flags.c_contiguous, x.flags.writeable, is_view
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
            frames = traceback.extract_tb(e.__traceback__)
            own = [x for x in frames if x.filename in PROGRAMS and x.name != "<lambda>"]
            # Of inlined calls there is the innermost.
            lines = [(x.name, x.lineno, x.line) for x in own[-1:]]
            found = ["raised", type(e).__name__, str(e), lines]
    # Compiled code does not warn of what floating-point numbers become.
    texts = [str(w.message) for w in told if "encountered in" not in str(w.message)]
    return [found, out.getvalue(), texts]


def called(module: Any) -> dict[str, Any]:
    """What the compiled function of a module gives, and what the cache says of it."""
    f = module.f
    PROGRAMS.add(module.__file__)
    got = [outcome(call, f) for call in module.calls]
    known = f._cached
    return {
        "got": got,
        "warm": f._state is None,
        "compiled": 0 if f._state is None else sum(not c.recalled for c in f._report.variants),
        "files": len(known.files) if known else 0,
        "refused": sorted(known.refused.values()) if known else [],
        "unwritten": sorted(known.unwritten.values()) if known else [],
        "why_not": known.why_not if known else "",
    }


def plain(module: Any) -> list[Any]:
    """What Python gives."""
    return [outcome(call, module.f.__tracejit__) for call in module.calls]


def observed(module: Any) -> dict[str, Any]:
    """What is printed of a module."""
    return {**called(module), "plain": plain(module)}


def main(folder: str, *names: str) -> None:
    sys.path.insert(0, folder)
    found: dict[str, Any] = {}
    for name in names:
        try:
            found[name] = called(importlib.import_module(name))
        except BaseException:
            found[name] = {"error": traceback.format_exc()}
    # A transform that is called as plain Python needs the compiler.
    compiler = sorted(m for m in sys.modules if m.startswith(COMPILER))
    for name in names:
        if "error" not in found[name]:
            found[name]["plain"] = plain(sys.modules[name])
    print(json.dumps({"modules": found, "compiler": compiler}))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
