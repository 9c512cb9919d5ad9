"""Compiled kernels that are kept in files and in memory."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tracejit.codegen.cuda import kernel_cache as module
from tracejit.codegen.cuda.kernel_cache import KernelCache, cache_folder

K, L = "0a" * 32, "0b" * 32


def test_in_memory_and_in_files(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    cache = KernelCache(folder)
    assert cache.get(K) is None
    cache.put(K, b"code")
    assert [p.name for p in folder.iterdir()] == [K]
    assert cache.get(K) == b"code"
    assert KernelCache(folder).get(K) == b"code"
    (folder / K).unlink()
    assert cache.get(K) == b"code"
    assert KernelCache(folder).get(K) is None


@pytest.mark.parametrize("cut", [0, 1, 30, 48, 52, -1])
def test_what_is_truncated_is_not_loaded(tmp_path: Path, cut: int) -> None:
    KernelCache(tmp_path).put(K, b"some code")
    path = tmp_path / K
    path.write_bytes(path.read_bytes()[:cut])
    assert KernelCache(tmp_path).get(K) is None
    KernelCache(tmp_path).put(K, b"some code")
    assert KernelCache(tmp_path).get(K) == b"some code"


def test_what_is_changed_is_not_loaded(tmp_path: Path) -> None:
    KernelCache(tmp_path).put(K, b"some code")
    path = tmp_path / K
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert KernelCache(tmp_path).get(K) is None
    path.write_bytes(whole + b"more")
    assert KernelCache(tmp_path).get(K) is None


def test_the_oldest_go_where_there_are_too_many_bytes(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path, most_bytes=4000)
    keys = [f"{k:064x}" for k in range(4)]
    for k, key in enumerate(keys[:3]):
        cache.put(key, bytes(1000))
        os.utime(tmp_path / key, (k + 1, k + 1))
    # Reading counts as use.
    assert KernelCache(tmp_path).get(keys[0]) is not None
    cache.put(keys[3], bytes(1000))
    assert sorted(p.name for p in tmp_path.iterdir()) == [keys[0], keys[3]]
    assert KernelCache(tmp_path).get(keys[3]) == bytes(1000)


def test_what_was_half_written_long_ago_goes(tmp_path: Path) -> None:
    old, new = tmp_path / f".{K}.{0:016x}", tmp_path / f".{K}.{1:016x}"
    for path in (old, new):
        path.write_bytes(b"")
    os.utime(old, (time.time() - 7200,) * 2)
    KernelCache(tmp_path).put(K, b"code")
    assert sorted(p.name for p in tmp_path.iterdir()) == [new.name, K]


def test_without_a_folder_there_is_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for folder in (None, tmp_path / "file" / "folder"):
        cache = KernelCache(folder)
        cache.put(K, b"code")
        assert cache.get(K) == b"code"
        assert cache.get("other") is None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs owners of files")
def test_a_folder_that_others_can_write_is_not_trusted(tmp_path: Path) -> None:
    KernelCache(tmp_path).put(K, b"code")
    for mode in (0o777, 0o770, 0o702):
        tmp_path.chmod(mode)
        assert KernelCache(tmp_path).get(K) is None
        KernelCache(tmp_path).put(L, b"code")
        assert not (tmp_path / L).exists()
    tmp_path.chmod(0o700)
    assert KernelCache(tmp_path).get(K) == b"code"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs owners of files")
@pytest.mark.parametrize("how", ["group", "others", "owner", "link", "pipe", "folder"])
def test_a_file_that_others_can_write_is_not_loaded(tmp_path: Path, how: str) -> None:
    folder = tmp_path / "cuda"
    KernelCache(folder).put(K, b"code")
    path = folder / K
    if how == "owner":
        if os.geteuid() != 0:
            pytest.skip("only root gives files away")
        os.chown(path, 65534, 65534)
    elif how in ("group", "others"):
        path.chmod(0o620 if how == "group" else 0o602)
    else:
        path.rename(tmp_path / K)
        {"link": lambda: path.symlink_to(tmp_path / K), "pipe": lambda: os.mkfifo(path)}.get(
            how, path.mkdir
        )()
    assert KernelCache(folder).get(K) is None
    KernelCache(folder).put(K, b"code")
    assert (KernelCache(folder).get(K) == b"code") is (how != "folder")


def test_a_folder_that_is_made_is_the_users(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        KernelCache(tmp_path / "a" / "b").put(K, b"code")
    finally:
        os.umask(before)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b", f"a/b/{K}")]
    assert modes == [0o700, 0o700, 0o600]


def test_what_is_no_kernel_stays(tmp_path: Path) -> None:
    others = [tmp_path / name for name in (".env", "x.part", "main.cu", K[:-1], K + "0", f".{K}")]
    for path in others:
        path.write_bytes(bytes(5000))
        os.utime(path, (1, 1))
    cache = KernelCache(tmp_path, most_bytes=2000)
    for k in range(4):
        cache.put(f"{k:064x}", bytes(900))
    assert all(path.exists() for path in others)
    assert len(list(tmp_path.iterdir())) < len(others) + 4


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(module.os, "replace", full)
    cache = KernelCache(tmp_path)
    cache.put(K, b"code")
    assert cache.get(K) == b"code" and not list(tmp_path.iterdir())


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
