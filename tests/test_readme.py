"""The README says what is there; the layout names every folder of the package and no other."""

import ast
import contextlib
import copy
import io
import re
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent


def first_line(path: Path) -> str:
    """What a file says it is."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    return (docstring or "").partition("\n")[0].rstrip(".")


def section(title: str) -> str:
    """The text under one second-level heading of the README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(title)}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"README.md has no section {title!r}"
    return found[1]


def test_the_layout_names_every_folder_by_its_own_words() -> None:
    text = (ROOT / "docs" / "layout.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(tracejit/[^`]*)` \| (.*) \|$", text, re.MULTILINE)
    inits = (ROOT / "tracejit").rglob("__init__.py")
    own = {f"{path.parent.relative_to(ROOT).as_posix()}/": first_line(path) for path in inits}
    assert dict(rows) == own and len(rows) == len(own)


def test_every_file_says_what_it_is() -> None:
    paths = [path for path in (ROOT / "tracejit").rglob("*.py") if not first_line(path)]
    assert paths == []


def test_readme_has_the_two_commands_alone_on_their_lines() -> None:
    lines = re.findall(r"^python3 -m venv .*$", section("Start"), re.MULTILINE)
    assert len(lines) == 2
    assert lines[0].endswith(".venv/bin/tracejit demo")
    assert lines[1].endswith(".venv/bin/python -m pytest")


def test_the_programs_on_control_flow_are_compiled_and_right(tmp_path: Path) -> None:
    """What the section shows, run as one file, once plain and once compiled."""
    names = ("Control flow", "Arrays that are changed, and sizes that data decide")
    blocks: list[str] = []
    for name in (*names, "The report, and errors"):
        blocks += re.findall(r"^```python\n(.*?)^```", section(name), re.M | re.S)
    program = tmp_path / "shown.py"
    program.write_text("\n".join(blocks))
    shown: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(program.read_text(), str(program), "exec"), shown)
    jitted = {name: f for name, f in shown.items() if hasattr(f, "__tracejit__")}
    assert set(jitted) == {
        *("root", "cholesky", "heat", "smooth", "total", "relax"),
        *("escape_times", "sparse_times_vector", "spectrum_of_positive"),
    }
    for f in jitted.values():
        assert f.report().compiles and not f.report().fallbacks and not f.report().bailouts
    assert "rolled" in printed.getvalue() and "branch" in printed.getvalue()
    for name, args in (
        ("root", (2.0, 1e-12)),
        ("cholesky", (np.eye(4) + 1,)),
        ("heat", (np.linspace(0.0, 1.0, 9), 5)),
        ("smooth", (np.linspace(0.0, 1.0, 9), 5)),
        ("total", (np.arange(-3.0, 5.0), 2)),
        ("relax", (np.arange(-3.0, 5.0) ** 2,)),
        ("escape_times", (np.linspace(-2.0, 1.0, 40) + 0.3j, 30)),
        ("sparse_times_vector", (np.array([0, 1, 1]), np.array([1]), np.array([2.0]), np.ones(2))),
        ("spectrum_of_positive", (np.arange(-4.0, 5.0),)),
    ):
        expected, found = (
            f(*copy.deepcopy(args)) for f in (jitted[name].__tracejit__, jitted[name])
        )
        np.testing.assert_allclose(found, expected, rtol=1e-15)
