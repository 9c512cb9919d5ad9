"""A folder that TRACEJIT_DUMP has left becomes what the page shows of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tracejit.inspect.loops import find_loops
from tracejit.runtime.compile.dump import CODE_FILES, graph_files

__all__ = ["describe_dump"]

_PLACE = re.compile(r"\s# (\S+):(\d+)$")


def describe_dump(folder: Path) -> dict[str, Any]:
    """What the page shows of one compile. Its files are known by the last part of their names.

    Raises ValueError for a folder that holds none.
    """
    graphs = graph_files(folder) if folder.is_dir() else []
    if not graphs:
        raise ValueError(f"{folder} holds no dump: no file such as 00-trace.graph")
    places: dict[tuple[str, int], int] = {}
    stages: list[dict[str, Any]] = []
    codes = [folder / name for name in CODE_FILES.values()]
    for path in [*graphs, *(p for p in codes if p.exists())]:
        text = path.read_text(encoding="utf-8").splitlines()
        if stages and stages[-1]["text"] == text:
            continue
        found = [_PLACE.search(line) for line in text]
        at = [-1 if m is None else places.setdefault((m[1], int(m[2])), len(places)) for m in found]
        stages.append(
            {
                "name": re.sub(r"^\d+-", "", path.stem),
                "say": "",
                "seconds": None,
                "changed": True,
                "graph": path.suffix == ".graph",
                "text": text,
                "at": at,
                "loops": [
                    {"first": x.first, "last": x.last, "text": str(x)}
                    for x in (find_loops(text) if path.suffix == ".s" else [])
                ],
            }
        )
    names = list(dict.fromkeys(file for file, _ in places))
    report = folder / "report.txt"
    return {
        "title": folder.name,
        "summary": "a compile that was dumped",
        "stages": stages,
        "marks": [],
        "compiles": [],
        "seconds": [],
        "report": report.read_text(encoding="utf-8") if report.exists() else "",
        "places": [(names.index(file), line) for file, line in places],
        "files": [_file(folder, name, places) for name in names],
    }


def _file(folder: Path, name: str, places: dict[tuple[str, int], int]) -> dict[str, Any]:
    """The lines of a file, of which only the numbers are known."""
    lines = sorted(line for file, line in places if file == name)
    first, last = lines[0], lines[-1]
    return {"name": name, "first": first, "lines": [""] * (last - first + 1)}
