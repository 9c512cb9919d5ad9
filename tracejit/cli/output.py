"""What commands print for programs: JSON."""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

__all__ = ["add_json", "print_json"]


def add_json(parser: argparse.ArgumentParser) -> None:
    """The option `--json`."""
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def print_json(data: Any) -> None:
    """Print data of lists, dicts, numbers, arrays and texts; what is none of these as its text."""
    print(json.dumps(data, indent=2, default=_plain))


def _plain(x: Any) -> Any:
    return x.tolist() if isinstance(x, (np.ndarray, np.generic)) else str(x)
