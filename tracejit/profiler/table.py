"""A profile as a table for reading."""

from __future__ import annotations

from typing import Any

__all__ = ["table"]

#: So many lines, and so many kernels, are shown.
_MOST = 12


def table(p: Any, bandwidth: float) -> str:
    """The dearest lines and kernels; bytes a second beside those of a copy (`bandwidth`)."""
    calls = ", ".join(f"{name} x {n:,}".replace(",", " ") for name, n in p.calls.items())
    out = [
        f"{_time(p.seconds)} in {calls or 'no calls of compiled functions'}",
        f"compiles {_time(p.compile_seconds)}, NumPy from inside {_time(p.host_seconds)}, "
        f"a copy moves {bandwidth / 1e9:.1f} GB/s",
    ]
    if p.plain_seconds is not None and p.calls:
        rest = p.seconds - p.compile_seconds
        one = rest / max(1, sum(p.calls.values()))
        out.append(f"a call {_time(one)}, by plain NumPy {_time(p.plain_seconds)}")
    lines, kernels = p.lines, p.kernels
    out += ["", "  share       time   line"]
    for x in lines[:_MOST]:
        what = f"({x.what}) " if x.what else ""
        host = f"  [{100 * x.host / x.seconds:.0f} % NumPy]" if x.host else ""
        text = f"{what}{x.where.source()}"
        out.append(f"  {100 * x.share:5.1f} %  {_time(x.seconds):>9}   {x.where}  {text}{host}")
    out += _more(len(lines))
    if kernels:
        out += ["", "       time    passes     GB/s  of copy  GFLOP/s   kernel"]
    for k in kernels[:_MOST]:
        rate = k.bytes / k.seconds if k.seconds else 0.0
        flops = k.operations / k.seconds if k.seconds else 0.0
        places = ", ".join(dict.fromkeys(map(str, k.lines)))
        out.append(
            f"  {_time(k.seconds):>9}  {k.passes:8}  {rate / 1e9:7.2f}  {rate / bandwidth:6.0%}  "
            f"{flops / 1e9:7.2f}   {k.what}  ({places})"
        )
    return "\n".join(out + _more(len(kernels)))


def _more(count: int) -> list[str]:
    return [f"  ... and {count - _MOST} more"] if count > _MOST else []


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds * 1e9:.0f} ns"
