"""Equal programs have equal files in all processes, and code of files answers as Python does."""

from __future__ import annotations

import marshal
from pathlib import Path
from typing import Any

from tests.runtime.cache.processes import observe
from tests.runtime.cache.varied import HEAD, VARIED
from tests.support import sampling
from tracejit.runtime.cache import files


def write(folder: Path, names: list[str]) -> None:
    for name in names:
        (folder / f"{name}.py").write_text(HEAD + VARIED[name], encoding="utf-8")


def records(cache: Path) -> dict[str, dict[str, Any]]:
    """What is in the files of a cache, by their places in it, but for the pickled reports."""
    found = {}
    for path in cache.rglob("*"):
        if path.suffix in (files.ENTRY, files.LIBRARY):
            record = files.read(str(path))
            assert record is not None
            record.pop("compile", None)
            found[str(path.relative_to(cache))] = record
    return found


def differing(one: Any, other: Any) -> list[str]:
    return [key for key in one if marshal.dumps(one[key], 2) != marshal.dumps(other.get(key), 2)]


def test_equal_images_and_answers(tmp_path: Path) -> None:
    names = sampling.sampled(sorted(VARIED), 6)
    write(tmp_path, names)
    caches = [tmp_path / "cache", tmp_path / "other"]
    seen = [
        observe(tmp_path, *names, TRACEJIT_CACHE=str(cache), PYTHONHASHSEED=seed)
        for cache, seed in zip(caches, ("1", "4711"), strict=True)
    ]
    one, other = map(records, caches)
    assert one.keys() == other.keys()
    assert {k: differing(v, other[k]) for k, v in one.items() if differing(v, other[k])} == {}
    warm = observe(tmp_path, *names, PYTHONHASHSEED="99")
    for found in (*seen, warm):
        for name in names:
            told = found["modules"][name]
            assert "error" not in told, (name, told)
            assert told["got"] == told["plain"], (name, told)
            assert not told["refused"], (name, told)
