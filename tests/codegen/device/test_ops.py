"""Every op as a program of the simulated device, against the evaluator and NumPy.

`pytest --all` runs every case; a run takes a few groups of each op.
"""

from __future__ import annotations

import gc
import random

import pytest

import tracejit.ops  # noqa: F401 - fills the registry
from tests.ops.device_nodes import DeviceNode
from tests.ops.native_op_cases import groups_of, is_a_function_of_values
from tests.ops.native_op_checks import check
from tests.support import sampling
from tracejit.codegen.cuda.simulator import simulator
from tracejit.ir.op import OPS

#: Groups of each op that a run takes.
_GROUPS = 2
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


def test_nothing_is_left_on_the_device() -> None:
    """What runs have allocated they have given back."""
    gc.collect()
    before = simulator().allocated
    for group in list(groups_of(OPS["reduce_sum"], False))[:3]:
        check(group, DeviceNode)
    gc.collect()
    assert simulator().allocated == before
