"""Who imports whom, folder by folder, becomes the drawing docs/imports.svg.

    python -m tests.project.drawn_imports --write

A row imports columns. The folders are in the order of docs/layout.md, so that a mark above the
diagonal is an import against the order (red), unless the files of a folder import its own folders.
Two marks that mirror each other are a circle.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

from tests.project.test_layering import PACKAGE, ROOT, imports

DRAWING = ROOT / "docs" / "imports.svg"
_CELL, _LEFT, _TOP = 15, 190, 150


def folders() -> list[str]:
    """The folders of the package, in the order of the layout."""
    text = (ROOT / "docs" / "layout.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `tracejit/([^`]+)/` \|", text, re.MULTILINE)


def counted() -> Counter[tuple[str, str]]:
    """(importing folder, imported folder) -> how many names, inside functions and for types too."""
    found: Counter[tuple[str, str]] = Counter()
    for path in PACKAGE.rglob("*.py"):
        own = path.parent.relative_to(PACKAGE).as_posix()
        for found_import in imports(PACKAGE, path):
            other = _folder_of(found_import.name)
            if path.parent != PACKAGE and other not in ("", own):
                found[own, other] += 1
    return found


def _folder_of(name: str) -> str:
    """The folder that an imported name comes from; "" for other packages and the top files."""
    top, *parts = name.split(".")
    folder = Path()
    for part in parts if top == "tracejit" else ():
        if not (PACKAGE / folder / part).is_dir():
            break
        folder /= part
    return "" if folder == Path() else folder.as_posix()


def is_against(names: list[str], row: str, column: str) -> bool:
    """Whether an import is one of a later folder."""
    return names.index(column) > names.index(row) and not column.startswith(f"{row}/")


def drawing() -> str:
    """The text of the drawing."""
    names, count = folders(), counted()
    size = len(names) * _CELL
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + size + 12} '
        f'{_TOP + size + 12}" font-family="system-ui,sans-serif" font-size="10.5">',
        f'<rect width="{_LEFT + size + 12}" height="{_TOP + size + 12}" fill="#fff"/>',
    ]
    for k, name in enumerate(names):
        x, y = _LEFT + k * _CELL, _TOP + k * _CELL
        out += [
            f'<text x="{_LEFT - 6}" y="{y + 11}" text-anchor="end">{name}</text>',
            f'<text transform="translate({x + 11} {_TOP - 6}) rotate(-90)">{name}</text>',
            f'<rect x="{x}" y="{y}" width="{_CELL}" height="{_CELL}" fill="#d9dee4"/>',
        ]
    for (row, column), n in sorted(count.items()):
        j, k = names.index(row), names.index(column)
        color = "#c0392b" if is_against(names, row, column) else "#2f6f9f"
        box = f'x="{_LEFT + k * _CELL + 1}" y="{_TOP + j * _CELL + 1}"'
        opacity = min(1.0, 0.3 + n / 60)
        out.append(
            f'<rect {box} width="{_CELL - 2}" height="{_CELL - 2}" fill="{color}" '
            f'opacity="{opacity:.2f}"><title>{row} imports {n} names of {column}</title></rect>'
        )
    return "\n".join([*out, "</svg>"]) + "\n"


if __name__ == "__main__":
    if "--write" in sys.argv:
        DRAWING.write_text(drawing(), encoding="utf-8")
    for (one, other), n in sorted(counted().items()):
        if is_against(folders(), one, other):
            print(f"{one} imports {n} names of {other}, which comes after it")
