"""Files of the cache: damaged, foreign and others' ones are never loaded; folders, eviction."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import random
import re
import shutil
import stat
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.runtime.cache import damage, kill, samples
from tests.runtime.cache.processes import ROOT, observe, python
from tests.support import sampling
from tracejit.runtime.cache import files, settings

root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away"
)
NOBODY = 65534
#: A file of an entry.
NAME = f"{0:020x}-{0:012x}-{0:012x}{files.ENTRY}"
X = np.arange(5.0)


def double(x: Any) -> Any:
    return (x * 2 + 1).sum()


def thrice(x: Any) -> Any:
    return (x * 3 + 1).sum()


def called(function: Any = double) -> Any:
    """As in a process that begins: whether the compiler was not needed."""
    f = tracejit.jit(function)
    assert f(X) == function(X)
    return f


def is_warm(function: Any = double) -> bool:
    return called(function)._state is None


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that holds `double`."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TRACEJIT_CACHE", str(folder))
    for name in ("TRACEJIT_CACHE_BASE", "TRACEJIT_CACHE_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert not is_warm() and is_warm()
    return folder


def entry(cache: Path, function: Any = double) -> Path:
    (found,) = cache.glob(f"*/*{function.__name__}*/*{files.ENTRY}")
    return found


def test_nobody_else_may_look_into_it(cache: Path) -> None:
    for path in (cache, *cache.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_folders_are_the_users_whatever_the_umask(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE", str(tmp_path / "cache"))
    before = os.umask(0)
    try:
        assert not is_warm() and is_warm()
    finally:
        os.umask(before)
    test_nobody_else_may_look_into_it(tmp_path / "cache")


@pytest.mark.parametrize("what", ["file", "folder", "environment", "cache"])
@pytest.mark.parametrize("how", ["group", "others", pytest.param("owner", marks=root)])
def test_what_others_can_write_is_not_loaded(
    cache: Path, what: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = entry(cache)
    path = {"file": path, "folder": path.parent, "environment": path.parents[1]}.get(what, cache)
    if how == "owner":
        os.chown(path, NOBODY, NOBODY)
    else:
        path.chmod(path.stat().st_mode | (stat.S_IWGRP if how == "group" else stat.S_IWOTH))
    # What is known of folders is known for one process.
    monkeypatch.setenv("HOME", str(path))
    assert not is_warm()
    f = called()
    if what != "file":
        # Nor is anything put there, and it is said why.
        assert f._state is not None
        assert not f._cached.files


@pytest.mark.parametrize("kind", ["link", "link to nothing", "folder", "pipe", "empty", "text"])
def test_foreign_files(cache: Path, tmp_path: Path, kind: str) -> None:
    path = entry(cache)
    elsewhere = tmp_path / "elsewhere"
    path.rename(elsewhere)
    if kind == "link":
        path.symlink_to(elsewhere)
    elif kind == "link to nothing":
        path.symlink_to(tmp_path / "nothing")
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.write_text("" if kind == "empty" else "foreign")
    assert not is_warm()
    # It is replaced by what belongs there, but for a folder.
    assert is_warm() is (kind != "folder")


def test_a_file_in_the_place_of_another(cache: Path) -> None:
    assert not is_warm(thrice)
    mine, other = entry(cache), entry(cache, thrice)
    for target, source in ((mine, other), (other, mine)):
        target.write_bytes(source.read_bytes())
        assert not is_warm(double if target is mine else thrice)
    library = mine.parents[1] / "libraries" / f"0{files.LIBRARY}"
    library.parent.mkdir(exist_ok=True)
    library.write_bytes(mine.read_bytes())
    assert files.read(str(library)) is None
    assert is_warm() and is_warm(thrice)


def test_every_bit_counts(cache: Path) -> None:
    """No bit of a file can be flipped, nor can it be cut or continued."""
    rng = random.Random(1)
    paths = [p for p in cache.rglob("*") if p.is_file()]
    for path in paths:
        data = path.read_bytes()
        assert files.read(str(path)) is not None
        places = [*range(60 * 8), *(rng.randrange(8 * len(data)) for _ in range(400))]
        for place in places:
            damaged = bytearray(data)
            damaged[place // 8] ^= 1 << place % 8
            path.write_bytes(damaged)
            assert files.read(str(path)) is None
        for size in rng.sample(range(len(data)), 100):
            path.write_bytes(data[:size])
            assert files.read(str(path)) is None
        path.write_bytes(data + b"\0")
        assert files.read(str(path)) is None
        path.write_bytes(data)
        path.chmod(0o600)


def test_damaged_files_in_processes(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(samples.DAMAGED, encoding="utf-8")
    text = python("-c", "import program as p; [c(h) for c in p.calls for h in (p.f, p.g)]",
        cache=tmp_path / "cache", cwd=tmp_path, PYTHONPATH=f"{ROOT}:{tmp_path}")  # fmt: skip
    assert text == ""
    seed = str(random.randrange(1000))
    arguments = (damage.__file__, str(tmp_path), "6", seed)
    told = json.loads(python(*arguments, cache=tmp_path / "cache", cwd=tmp_path))
    assert told["wrong"] == {} and told["compiled"] + told["warm"] == 6, (told, seed)


def test_processes_that_are_killed() -> None:
    text = python("-m", kill.__name__, "6", str(random.randrange(1000)), cache="off", cwd=ROOT)
    assert json.loads(text)["kills"] == 6


def test_what_a_killed_process_has_left_hinders_nobody(cache: Path) -> None:
    path = entry(cache)
    path.unlink()
    for k in range(50):
        (path.parent / f".{path.name}.{k:016x}").write_bytes(b"half")
    assert not is_warm() and is_warm()
    old = time.time() - 7200
    for left in path.parent.glob(".*"):
        os.utime(left, (old, old))
    files.remove_least_used(str(cache), at_once=True)
    assert os.listdir(path.parent) == [path.name]


def test_a_cache_that_cannot_be_written(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there is used, what is not there is compiled, nothing is said."""
    monkeypatch.setattr(settings, "checked_directory", lambda path: f"{path} is read-only")
    monkeypatch.setenv("HOME", "/nonexistent/a")
    assert settings.layers().write is None and settings.layers().why_not.endswith("read-only")
    assert is_warm() and not is_warm(thrice) and not is_warm(thrice)


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE", str(tmp_path))

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    f = called()
    assert f._cached.unwritten == {"f64[5]": "the system: [Errno 28] No space left on device"}
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and p.name != "environment"]
    monkeypatch.undo()
    monkeypatch.setenv("TRACEJIT_CACHE", str(tmp_path))
    assert not is_warm() and is_warm()


@pytest.mark.parametrize("home", ["/nonexistent/home", "", "/proc", "relative"])
def test_no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    for name in ("TRACEJIT_CACHE", "TRACEJIT_CACHE_BASE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", home)
    monkeypatch.chdir(tmp_path)
    if home == "":
        monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert settings.layers().write is None and settings.layers().why_not
    assert not is_warm() and not is_warm()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("kind", ["file", "in a file", "link to nothing"])
def test_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    (tmp_path / "file").write_text("text")
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    named = {"file": "file", "in a file": "file/cache"}.get(kind, "link")
    monkeypatch.setenv("TRACEJIT_CACHE", str(tmp_path / named))
    assert settings.layers().write is None and settings.layers().why_not
    assert not is_warm() and not is_warm()
    assert (tmp_path / "file").read_text() == "text" and len(os.listdir(tmp_path)) == 2


@pytest.mark.parametrize("off", ["off", "OFF", "0"])
def test_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, off: str) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE", off)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert not is_warm() and not is_warm()
    assert os.listdir(tmp_path) == []


def test_a_layer_below(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = tmp_path / "base"
    cache.rename(base)
    before = {p: p.stat().st_mtime_ns for p in base.rglob("*")}
    monkeypatch.setenv("TRACEJIT_CACHE_BASE", f"/nonexistent{os.pathsep}{base}")
    assert is_warm() and not is_warm(thrice) and is_warm(thrice)
    assert {p: p.stat().st_mtime_ns for p in base.rglob("*")} == before
    assert not list(cache.glob("*/*double*")) and entry(cache, thrice)
    # It is as much of the user's own as the cache.
    base.chmod(0o777)
    monkeypatch.setenv("TRACEJIT_CACHE_BASE", str(base))
    assert not is_warm()


def test_relative_folders_stay_where_they_are(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.rename(tmp_path / "base")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRACEJIT_CACHE", "own")
    monkeypatch.setenv("TRACEJIT_CACHE_BASE", "base")
    assert settings.layers().write == str(tmp_path / "own")
    monkeypatch.chdir("/")
    assert is_warm() and not is_warm(thrice) and is_warm(thrice)


def test_a_cache_that_is_removed_meanwhile(cache: Path) -> None:
    shutil.rmtree(cache)
    before = os.umask(0)
    try:
        assert not is_warm() and is_warm()
    finally:
        os.umask(before)
    test_nobody_else_may_look_into_it(cache)


def filled(cache: Path, number: int, size: int) -> list[Path]:
    """Files of so many bytes in the cache, the oldest first."""
    made = []
    for k in range(number):
        path = entry(cache).parent.parent / f"m-{k:010x}" / NAME
        files.write(str(path), os.urandom(size))
        when = time.time() - 86400 * (number - k)
        os.utime(path, (when, when))
        made.append(path)
    return made


def test_what_was_used_last_stays(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE_SIZE", "1")
    made = filled(cache, 20, 100_000)
    # Reading is use, also of the oldest one.
    assert files.read(str(made[0])) is not None
    running = called()
    files.remove_least_used(str(cache), at_once=True)
    left = [p for p in made if p.exists()]
    assert left == [made[0], *made[-len(left) + 1 :]] and 4 <= len(left) <= 8
    assert is_warm()
    assert sum(p.stat().st_size for p in cache.rglob("*")) <= 1 << 20
    monkeypatch.setenv("TRACEJIT_CACHE_SIZE", "0")
    files.remove_least_used(str(cache), at_once=True)
    assert not list(cache.rglob(f"*{files.ENTRY}"))
    assert running(X) == double(X) and running(X + 1) == double(X + 1)
    assert not is_warm()


@pytest.mark.parametrize("number", [2, 3])
def test_a_process_of_any_number_counts(
    cache: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE_SIZE", "1")
    monkeypatch.setattr(os, "getpid", lambda: number)
    more = str(filled(cache, 20, 100_000)[0])
    for _ in range(files._COUNTED):
        files.write(more, None)
        files.remove_least_used(str(cache))
    assert sum(p.stat().st_size for p in cache.rglob("*")) <= 1 << 20


@pytest.mark.parametrize("given", ["big", "-1", "1.5"])
def test_a_wrong_size_is_said_at_once(monkeypatch: Any, tmp_path: Path, given: str) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE", str(tmp_path))
    monkeypatch.setenv("TRACEJIT_CACHE_SIZE", given)
    with pytest.raises(
        ValueError, match=re.escape(f"TRACEJIT_CACHE_SIZE is a number of megabytes, not {given!r}")
    ):
        tracejit.jit(double)(X)


def test_processes_at_once(tmp_path: Path) -> None:
    """All begin with an empty cache, and end with right answers and whole files."""
    (tmp_path / "program.py").write_text(samples.DAMAGED, encoding="utf-8")
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    number = 16 if sampling.full() else 4
    with context.Pool(number) as pool:
        told = [pool.apply_async(observe, (tmp_path, "program")) for _ in range(number)]
        found = [x.get()["modules"]["program"] for x in told]
    for seen in found:
        assert seen["got"] == seen["plain"]
    assert kill._check(tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob(".*"))
    assert observe(tmp_path, "program")["compiler"] == []
