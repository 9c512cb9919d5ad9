"""Who may import whom: a module imports its own layer and those before it, never one after it."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "tracejit"
LAYERS = (
    ("config", "errors", "forms", "library_names", "locks", "sparse"),
    ("ir",),
    ("ops",),
    ("frontend",),
    ("transforms",),
    ("passes",),
    ("codegen",),
    ("runtime",),
    ("api",),
    ("cli", "viewer", "demo"),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
EXEMPT = {"__init__.py", "__main__.py"}  # of the top level only: they gather the public names
MODULES = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if not (path.parent == PACKAGE and path.name in EXEMPT)
]


def layer(path: Path) -> str:
    """The layer a file belongs to: its folder, or its own name at the top level."""
    top = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "demo" if top.startswith("demo") else top


def imported_modules(path: Path) -> Iterator[tuple[int, str]]:
    """Line and absolute dotted name of everything that a file imports, inside functions too."""
    package = ("tracejit", *path.relative_to(PACKAGE).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            source = ".".join((*base, *(node.module or "").split("."))).rstrip(".")
            yield from ((node.lineno, f"{source}.{alias.name}") for alias in node.names)


def violations(path: Path) -> list[str]:
    """What a file imports against the order, one line each."""
    found = []
    for line, name in imported_modules(path):
        top, _, rest = name.partition(".")
        where = f"{path.relative_to(ROOT)}:{line} imports {name}"
        if top == "tracejit":
            # A public name (`tracejit.jit`) comes from the top of the package, hence from api.
            target = rest.split(".")[0]
            target = "demo" if target.startswith("demo") else target
            if RANK.get(target, RANK["api"]) > RANK[layer(path)]:
                found.append(where)
        elif top == "llvmlite" and layer(path) not in ("codegen", "runtime"):
            found.append(where)
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_module_imports_to_the_right(path: Path) -> None:
    assert layer(path) in RANK, f"{path.name} belongs to no layer"
    assert violations(path) == []


def test_the_check_sees_a_violation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The checker itself, on a file that breaks every rule in each spelling of an import."""
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path / "tracejit")
    path = tmp_path / "tracejit" / "ir" / "bad.py"
    path.parent.mkdir(parents=True)
    path.write_text(
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
    lines = [violation.split(":")[1].split()[0] for violation in violations(path)]
    assert sorted(lines) == ["1", "2", "3", "4", "5", "7"]


def test_import_is_light() -> None:
    """`import tracejit` loads NumPy alone; the compiler's libraries wait for a first compile."""
    done = subprocess.run(
        [sys.executable, "-c", "import sys, tracejit; print(*sys.modules)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    heavy = {"llvmlite", "scipy", "numba", "rich", "sklearn", "PIL"}
    assert heavy.isdisjoint(done.stdout.split())
