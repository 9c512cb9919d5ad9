"""No failure of the cache reaches the user: it is a miss, in the log, and told by `cache why`."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit.config import SettingError
from tracejit.runtime.cache import environment, files, inspect, libraries, recall, record
from tracejit.runtime.cache.describer import Describer
from tracejit.runtime.cache.finder import Finder
from tracejit.runtime.cache.guard import failures

X = np.arange(5.0)
#: What is called on the way in and out, by where it is looked up.
PLACES: list[tuple[Any, str]] = [
    (environment, "description"),
    (environment, "folder"),
    (files, "read_private"),
    (files, "_digest"),
    (files, "make_private"),
    (files, "own_files"),
    (files, "bound"),
    (files, "is_valid"),
    (files, "read"),
    (files, "remove_least_used"),
    (files, "write"),
    (libraries, "load"),
    (libraries, "layers"),
    (recall, "_records"),
    (recall, "_check_places"),
    (recall, "append_entry"),
    (recall, "call_kind"),
    (recall, "keep_libraries"),
    (recall, "key_of"),
    (recall, "layers"),
    (recall, "load"),
    (recall, "refresh"),
    (recall, "restored"),
    (record, "_linked"),
    (record, "_path"),
    (record, "cached"),
    (record, "call_kind"),
    (record, "is_off"),
    (record, "layers"),
    (record, "to_plain"),
    (Describer, "address"),
    (Describer, "object"),
    (Finder, "_address"),
    (Finder, "object"),
]
ERRORS = (
    AttributeError, EOFError, ImportError, KeyError, MemoryError, OSError, RecursionError,
    RuntimeError, StopIteration, TypeError, UnicodeDecodeError, ValueError,
)  # fmt: skip


class OwnError(Exception):
    """Of no class that the cache knows."""


def scaled(x: Any) -> Any:
    return np.sort(x * 2 + 1).sum()


def fails(error: type[Exception]) -> Any:
    def failing(*_: Any, **__: Any) -> Any:
        if error is UnicodeDecodeError:
            raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no text")
        raise error("on purpose")

    return failing


@pytest.mark.cache_failure("the cache is made to fail")
@pytest.mark.parametrize("where", PLACES, ids=lambda p: f"{p[0].__name__.split('.')[-1]}.{p[1]}")
def test_whatever_fails_is_a_miss(
    where: tuple[Any, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With nothing in the cache, and with what answers the call in it."""
    monkeypatch.setenv("TRACEJIT_CACHE", str(tmp_path / "cache"))
    kind = ERRORS[PLACES.index(where) % len(ERRORS)]
    for error in (OwnError, kind):
        for _ in range(2):
            monkeypatch.setattr(*where, fails(error))
            f = tracejit.jit(scaled)
            assert f(X) == scaled(X) and f(X + 1) == scaled(X + 1)
            assert f(np.arange(3)) == scaled(np.arange(3))
            assert "scaled: " in str(f.report()) and not f.report().fallbacks
            monkeypatch.undo()
            monkeypatch.setenv("TRACEJIT_CACHE", str(tmp_path / "cache"))
            tracejit.jit(scaled)(X)


@pytest.mark.cache_failure("the cache is made to fail")
@pytest.mark.parametrize("where", [(recall, "_records"), (record, "_linked")], ids=["in", "out"])
def test_failures_are_told(
    where: tuple[Any, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(*where, fails(OwnError))
    with caplog.at_level(logging.WARNING, "tracejit"):
        found = inspect.why(tracejit.jit(scaled), (X,), {})
    text = f"{where[0].__name__.split('.')[-1]} of the cache failed: OwnError: on purpose"
    assert text in found.lines and not found.warm
    assert text in [r.getMessage() for r in caplog.records]
    assert text in failures


def test_one_file_that_fails_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE", str(tmp_path / "cache"))
    tracejit.jit(scaled)(X)
    (path,) = tmp_path.rglob(f"*scaled*/*{files.ENTRY}")
    found = files.read(str(path))
    for k in range(3):
        other = path.with_name(f"{path.name[:34]}{k:012x}{files.ENTRY}")
        files.write(str(other), {**found, "image": ()})
    f = tracejit.jit(scaled)
    assert f(X) == scaled(X) and f._state is None and len(f._cached.refused) == 3


def test_a_wrong_setting_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE", str(tmp_path / "cache"))
    for name in ("TRACEJIT_PERF", "TRACEJIT_CACHE_SIZE"):
        monkeypatch.setenv(name, "much")
        with pytest.raises(SettingError, match="much"):
            tracejit.jit(scaled)(X)
        monkeypatch.delenv(name)
