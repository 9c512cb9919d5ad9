"""The pages of the documentation: a Markdown file becomes blocks, which run in order.

The fence of a block says what it is:

- `python`: run, after the blocks before it; `python model.py` is also kept as that file, and
  reports count its lines from 1. Without a tag right behind it: what it has printed.
- `python tracejit/...`: a file of a copy of the package, in which the page runs, or the end of one
  that there is; `diff tracejit/...`: lines that are added to one, beside those that are there.
- `python eager`: its functions may run eagerly, which is what it shows.
- `python compiled`: about compiles, so that it means nothing plain; so is `eager`.
- `console`: `$ tracejit ...` and what the command prints.
- `sh`: commands that are not run; each must be one that there is.
- `text step.graph`: kept as that file; `text` without a name is a drawing or a quotation.
- `with-torch`, or another package, or `with-cc`, a program: run where that is installed.
- `no-run` after any of them: not run, for a reason that the page gives.

`...` in what is printed stands for anything, and times in milliseconds are not compared. Every page
runs compiled and, as `tracejit.eager()`, plain: the names that it leaves must have equal values.

    python -m tests.project.pages docs/adding.md        # run a page
    python -m tests.project.pages --update              # write what is printed now into all pages
"""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tracejit
from tests.support.compare import assert_same

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
#: Pages that change the package run in a process of their own, with a copy of it, compiled only.
APART = {"adding.md"}

_FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_TIME = re.compile(r"\d+(\.\d+)?(?=,| ms)")
#: What a compile says of itself is not the same under `eager()`.
_ABOUT_COMPILES = re.compile(r"\breport\b|\.lower\(|\.trace\(|allback")


@dataclass
class Block:
    """One fenced block of a page."""

    words: list[str]
    text: str
    line: int
    #: Where the text lies in the page.
    span: tuple[int, int]
    #: Of a Python block: the block right behind it with what it prints.
    output: Block | None = None

    @property
    def language(self) -> str:
        """The first word of the fence."""
        return self.words[0] if self.words else ""

    @property
    def file(self) -> str:
        """The name of the file that the block is, or ""."""
        return next((w for w in self.words[1:] if "." in w), "")


class Stale(AssertionError):
    """A block prints something else than its page says."""


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page in order; those with outputs are joined to what prints them."""
    text = page.read_text(encoding="utf-8")
    blocks: list[Block] = []
    end = 0
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        block = Block(found[2].split(), textwrap.dedent(found[3]), line, found.span(3))
        if block.language:
            blocks.append(block)
        else:
            # A block without a tag is nothing but the output of the one right before it.
            assert blocks and not text[end : found.start()].strip(), f"{page.name}:{line}: no tag"
            assert blocks[-1].language == "python", f"{page.name}:{line}: output of what?"
            blocks[-1].output = block
        end = found.end()
    return blocks


def package_with(page: Path, folder: Path) -> None:
    """Copy the checkout's package into a folder, and do to it what a page says."""
    shutil.copytree(ROOT / "tracejit", folder / "tracejit")
    shutil.copy(ROOT / "tracejit_index.py", folder)
    for block in blocks_of(page):
        file = folder / block.file
        if not block.file.startswith("tracejit/"):
            continue
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        if block.language == "python":
            after = before + block.text
        else:
            lines = block.text.splitlines(keepends=True)
            context = "".join(x[1:] for x in lines if x[0] != "+")
            assert before.count(context) == 1, f"{page.name}:{block.line}: where is this?"
            after = before.replace(context, "".join(x[1:] for x in lines))
        file.write_text(after, encoding="utf-8")


class Run:
    """A page that is run in a folder, compiled or plain."""

    def __init__(self, page: Path, folder: Path, plain: bool) -> None:
        self.page, self.folder, self.plain = page, folder, plain
        self.names: dict[str, Any] = {"__name__": f"page_{page.stem}"}
        #: Names of functions that may run eagerly.
        self.eager: set[str] = set()
        #: Blocks with what they print now.
        self.printed: list[tuple[Block, str]] = []

    def run(self) -> None:
        """Run all blocks. Raises whatever they raise, with the page's name."""
        np.random.seed(0)
        for block in blocks_of(self.page):
            try:
                self._run(block)
            except Exception as error:
                error.add_note(f"{self.page.relative_to(ROOT)}:{block.line}")
                raise

    def _run(self, block: Block) -> None:
        needed = [w.removeprefix("with-") for w in block.words if w.startswith("with-")]
        there = all(importlib.util.find_spec(x) or shutil.which(x) for x in needed)
        if "no-run" in block.words or not there or block.file.startswith("tracejit/"):
            return
        if block.file:
            (self.folder / block.file).write_text(block.text, encoding="utf-8")
        match block.language:
            case "python":
                self._python(block)
            case "console" if not self.plain:
                self._console(block)
            case "sh":
                for command in block.text.splitlines():
                    assert_known(command)

    def _python(self, block: Block) -> None:
        if self.plain and {"eager", "compiled"} & set(block.words):
            return
        before = set(self.names)
        if block.file:
            file, source = self.folder / block.file, block.text
        else:
            # The whole page in one file: the lines of errors are those of the page.
            file = self.folder / f"{self.page.stem}_{block.line}.py"
            source = "\n" * block.line + block.text
            file.write_text(source, encoding="utf-8")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(source, str(file), "exec"), self.names)
        if "eager" in block.words:
            self.eager |= set(self.names) - before
        if block.output and not (self.plain and _ABOUT_COMPILES.search(block.text)):
            self._compare(block.output, out.getvalue())

    def _console(self, block: Block) -> None:
        from tracejit.cli import main

        want = re.split(r"^\$ (.*)\n", block.text, flags=re.MULTILINE)
        assert not want[0].strip(), f"{self.page.name}:{block.line}: output before a command"
        printed = ""
        for command in want[1::2]:
            name, *arguments = shlex.split(command, comments=True)
            assert name == "tracejit", command
            with contextlib.redirect_stdout(io.StringIO()) as out:
                with contextlib.redirect_stderr(out):
                    main(arguments)
            printed += f"$ {command}\n{out.getvalue()}"
        self._compare(block, printed)

    def _compare(self, block: Block, printed: str) -> None:
        printed = printed.replace(f"{self.folder}/", "")
        self.printed.append((block, printed))
        want, got = (_TIME.sub("#", t.rstrip() + "\n") for t in (block.text, printed))
        if not doctest.OutputChecker().check_output(want, got, doctest.ELLIPSIS):
            if not UPDATING or "..." in block.text:
                raise Stale(f"it prints\n{printed}instead of\n{block.text}")

    def check_reports(self) -> None:
        """Assert that what the page decorates is compiled, all of it."""
        for name, f in self.names.items():
            if hasattr(f, "__tracejit__") and name not in self.eager:
                report = f.report()
                assert report.compiles, f"{self.page.name}: {name} was never compiled"
                assert not report.fallbacks and not report.bailouts, f"{self.page.name}: {report}"


UPDATING = False


def assert_known(command: str) -> None:
    """Assert that a command of a `sh` block is one of `tracejit`'s, or runs modules there are."""
    from tracejit.cli import parser

    words = shlex.split(command, comments=True)
    for k, word in enumerate(words):
        if word.rpartition("/")[2] == "tracejit" and words[k + 1 :]:
            parser(words[k + 1]).parse_args(words[k + 2 :])
        if word == "-m" and words[k + 1] not in ("venv", "build"):
            assert importlib.util.find_spec(words[k + 1]), command


@contextlib.contextmanager
def _in_folder() -> Iterator[Path]:
    """A new working folder."""
    before, modules, path = Path.cwd(), set(sys.modules), list(sys.path)
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(before)
            sys.path[:] = path
            for module in set(sys.modules) - modules:
                if str(getattr(sys.modules[module], "__file__", None)).startswith(name):
                    del sys.modules[module]


def run_page(page: Path) -> Run:
    """Run a page compiled, and plain where it can; the compiled run.

    Raises Stale, AssertionError, and whatever the page's programs raise.
    """
    with _in_folder() as folder:
        compiled = Run(page, folder, plain=False)
        compiled.run()
        compiled.check_reports()
    if page.name in APART:
        return compiled
    with _in_folder() as folder, tracejit.eager():
        plain = Run(page, folder, plain=True)
        plain.run()
    assert set(plain.names) <= set(compiled.names)
    for name, value in plain.names.items():
        if isinstance(value, (np.ndarray, np.generic, float, int, complex, tuple, list)):
            assert_same(value, compiled.names[name], "order", ulp=64, where=f"{page.name}: {name}")
    return compiled


def update(page: Path) -> None:
    """Write what the blocks of a page print now where it differs, except where `...` stands."""
    text = page.read_text(encoding="utf-8")
    for block, printed in reversed(run_page(page).printed):
        if "..." not in block.text and _TIME.sub("#", block.text) != _TIME.sub("#", printed):
            text = text[: block.span[0]] + printed.rstrip() + "\n" + text[block.span[1] :]
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    UPDATING = "--update" in sys.argv
    named = [Path(a).resolve() for a in sys.argv[1:] if not a.startswith("-")]
    for one in named or PAGES:
        if UPDATING:
            update(one)
        else:
            run_page(one)
