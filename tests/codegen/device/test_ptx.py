"""The kernels of whole programs compile to PTX, without a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit
from benchmarks.programs import PROGRAMS
from tests.conftest import Golden
from tests.programs.kernels import escape, layer_norm, smooth, softmax, totals
from tracejit.codegen.cuda.compile import compile_ptx
from tracejit.codegen.cuda.inspect import print_source
from tracejit.codegen.cuda.launches import Launch
from tracejit.codegen.device.target import Trips

SINGLE = np.zeros((64, 200), np.float32)


def launches(f: Any, *args: Any) -> list[Launch]:
    """What a call would launch on a GPU."""
    found: list[Launch] = trips(f, *args).launches
    return found


def trips(f: Any, *args: Any) -> Trips:
    found: Trips = tracejit.jit(f, device="cuda").lower(*args).program.trips
    return found


def ptx(launch: Launch, capability: tuple[int, int]) -> str:
    pytest.importorskip("numba.cuda", reason="PTX is made by numba-cuda")
    from tracejit.codegen.cuda.numba_target import numba_namespace

    space = numba_namespace()
    return compile_ptx(launch.source, launch.name, launch.signature, capability, space)


@pytest.mark.sampled(27)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_every_kernel_of_a_program(program: Any) -> None:
    found = trips(program.kernel, *program.arguments("S").values())
    assert found.launches or found.routines
    for launch in found.launches:
        for capability in ((8, 0), (9, 0)):
            assert f".entry {launch.name}(" in ptx(launch, capability)


@pytest.mark.parametrize("f", [softmax, layer_norm, smooth, totals])
def test_single_precision_stays_single(f: Any) -> None:
    for launch in launches(f, SINGLE):
        assert ".f64" not in ptx(launch, (9, 0)), launch.source


@pytest.mark.parametrize("f", [softmax, smooth, totals, escape])
def test_sources(f: Any, golden: Golden) -> None:
    args = (SINGLE[0], SINGLE[0]) if f is escape else (SINGLE,)
    function = tracejit.vmap(f) if f is escape else f
    golden(f"cuda_{f.__name__}.txt", print_source(launches(function, *args)))
