"""A compile's graph becomes an event file, which TensorBoard draws"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracejit.monitor.writer import SummaryWriter

__all__ = ["tensorboard"]


def tensorboard(
    function: Callable[..., Any],
    args: Sequence[Any],
    logdir: str | os.PathLike[str],
    *,
    kwargs: Mapping[str, Any] | None = None,
    stage: str = "dataflow",
) -> None:
    """Write the graph of a function for such arguments to an event file in a folder, for the page
    GRAPHS of TensorBoard.

    Operations have TensorFlow's names, control flow its Switch, Merge, Enter, Exit, NextIteration
    and LoopCond; scopes are the user's functions and lines. Other stages than "dataflow" are those
    of `lower(...).graphs`. Nothing is run. Raises TraceError where the call cannot be traced,
    ValueError for a stage that is no graph.
    """
    with SummaryWriter(logdir) as events:
        events.add_graph(function, *args, stage=stage, **(kwargs or {}))
