"""The index of the package: which module has which ops, handlers and calls, drawn from all of them.

A build makes it where it is old. In a checkout an import of the package does, wherever a module
is newer; the process that draws it runs this file, which prints it.
"""

import cmath
import contextlib
import importlib
import importlib.util
import inspect
import math
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # Only builds have it.
    BuildHookInterface = object

ROOT = Path(__file__).resolve().parent
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
#: Rules, no ops: the first derivative of a host call asks for them.
_RULES = "tracejit.ops.host.derivatives"


def _modules(package: str) -> Iterator[ModuleType]:
    """All modules of a package, imported."""
    root = importlib.import_module(package)
    for found in pkgutil.iter_modules(root.__path__, f"{package}."):
        if found.ispkg and found.name != _RULES:
            yield from _modules(found.name)
        elif not found.ispkg:
            yield importlib.import_module(found.name)


def _ops() -> Iterator[tuple[str, str, str]]:
    """Rows of ops, and of the ufuncs that they mean, of NumPy and of other libraries.

    The modules of most ufuncs and reductions are imported with their tables, and announce none.
    """
    from tracejit.base.late_table import name_of
    from tracejit.frontend.numpy.registry import numpy_name
    from tracejit.ir.op import OPS
    from tracejit.ops.array.elementwise import UFUNC_OPS, ImportedUfunc
    from tracejit.ops.array.reduction import Reduction

    list(_modules("tracejit.ops"))
    for name, op in OPS.items():
        module = type(op).__module__
        yield "ops", module, name
        if isinstance(op, Reduction) and op.ufunc and module != Reduction.__module__:
            yield "reductions", module, name_of(op.ufunc)
            yield "handlers", module, numpy_name(type(op).numpy)
        if isinstance(inspect.getattr_static(op, "numpy"), ImportedUfunc):
            yield "ufuncs_elsewhere", module, name
    for ufunc, op in UFUNC_OPS.items():
        if type(op).__module__ != "tracejit.ops.array.elementwise":
            yield "ufuncs", type(op).__module__, name_of(ufunc)


def _functions() -> Iterator[tuple[str, str, str]]:
    """Rows of functions of NumPy with a handler, those of the prelude, and what makes items."""
    from tracejit.base.late_table import name_of
    from tracejit.frontend.numpy.registry import HANDLERS, SUBSCRIPTS, numpy_name

    list(_modules("tracejit.frontend.numpy"))
    for f, handler in HANDLERS.items():
        if f.__module__:
            yield "handlers", handler.__module__, numpy_name(f)
    for cls, item in SUBSCRIPTS.items():
        yield "subscripts", item.__module__, name_of(cls)
    for module in _modules("tracejit.frontend.prelude"):
        for f in getattr(module, "FUNCTIONS", ()):
            yield "prelude", f"{module.__name__}:FUNCTIONS", numpy_name(f)


def _calls() -> Iterator[tuple[str, str, str]]:
    """Rows of functions of Python.

    Those of `math` and `cmath` are not the same in all versions of Python, and all announced.
    """
    from tracejit.base.late_table import name_of

    for place in CALL_TABLES:
        module, _, table = place.partition(":")
        calls = getattr(importlib.import_module(f"tracejit.frontend.{module}"), table)
        for name in {name_of(f) for f in calls} - vars(math).keys() - vars(cmath).keys():
            yield "calls", f"tracejit.frontend.{place}", name


def drawn() -> str:
    """The rows of the index, in a process that has imported none of the registries."""
    names: dict[tuple[str, str], set[str]] = {}
    with contextlib.redirect_stdout(sys.stderr):
        for rows in (_ops(), _functions(), _calls()):
            for table, place, name in rows:
                names.setdefault((table, place), set()).add(name)
    return "".join(f"{' '.join((*row, *sorted(names[row])))}\n" for row in sorted(names))


class IndexHook(BuildHookInterface):  # type: ignore[misc]
    """Has the index made before the package is packed."""

    PLUGIN_NAME = "custom"

    def _index(self) -> Any:
        """The module that keeps the index, without the package, which needs more than a build."""
        path = ROOT / "tracejit" / "base" / "module_index.py"
        spec = importlib.util.spec_from_file_location("module_index", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def dependencies(self) -> list[str]:
        """What a build needs: where the index is not that of the modules, all to import them."""
        current = self._index().index_is_current()
        return [] if current else list(self.metadata.core.dependencies)

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the index anew where it is old, for the build to pack."""
        self._index().make_index()


if __name__ == "__main__":
    sys.path += sys.argv[1:]
    print(drawn(), end="")
