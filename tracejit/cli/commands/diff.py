"""`tracejit diff`: what each stage of a dump changed."""

from __future__ import annotations

import argparse
from pathlib import Path

from tracejit.cli.errors import Failure, Usage
from tracejit.cli.graphs import print_differences
from tracejit.runtime.compile.dump import graph_files

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("folder", metavar="DUMPDIR", help="TRACEJIT_DUMP, or one folder in it")


def run(options: argparse.Namespace) -> int:
    """Print what each stage of a dump changed; for each compile if it holds several."""
    folder = options.folder
    root = Path(folder)
    if not root.is_dir():
        raise Usage(f"there is no folder {folder}")
    folders = [root] if graph_files(root) else sorted(p for p in root.iterdir() if graph_files(p))
    if not folders:
        raise Failure(f"{folder} holds no dump: no file such as 00-trace.graph")
    for one in folders:
        if len(folders) > 1:
            print(f"=== {one.name}")
        files = graph_files(one)
        print_differences([(f.stem, f.read_text(encoding="utf-8")) for f in files])
    return 0
