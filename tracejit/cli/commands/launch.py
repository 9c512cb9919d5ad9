"""`tracejit launch`: run a script as several processes that work together

tracejit launch -n 4 train.py --epochs 5        its own arguments behind it
tracejit launch -n 4 --engine mpi train.py      by MPI
tracejit launch -n 6 --mode backup:2 train.py   the slowest 2 of each step are not waited for
tracejit launch -n 4 --mode async --servers 2 train.py    parameters on two of the processes
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tracejit.cli.arguments import natural
from tracejit.cli.errors import Failure, Usage
from tracejit.dist.launch import launch
from tracejit.dist.pulse import SILENCE
from tracejit.dist.replicas.mode import Mode
from tracejit.dist.transport.link import DistError

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("-n", type=natural, default=2, metavar="N", help="processes (default: 2)")
    parser.add_argument("--engine", choices=("local", "mpi", "ray"), default="local")
    parser.add_argument(
        "--mode", default="sync", help="of data_parallel: sync, async[:BOUND] or backup:WORKERS"
    )
    parser.add_argument(
        "--servers",
        type=natural,
        default=1,
        metavar="K",
        help="of async and backup: processes that share the parameters (default: 1)",
    )
    parser.add_argument(
        "--restarts", type=natural, default=0, metavar="N", help="start up to N that fail again"
    )
    parser.add_argument(
        "--silence",
        type=float,
        default=SILENCE,
        metavar="SECONDS",
        help=f"without a sign of life until a process counts as failed (default: {SILENCE:g})",
    )
    parser.add_argument("--quiet", action="store_true", help="no table of the processes' steps")
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="of the script")


def run(options: argparse.Namespace) -> int:
    """Run the processes; the exit code of the first that fails."""
    if not options.n:
        raise Usage("-n takes at least 1 process")
    if not options.silence > 0:
        raise Usage(f"--silence takes more than 0 seconds, not {options.silence:g}")
    if not Path(options.script).is_file():
        raise Usage(f"there is no file {options.script}")
    try:
        mode = Mode.of(options.mode)
        if mode.kind != "sync":
            mode.policy(options.n)
    except ValueError as error:
        raise Usage(f"--mode: {error}") from None
    if mode.kind != "sync" and options.engine == "mpi":
        raise Usage(f"--mode {options.mode} needs the engine local")
    if options.servers != 1 and (mode.kind == "sync" or not 1 <= options.servers <= options.n):
        raise Usage(f"--servers: {options.n} processes have no {options.servers} in {options.mode}")
    command = [sys.executable, options.script, *options.arguments]
    try:
        return launch(
            command,
            options.n,
            options.engine,
            quiet=options.quiet,
            mode=options.mode,
            restarts=options.restarts,
            servers=options.servers,
            silence=options.silence,
        )
    except DistError as error:
        raise Failure(str(error)) from None
