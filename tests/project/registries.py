"""Tables of what lies in which module, read before the modules are imported: drawn from them.

`python -m tests.project.registries --write` writes them; a test compares them with what is there.
"""

import argparse
import cmath
import importlib
import math
import pkgutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from textwrap import fill
from typing import Any

import tracejit.ops
from tracejit.base.late_table import name_of
from tracejit.frontend import numpy as numpy_handlers
from tracejit.frontend import prelude
from tracejit.frontend.numpy.registry import HANDLERS, SUBSCRIPTS, numpy_name
from tracejit.ir.op import OPS
from tracejit.ops.array.elementwise import UFUNC_OPS, ImportedUfunc

ROOT = Path(__file__).resolve().parents[2]


def by_module(pairs: Iterable[tuple[str, str]], package: str) -> dict[str, str]:
    """The names of each module, for pairs of both; names that the package itself has are none."""
    found: dict[str, set[str]] = {}
    for name, module in pairs:
        found.setdefault(module.removeprefix(f"{package}."), set()).add(name)
    return {module: " ".join(sorted(found[module])) for module in sorted(found)}


def ops() -> dict[str, dict[str, str]]:
    """The tables of ops."""
    tracejit.ops._import_all()
    package = "tracejit.ops"
    known = {name: op for name, op in OPS.items() if type(op).__module__.startswith(package)}
    ufuncs = [(name_of(f), op) for f, op in UFUNC_OPS.items() if known.get(op.name) is op]
    elsewhere = [
        (name, type(op).__module__)
        for name, op in known.items()
        if isinstance(_meaning(op), ImportedUfunc)
    ]
    main = "tracejit.ops.array.elementwise"
    names = {name for name, _ in elsewhere}
    others = [
        (name, type(op).__module__)
        for name, op in ufuncs
        if type(op).__module__ != main and name not in names
    ]
    return {
        "OPS_OF": by_module(((name, type(op).__module__) for name, op in known.items()), package),
        "UFUNCS_OF": by_module(others, package),
        "ELSEWHERE_OF": by_module(elsewhere, package),
    }


def _meaning(op: Any) -> Any:
    for cls in type(op).__mro__:
        if "numpy" in cls.__dict__:
            return cls.__dict__["numpy"]
    return None


def printed(docstring: str, tables: Mapping[str, tuple[str, Mapping[str, str]]]) -> str:
    """A module with tables, each with what is said of it."""
    lines = [f'"""{docstring}"""', ""]
    lines += [f"__all__ = [{', '.join(repr(name) for name in sorted(tables))}]"]
    for name, (said, table) in tables.items():
        lines += ["", f"#: {said}", f"{name}: dict[str, str] = {{"]
        for module, names in table.items():
            parts = fill(names, 84, break_long_words=False, break_on_hyphens=False).split("\n")
            texts = [repr(x + " " * (k < len(parts) - 1)) for k, x in enumerate(parts)]
            lines += [f"    {module!r}: ({' '.join(texts)}),"]
        lines += ["}"]
    text = "\n".join([*lines, ""])
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "-"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return done.stdout


def ops_index() -> str:
    """The text of `ops/index.py`."""
    tables = ops()
    return printed(
        "Which module has which ops: drawn by `python -m tests.project.registries --write`.",
        {
            "OPS_OF": ("Module of `tracejit.ops` -> the names of its ops.", tables["OPS_OF"]),
            "UFUNCS_OF": (
                "Module but for `array.elementwise` -> the ufuncs that its ops mean.",
                tables["UFUNCS_OF"],
            ),
            "ELSEWHERE_OF": (
                "Module -> the ufuncs of other libraries that its ops mean.",
                tables["ELSEWHERE_OF"],
            ),
        },
    )


def numpy_index() -> str:
    """The text of `frontend/tracing/numpy_handlers.py`."""
    package = "tracejit.frontend.numpy"
    for found in pkgutil.walk_packages(numpy_handlers.__path__, f"{package}."):
        importlib.import_module(found.name)
    handlers = [
        (numpy_name(f), handler.__module__)
        for f, handler in HANDLERS.items()
        if f.__module__ and handler.__module__.startswith(package)
    ]
    own = f"{prelude.__name__}."
    stands_for = [
        (numpy_name(f), found.name)
        for found in pkgutil.iter_modules(prelude.__path__, own)
        for f in getattr(importlib.import_module(found.name), "FUNCTIONS", ())
    ]
    items = [(name_of(cls), item.__module__) for cls, item in SUBSCRIPTS.items()]
    return printed(
        "Which module handles what: drawn by `python -m tests.project.registries --write`.",
        {
            "HANDLERS_OF": (
                "Module of `tracejit.frontend.numpy` -> the functions that it handles.",
                by_module(handlers, package),
            ),
            "PRELUDE_OF": (
                "Module of `tracejit.frontend.prelude` -> the functions that it stands for.",
                by_module(stands_for, prelude.__name__),
            ),
            "SUBSCRIPTS_OF": (
                "Module -> the classes of objects of which it makes items.",
                by_module(items, package),
            ),
        },
    )


def calls_index() -> str:
    """The text of `frontend/python/index.py`."""
    # Those of `math` and `cmath` are not the same in all versions of Python, and not in the table.
    left = vars(math).keys() | vars(cmath).keys()
    names = {}
    for place in CALL_TABLES:
        module, _, table = place.partition(":")
        calls = getattr(importlib.import_module(f"tracejit.frontend.{module}"), table)
        if found := {name_of(f) for f in calls} - left:
            names[place] = " ".join(sorted(found))
    return printed(
        "Which module has which calls: drawn by `python -m tests.project.registries --write`.",
        {"CALLS_OF": ("Module and table of `tracejit.frontend` -> names of callees.", names)},
    )


#: Tables of what calls of Python's own functions do.
CALL_TABLES = (
    "containers.bisections:BISECT_CALLS",
    "containers.counters:COUNTER_CALLS",
    "containers.deques:DEQUE_CALLS",
    "containers.heaps:HEAP_CALLS",
    "python.builtins:CALLS",
    "python.by_numpy:MATH_CALLS",
    "python.contexts:CONTEXT_CALLS",
    "python.inspection:OBJECT_CALLS",
    "python.library_objects:CLASS_CALLS",
    "python.text.messages:MESSAGE_CALLS",
    "python.numbers:OPERATOR_CALLS",
    "python.reductions:FOLD_CALLS",
)
#: File -> what its text should be.
FILES = {
    "tracejit/frontend/tracing/numpy_handlers.py": numpy_index,
    "tracejit/frontend/python/index.py": calls_index,
    "tracejit/ops/index.py": ops_index,
}


def main() -> None:
    """Print or write the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the files")
    options = parser.parse_args()
    for name, text in FILES.items():
        if options.write:
            (ROOT / name).write_text(text())
        else:
            print(text())


if __name__ == "__main__":
    main()
