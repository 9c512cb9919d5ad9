"""`tracejit bundle`: run a program, and keep all that it compiles in a folder to ship with it

tracejit bundle -o cache/ app.py --steps 10      or a module: -m app
TRACEJIT_CACHE_BASE=cache/ python app.py         there: nothing of that is compiled again

The folder is for this processor, and these versions of Python, NumPy and tracejit; where one of
them is another one, the program compiles anew. With --target x86-64-v3 it is for all processors of
that level, where TRACEJIT_TARGET names it, too.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from tracejit import config
from tracejit.cli.errors import Failure, Usage, unknown
from tracejit.runtime.cache.inspect import entries

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("-o", "--out", required=True, metavar="DIR", help="the folder")
    parser.add_argument("-m", action="store_true", dest="module", help="the program is a module")
    named = ", ".join(config.TARGETS)
    parser.add_argument("--target", metavar=named, default="native", help="the processors")
    parser.add_argument("program", nargs=argparse.REMAINDER, help="the program with its arguments")


def run(options: argparse.Namespace) -> int:
    """Run the program, then say what the folder holds; 1 where the program fails."""
    if not options.program:
        raise Usage("the program to run is missing")
    directory = os.path.abspath(options.out)
    program = ["-m", *options.program] if options.module else options.program
    if options.target not in config.TARGETS:
        raise unknown("target", options.target, config.TARGETS)
    given = {"TRACEJIT_CACHE": directory, "TRACEJIT_CACHE_BASE": ""}
    given["TRACEJIT_TARGET"] = options.target
    environment = {**os.environ, **given}
    done = subprocess.run([sys.executable, *program], env=environment, check=False)
    if done.returncode:
        raise Failure(f"{program[-1]} ended with exit code {done.returncode}")
    os.environ |= given
    found = entries()
    functions = {file.label for file in found if file.label}
    size = sum(file.size for file in found)
    print(f"{directory}: {len(functions)} functions, {len(found)} files, {size / 1024:.0f} kB")
    return 0
