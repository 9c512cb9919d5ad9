"""Only what this package wrote is removed: a layer may be a folder that holds other things."""

from __future__ import annotations

import os
import shutil
import stat
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.runtime.cache.processes import python
from tracejit.runtime.cache import environment, files, inspect

X = np.arange(5.0)
NAME = f"{0:020x}-{0:012x}-{0:012x}{files.ENTRY}"
#: Files of the user: in the layer, in folders of names that are like those of the package, in such
#: of its own, and under names that are nearly those of its files.
OTHERS = (
    ".env", ".gitignore", ".notes.entry.0123456789abcdef", "notes.txt", "words.library",
    "model.entry", "sub/.secrets", "sub/.x.entry.0123456789abcdef",
    "cpython-3.12.0/README", "cpython-3.12.0/.hidden", "sub/cpython-3.12.0/README",
    f"cpython-311-{0:016x}/libraries/{0:020x}{files.LIBRARY}",
    f"cpython-311-{0:016x}/f-{0:010x}/{NAME}",
    f"cpython-311-{1:016x}/environment/description",
    f"cpython-311-{1:016x}/f-{0:010x}/.{NAME}.{0:016x}",
    "OWN/README", "OWN/.env", "OWN/libraries/.env", "OWN/libraries/words.library",
    "OWN/libraries/model.entry", "OWN/mine/model.entry", f"OWN/mine/{NAME}",
    f"OWN/f-{0:010x}/{NAME}.bak", f"OWN/f-{0:010x}/deep/{NAME}", f"OWN/f-{0:010x}/.{NAME}",
    f"OWN/f-{0:010x}/.x.{0:016x}", "OWN/environment/description.bak",
)  # fmt: skip


def scaled(x: Any) -> Any:
    return np.sort(x * 2 + 1).sum()


def others(layer: Path) -> dict[str, str]:
    found = {}
    for name in OTHERS:
        path = layer / name.replace("OWN", environment.folder())
        found[name] = path.read_text() if path.exists() else "removed"
    return found


@pytest.fixture
def layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the user that is the cache as well."""
    layer = tmp_path / "project"
    monkeypatch.setenv("TRACEJIT_CACHE", str(layer))
    tracejit.jit(scaled)(X)
    old = time.time() - 7200
    for name in OTHERS:
        path = layer / name.replace("OWN", environment.folder())
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
        os.utime(path, (old, old))
    # A folder of the package elsewhere is not the layer's.
    outside = tmp_path / "outside"
    shutil.copytree(layer / environment.folder(), outside)
    (layer / f"cpython-311-{2:016x}").symlink_to(outside)
    (layer / environment.folder() / f"f-{3:010x}").symlink_to(outside / "libraries")
    return layer


def ours(layer: Path) -> list[str]:
    return [os.path.basename(file.path) for file in files.own_files(str(layer))]


def test_eviction_removes_its_own_files_alone(layer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (entry,) = [p for p in layer.rglob(f"*{files.ENTRY}") if "scaled" in p.parent.name]
    left = entry.with_name(f".{entry.name}.{0:016x}")
    left.write_bytes(b"half")
    os.utime(left, (0, 0))
    outside = sorted((layer.parent / "outside").rglob("*"))
    monkeypatch.setenv("TRACEJIT_CACHE_SIZE", "0")
    files.remove_least_used(str(layer), at_once=True)
    assert ours(layer) == ["description"]
    assert others(layer) == {name: name for name in OTHERS}
    assert sorted((layer.parent / "outside").rglob("*")) == outside


def test_clear_removes_its_own_files_alone(layer: Path) -> None:
    before = len(ours(layer)) - 1
    outside = sorted((layer.parent / "outside").rglob("*"))
    assert inspect.clear() == before > 0
    assert ours(layer) == [] and inspect.clear() == 0
    assert others(layer) == {name: name for name in OTHERS}
    assert sorted((layer.parent / "outside").rglob("*")) == outside


def test_clear_leaves_no_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE", str(tmp_path / "cache"))
    tracejit.jit(scaled)(X)
    assert inspect.clear()
    assert os.listdir(tmp_path / "cache") == []
    f = tracejit.jit(scaled)
    assert f(X) == scaled(X)
    assert tracejit.jit(scaled)(X) == scaled(X)


def test_verify_removes_damaged_files_of_its_own_layer(
    layer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tmp_path / "base"
    shutil.copytree(layer, base, symlinks=True)
    monkeypatch.setenv("TRACEJIT_CACHE_BASE", str(base))
    for folder in (layer, base):
        for path in folder.rglob(f"*scaled*/*{files.ENTRY}"):
            path.write_bytes(path.read_bytes()[:-1])
    _, damaged = inspect.verify()
    assert sorted(Path(path).is_relative_to(base) for path in damaged) == [False, True]
    assert [os.path.exists(path) for path in damaged] == [
        Path(path).is_relative_to(base) for path in damaged
    ]
    assert others(layer) == others(base) == {name: name for name in OTHERS}


@pytest.mark.parametrize("how", ["cut", "flip", "foreign"])
def test_a_base_layer_is_never_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    base = tmp_path / "base"
    monkeypatch.setenv("TRACEJIT_CACHE", str(base))
    tracejit.jit(scaled)(X)
    for path in [p for p in base.rglob("*") if p.is_file()]:
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes({"cut": data[:60], "flip": data, "foreign": b"foreign"}[how])
    before = {p: p.read_bytes() for p in base.rglob("*") if p.is_file()}
    monkeypatch.setenv("TRACEJIT_CACHE", str(tmp_path / "own"))
    monkeypatch.setenv("TRACEJIT_CACHE_BASE", str(base))
    for warm in (False, True):
        f = tracejit.jit(scaled)
        assert f(X) == scaled(X) and (f._state is None) is warm
    inspect.verify(), inspect.clear()
    files.remove_least_used(str(tmp_path / "own"), at_once=True)
    assert {p: p.read_bytes() for p in base.rglob("*") if p.is_file()} == before


def test_another_environment_is_its_own_too(layer: Path) -> None:
    """What an earlier version has left counts, and goes, as long as its description is there."""
    folder = layer / f"cpython-310-{7:016x}"
    (folder / "environment").mkdir(parents=True)
    (folder / f"g-{0:010x}").mkdir()
    (folder / "environment" / "description").write_bytes(b"tracejit machine code 1\nold")
    (folder / f"g-{0:010x}" / NAME).write_bytes(b"tracejit machine code 1\nold")
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    assert NAME in ours(layer)
    # It is of a form that cannot be checked here.
    assert inspect.verify()[1] == [] and (folder / f"g-{0:010x}" / NAME).exists()
    inspect.clear()
    assert not folder.exists()


@pytest.mark.parametrize("umask", [0, 0o077, 0o777])
def test_folders_are_private_whatever_the_umask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, umask: int
) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE", str(tmp_path / "a" / "b" / "cache"))
    before = os.umask(umask)
    try:
        tracejit.jit(scaled)(X)
        f = tracejit.jit(scaled)
        assert f(X) == scaled(X) and f._state is None
    finally:
        os.umask(before)
    for path in (tmp_path / "a").rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600 & ~umask), path
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700


def test_in_processes(layer: Path) -> None:
    """Many compiles, then `cache verify` and `cache clear`, in a folder with other things."""
    count = files._COUNTED + 1
    program = "import numpy as np, tracejit\n" + "".join(
        f"@tracejit.jit\ndef f{k}(x): return x + {k}\nf{k}(np.ones(2))\n" for k in range(count)
    )
    (layer / "program.py").write_text(program)
    python("program.py", cache=layer, cwd=layer)
    assert len(ours(layer)) > count
    for what in ("verify", "clear"):
        python("-m", "tracejit", "cache", what, cache=layer, cwd=layer)
        assert others(layer) == {name: name for name in OTHERS}
    assert (layer / "program.py").read_text() == program
    assert ours(layer) == []
