"""Seconds in which the page of a program of 2 000 nodes opens: python -m tests.view.large"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import numpy as np

import tracejit
from tests.support.chromium import browser
from tests.view.test_page import data_of

_TURN = """
    out = np.sort(out * 1.001 + 1.0) - out.sum()
    if out[0] > {k}:
        out = out - 1.0
    out = np.cumsum(np.where(out > {k}, out * 0.5, out + {k}.0))
"""
_PAINTED = "new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))"


def main() -> None:
    """Print how long the page takes to open, and then each of its views."""
    with tempfile.TemporaryDirectory() as folder, browser() as page:
        source = Path(folder) / "large.py"
        turns = "".join(_TURN.format(k=k) for k in range(150))
        text = f"def large(out):{turns}    return out\n"
        source.write_text(text)
        names = {"np": np}
        exec(compile(text, str(source), "exec"), names)
        viewed = tracejit.jit(names["large"]).view(np.ones(100))
        nodes = {d["name"]: len(d["nodes"]) for d in data_of(viewed)["drawings"]}
        print(f"{len(viewed.text) / 1e6:.1f} MB, nodes drawn: {json.dumps(nodes)}")
        path = viewed.save(Path(folder) / "large.html")
        begin = time.perf_counter()
        page.open(path)
        page.run(_PAINTED)
        print(f"opens in {time.perf_counter() - begin:.2f} s")
        for name in page.run("VIEWS.map(v => v.name)"):
            begin = time.perf_counter()
            page.run(f"open('{name}'); {_PAINTED}")
            print(f"{name} in {time.perf_counter() - begin:.2f} s")


if __name__ == "__main__":
    main()
