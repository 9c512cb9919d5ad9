"""The option `--grad`: a function becomes its value and gradient."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.api import value_and_grad
from tracejit.cli.errors import Usage

__all__ = ["add_grad", "with_gradient"]


def add_grad(parser: argparse.ArgumentParser) -> None:
    """The option."""
    parser.add_argument(
        "--grad",
        nargs="?",
        const="",
        metavar="ARGNUMS",
        help="the value and gradient instead, by these arguments (default: all floats)",
    )


def with_gradient(function: Any, numbers: str, values: Sequence[Any]) -> Any:
    """The value and gradient by the arguments of these numbers, or for "" by all floats.

    Raises Usage.
    """
    try:
        places = [int(k) for k in numbers.split(",") if k.strip()]
    except ValueError:
        raise Usage(f"--grad takes numbers of arguments, not {numbers!r}") from None
    if not numbers:
        places = [k for k, x in enumerate(values) if np.asarray(x).dtype.kind in "fc"]
    if not places or not all(-len(values) <= k < len(values) for k in places):
        raise Usage(f"--grad: there is no such argument among {len(values)}")
    return value_and_grad(function, places[0] if len(places) == 1 else tuple(places))
