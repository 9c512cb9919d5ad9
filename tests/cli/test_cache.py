"""`tracejit cache` and `tracejit bundle`: what is there, and why it is of no use."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tracejit.link.loader import supported

pytestmark = pytest.mark.skipif(not supported(), reason="machine code is not loaded from files")
MODEL = """import numpy as np

RATE = 2.0
def helper(x):
    return x * RATE

def f(x, k=3):
    return np.sin(helper(x)).sum() + k

class Odd:
    def __call__(self, x):
        return x
odd = Odd()
"""
SCRIPT = """import numpy as np
import tracejit
from model import f

print(tracejit.jit(f)(np.zeros(4)))
"""


class Place:
    """A folder with a program, and a cache."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.write("model.py", MODEL)
        self.write("script.py", SCRIPT)

    def write(self, name: str, text: str) -> None:
        (self.path / name).write_text(text)

    def run(self, *arguments: str, code: int = 0, **environment: str) -> str:
        """What a command prints."""
        given = {**os.environ, "TRACEJIT_CACHE": str(self.path / "cache"), **environment}
        # Python takes bytecode for that of a file by its size, and the second of its last change.
        given["PYTHONDONTWRITEBYTECODE"] = "1"
        done = subprocess.run(
            [sys.executable, *arguments], cwd=self.path, env=given, capture_output=True, text=True
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def why(self, code: int, *more: str, **environment: str) -> list[str]:
        """The reasons, for a call of `f`."""
        command = ("-m", "tracejit", "cache", "why", "model.py:f", "--args", "f64[10]", "--json")
        found = json.loads(self.run(*command, *more, code=code, **environment))
        assert found["warm"] == (code == 0)
        reasons: list[str] = found["reasons"]
        return reasons


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_why_names_what_has_changed(place: Place) -> None:
    assert place.why(1) == ["compiled anew", "written"]
    assert place.why(0)[0].startswith("answered by ")
    place.write("model.py", MODEL.replace("RATE = 2.0", "RATE = 3.0"))
    assert any("RATE holds something else than 2.0" in line for line in place.why(1))
    place.write("model.py", MODEL.replace("x * RATE", "x + RATE"))
    assert any("helper of model has other code" in line for line in place.why(1))
    place.write("model.py", MODEL.replace("+ k", "- k"))
    assert "3 files are for other code of it, or other options of jit" in place.why(1)
    place.write("model.py", MODEL)
    assert place.why(0)
    assert place.why(1, TRACEJIT_CACHE="off") == ["the cache is off: TRACEJIT_CACHE=off"]


def test_files_are_listed_checked_and_removed(place: Place) -> None:
    place.why(1)
    listed = place.run("-m", "tracejit", "cache", "ls")
    assert "model.f(f64[10])" in listed and "shared by programs" in listed
    (entry,) = (place.path / "cache").rglob("*.entry")
    assert place.run("-m", "tracejit", "cache", "verify").endswith("0 were damaged\n")
    data = bytearray(entry.read_bytes())
    data[len(data) // 2] ^= 1
    entry.write_bytes(data)
    found = json.loads(place.run("-m", "tracejit", "cache", "verify", "--json", code=1))
    assert found["damaged"] == [str(entry)]
    assert place.why(1) == ["compiled anew", "written"]
    assert "files removed" in place.run("-m", "tracejit", "cache", "clear")
    assert not list((place.path / "cache").rglob("*.entry"))


def test_wrong_words_are_told(place: Place) -> None:
    place.run("-m", "tracejit", "cache", "lsit", code=2)
    place.run("-m", "tracejit", "cache", "why", code=2)
    place.run("-m", "tracejit", "cache", "ls", "model.py:f", code=2)
    place.run("-m", "tracejit", "bundle", "-o", "out", code=2)


def test_an_object_that_is_called(place: Place) -> None:
    command = ("-m", "tracejit", "cache", "why", "model.py:odd", "--args", "f64[10]")
    assert "written" in place.run(*command, code=1)
    assert "answered by" in place.run(*command)


def test_a_bundle_is_read_where_it_is_shipped(place: Place) -> None:
    said = place.run("-m", "tracejit", "bundle", "-o", "bundled", "script.py")
    assert "1 functions" in said
    count = len(list((place.path / "bundled").rglob("*.entry")))
    test = SCRIPT + "import sys; assert 'tracejit.passes' not in sys.modules\n"
    place.write("script.py", test)
    place.run("script.py", TRACEJIT_CACHE_BASE=str(place.path / "bundled"))
    assert len(list((place.path / "bundled").rglob("*.entry"))) == count == 1
    place.run("-m", "tracejit", "bundle", "-o", "out", "nothing.py", code=1)


def test_a_bundle_for_a_level_of_processors(place: Place) -> None:
    level = "x86-64-v2"
    place.run("-m", "tracejit", "bundle", "--target", level, "-o", "bundled", "script.py")
    base = {"TRACEJIT_CACHE_BASE": str(place.path / "bundled")}
    plain = place.run("script.py", **base)
    place.write("script.py", SCRIPT + "import sys; assert 'tracejit.passes' not in sys.modules\n")
    assert place.run("script.py", TRACEJIT_TARGET=level, **base) == plain
    place.run("script.py", code=1, TRACEJIT_TARGET="x86-64-v9", **base)


def test_a_cache_in_a_folder_of_everybody(place: Place) -> None:
    place.path.chmod(0o1777)
    assert place.why(1) == ["compiled anew", "written"]
    assert place.why(0)
