"""README's test command under several Pythons and NumPys, each in a virtual environment of its own.

    python -m tests.matrix                     every corner that this machine has a Python for
    python -m tests.matrix --list              which these are
    python -m tests.matrix --python 3.13 --numpy 2.5 -- --share 4
    python -m tests.matrix --another -- --share 8    one other than that of this process

What follows `--` goes to pytest. SciPy is what pip takes beside that NumPy.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
#: The Pythons that each NumPy has wheels for.
NUMPYS = {
    "2.2": ("3.11", "3.12", "3.13"),
    "2.3": ("3.11", "3.12", "3.13", "3.14"),
    "2.4": ("3.11", "3.12", "3.13", "3.14"),
    "2.5": ("3.12", "3.13", "3.14"),
}


class Corner(NamedTuple):
    """A Python, its version, and a version of NumPy."""

    executable: str
    python: str
    numpy: str

    def __str__(self) -> str:
        return f"Python {self.python}, NumPy {self.numpy}"


def pythons() -> dict[str, str]:
    """The interpreters of this machine, by version: on the path, or of pyenv."""
    found: dict[str, str] = {}
    for version in sorted({v for versions in NUMPYS.values() for v in versions}):
        places = [shutil.which(f"python{version}")]
        places += sorted(map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python")))
        for place in filter(None, places):
            asked = [place, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
            done = subprocess.run(asked, capture_output=True, text=True)
            if done.stdout.strip() == version:
                found[version] = place
                break
    return found


def corners() -> list[Corner]:
    """All that this machine can run."""
    known = pythons()
    return [
        Corner(known[p], p, n) for n, versions in NUMPYS.items() for p in versions if p in known
    ]


def run(corner: Corner, arguments: Sequence[str]) -> str:
    """How the tests end there."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "venv" / "bin" / "python"
        steps: list[list[str]] = [
            [corner.executable, "-m", "venv", str(python.parents[1])],
            [str(python), "-m", "pip", "install", "-q", ".[demo,test]", f"numpy=={corner.numpy}.*"],
        ]
        if any(subprocess.run(step, cwd=ROOT).returncode for step in steps):
            return "not installed"
        tests = [str(python), "-m", "pytest", "-q", *arguments]
        return "failed" if subprocess.run(tests, cwd=ROOT).returncode else "passed"


def main() -> int:
    """Run the corners that are asked for; returns 1 if one fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.matrix", description=__doc__)
    parser.add_argument("--python", help="this Python alone, such as 3.13")
    parser.add_argument("--numpy", help="this NumPy alone, such as 2.5")
    parser.add_argument("--list", action="store_true", help="print the corners, and run nothing")
    parser.add_argument("--another", action="store_true", help="the newest of another Python")
    parser.add_argument("given", nargs="*", help="arguments of pytest, after --")
    options = parser.parse_args()
    chosen = [
        c
        for c in corners()
        if options.python in (None, c.python) and options.numpy in (None, c.numpy)
    ]
    if options.another:
        here = "{}.{}".format(*sys.version_info)
        chosen = [c for c in chosen if c.python != here][-1:]
    if options.list:
        print(*chosen, sep="\n")
        return 0
    ends = []
    for corner in chosen:
        print(f"== {corner}", flush=True)
        start = time.monotonic()
        ends.append(run(corner, options.given))
        print(f"{corner}: {ends[-1]}, {time.monotonic() - start:.0f} s", flush=True)
    # One that this machine cannot install says nothing of the tests.
    return 1 if "failed" in ends else 0


if __name__ == "__main__":
    raise SystemExit(main())
