"""Every block of code in the documentation runs, compiled and plain, and prints what is shown."""

from __future__ import annotations

import copy
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.project import commands, supported
from tests.project.pages import APART, PAGES, ROOT, Stale, blocks_of, package_with, run_page
from tests.support.compare import assert_same
from tracejit.cli.errors import Usage

LINKS = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@pytest.mark.sampled(9, always=["test_a_page_runs[README]", "test_a_page_runs[training]"])
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs(page: Path, tmp_path: Path) -> None:
    if page.name in APART:
        package_with(page, tmp_path)
        command = [sys.executable, "-P", "-W", "error", "-m", "tests.project.pages", str(page)]
        path = os.pathsep.join(map(str, (tmp_path, ROOT)))
        env = {**os.environ, "TRACEJIT_VERIFY": "1", "PYTHONPATH": path}
        run = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
    else:
        run_page(page)


@pytest.mark.compiles
def test_the_programs_shown_are_right_for_other_arguments() -> None:
    shown: dict[str, Any] = {}
    for name in ("control_flow", "memory", "report"):
        shown |= run_page(ROOT / "docs" / f"{name}.md").names
    for name, args in (
        ("root", (2.0, 1e-12)),
        ("cholesky", (np.eye(4) + 1,)),
        ("heat", (np.linspace(0.0, 1.0, 9), 5)),
        ("smooth", (np.linspace(0.0, 1.0, 9), 5)),
        ("forms", (np.linspace(-1.0, 2.0, 9),)),
        ("total", (np.arange(-3.0, 5.0), 2)),
        ("relax", (np.arange(-3.0, 5.0) ** 2,)),
        ("shift", (np.arange(6.0),)),
        ("walk", (7,)),
        ("escape_times", (np.linspace(-2.0, 1.0, 40) + 0.3j, 30)),
        ("sparse_times_vector", (np.array([0, 1, 1]), np.array([1]), np.array([2.0]), np.ones(2))),
        ("spectrum_of_positive", (np.arange(-4.0, 5.0),)),
    ):
        expected, found = (f(*copy.deepcopy(args)) for f in (shown[name].__tracejit__, shown[name]))
        assert_same(expected, found, "order", ulp=8)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for link in LINKS.findall(text):
        path, _, anchor = link.partition("#")
        if "://" in path:
            continue
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name}: {link}"
        if anchor:
            titles = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = [re.sub(r"[^\w\- ]", "", t.lower()).replace(" ", "-") for t in titles]
            assert anchor in slugs, f"{page.name}: {link}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_and_folders_are_where_a_page_says(page: Path) -> None:
    known = {path.name for path in (*ROOT.iterdir(), *(ROOT / "tracejit").iterdir())}
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for name in re.findall(r"`([\w.]+/[\w./]*)`", text):
        if name.partition("/")[0] in known:
            assert any((ROOT / under / name).exists() for under in ("", "tracejit", "tests")), name
    for name in re.findall(r"`(tests(?:\.\w+)+)", text):
        assert importlib.util.find_spec(name), name


def test_the_commands_take_what_their_page_says() -> None:
    """After a change: python -m tests.project.commands --write."""
    assert commands.PAGE.read_text(encoding="utf-8") == commands.page()


def test_what_is_supported_is_what_the_registries_hold() -> None:
    """After a change: python -m tests.project.supported --write."""
    assert supported.PAGE.read_text(encoding="utf-8") == supported.page()


def test_few_blocks_are_not_run() -> None:
    """Each for a reason that stands beside it."""
    skipped = [f"{p.name}:{b.line}" for p in PAGES for b in blocks_of(p) if "no-run" in b.words]
    assert len(skipped) <= 3, skipped


@pytest.mark.parametrize(
    "text, problem",
    [
        ("```python\nprint(1)\n```\n\n```\n2\n```\n", Stale),
        ("```python\n1 / 0\n```\n", ZeroDivisionError),
        ("```console\n$ tracejit explain TJ999\nTJ999\n```\n", Stale),
        ("```sh\npython -m tests.no_such_module\n```\n", AssertionError),
        ("```sh\ntracejit no-such-command\n```\n", Usage),
        ("```\nwhat is this?\n```\n", AssertionError),
        (
            "```python\nimport tracejit\nf = tracejit.jit(lambda x: open(x))\n"
            "try:\n    f('nowhere')\nexcept OSError:\n    pass\n```\n",
            AssertionError,
        ),
    ],
    ids=["output", "error", "console", "module", "command", "tag", "eager"],
)
def test_what_is_wrong_is_found(
    text: str, problem: type[BaseException], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tests.project.pages.ROOT", tmp_path)
    (tmp_path / "page.md").write_text(text)
    with pytest.raises(problem):
        run_page(tmp_path / "page.md")
