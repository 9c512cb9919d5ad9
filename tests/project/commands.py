"""The parsers of the commands become the tables of docs/command_line.md.

    python -m tests.project.commands            # print them
    python -m tests.project.commands --write    # write them into the page

Only the part of the page after the mark is made here.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from tests.project.pages import ROOT
from tracejit.cli import names, parser

PAGE = ROOT / "docs" / "command_line.md"
MARK = "<!-- From here on: python -m tests.project.commands --write -->\n"


def tables() -> Iterator[str]:
    """A section for each command: what it does, and what it takes."""
    for name in names():
        found = parser(name)
        yield f"### tracejit {name}"
        yield ""
        summary, _, more = (found.description or "").partition("\n\n")
        yield f"{summary[:1].upper()}{summary[1:]}"
        yield ""
        if more:
            yield more
            yield ""
        rows = list(_rows(found))
        if rows:
            yield "| takes | what it means |"
            yield "|---|---|"
            yield from rows
            yield ""


def _rows(found: argparse.ArgumentParser) -> Iterator[str]:
    for action in found._actions:
        if action.dest == "help":
            continue
        value = action.metavar or action.dest.upper()
        if action.choices:
            value = ", ".join(map(str, action.choices))
        spelled = ", ".join(action.option_strings)
        if not spelled:
            spelled = str(value)
        elif action.nargs != 0:
            spelled += f" {value}"
        yield f"| `{spelled}` | {(action.help or '').replace('|', '/')} |"


def page() -> str:
    """The whole page as it should be."""
    head, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    assert mark, f"{PAGE.name} has lost its mark"
    return f"{head}{MARK}\n" + "\n".join(tables()).rstrip() + "\n"


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print("\n".join(tables()))
