"""Every op as a program of the simulated device, against the evaluator and NumPy.

`pytest --all` runs every case; a run takes one group of each op.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Mapping, Sequence
from typing import ClassVar

import pytest

import tracejit.ops  # noqa: F401 - fills the registry
from tests.ops.device_nodes import DeviceNode
from tests.ops.native_op_cases import groups_of, is_a_function_of_values
from tests.ops.native_op_checks import check
from tests.support import sampling
from tracejit.codegen.cuda.compile import compile_ptx
from tracejit.codegen.cuda.launches import Launch
from tracejit.codegen.cuda.simulator import simulator
from tracejit.codegen.program.emit import InputSlot, Program
from tracejit.ir.op import OPS

pytestmark = pytest.mark.sampled(14)

#: Groups of each op that a run takes.
_GROUPS = 1
NAMES = sorted(name for name, op in OPS.items() if is_a_function_of_values(op))


@pytest.mark.parametrize("name", NAMES)
def test_an_op_by_itself(name: str, request: pytest.FixtureRequest) -> None:
    """The program on the device, the evaluator and NumPy agree, and no memory is left."""
    groups = list(groups_of(OPS[name], sampling.full()))
    if not sampling.full():
        chosen = random.Random(f"{request.config.option.seed} {name}")
        groups = chosen.sample(groups, min(_GROUPS, len(groups)))
    for group in groups:
        check(group, DeviceNode)


class _Collecting(DeviceNode):
    """Keeps what it launches."""

    launches: ClassVar[list[Launch]] = []

    def _program(self, slots: Sequence[InputSlot], sizes: Mapping[str, int]) -> Program:
        program = super()._program(slots, sizes)
        self.launches += self.trips.launches
        return program


@pytest.mark.sampled(48)
@pytest.mark.parametrize("name", NAMES)
def test_machine_code_of_an_op(name: str, request: pytest.FixtureRequest) -> None:
    """The kernels of its samples compile, without a device; a run compiles some of them."""
    pytest.importorskip("numba.cuda", reason="PTX is made by numba-cuda")
    from tracejit.codegen.cuda.numba_target import numba_namespace

    _Collecting.launches.clear()
    chosen = random.Random(f"{request.config.option.seed} {name}")
    groups = list(groups_of(OPS[name], sampling.full()))
    for group in groups if sampling.full() else chosen.sample(groups, 1):
        check(group, _Collecting)
    found = {(x.source.partition("(")[2], x.signature): x for x in _Collecting.launches}
    kernels = list(found.values())
    if not sampling.full():
        kernels = chosen.sample(kernels, min(2, len(kernels)))
    for kernel in kernels:
        for capability in ((8, 0), (9, 0)):
            space = numba_namespace()
            ptx = compile_ptx(kernel.source, kernel.name, kernel.signature, capability, space)
            assert f".entry {kernel.name}(" in ptx


def test_nothing_is_left_on_the_device() -> None:
    """What runs have allocated they have given back."""
    gc.collect()
    before = simulator().allocated
    for group in list(groups_of(OPS["reduce_sum"], False))[:3]:
        check(group, DeviceNode)
    gc.collect()
    assert simulator().allocated == before
