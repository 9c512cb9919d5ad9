"""Which files are a library's: wherever they lie, and not for being installed alone."""

from __future__ import annotations

import site
import subprocess
import sys
from collections.abc import Iterator
from importlib import machinery
from pathlib import Path

import numpy as np
import pytest

from tests.runtime.cache.processes import environment
from tracejit.errors import PACKAGE
from tracejit.frontend.rewrite.source import is_library_file


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    is_library_file.cache_clear()
    yield
    is_library_file.cache_clear()


def test_packages_that_are_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(tmp_path)])
    for name in ("plain", "with_code_in_c", "numba"):
        (tmp_path / name / "inner").mkdir(parents=True)
    (tmp_path / "with_code_in_c" / "inner" / f"x{machinery.EXTENSION_SUFFIXES[0]}").touch()
    expected = {"plain": False, "with_code_in_c": True, "numba": True, "module.py": False}
    found = {name: is_library_file(str(tmp_path / name / "a.py")) for name in expected}
    assert found == expected


def test_numpy_in_another_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = str(tmp_path / "numpy" / "_core" / "getlimits.py")
    assert not is_library_file(file)
    is_library_file.cache_clear()
    monkeypatch.setattr(np, "__file__", str(tmp_path / "numpy" / "__init__.py"))
    assert is_library_file(file)


def test_python_and_the_compiler() -> None:
    assert all(map(is_library_file, ["<frozen os>", subprocess.__file__, f"{PACKAGE}/errors.py"]))
    assert not is_library_file(__file__) and not is_library_file(f"{PACKAGE}/nn/layers.py")


PROGRAM = """
import site, sys
site.getsitepackages = lambda: [sys.argv[1]]
sys.path.append(sys.argv[1])
import numpy as np, losses, tracejit

def mine(y, loss):
    return sum(loss.one(v) for v in y)

for f in (losses.total, tracejit.jit(mine)):
    for k in range(12):
        y, loss = np.linspace(-1, 1, 9), losses.Loss(0.1 * k)
        assert abs(f(y, loss) - mine(y, loss)) < 1e-12
    print(len(f.report().variants), len(f.report().fallbacks))
"""
LOSSES = """
import tracejit

class Loss:
    def __init__(self, q):
        self.q = q

    def one(self, r):
        return self.q * r if r >= 0 else (self.q - 1) * r

@tracejit.jit
def total(y, loss):
    s = 0.0
    for v in y:
        s += loss.one(v)
    return s
"""


def test_objects_of_a_package_that_is_installed(tmp_path: Path) -> None:
    (tmp_path / "site" / "losses").mkdir(parents=True)
    (tmp_path / "site" / "losses" / "__init__.py").write_text(LOSSES, encoding="utf-8")
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "program.py", str(tmp_path / "site")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment(tmp_path / "cache"),
        timeout=100,
    )
    counts = [line.split() for line in done.stdout.splitlines()]
    assert [fallbacks for _, fallbacks in counts] == ["0", "0"], done.stderr
    assert all(int(variants) <= 2 for variants, _ in counts)
