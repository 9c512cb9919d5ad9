"""Compiled kernels that are kept in files and in memory."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tracejit.codegen.cuda import kernel_cache as module
from tracejit.codegen.cuda.kernel_cache import KernelCache, cache_folder


def test_in_memory_and_in_files(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    cache = KernelCache(folder)
    assert cache.get("k") is None
    cache.put("k", b"code")
    assert [p.name for p in folder.iterdir()] == ["k"]
    assert cache.get("k") == b"code"
    assert KernelCache(folder).get("k") == b"code"
    (folder / "k").unlink()
    assert cache.get("k") == b"code"
    assert KernelCache(folder).get("k") is None


@pytest.mark.parametrize("cut", [0, 1, 30, 48, 52, -1])
def test_what_is_truncated_is_dropped(tmp_path: Path, cut: int) -> None:
    KernelCache(tmp_path).put("k", b"some code")
    path = tmp_path / "k"
    path.write_bytes(path.read_bytes()[:cut])
    assert KernelCache(tmp_path).get("k") is None
    assert not path.exists()


def test_what_is_changed_is_dropped(tmp_path: Path) -> None:
    KernelCache(tmp_path).put("k", b"some code")
    path = tmp_path / "k"
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert KernelCache(tmp_path).get("k") is None
    path.write_bytes(whole + b"more")
    assert KernelCache(tmp_path).get("k") is None


def test_the_oldest_go_where_there_are_too_many_bytes(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path, most_bytes=4000)
    for k in range(3):
        cache.put(f"k{k}", bytes(1000))
        os.utime(tmp_path / f"k{k}", (k + 1, k + 1))
    # Reading counts as use.
    assert KernelCache(tmp_path).get("k0") is not None
    cache.put("k3", bytes(1000))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["k0", "k3"]
    assert KernelCache(tmp_path).get("k3") == bytes(1000)


def test_what_was_half_written_long_ago_goes(tmp_path: Path) -> None:
    old, new = tmp_path / "x.part", tmp_path / "y.part"
    for path in (old, new):
        path.write_bytes(b"")
    os.utime(old, (time.time() - 7200,) * 2)
    KernelCache(tmp_path).put("k", b"code")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["k", "y.part"]


def test_without_a_folder_there_is_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for folder in (None, tmp_path / "file" / "folder"):
        cache = KernelCache(folder)
        cache.put("k", b"code")
        assert cache.get("k") == b"code"
        assert cache.get("other") is None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs owners of files")
def test_a_folder_that_others_can_write_is_not_trusted(tmp_path: Path) -> None:
    KernelCache(tmp_path).put("k", b"code")
    tmp_path.chmod(0o777)
    assert KernelCache(tmp_path).get("k") is None
    KernelCache(tmp_path).put("l", b"code")
    assert not (tmp_path / "l").exists()
    tmp_path.chmod(0o700)


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(module.os, "replace", full)
    cache = KernelCache(tmp_path)
    cache.put("k", b"code")
    assert cache.get("k") == b"code" and not list(tmp_path.iterdir())


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_IN_MEMORY", 2)
    cache = KernelCache(None)
    for k in "abc":
        cache.put(k, b"")
    assert [cache.get(k) for k in "abc"] == [None, b"", b""]


def test_where_files_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "own" / "cuda"
    monkeypatch.delenv("TRACEJIT_CACHE_DIR")
    assert cache_folder() == tmp_path / "xdg" / "tracejit" / "cuda"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == tmp_path / "home" / ".cache" / "tracejit" / "cuda"
