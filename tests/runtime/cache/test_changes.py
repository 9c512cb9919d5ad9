"""What a process replaces before its first call, or after it, is seen by code of the cache."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.runtime.cache import changes, samples
from tests.runtime.cache.processes import observe, python
from tests.support import sampling

PROGRAM = Path(changes.__file__)


def test_changes(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(samples.CHANGED, encoding="utf-8")
    assert observe(tmp_path, "program")["modules"]["program"]["files"] == 1
    names = sampling.sampled(sorted(changes.CHANGES), 22, always=["nothing", "abs later"])
    base = str(tmp_path / "cache")
    arguments = (str(PROGRAM), str(tmp_path), *names)
    text = python(*arguments, cache="", cwd=tmp_path, TRACEJIT_CACHE_BASE=base)
    found = [json.loads(line) for line in text.splitlines()]
    assert [name for name, _ in found] == names
    for name, told in found:
        check(name, told)


def check(name: str, told: Any) -> None:
    assert not isinstance(told, str), (name, told)
    for when in ("first", "second"):
        assert told[when]["got"] == told[when]["plain"], (name, when, told[when])
    warm = changes.CHANGES[name][2]
    assert told["compiler"] is not warm and told["first"]["warm"] is warm, (name, told["first"])
    if not changes.CHANGES[name][1]:
        assert told["first"]["got"] == told["second"]["got"], name
