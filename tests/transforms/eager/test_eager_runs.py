"""A run that is recorded for a derivative is the run that a plain call makes, effects included.

Every program of the other tests runs as `run_eagerly` runs it, all floats among its arguments being
differentiated by. It may only stop where a derivative would be lost.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.control_programs import PROGRAMS as CONTROL_PROGRAMS
from tests.control_programs.observe import Printed, assert_same_observation, observe
from tests.control_programs.program import Program as ControlProgram
from tests.programs import PROGRAMS
from tests.programs.program import Program
from tests.support.compare import assert_same_outcome, run
from tracejit.frontend.tracing.concrete_trace import LostGradient
from tracejit.transforms.api.function import Transformed
from tracejit.transforms.api.primal import call_primal


class Recorded(Transformed):
    """Gives what the function gives; what it computes is recorded."""

    transform = "recorded"

    def record(
        self, interpreter: Any, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        places = [k for k, x in enumerate(args) if is_differentiable(x)]
        return call_primal(
            interpreter, function, args, kwargs, places, self.transform, has_aux=False
        ).result


def is_differentiable(x: Any) -> bool:
    """Whether an argument is made of floats and complex numbers."""
    if isinstance(x, (list, tuple)):
        return bool(x) and all(map(is_differentiable, x))
    dtype = getattr(x, "dtype", None)
    return type(x) in (float, complex) or (dtype is not None and dtype.kind in "fc")


#: Programs through which there is no derivative: they store into memory that has another name.
LOSING = {"same_array_twice", "overlapping_views", "into_global"}


@pytest.mark.sampled(135, kind=lambda program: program.theme)
@pytest.mark.parametrize("program", CONTROL_PROGRAMS, ids=lambda program: program.name)
def test_control_flow(program: ControlProgram) -> None:
    printed = Printed()
    recorded = Recorded(program.f)
    for args in program.calls:
        actual = observe(recorded, args, printed)
        lost = actual.outcome.exception
        if isinstance(lost, LostGradient):
            assert program.name.rpartition("-")[2] in LOSING, str(lost)
        else:
            assert_same_observation(observe(program.f, args, printed), actual)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_whole_programs(program: Program) -> None:
    args = program.arguments(program.sizes[0])
    with np.errstate(all="ignore"):
        actual = run(Recorded(program.f), args)
        if isinstance(actual.exception, LostGradient):
            assert program.name in LOSING, str(actual.exception)
        else:
            assert_same_outcome(run(program.f, args), actual, **program.allowed(args))
