"""The registries become the tables of docs/supported.md: ops, functions, derivative rules.

    python -m tests.project.supported            # print them
    python -m tests.project.supported --write    # write them into the page

Only the part of the page after the mark is made here.
"""

from __future__ import annotations

import builtins
import cmath
import itertools
import math
import sys
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import numpy as np

import tracejit.frontend.interpreter.entry
import tracejit.ops  # noqa: F401 - both fill registries
from tests.project.pages import ROOT
from tracejit.cli.commands.ops import op_rows
from tracejit.frontend.host.functions import spelled
from tracejit.frontend.numpy import registry
from tracejit.frontend.numpy.registry import SUBSCRIPTS
from tracejit.frontend.python.call_table import CALLS
from tracejit.ir.op import OPS, Op
from tracejit.ops.array.elementwise import UFUNC_OPS
from tracejit.ops.host.call import find_function
from tracejit.ops.host.derivatives.registry import RULES, _signature
from tracejit.ops.rules.partials import ElementwiseDerivative

PAGE = ROOT / "docs" / "supported.md"
MARK = "<!-- From here on: python -m tests.project.supported --write -->\n"


def tables() -> str:
    """The generated part of the page."""
    return "\n".join([*_ops(), "", *_functions(), "", *_python(), *_host_rules()]) + "\n"


def _ops() -> Iterator[str]:
    yield "## Ops"
    yield ""
    yield "An op is what a node of a graph does. *Compiled for* are dtypes with native code,"
    yield "*host for* those that run through NumPy from inside the program. Derivative: by a rule,"
    yield "`0` (steps and integers), or `-`: none. Batch: by a rule, or lane by lane in a `loop`."
    yield "Control flow and effects have neither of their own: the transforms know them."
    yield ""
    yield "| op | kind | NumPy | parity | compiled for | host for | derivative | batch |"
    yield "|---|---|---|---|---|---|---|---|"
    _, *rows = op_rows(())
    for name, kind, meaning, parity, compiled, host in rows:
        op = type(OPS[name])
        rules = ("", "") if kind in _STRUCTURE else (_derivative(op), _batch(op))
        cells = (f"`{name}`", kind, meaning, parity, compiled, host, *rules)
        yield f"| {' | '.join(cells)} |"


#: Kinds of ops that transforms treat by themselves.
_STRUCTURE = ("control", "dataflow", "effect", "fusion", "stack")


def _derivative(op: type[Op]) -> str:
    if op.constant:
        return "0"
    if issubclass(op, ElementwiseDerivative) and op.jvp is ElementwiseDerivative.jvp:
        return "rule" if op.partials is not None else "-"
    return "rule" if op.jvp is not Op.jvp and op.vjp is not Op.vjp else "-"


def _batch(op: type[Op]) -> str:
    return "rule" if op.batch is not Op.batch else "loop"


def _functions() -> Iterator[str]:
    yield "## NumPy functions and methods"
    yield ""
    yield "These become ops, and so do the methods of arrays that mean them. All other pure"
    yield "functions of NumPy and SciPy are called while the program runs."
    yield ""
    known = registry.functions()
    modules = {f: getattr(f, "__module__", None) or "numpy" for f in known}
    names = {f"{m}.{f.__name__}" for f, m in modules.items() if m.startswith("numpy")}
    by_module: dict[str, set[str]] = defaultdict(set)
    for name in names:
        module, _, function = name.rpartition(".")
        by_module[module.replace("numpy", "np")].add(function)
    for module, functions in sorted(by_module.items()):
        yield f"**`{module}`**: {_listed(functions)}."
        yield ""
    items = [n for n in ("mgrid", "ogrid", "r_", "c_") if type(getattr(np, n)) in SUBSCRIPTS]
    yield f"**By items**: {_listed(f'np.{n}[...]' for n in items)}."
    yield ""
    # Other libraries' join them when a program first calls them; the table of ops names those.
    own = [f.__name__ for f in UFUNC_OPS if getattr(np, f.__name__, None) is f]
    yield f"**Ufuncs**: {_listed(own)}."


def _python() -> Iterator[str]:
    yield "## Functions of Python"
    yield ""
    yield "These are compiled for values of the run; on plain values each is Python's own."
    yield ""
    for title, module in (
        ("Builtins", builtins),
        ("math", math),
        ("cmath", cmath),
        ("itertools", itertools),
    ):
        found = [n for n, f in vars(module).items() if n[0] != "_" and _takes_tracers(f)]
        yield f"**{title}**: {_listed(found)}."
        yield ""


def _takes_tracers(f: Any) -> bool:
    if not isinstance(f, Hashable) or f not in CALLS:
        return False
    return not CALLS[f].__qualname__.startswith("_plain.")


def _host_rules() -> Iterator[str]:
    yield "## Host calls with derivatives"
    yield ""
    yield "Functions without an op of their own that have a derivative rule, and by which of their"
    yield "parameters; `x1`, `x2`, ... are the operands of a ufunc in order."
    yield ""
    yield "| function | by |"
    yield "|---|---|"
    found: dict[str, str] = {}
    for path, rule in RULES.items():
        parameters = _parameters(path)
        known = [p for p in rule.parameters if p in parameters] or rule.parameters
        if not path.startswith("tracejit"):
            found[spelled(path)] = ", ".join(f"`{p}`" for p in known)
    for name, by in sorted(found.items()):
        yield f"| `{name}` | {by} |"


def _parameters(path: str) -> Iterable[str]:
    try:
        f = find_function(path)
        if isinstance(f, np.ufunc):
            return ["x"] if f.nin == 1 else [f"x{k + 1}" for k in range(f.nin)]
        return _signature(f).parameters
    except (ImportError, AttributeError, TypeError, ValueError):
        return ()  # it is not written in Python, or another version of the library has it


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{n}`" for n in sorted(set(names)))


def _versions(starts: Iterable[str]) -> str:
    return ", ".join(start.rstrip(".") for start in starts)


def page() -> str:
    """The whole page as it should be."""
    head, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    assert mark, "docs/supported.md has lost its mark"
    return f"{head}{MARK}\n{tables()}"


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(tables(), end="")
