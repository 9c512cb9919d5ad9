"""The README says what is there; the layout names every folder of the package and no other."""

import ast
import re
from pathlib import Path

from tests.project.drawn_imports import DRAWING, drawing, folders

ROOT = Path(__file__).resolve().parents[2]


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


def test_the_layout_names_the_rooms_of_tests_that_are_none_of_the_package() -> None:
    text = (ROOT / "docs" / "layout.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(tests/[^`]*)` \| (.*) \|$", text, re.MULTILINE))
    own = {"tests/golden/": rows["tests/golden/"]}
    for path in (ROOT / "tests").glob("*/__init__.py"):
        if not (ROOT / "tracejit" / path.parent.name).is_dir():
            own[f"tests/{path.parent.name}/"] = first_line(path)
    assert rows == own


def test_the_imports_of_each_folder_are_drawn() -> None:
    """The drawing itself is made anew by hand; it may lag behind by a few imports."""
    marks = re.findall(r"<title>(\S+) imports \d+ names of (\S+)</title>", drawing())
    assert ("codegen/kernel", "codegen/llvm") in marks and ("ir", "ops") not in marks
    assert {name for pair in marks for name in pair} <= set(folders())
    assert DRAWING.read_text(encoding="utf-8").startswith("<svg")


def test_every_file_says_what_it_is() -> None:
    paths = [path for path in (ROOT / "tracejit").rglob("*.py") if not first_line(path)]
    assert paths == []


def test_readme_is_short() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 150 and max(map(len, lines)) <= 130


def test_readme_has_the_two_commands_alone_on_their_lines() -> None:
    lines = re.findall(r"^python3 -m venv .*$", section("Start"), re.MULTILINE)
    assert len(lines) == 2
    assert lines[0].endswith(".venv/bin/tracejit demo")
    assert lines[1].endswith(".venv/bin/python -m pytest")
