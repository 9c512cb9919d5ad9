"""What benchmarks have measured becomes the tables of docs/comparison.md.

python -m benchmarks programs && python -m benchmarks.comparison
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "comparison.md"
_NAMES = ("tracejit", "numba", "jax")


def tables(found: dict[str, Any]) -> str:
    """The tables of `benchmarks programs` as Markdown, and on what they were measured."""
    machine = found["machine"]
    versions = ", ".join(f"{x} {machine['versions'][x]}" for x in ("numpy", "numba", "jax"))
    versions += f", python {machine['versions']['python']}"
    out = [
        f"{machine['cpu']}, {machine['threads']} thread, {versions}. Times faster than NumPy, by "
        "CPU time: 2.0 is half of its time. A dash stands for a program that it refuses, or that "
        "cannot be written for it without doing something else."
    ]
    for table in found["tables"]:
        kind, _, what = table["title"].partition(", size M: times faster than NumPy")
        if what:
            out += ["", f"### {kind.capitalize()}", "", *_rows(table)]
    return "\n".join(out)


def _rows(table: dict[str, Any]) -> list[str]:
    out = ["| program | NumPy, ms | tracejit | Numba | JAX |", "|---|---|---|---|---|"]
    for row in table["rows"]:
        if row[""] != "programs":
            cells = [row[""], row.get("numpy ms", ""), *(row.get(x, "") for x in _NAMES)]
            texts = [f"{x:.3g}" if isinstance(x, float) else str(x) for x in cells]
            if row[""] == "geometric mean":
                texts = [f"**{x}**" if x else "" for x in texts]
            out.append(f"| {' | '.join(texts)} |")
    return out


def written(page: str, text: str) -> str:
    """A page with other tables."""
    pattern = r"(<!-- measured -->\n).*?(<!-- end -->)"
    return re.sub(pattern, lambda m: f"{m[1]}{text}\n{m[2]}", page, flags=re.DOTALL)


def main() -> None:
    """Write the tables into the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.comparison", description=__doc__)
    results = Path(__file__).parent / "results" / "programs.json"
    parser.add_argument("results", nargs="?", type=Path, default=results)
    found = json.loads(parser.parse_args().results.read_text(encoding="utf-8"))
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(written(page, tables(found)), encoding="utf-8")


if __name__ == "__main__":
    main()
