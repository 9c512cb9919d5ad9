"""A profile as a table for reading."""

from __future__ import annotations

from typing import Any

from tracejit.runtime.report.fitting import duration

__all__ = ["table"]

#: So many lines, and so many kernels, are shown.
_MOST = 12


def table(p: Any, bandwidth: float) -> str:
    """The dearest lines and kernels; bytes a second beside those of a copy (`bandwidth`)."""
    calls = ", ".join(f"{name} x {n:,}".replace(",", " ") for name, n in p.calls.items())
    out = [
        f"{duration(p.seconds)} in {calls or 'no calls of compiled functions'}",
        f"compiles {duration(p.compile_seconds)}, NumPy from inside {duration(p.host_seconds)}, "
        f"a copy moves {bandwidth / 1e9:.1f} GB/s",
    ]
    if p.call_seconds is not None:
        out.append(f"a call {duration(p.call_seconds)}, by plain NumPy {duration(p.plain_seconds)}")
    lines, kernels = p.lines, p.kernels
    out += ["", "  share       time   line"]
    for x in lines[:_MOST]:
        what = f"({x.what}) " if x.what else ""
        host = f"  [{100 * x.host / x.seconds:.0f} % NumPy]" if x.host else ""
        text = f"{what}{x.where.source()}"
        out.append(f"  {100 * x.share:5.1f} %  {duration(x.seconds):>9}   {x.where}  {text}{host}")
    out += _more(len(lines))
    if kernels:
        out += ["", "       time    passes     GB/s  of copy  GFLOP/s   kernel"]
    for k in kernels[:_MOST]:
        rate = k.bytes / k.seconds if k.seconds else 0.0
        flops = k.operations / k.seconds if k.seconds else 0.0
        places = ", ".join(dict.fromkeys(map(str, k.lines)))
        out.append(
            f"  {duration(k.seconds):>9}  {k.passes:8}  {rate / 1e9:7.2f}  "
            f"{rate / bandwidth:6.0%}  {flops / 1e9:7.2f}   {k.what}  ({places})"
        )
    return "\n".join(out + _more(len(kernels)))


def _more(count: int) -> list[str]:
    return [f"  ... and {count - _MOST} more"] if count > _MOST else []
