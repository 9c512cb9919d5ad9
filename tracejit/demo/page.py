"""What the demo has found as one page: pictures side by side, and times as bars"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from pathlib import Path

__all__ = ["page"]

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; }
.row { display: flex; gap: 1em; } figure { margin: 0; flex: 1; } img { width: 100%; }
svg text { font: 13px system-ui, sans-serif; fill: currentColor; }
.numpy { fill: #8a929c; } .tracejit { fill: #2f9e5b; }
"""


def page(
    pictures: Sequence[tuple[str, Path]], times: Sequence[tuple[str, float, float]], code: str
) -> str:
    """HTML that needs no other file but the page `code`. Times are (program, NumPy's seconds, those
    of compiled code).
    """
    figures = "".join(
        f'<figure><img alt="{escape(title)}" src="data:image/png;base64,'
        f'{base64.b64encode(path.read_bytes()).decode()}"><figcaption>{escape(title)}</figcaption>'
        "</figure>"
        for title, path in pictures
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>tracejit demo</title>'
        f"<style>{_STYLE}</style><h1>Plain NumPy, compiled</h1>"
        f'<div class="row">{figures}</div>'
        f"<h2>Time of a call: NumPy (grey) and compiled (green)</h2>{_bars(times)}"
        f'<p><a href="{escape(code)}">What became of each line of the first program</a></p>'
        "</html>\n"
    )


def _bars(times: Sequence[tuple[str, float, float]]) -> str:
    """A bar of NumPy's time for each program, and below it one of the compiled."""
    out, left, full, step = [], 230, 520, 52
    for k, (name, plain, compiled) in enumerate(times):
        y = k * step
        out.append(f'<text x="0" y="{y + 24}">{escape(name)}</text>')
        bars = (("numpy", plain, ""), ("tracejit", compiled, f", {plain / compiled:.1f} x"))
        for row, (kind, seconds, more) in enumerate(bars):
            width, top = full * seconds / max(plain, compiled), y + 4 + 20 * row
            out.append(
                f'<rect class="{kind}" x="{left}" y="{top}" width="{width:.1f}" height="17"/>'
                f'<text x="{left + width + 6:.1f}" y="{top + 13}">'
                f"{seconds * 1e3:.2f} ms{more}</text>"
            )
    size = f'width="960" height="{len(times) * step}"'
    return f'<svg role="img" aria-label="times" {size}>{"".join(out)}</svg>'
