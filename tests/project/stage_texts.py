"""Digests of the texts of all stages of many programs.

    python -m tests.project.stage_texts [every]

Two processes print the same, whatever order sets have in them. The command compares all programs
under several seeds of Python's hashes; with "print" for a number of programs it prints the digests.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tracejit
from benchmarks.programs import PROGRAMS as BENCHMARKS
from tests.ops.host.host_samples import SAMPLES
from tests.programs import PROGRAMS
from tests.transforms import (
    gradient_algorithms,  # noqa: F401 - register programs
    gradient_store_programs,  # noqa: F401 - register programs
)
from tests.transforms.gradient_checks import places_of
from tests.transforms.gradient_programs import PROGRAMS as GRADIENTS

__all__ = ["texts_under"]

ROOT = Path(__file__).resolve().parents[2]


def calls() -> Iterator[tuple[str, Callable[..., Any], Any]]:
    """Name, function and arguments of the programs, and of their gradients."""
    for program in PROGRAMS:
        yield program.name, program.f, program.arguments(program.sizes[-1])
    for program in BENCHMARKS:
        yield program.name, program.kernel, list(program.arguments("S").values())
    for name, program in GRADIENTS.items():
        args = program.calls[0]
        yield name, program.function, args
        gradient = tracejit.value_and_grad(program.function, argnums=places_of(args))
        yield f"gradient of {name}", gradient, args
    for k, (f, x, _) in enumerate(SAMPLES):
        yield f"host sample {k}", f, [x]


def texts(every: int) -> Iterator[str]:
    """A line for each stage of each of the chosen programs: name, stage and digest."""
    for name, f, args in list(calls())[::every]:
        try:
            lowered = tracejit.jit(f).lower(*args)
            for stage in lowered.stages:
                if stage != "asm":
                    # A process counts its programs, and sites of calls of Python.
                    text = re.sub(r"tj_program_\d+", "tj_program", lowered.text(stage))
                    yield f"{name}, {stage}: {hashlib.sha1(text.encode()).hexdigest()}"
        except Exception as e:
            yield f"{name}: {type(e).__name__}"


def texts_under(seed: int, every: int) -> list[str]:
    """The lines of a fresh process whose hashes have a seed."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.project.stage_texts", "print", str(every)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
    )
    return done.stdout.splitlines()


def main(args: list[str]) -> int:
    """Compare, or with "print" print, the texts of every so many programs."""
    if args[:1] == ["print"]:
        warnings.simplefilter("ignore")
        with np.errstate(all="ignore"):
            for line in texts(int(args[1])):
                print(line)
        return 0
    every = int(args[0]) if args else 1
    first, *others = (texts_under(seed, every) for seed in (0, 1, 2))
    unlike = [x for other in others for x, y in zip(first, other, strict=True) if x != y]
    print("\n".join([*unlike, f"{len(first)} texts, {len(unlike)} unlike"]))
    return bool(unlike)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
