"""Two functions side by side: the rows of their texts aligned, by source line and renamed values"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Any

__all__ = ["compare"]

_NAME = re.compile(r"\b(?:v|c|k)\d+\w*\b|%\.?\w+|\bt\d+\b|\bi\d+\b")
_PLACE = re.compile(r"\s+# \S+:\d+$")
_HEAD = re.compile(r"\s*def (\w+)\((.*)\):")
_GIVEN = re.compile(r"(\w+): ")
_Row = tuple[int, int, bool]


def compare(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """The data of a page of both. Rows say which line of each side stands in them, or -1."""
    names = [first["title"], second["title"]]
    stages = [_aligned("source", [_source(first), _source(second)])]
    by_name = {s["name"]: s for s in second["stages"]}
    for s in first["stages"]:
        if s["name"] in by_name:
            other = by_name[s["name"]]
            stages.append(_aligned(s["name"], [s, other]))
    say = "Lines are aligned by what they do; names that the compiler has made do not count."
    return {
        "title": " and ".join(names),
        "summary": "",
        "files": [],
        "compare": {"names": names, "stages": stages, "say": say},
    }


def _source(page: dict[str, Any]) -> dict[str, Any]:
    """The lines of the function itself, without those around it."""
    text: list[str] = []
    for file in page["files"][:1]:
        first, last = file["own"] or (1, None)
        start = first - file["first"]
        text = file["lines"][max(0, start) : last and last - file["first"] + 1]
    return {"text": text}


def _aligned(name: str, sides: Sequence[dict[str, Any]]) -> dict[str, Any]:
    texts = [side["text"] for side in sides]
    return {"name": name, "text": texts, "rows": align(*texts)}


def align(a: Sequence[str], b: Sequence[str]) -> list[_Row]:
    """Rows (line of a or -1, line of b or -1, whether they are alike)."""
    forms = [_forms(text) for text in (a, b)]
    rows: list[_Row] = []
    matcher = difflib.SequenceMatcher(None, forms[0], forms[1], autojunk=False)
    for kind, i, i_end, j, j_end in matcher.get_opcodes():
        for k in range(max(i_end - i, j_end - j)):
            left = i + k if i + k < i_end else -1
            right = j + k if j + k < j_end else -1
            rows.append((left, right, kind == "equal"))
    return rows


def _forms(text: Sequence[str]) -> list[str]:
    """The lines without their places, with names of functions, arguments and values made alike."""
    heads = [found for line in text if (found := _HEAD.match(line))]
    given = {name for head in heads for name in (head[1], *_GIVEN.findall(head[2]))}
    known = "|".join(map(re.escape, sorted(given))) or r"\b\B"
    pattern = re.compile(rf"{_NAME.pattern}|\b(?:{known})\b")
    return [_form(_PLACE.sub("", line), pattern) for line in text]


def _form(line: str, pattern: re.Pattern[str]) -> str:
    names: dict[str, str] = {}
    return pattern.sub(lambda m: names.setdefault(m[0], f"${len(names)}"), line)
