"""`python -m benchmarks.vector_math.table [--write]`: the tables of docs/vector_math.md.

Errors are the figures that `python -m benchmarks.vector_math.errors` keeps; speeds are the results
of the last `python -m benchmarks vector_math`, which are kept beside them. `--write` puts the
tables into the page, between its two marks; without it they are printed.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tracejit.codegen.vector_math.define import ARITY

from . import JUDGED, SIZES
from .errors import figures, store

PAGE = Path(__file__).parents[2] / "docs" / "vector_math.md"
RESULTS = Path(__file__).parents[1] / "results" / "vector_math.json"
MARKS = ("<!-- generated: benchmarks.vector_math.table -->\n", "<!-- end -->\n")
_ERRORS = ("ours", "ours without FMA", "NumPy", "libm", "JAX")
_TITLES = {"f64": "float64", "f32": "float32"}


def with_speeds(known: dict[str, Any], results: Path) -> dict[str, Any]:
    """The figures with those of `results`, if there is such a file.

    JAX's and Numba's of earlier results stay where they were not installed.
    """
    if not results.exists():
        return known
    report = json.loads(results.read_text(encoding="utf-8"))
    for row in report["tables"][0]["rows"]:
        ratios = {k.partition(":")[0]: round(v, 3) for k, v in row.items() if "times numpy" in k}
        ratios["ours"] = ratios.pop("times numpy")
        speeds = known.setdefault(row[""], {}).setdefault("speed", {})
        speeds[str(row["size"])] = speeds.get(str(row["size"]), {}) | ratios
    machine = {k: report["machine"][k] for k in ("cpu", "threads", "versions")}
    machine["versions"] = known.get("machine", {}).get("versions", {}) | machine["versions"]
    return known | {"machine": machine}


def tables(known: dict[str, Any]) -> Iterator[str]:
    """A Markdown table for each dtype, and what they were measured on."""
    sizes = [f"{size:.0e}".replace("e+0", "e") for size in SIZES]
    speeds = [*sizes, "JAX", "Numba"]
    heads = ["function", *_ERRORS, "points", *speeds]
    for dtype, title in _TITLES.items():
        yield f"### {title}\n\n"
        yield f"| {' | '.join(heads)} |\n|---|{'---:|' * (len(heads) - 1)}\n"
        for name in sorted(ARITY):
            entry = known.get(f"{name} {dtype}", {})
            cells = [f"`{name}`", *(_error(entry.get(label)) for label in _ERRORS)]
            cells += [_count(entry.get("ours", {}).get("points"))]
            speed = entry.get("speed", {})
            cells += [_ratio(speed.get(str(size), {}).get("ours")) for size in SIZES]
            peers = speed.get(str(JUDGED), {})
            cells += [_ratio(peers.get(k)) for k in ("jax", "numba")]
            yield f"| {' | '.join(cells)} |\n"
        yield "\n"
    if "machine" in known:
        machine = known["machine"]
        versions = ", ".join(f"{k} {v}" for k, v in machine["versions"].items())
        yield f"Measured on one thread of an {machine['cpu']} (AVX-512) with {versions}.\n"


def _error(figure: dict[str, Any] | None) -> str:
    return "" if figure is None else f"{figure['ulp']:.3g}"


def _ratio(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"


def _count(points: int | None) -> str:
    if points is None:
        return ""
    return "all" if points == 2**32 else f"{points:.0e}".replace("e+0", "e")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="into docs/vector_math.md")
    parser.add_argument("--speeds", type=Path, default=RESULTS, help="results to take speeds from")
    options = parser.parse_args()
    known = with_speeds(figures(), options.speeds)
    text = "".join(tables(known))
    if not options.write:
        print(text)
        return
    store(known)
    page = PAGE.read_text(encoding="utf-8")
    start, end = MARKS
    pattern = f"({re.escape(start)}).*({re.escape(end)})"
    page, count = re.subn(pattern, lambda m: f"{m[1]}\n{text}\n{m[2]}", page, flags=re.DOTALL)
    assert count == 1, "the page has no place for the tables"
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
