"""Writes every stage of a compile into a folder of its own under TRACEJIT_DUMP.

    step-4711-000/
        00-trace.graph  01-simplify.graph  ...  kernel.py  llvm.ll  asm.s
        constants.npz   the arrays that the graphs name by hash
        report.txt      signature, reason and seconds

A folder is filled under a hidden name and then renamed, so that whoever lists the directory sees
whole folders only, whatever number of threads and processes write there.
"""

from __future__ import annotations

import itertools
import os
import re
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tracejit.ir.graph import Graph
from tracejit.ir.text.syntax import print_graph

__all__ = ["Dump", "dump_compile", "graph_files"]

#: The stages that come after the graphs, and the files they go to.
CODE_FILES = {
    "dataflow": "dataflow.txt",
    "kernel": "kernel.py",
    "llvm": "llvm.ll",
    "asm": "asm.s",
}


class Stages(Protocol):
    """A compile: the graph after every pass in order, and the text of what comes after them."""

    graphs: dict[str, Graph]
    seconds: dict[str, float]

    def text(self, stage: str) -> str:
        """The text of the stage dataflow, kernel, llvm or asm."""
        ...


class Dump:
    """One folder of stages, filled by `graph` and `text` and put in place by `close`."""

    def __init__(self, directory: str | Path, name: str) -> None:
        """Raises OSError where `directory` cannot be made or written to."""
        self.root = Path(directory)
        self.name = re.sub(r"\W", "_", name) or "graph"
        self.root.mkdir(parents=True, exist_ok=True)
        self._folder = Path(tempfile.mkdtemp(prefix=".", dir=self.root))
        self._constants: dict[str, Any] = {}
        self._count = 0

    def graph(self, stage: str, graph: Graph) -> None:
        """Add the next numbered stage."""
        self.text(f"{self._count:02}-{stage}.graph", print_graph(graph, self._constants))
        self._count += 1

    def text(self, file: str, text: str) -> None:
        """Add a file."""
        (self._folder / file).write_text(text, encoding="utf-8")

    def close(self) -> Path:
        """Write the constants and move the folder to its name, which is returned."""
        if self._constants:
            np.savez(self._folder / "constants.npz", **self._constants)
        self._folder.chmod(0o755)
        for number in itertools.count():
            target = self.root / f"{self.name}-{os.getpid()}-{number:03}"
            try:
                # An empty folder claims the name; renaming a folder over an empty one is atomic.
                target.mkdir()
            except FileExistsError:
                continue
            try:
                self._folder.replace(target)
            except OSError:
                # Where folders cannot be replaced, the claim is given up first.
                target.rmdir()
                self._folder.rename(target)
            return target
        raise AssertionError("unreachable")


def dump_compile(directory: str, stages: Stages, reason: str, signature: str) -> Path | None:
    """Write a compile's stages; the folder, or None (and a RuntimeWarning) where that fails.

    A stage whose text cannot be made is represented by the reason: a dump is what one looks at when
    something is wrong.
    """
    try:
        dump = Dump(directory, next(iter(stages.graphs.values())).name)
        for stage, graph in stages.graphs.items():
            dump.graph(stage, graph)
        for stage, file in CODE_FILES.items():
            dump.text(file, _text_or_reason(stages, stage))
        dump.text("report.txt", _report(stages.seconds, reason, signature))
        return dump.close()
    except OSError as error:
        warnings.warn(f"TRACEJIT_DUMP: {error}", RuntimeWarning, stacklevel=2)
        return None


def graph_files(folder: Path) -> list[Path]:
    """The graphs of a folder that `Dump` wrote, in order."""
    return sorted(folder.glob("[0-9][0-9]-*.graph"))


def _text_or_reason(stages: Stages, stage: str) -> str:
    try:
        return stages.text(stage)
    except Exception as error:
        return f"{type(error).__name__}: {error}\n"


def _report(seconds: Mapping[str, float], reason: str, signature: str) -> str:
    lines = [f"signature  {signature}", f"reason     {reason}"]
    lines += [f"{stage:<10} {1e3 * taken:.2f} ms" for stage, taken in seconds.items()]
    return "\n".join(lines) + "\n"
