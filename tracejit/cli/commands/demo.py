"""`tracejit demo`: real programs on real data, timed against NumPy."""

from __future__ import annotations

import argparse

from tracejit.cli.errors import Usage
from tracejit.demo import add_options, main

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    add_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the demo."""
    if options.rounds < 1:
        raise Usage("--rounds must be at least 1")
    return main(options)
