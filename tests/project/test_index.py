"""The index of the package's modules: made where it is old, by a build and in a checkout."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tracejit_index
from tests.project.pages import ROOT
from tracejit.base import module_index

_OP = '''
from tracejit.ir.op import Op, register


@register
class Named(Op):
    """An op of a name."""

    name = "named_anew"
'''
_FIND = "from tracejit.ops import OPS; print(OPS['named_anew'].name)"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the checkout, with one op more."""
    kept = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "tracejit", tmp_path / "tracejit", ignore=kept)
    shutil.copy(ROOT / "tracejit_index.py", tmp_path)
    (tmp_path / "tracejit" / "ops" / "named.py").write_text(_OP, encoding="utf-8")
    return tmp_path


def start(checkout: Path, program: str) -> "subprocess.Popen[str]":
    """A process that runs a program with the package of a checkout."""
    return subprocess.Popen(
        [sys.executable, "-P", "-c", program],
        env={**os.environ, "PYTHONPATH": str(checkout)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_index_is_that_of_the_modules() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tracejit_index.py"], capture_output=True, text=True, check=True
    )
    assert module_index.make_index().partition("\n")[2] == done.stdout


def test_processes_at_once_find_what_is_new(checkout: Path) -> None:
    for process in [start(checkout, _FIND) for _ in range(2)]:
        assert process.communicate()[0] == "named_anew\n"
    index = checkout / "tracejit" / "index.txt"
    assert "ops tracejit.ops.named named_anew\n" in index.read_text(encoding="utf-8")
    # What is as it was is not made again: this maker makes nothing.
    (checkout / "tracejit_index.py").write_text("", encoding="utf-8")
    (checkout / "tracejit" / "ops" / "named.py").touch()
    assert start(checkout, _FIND).communicate()[0] == "named_anew\n"
    (checkout / "tracejit" / "ops" / "named.py").rename(checkout / "tracejit" / "ops" / "other.py")
    assert "KeyError" in start(checkout, _FIND).communicate()[1]


def test_files_beside_a_program_hide_no_modules_of_python(checkout: Path) -> None:
    (checkout / "program").mkdir()
    (checkout / "program" / "types.py").write_text("1 / 0", encoding="utf-8")
    place = f"import sys; sys.path.insert(0, {str(checkout / 'program')!r})"
    assert start(checkout, f"{place}\n{_FIND}").communicate()[0] == "named_anew\n"


def test_a_checkout_that_cannot_be_written_to(checkout: Path) -> None:
    place = (
        f"from tracejit.base import module_index as m; m._INDEX = {str(checkout / 'no' / 'x')!r}"
    )
    assert start(checkout, f"{place}\n{_FIND}").communicate()[0] == "named_anew\n"


def test_a_module_that_cannot_be_imported_is_named(checkout: Path) -> None:
    (checkout / "tracejit" / "ops" / "named.py").write_text("1 +", encoding="utf-8")
    error = start(checkout, _FIND).communicate()[1]
    assert "ImportError: the index of tracejit's modules cannot be made" in error
    assert "named.py" in error


def test_an_installed_package_has_its_index_as_it_is(checkout: Path) -> None:
    (checkout / "tracejit_index.py").unlink()
    assert "KeyError" in start(checkout, _FIND).communicate()[1]
    row = "00000000\nops tracejit.ops.named named_anew\n"
    (checkout / "tracejit" / "index.txt").write_text(row, encoding="utf-8")
    assert start(checkout, _FIND).communicate()[0] == "named_anew\n"
    (checkout / "tracejit" / "index.txt").unlink()
    assert "ImportError: tracejit is not whole" in start(checkout, _FIND).communicate()[1]


def test_a_build_needs_nothing_where_the_index_is_current() -> None:
    module_index.make_index()
    hook = tracejit_index.IndexHook()
    assert hook.dependencies() == []
    hook.initialize("standard", {})
    assert module_index.index_is_current()
