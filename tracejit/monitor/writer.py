"""`SummaryWriter`: what a run tells of itself, as events for TensorBoard."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tracejit.monitor import events
from tracejit.monitor.event_file import EventFile
from tracejit.monitor.graph_def import graph_def
from tracejit.monitor.hparams import hparam_values
from tracejit.monitor.images import tiled

__all__ = ["SummaryWriter"]


class SummaryWriter:
    """Writes events of one run to a new file in the folder `logdir`, which `tensorboard --logdir`
    shows, while it is written, too.

    Methods may be called from any thread. What they are given is encoded before they return, and
    is in the file `flush_secs` later, or after `flush`, `close`, a `with` block, or when Python
    ends. Tags with slashes are shown in groups; `step` is the step of training.
    """

    def __init__(self, logdir: Any, flush_secs: float = 10.0) -> None:
        self.logdir = Path(logdir)
        self._flush_secs = flush_secs
        self._files: dict[str, EventFile] = {}
        self._close = weakref.finalize(self, _close, self._files)
        self._file("")

    def add_scalar(
        self, tag: str, value: Any, step: int | None = None, wall_time: float | None = None
    ) -> None:
        """A number, or an array of one; kept in single precision. Raises ValueError for others."""
        self._add([events.scalar(tag, value)], step, wall_time)

    def add_scalars(
        self,
        tag: str,
        values: Mapping[str, Any],
        step: int | None = None,
        wall_time: float | None = None,
    ) -> None:
        """Numbers for one chart, `{"train": ..., "test": ...}`: each is the scalar `tag` of a run
        of its own, in the folder of that name in `logdir`.
        """
        for run, value in values.items():
            self._add([events.scalar(tag, value)], step, wall_time, run)

    def add_histogram(
        self, tag: str, values: Any, step: int | None = None, wall_time: float | None = None
    ) -> None:
        """How the numbers of an array are distributed. Raises ValueError for an array that is
        empty, not of real numbers, or not finite.
        """
        self._add([events.histogram(tag, values)], step, wall_time)

    def add_image(
        self,
        tag: str,
        image: Any,
        step: int | None = None,
        wall_time: float | None = None,
        dataformats: str | None = None,
    ) -> None:
        """A picture, [height, width] or with 1 to 4 channels last or first: floats from 0 to 1, or
        uint8. `dataformats` is "HW", "HWC" or "CHW" where the shape does not tell. Raises
        ValueError for what is no picture.
        """
        self._add([events.image(tag, image, dataformats)], step, wall_time)

    def add_images(
        self,
        tag: str,
        images: Any,
        step: int | None = None,
        wall_time: float | None = None,
        dataformats: str | None = None,
    ) -> None:
        """Pictures along the first axis, as one in rows and columns; `dataformats` with N first."""
        grid = tiled(tag, images, dataformats)
        self._add([events.image(tag, grid, "HWC")], step, wall_time)

    def add_text(
        self, tag: str, text: str, step: int | None = None, wall_time: float | None = None
    ) -> None:
        """A text, which TensorBoard shows as Markdown."""
        self._add([events.text(tag, text)], step, wall_time)

    def add_hparams(
        self,
        hparams: Mapping[str, Any],
        metrics: Mapping[str, Any],
        step: int | None = None,
        wall_time: float | None = None,
    ) -> None:
        """Settings of this run (numbers, bools, all else as texts) and what it reached with them.

        The metrics are also scalars of the run, by their names. Settings of runs below one folder
        are compared on TensorBoard's page HPARAMS: one writer for a run, and one call.
        """
        now = time.time() if wall_time is None else wall_time
        values = hparam_values(hparams, metrics, now)
        values += [events.scalar(tag, value) for tag, value in metrics.items()]
        self._add(values, step, now)

    def add_graph(
        self, function: Callable[..., Any], *args: Any, stage: str = "dataflow", **kwargs: Any
    ) -> None:
        """What a function is compiled to for such arguments, as a graph of operations.

        Scopes are the user's functions and lines, and the fusions in them. At the stage "dataflow"
        control flow is TensorFlow's Switch, Merge, Enter, Exit, NextIteration and LoopCond; `stage`
        may also be one of `lower(...).graphs`, such as "trace", or "partition", the pieces of a
        function on several devices, each with its device. Nothing is run. Raises TraceError
        where the call cannot be traced, ValueError for a stage that is no graph.
        """
        message = graph_def(function, args, kwargs, stage)
        self._file("").add(events.event(time.time(), None, events.GRAPH, message))

    def flush(self) -> None:
        """Hand all that has been added to the operating system."""
        for file in list(self._files.values()):
            file.flush()

    def close(self) -> None:
        """Write what is left and close the files: nothing can be added after that."""
        self._close()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _file(self, run: str) -> EventFile:
        """The file of a run below this one; "" is this one."""
        found = self._files.get(run)
        if found is None:
            found = self._files[run] = EventFile(self.logdir / run, self._flush_secs)
        return found

    def _add(
        self, values: list[bytes], step: int | None, wall_time: float | None, run: str = ""
    ) -> None:
        now = time.time() if wall_time is None else wall_time
        message = events.event(now, step, events.SUMMARY, events.summary(values))
        self._file(run).add(message)


def _close(files: dict[str, EventFile]) -> None:
    for file in files.values():
        file.close()
