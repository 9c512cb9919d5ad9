"""Data becomes one HTML file that needs nothing else: no network, no server."""

from __future__ import annotations

import html
import json
import os
import tempfile
import webbrowser
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from tracejit.view.compare import compare
from tracejit.view.dump import describe_dump
from tracejit.view.model import Costs, describe

__all__ = ["Page", "view", "view_both", "view_dump"]


class Page:
    """One self-contained HTML page: `.text`, to be saved, opened, or shown by a notebook."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.title = str(data["title"])
        self.text = _rendered(data)

    def __repr__(self) -> str:
        return f"<page of {self.title}, {len(self.text) // 1000} kB: .save(path), .open()>"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page; its path. Raises OSError where that cannot be done."""
        target = Path(path)
        target.write_text(self.text, encoding="utf-8")
        return target

    def open(self) -> Path:
        """Write the page to a folder for temporary files, and ask a browser to show it."""
        handle, name = tempfile.mkstemp(prefix="tracejit-", suffix=".html")
        os.close(handle)
        path = self.save(name)
        webbrowser.open(path.resolve().as_uri())
        return path

    def _repr_html_(self) -> str:
        content = html.escape(self.text, quote=True)
        return f'<iframe srcdoc="{content}" style="width:100%;height:640px;border:0"></iframe>'


def view(
    function: Any,
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    costs: Costs | None = None,
) -> Page:
    """The page of a function for such arguments, which is not run on them.

    Without `args` it shows the newest compile of a jitted function. `costs` are seconds, bytes and
    share of lines (file, line), as a profile has them. Raises ValueError where nothing has been
    compiled and no arguments are given.
    """
    return Page(describe(function, args, kwargs or {}, costs))


def view_both(first: tuple[Any, Sequence[Any]], second: tuple[Any, Sequence[Any]]) -> Page:
    """A page of two functions, each with its arguments, side by side."""
    return Page(compare(*(describe(f, args, {}) for f, args in (first, second))))


def view_dump(folder: str | os.PathLike[str]) -> Page:
    """The page of one compile that TRACEJIT_DUMP has left. Raises ValueError for another folder."""
    return Page(describe_dump(Path(folder)))


def _rendered(data: Mapping[str, Any]) -> str:
    folder = files("tracejit.view")
    parts = {
        "TITLE": html.escape(str(data["title"])),
        "STYLE": (folder / "page.css").read_text(encoding="utf-8"),
        # What would end the script stands for itself in a string of JSON, too.
        "DATA": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
        "SCRIPT": (folder / "page.js").read_text(encoding="utf-8"),
    }
    pieces = (folder / "page.html").read_text(encoding="utf-8").split("%")
    return "".join(parts.get(piece, piece) for piece in pieces)
