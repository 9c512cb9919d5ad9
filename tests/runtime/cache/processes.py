"""Processes with a cache of their own: programs in files, calls, and what comes of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["OBSERVED", "ROOT", "environment", "observe", "python"]

ROOT = Path(__file__).resolve().parents[3]
OBSERVED = Path(__file__).with_name("observed.py")


def environment(cache: Path | str, **variables: str) -> dict[str, str]:
    """The environment of processes with a cache."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TRACEJIT_", "COV_"))}
    own = {
        "TRACEJIT_CACHE": str(cache),
        "TRACEJIT_FALLBACK": "ignore",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(ROOT),
        "OPENBLAS_NUM_THREADS": "1",
    }
    return {**kept, **own, **variables}


def python(*arguments: str, cache: Path | str, cwd: Path, **variables: str) -> str:
    """What a process prints that ends well."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", *arguments],
        capture_output=True,
        text=True,
        timeout=250,
        cwd=cwd,
        env=environment(cache, **variables),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def observe(folder: Path, *names: str, **variables: str) -> dict[str, Any]:
    """What `observed.py` says of modules of a folder, with the cache `cache` in it."""
    variables = {"TRACEJIT_CACHE": str(folder / "cache"), **variables}
    cache = variables.pop("TRACEJIT_CACHE")
    text = python(str(OBSERVED), str(folder), *names, cache=cache, cwd=folder, **variables)
    found: dict[str, Any] = json.loads(text)
    return found
