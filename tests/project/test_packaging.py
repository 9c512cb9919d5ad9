"""The package as others see it: its public names, its version, its types, what is packed."""

import inspect
import re
import tomllib
from pathlib import Path

import tracejit

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_public_names_are_listed() -> None:
    shown = {n for n, x in vars(tracejit).items() if n[0] != "_" and not inspect.ismodule(x)}
    shown -= {"load_ipython_extension"}  # IPython's name for it, and nobody else's
    assert {*shown, "__version__", "config", "errors", "tree"} == set(tracejit.__all__)
    assert tracejit.__all__ == sorted(tracejit.__all__)


def test_public_names_are_documented() -> None:
    for name in tracejit.__all__:
        x = getattr(tracejit, name)
        assert name == "__version__" or inspect.getdoc(x), name
    text = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "docs").glob("*.md"))
    missing = [n for n in tracejit.__all__ if not re.search(rf"\b{n}\b", text)]
    assert missing == ["__version__"]


def test_the_version_is_in_one_place() -> None:
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "tracejit/__init__.py"
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+)?", tracejit.__version__)


def test_what_is_packed_is_there() -> None:
    assert (ROOT / "tracejit" / "py.typed").exists()
    packed = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert all((ROOT / name.lstrip("/")).exists() for name in packed)
    assert {"/tests", "/docs", "/CHANGELOG.md", "/CONTRIBUTING.md"} <= set(packed)
