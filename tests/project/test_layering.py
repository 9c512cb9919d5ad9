"""Who may import whom: a file imports its own folder and folders further left, never in a circle.

Imports inside functions, and those for types alone, count like any other.
"""

import ast
import functools
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tracejit"
#: For each folder what lies in it, from left to right. What stands side by side is independent.
ORDER: dict[str, tuple[tuple[str, ...], ...]] = {
    "": (
        ("errors", "sparse"),
        ("base",),
        ("config", "forms"),
        ("link",),
        ("ir",),
        ("ops",),
        ("loops",),
        ("frontend",),
        ("transforms", "passes"),
        ("codegen",),
        ("runtime",),
        ("typing",),
        ("api", "tree"),
        ("inspect",),
        ("data", "monitor", "nn", "optim"),
        ("checkpoint", "interop"),
        ("dist", "export", "profiler"),
        ("view",),
        ("demo",),
        ("cli", "notebook"),
    ),
    "ops": (
        ("checks", "samples", "rules"),
        ("signature",),
        ("array",),
        ("control",),
        ("host", "python"),
    ),
    "frontend": (
        ("prelude", "rewrite"),
        ("tracing",),
        ("capture", "host", "numpy"),
        ("control",),
        ("containers",),
        ("python",),
        ("interpreter",),
        ("eager",),
    ),
    "transforms": (("autodiff", "batching"), ("api",)),
    "passes": (
        ("analysis", "late"),
        ("simplify",),
        ("fusion", "loops", "control", "partition"),
        ("manager",),
    ),
    "codegen": (
        ("llvm", "vector_math"),
        ("support", "scalar", "affine", "accesses"),
        ("lowering", "kernel", "analysis", "cuda"),
        ("program", "reference"),
        ("device",),
    ),
    "runtime": (
        ("entries", "options", "pickling", "refusing", "tracebacks"),
        ("background", "call", "report"),
        ("cache",),
        ("native",),
        ("nesting",),
        ("parts", "plain_calls", "copying_calls", "device"),
        ("compile",),
        ("dataflow",),
        ("exchange",),
        ("dispatch",),
        ("jitted",),
    ),
}
#: The imports inside functions, which only save time: {why: {file: modules}}, in tracejit.
LAZY: dict[str, dict[str, tuple[str, ...]]] = {
    "`import tracejit` takes no longer than NumPy's import": {
        "api": (
            "runtime.jitted",
            "runtime.options",
            "transforms.api.remat",
            "transforms.api.custom",
            "transforms.api.products",
            "transforms.api.stop_gradient",
        ),
        "tree": ("frontend.python.tree_paths", "frontend.python.trees"),
    },
    "a function that is decorated and not called needs no compiler": {
        "runtime.cache.recall": ("runtime.cache.verdicts",),
        "runtime.jitted": (
            "runtime.background",
            "runtime.cache.recall",
            "runtime.compile.facilities",
            "runtime.copying_calls",
            "runtime.dispatch",
            "runtime.pickling",
        ),
        "runtime.report.fallbacks": ("frontend.tracing.trace",),
        "runtime.report.lines": ("ir.types",),
        "runtime.dispatch": (
            "runtime.compile.publish",
            "runtime.compile.specialize",
            "runtime.compile.verdict",
            "runtime.parts.functions",
            "runtime.parts.root",
        ),
    },
    "a call that cannot be compiled needs no code generator": {
        "runtime.compile.stages": ("codegen.program.emit",),
    },
    "most programs run on the host": {
        "runtime.compile.stages": (
            "codegen.device.element_loops",
            "codegen.device.emit",
            "codegen.device.placement",
            "passes.loops.parallel",
        ),
        "runtime.dispatch": ("runtime.device.finding",),
    },
    "few runs end this way, or are of this kind": {
        "frontend.host.infer_by_example": ("frontend.host.child_process",),
        "codegen.program.emit": ("codegen.program.copy_tally",),
        "frontend.numpy.methods": ("frontend.numpy.method_forms",),
        "frontend.tracing.checks": ("frontend.tracing.memory.constant_memory",),
        "runtime.dispatch": (
            "runtime.background",
            "codegen.support.printing",
            "ops.host.exchange",
            "runtime.dataflow.partial_call",
            "runtime.exchange.calls",
        ),
        "runtime.report.fallbacks": (
            "frontend.capture.globals",
            "frontend.tracing.contents",
        ),
    },
    "a program is started by one engine, and may be compiled or not": {
        "dist.buckets": ("dist.recording",),
        "dist.collectives": ("dist.recording",),
        "dist.world": (
            "dist.transport.handshake",
            "dist.transport.local",
            "dist.transport.mpi",
            "dist.transport.ray",
        ),
    },
    "only a look at the compiler's stages needs it": {
        "codegen.llvm.engine": ("codegen.llvm.perf",),
        "runtime.compile.specialize": ("runtime.compile.dump", "runtime.device.inspection"),
        "runtime.compile.stages": (
            "codegen.cuda.inspect",
            "codegen.reference",
            "ir.text.dataflow",
            "ir.verify_dataflow",
        ),
    },
    "pictures of graphs need nothing of libraries": {
        "export.ahead": ("export.library.build",),
    },
    "most programs have no host call that a derivative goes through": {
        "ops.host.call": ("ops.host.derivatives.lookup",),
        "ops.host.determinant": ("ops.host.derivatives.determinants",),
        "ops.host.exchange": ("ops.host.derivatives.exchanges",),
    },
    "few programs have a derivative of a special function": {
        "ops.host.special": ("ops.host.derivatives.partials",),
    },
    "what is compiled runs nothing operation by operation": {
        "transforms.api.custom": ("transforms.api.custom_eager",),
        "transforms.api.function": ("transforms.api.eager",),
        "transforms.api.products": ("transforms.api.eager",),
    },
    "a simple function needs none of it": {
        "codegen.analysis.int_ranges": ("ops.python.bits",),
        "codegen.analysis.liveness": ("codegen.support.routines",),
        "codegen.kernel.function": ("codegen.kernel.reduce",),
        "codegen.kernel.reduce": (
            "codegen.kernel.arg_reduce",
            "codegen.kernel.count_reduce",
            "codegen.kernel.outer_reduce",
        ),
        "codegen.llvm.engine": ("codegen.llvm.debug_info",),
        "codegen.lowering.fusion": ("codegen.lowering.folds",),
        "codegen.lowering.index_maps": ("ir.axis_groups",),
        "codegen.lowering.join": ("codegen.accesses",),
        "codegen.program.allocation": (
            "codegen.program.exits",
            "codegen.support.python_calls",
        ),
        "codegen.program.context": (
            "codegen.lowering.row_blocks",
            "codegen.support.python_calls",
        ),
        "codegen.program.control_flow": (
            "codegen.program.exits",
            "codegen.program.if_conversion",
            "codegen.program.views",
            "codegen.support.interrupts",
        ),
        "codegen.program.emit": (
            "codegen.llvm.debug_info",
            "codegen.program.effects",
            "codegen.program.host.results",
            "codegen.program.random.rng_state",
            "codegen.program.random.stream_claims",
        ),
        "codegen.program.nodes": (
            "codegen.program.copies",
            "codegen.program.effects",
            "codegen.program.exits",
            "codegen.program.host.results",
            "codegen.program.library_calls",
            "codegen.program.matvec",
            "codegen.program.random.draws",
            "codegen.program.random.own_streams",
            "codegen.program.recursion",
            "codegen.program.ufunc_loops",
        ),
        "codegen.program.parallel": ("codegen.support.threads",),
        "codegen.program.pending": ("codegen.lowering.row_blocks",),
        "codegen.program.random.stream_claims": ("codegen.support.mersenne_twister",),
        "codegen.program.recursion": ("codegen.program.host.calls",),
        "codegen.vector_math.exponentials": ("codegen.vector_math.piecewise_tables",),
        "frontend.containers.listed_arrays": ("frontend.containers.grown_lists",),
        "frontend.eager.calls": ("frontend.interpreter.library", "frontend.prelude.intrinsics"),
        "frontend.interpreter.calls": (
            "frontend.host.calls",
            "frontend.interpreter.library",
            "frontend.python.construction",
            "frontend.python.container_methods",
            "frontend.python.contexts",
            "frontend.python.effects",
            "frontend.python.random",
            "frontend.python.text.streams",
            "frontend.python.unread_lists",
        ),
        "frontend.interpreter.calls_on_unions": ("frontend.control.branches",),
        "frontend.interpreter.functions": (
            "frontend.containers.dicts",
            "frontend.control.branches",
            "frontend.control.recursion",
            "frontend.python.imports",
            "frontend.python.unread_lists",
        ),
        "frontend.interpreter.known": ("frontend.control.branches", "frontend.control.statements"),
        "frontend.interpreter.interpreter": (
            "frontend.containers.chosen_keys",
            "frontend.containers.dicts",
            "frontend.containers.grown_lists",
            "frontend.containers.list_edits",
            "frontend.control.branches",
            "frontend.control.iteration",
            "frontend.control.regions",
            "frontend.numpy.stores",
            "frontend.python.comprehensions",
            "frontend.python.contexts",
            "frontend.python.effects",
            "frontend.python.text.formatting",
            "frontend.python.positions",
            "frontend.python.reductions",
            "frontend.python.unread_lists",
        ),
        "frontend.numpy.indexing": ("frontend.tracing.memory.geometry",),
        "frontend.numpy.memory_orders": ("frontend.tracing.memory.geometry",),
        "frontend.numpy.ufunc_calls": (
            "frontend.numpy.indexing",
            "frontend.numpy.reductions",
            "frontend.numpy.shape",
        ),
        "frontend.numpy.ufuncs": ("frontend.tracing.memory.geometry",),
        "frontend.python.positions": (
            "frontend.control.branches",
            "frontend.control.exceptions",
        ),
        "frontend.python.objects": (
            "frontend.numpy.methods",
            "frontend.numpy.stores",
            "frontend.python.text.messages",
            "frontend.python.random",
        ),
        "frontend.python.operators": (
            "frontend.containers.grown_lists",
            "frontend.containers.list_edits",
            "frontend.containers.sequence_order",
            "frontend.python.text.formatting",
        ),
        "frontend.rewrite.function": (
            "frontend.rewrite.imports",
            "frontend.rewrite.outer_names",
            "frontend.rewrite.patterns",
            "frontend.rewrite.shared_names",
        ),
        "loops.iterations": ("ops.array.linalg",),
        "ops.array.complex_elements": ("ir.fma",),
        "passes.fusion.views": ("ops.array.linalg",),
        "passes.simplify.elementwise": (
            "ops.array.complex_parts",
            "passes.analysis.conversions",
        ),
        "runtime.compile.results": ("frontend.tracing.memory.geometry", "runtime.call.stores"),
        "runtime.compile.specialize": (
            "frontend.containers.tables",
            "runtime.compile.placed",
        ),
        "runtime.compile.stages": ("frontend.tracing.memory.geometry", "passes.partition.pieces"),
        "runtime.compile.variant": ("runtime.call.aliasing", "runtime.native.python_entry"),
        "runtime.native.entry": ("runtime.native.strides",),
        "runtime.native.fetch": ("runtime.native.packing",),
        "runtime.native.guards": ("runtime.call.aliasing",),
        "runtime.native.made": ("runtime.native.lists", "runtime.native.strides"),
        "runtime.parts.functions": (
            "frontend.rewrite.eager_parts",
            "runtime.parts.callees",
            "runtime.parts.loops",
        ),
        "runtime.report.lines": ("frontend.host.functions", "ops.host.call"),
        "transforms.api.primal": ("frontend.control.branches",),
        "transforms.autodiff.backward_pass": ("transforms.autodiff.cotangent_views",),
    },
}


class Import(NamedTuple):
    """One name that a file imports: its line, its absolute dotted name, whether in a function."""

    line: int
    name: str
    lazy: bool


def files(package: Path) -> dict[str, Path]:
    """The files of a package by their dotted names in it; a folder's own name is its __init__."""
    out = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        out[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return out


FILES = files(PACKAGE)
#: The files at the top that gather the public names are of no layer.
MODULES = [name for name in FILES if name not in ("", "__main__")]


@functools.cache
def imports(package: Path, path: Path) -> tuple[Import, ...]:
    """Everything that a file imports, inside functions and for types too."""
    folder = (package.name, *path.relative_to(package).parts[:-1])
    found = []
    for node, lazy in _statements(ast.parse(path.read_text(encoding="utf-8")), False):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = folder[: len(folder) - node.level + 1] if node.level else ()
            source = ".".join((*base, *(node.module or "").split("."))).rstrip(".")
            names = [f"{source}.{alias.name}" for alias in node.names]
        else:
            continue
        found += [Import(node.lineno, name, lazy) for name in names]
    return tuple(found)


def _statements(node: ast.AST, lazy: bool) -> Iterator[tuple[ast.AST, bool]]:
    """The statements in one, each with whether it is in a function."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, field, ()):
            yield inner, lazy
            is_function = isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef))
            yield from _statements(inner, lazy or is_function)


def target(name: str, known: Mapping[str, Path]) -> str | None:
    """The file of the package that an absolute dotted name is, or is a name of."""
    top, _, rest = name.partition(".")
    if top != "tracejit":
        return None
    while rest and rest not in known:
        rest = rest.rpartition(".")[0]
    # A public name (`tracejit.jit`) comes from the top of the package, hence from api.
    return rest or "api"


def order_of(name: str, other: str) -> tuple[int, int] | None:
    """Where two files stand in the folder in which their ways part; None where it has no order."""
    ours, theirs = name.split("."), other.split(".")
    depth = 0
    while depth < min(len(ours), len(theirs)) and ours[depth] == theirs[depth]:
        depth += 1
    layers = ORDER.get(".".join(ours[:depth]))
    if layers is None or depth == len(ours) or depth == len(theirs):
        return None
    places = {part: k for k, parts in enumerate(layers) for part in parts}
    return places[ours[depth]], places[theirs[depth]]


def violations(name: str, package: Path, known: Mapping[str, Path]) -> list[str]:
    """What a file imports against the order, one line each."""
    found = []
    for line, imported, _ in imports(package, known[name]):
        where = f"{name}:{line} imports {imported}"
        file = target(imported, known)
        if file is not None:
            places = order_of(name, file)
            # Files of one layer that are not of one folder are independent.
            if places is not None and places[0] <= places[1]:
                found.append(where)
        elif imported.partition(".")[0] == "llvmlite":
            if name.partition(".")[0] not in ("codegen", "runtime"):
                found.append(where)
    return found


def circles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """The files that import each other in a circle, circle by circle."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        stack = [start]
        while stack:
            new = edges.get(stack.pop(), set()) - seen
            seen |= new
            stack += new
        return seen

    ahead = {name: reached(name) for name in edges}
    together = {tuple(sorted(y for y in ahead[x] if x in ahead.get(y, ()))) for x in ahead}
    return sorted(list(names) for names in together if names)


def edges_of(package: Path, known: Mapping[str, Path]) -> dict[str, set[str]]:
    """For each file those that it imports, but for itself."""
    out: dict[str, set[str]] = {}
    for name, path in known.items():
        found = {target(x.name, known) for x in imports(package, path)}
        out[name] = {x for x in found if x is not None and x != name}
    return out


def test_no_module_imports_to_the_right() -> None:
    assert [x for name in MODULES for x in violations(name, PACKAGE, FILES)] == []


@pytest.mark.parametrize("folder", ORDER)
def test_all_that_lies_in_a_folder_has_a_place(folder: str) -> None:
    named = [part for layer in ORDER[folder] for part in layer]
    prefix = f"{folder}." if folder else ""
    inside = {x.removeprefix(prefix).split(".")[0] for x in MODULES if x.startswith(prefix)}
    assert sorted(named) == sorted(inside)


def test_no_circle() -> None:
    edges = edges_of(PACKAGE, FILES)
    del edges[""]  # It gathers the public names.
    assert circles(edges) == []


def test_imports_inside_functions_are_listed() -> None:
    listed = [(file, m) for found in LAZY.values() for file, ms in found.items() for m in ms]
    lazy = set()
    for name in MODULES:
        found = {target(x.name, FILES) for x in imports(PACKAGE, FILES[name]) if x.lazy}
        lazy |= {(name, file) for file in found if file is not None}
    assert sorted(listed) == sorted(lazy)


def _package(root: Path, texts: Mapping[str, str]) -> tuple[Path, dict[str, Path]]:
    package = root / "tracejit"
    for name, text in texts.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return package, files(package)


def test_the_check_sees_violations(tmp_path: Path) -> None:
    """The checker itself, on a file that breaks every rule in each spelling of an import."""
    bad = (
        "import llvmlite.binding\n"
        "from tracejit.ops import elementwise\n"
        "from .. import passes\n"
        "from ..codegen.llvm import emit\n"
        "from tracejit import jit\n"
        "def f():\n"
        "    import tracejit.api\n"
        "    from .types import ArrayType\n"
        "    from ..errors import TracejitError\n"
    )
    inner = (
        "from tracejit.codegen.program.emit import Program\n"
        "from tracejit.codegen.lowering import fusion\n"
        "from tracejit.codegen.kernel.other import x\n"
        "from tracejit.codegen.llvm.text import Module\n"
        "if TYPE_CHECKING:\n"
        "    from ..program import emit\n"
    )
    names = ("ir/types", "errors", "api", "ops/elementwise", "passes/dce", "codegen/llvm/emit")
    names += ("codegen/program/emit", "codegen/lowering/fusion", "codegen/kernel/other")
    names += ("codegen/llvm/text", "passes/__init__", "codegen/program/__init__")
    empty = {f"{name}.py": "" for name in names}
    package, known = _package(tmp_path, {**empty, "ir/bad.py": bad, "codegen/kernel/bad.py": inner})

    def lines(name: str) -> list[int]:
        return sorted(int(x.split(":")[1].split()[0]) for x in violations(name, package, known))

    assert lines("ir.bad") == [1, 2, 3, 4, 5, 7]
    assert lines("codegen.kernel.bad") == [1, 2, 6]


def test_the_check_sees_circles(tmp_path: Path) -> None:
    """One through a function and one for types; what is not in them is not named."""
    texts = {
        "ir/a.py": "from tracejit.ir.b import x\n",
        "ir/b.py": "def f():\n    from . import c\n",
        "ir/c.py": "if TYPE_CHECKING:\n    from tracejit.ir import a\n",
        "ir/d.py": "import tracejit.ir.a\n",
        "ops/__init__.py": "import tracejit.ops.e\n",
        "ops/e.py": "from tracejit import ops\n",
        "ir/__init__.py": "",
    }
    package, known = _package(tmp_path, texts)
    assert circles(edges_of(package, known)) == [["ir.a", "ir.b", "ir.c"], ["ops", "ops.e"]]
    (lazy,) = [x for x in imports(package, known["ir.b"]) if x.lazy]
    assert (lazy.line, target(lazy.name, known)) == (2, "ir.c")


def test_import_is_light() -> None:
    """`import tracejit` loads NumPy alone; the compiler's libraries wait for a first compile."""
    # Libraries, and what of Python's own is slow to load and not needed before.
    heavy = {"llvmlite", "scipy", "numba", "sklearn", "PIL", "inspect", "pathlib", "ast"}
    code = "import sys, numpy; known = set(sys.modules); import tracejit; "
    done = subprocess.run(
        [sys.executable, "-c", f"{code} print(*set(sys.modules) - known)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert heavy.isdisjoint(done.stdout.split())
