"""What is imported by a name in a text: by one function, and not against the order either."""

import functools
import json
import os
import re
import subprocess
import sys

import pytest

from tests.project.recorded_imports import PROGRAMS
from tests.project.test_layering import FILES, PACKAGE, ROOT, circles, edges_of, order_of

#: Who may import a module whose name they are given: {why: files}.
GIVEN = {
    "the package gathers the public names, and the tools of the layers below": ("",),
    "whoever has a table announces its parts": (
        "base.late_table",
        "frontend.tracing.dispatch",
        "passes.late",
    ),
    "a replaced name: all of the compiler is imported with the originals in place": (
        "base.originals",
    ),
    "code from a file says what another process has found for it": (
        "link.addresses",
        "link.constants",
        "link.finding",
        "link.later",
        "link.portable",
        "link.shared",
        "runtime.cache.finder",
        "runtime.cache.records",
    ),
}
#: Files that import by themselves: a program's own modules, and a loader without this package.
OWN = ("base.late", "cli.functions", "cli.targets", "export.library.loader_code")


def test_one_function_imports_by_name() -> None:
    text = {name: path.read_text(encoding="utf-8") for name, path in FILES.items()}
    found = [name for name, s in text.items() if re.search(r"import_module\(|__import__\(", s)]
    assert sorted(found) == sorted(OWN)


@functools.cache
def recorded(program: str) -> set[tuple[str, str]]:
    """Which file has imported which, in a process of its own that has no cache."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.project.recorded_imports", program],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "TRACEJIT_CACHE": "off"},
    )
    assert done.returncode == 0, done.stderr
    pairs = json.loads(done.stdout.splitlines()[-1])
    return {tuple(name.partition(".")[2] for name in pair) for pair in pairs}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("program", PROGRAMS)
def test_no_import_is_against_the_order(program: str) -> None:
    given = [name for names in GIVEN.values() for name in names]
    edges = edges_of(PACKAGE, FILES)
    del edges[""]
    against = []
    for who, what in recorded(program):
        if who in given or what not in FILES or who == what:
            continue
        places = order_of(who, what)
        if places is not None and places[0] <= places[1]:
            against.append((who, what))
        if not FILES[what].name == "__init__.py" or not who.startswith(f"{what}."):
            edges.setdefault(who, set()).add(what)
    assert against == []
    assert circles(edges) == []
