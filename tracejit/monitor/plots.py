"""Curves of a run as a figure of matplotlib."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from tracejit.monitor.reading import Scalars, read

__all__ = ["plot"]


def plot(history: Any, *names: str, logy: bool = False) -> Any:
    """Draw the curves of a history, or of the event files in a folder; gives matplotlib's figure.

    A history is a dict from names to sequences of numbers, to pairs (steps, values), or to
    `Scalars`; or a dict of such dicts by run, as `monitor.read` gives. Curves whose names end
    alike, as "train/loss" and "test/loss", share a chart. `names` are those to draw (or their
    ends), all by default; `logy` draws them over a logarithmic axis. Raises ImportError without
    matplotlib, KeyError for names that there are not.
    """
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("monitor.plot needs matplotlib: pip install matplotlib") from None
    if isinstance(history, (str, os.PathLike)):
        history = read(history)
    runs = {k: v for k, v in history.items() if isinstance(v, Mapping)} or {"": history}
    curves = [(run, name, curve) for run, found in runs.items() for name, curve in found.items()]
    charts: dict[str, list[tuple[str, Any]]] = {}
    for run, name, curve in curves:
        head, _, end = name.rpartition("/")
        if not names or name in names or end in names:
            label = "/".join(part for part in (run, head) if part) or end
            charts.setdefault(end, []).append((label, curve))
    if not charts:
        known = ", ".join(sorted({name for _, name, _ in curves}))
        raise KeyError(f"there is no curve named {', '.join(names)}; there are {known}")
    figure = pyplot.figure(
        figsize=(5 * min(len(charts), 3), 3.5 * -(-len(charts) // 3)), layout="tight"
    )
    for k, (end, lines) in enumerate(charts.items(), 1):
        axes = figure.add_subplot(-(-len(charts) // 3), min(len(charts), 3), k)
        for label, curve in lines:
            steps, values = _points(curve)
            axes.plot(steps, values, label=label, marker="." if len(values) < 30 else "")
        axes.set(title=end, xlabel="step", yscale="log" if logy else "linear")
        if len(lines) > 1:
            axes.legend()
        axes.grid(alpha=0.3)
    if "inline" in pyplot.get_backend():
        pyplot.close(figure)  # A notebook shows what a cell gives, and all that is open.
    return figure


def _points(curve: Any) -> tuple[Any, Any]:
    if isinstance(curve, Scalars):
        return curve.steps, curve.values
    if isinstance(curve, tuple) and len(curve) == 2:
        return np.asarray(curve[0]), np.asarray(curve[1])
    values = np.asarray(curve)
    return np.arange(len(values)), values
