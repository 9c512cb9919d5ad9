"""What must be right on a device before anything is timed: ops, programs, gradients, one by one.

A check is a part and a name; `names` lists those of a part, `check` runs one. They are the tests'
own cases. Where NumPy's answer is met by the tests' bounds the outcome is "ok"; "rounding" where
floats are farther off, by what elementary functions of another library explain; else "failed".
"""

from __future__ import annotations

import copy
import functools
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

PARTS = ("ops", "programs", "control", "gradients")
#: Groups of cases of one op, at most.
ROUNDS = 12
#: How far floats may be off, in ULP of the largest, to count as rounding.
_LOOSE = {"parity": "order", "ulp": 4096.0}


class Rounding(Exception):
    """The bound of the tests is missed, but not by much."""


def names(part: str) -> list[str]:
    """The checks of a part. Raises ImportError where the tests' samples are not there."""
    match part:
        case "ops":
            import tests.ops.native_op_checks  # noqa: F401 - it needs SciPy
            import tracejit.ops  # noqa: F401 - fills the registry
            from tests.ops.native_op_cases import is_a_function_of_values
            from tracejit.ir.op import OPS

            ops = sorted(name for name, op in OPS.items() if is_a_function_of_values(op))
            return [f"{name} {k}" for k in range(ROUNDS) for name in ops]
        case "programs" | "control":
            return list(_programs(part))
        case "gradients":
            return list(_gradients())
    raise ValueError(part)


def check(part: str, name: str, device: str) -> bool:
    """Run one check on "cuda" or "cuda-sim"; whether there was anything to run.

    Raises what is wrong, and Rounding.
    """
    checks: dict[str, Callable[[str, str], bool]] = {
        "ops": _op, "programs": _program, "control": _control, "gradients": _gradient
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return checks[part](name, device)


# Ops ------------------------------------------------------------------------------------------


@functools.cache
def _nodes(device: str) -> Any:
    from tests.ops.device_nodes import DeviceNode, nodes_of

    if device == "cuda-sim":
        return DeviceNode
    from tracejit.codegen.device.cuda import cuda_device

    return nodes_of(cuda_device())


@functools.cache
def _groups(name: str) -> list[Any]:
    """The groups of an op, in an order of chance that is the same in every run."""
    from tests.ops.native_op_cases import groups_of
    from tracejit.ir.op import OPS

    groups = list(groups_of(OPS[name], True))
    return random.Random(name).sample(groups, len(groups))


def _op(title: str, device: str) -> bool:
    from tests.ops.native_op_checks import check as check_group

    name, _, number = title.partition(" ")
    groups = _groups(name)[int(number) : int(number) + 1]
    return sum(check_group(group, _nodes(device)) for group in groups) > 0


# Programs ---------------------------------------------------------------------------------------


@functools.cache
def _programs(part: str) -> dict[str, Any]:
    if part == "programs":
        from tests.programs import PROGRAMS

        return {program.name: program for program in PROGRAMS}
    from tests.control_programs import PROGRAMS as CONTROL

    return {program.name: program for program in CONTROL}


def _compare(
    f: Any, jitted: Any, calls: list[Any], allowed: Callable[[Any], dict[str, Any]]
) -> Any:
    """The compiled function against NumPy on each call. Raises Rounding, Mismatch."""
    from tests.support.compare import Mismatch, assert_same_outcome, run

    rounding: Mismatch | None = None
    for args in calls:
        expected, actual = run(f, args), run(jitted, args)
        try:
            assert_same_outcome(expected, actual, given=args, **allowed(args))
        except Mismatch as mismatch:
            assert_same_outcome(expected, actual, given=args, **_LOOSE)
            rounding = mismatch
    if rounding is not None:
        raise Rounding(str(rounding))


def _program(name: str, device: str) -> bool:
    import tracejit

    program = _programs("programs")[name]
    # One thread of the simulated device after the other: the smallest alone.
    sizes = [min(program.sizes)] if device == "cuda-sim" else program.sizes
    jitted = tracejit.jit(program.f, device=device)
    _compare(program.f, jitted, [program.arguments(n) for n in sizes], program.allowed)
    report = jitted.report()
    if program.in_scope:
        assert not report.fallbacks, f"it runs eagerly: {report.fallbacks}"
    return True


def _control(name: str, device: str) -> bool:
    import tracejit

    program = _programs("control")[name]
    jitted = tracejit.jit(program.f, device=device)
    allowed = {"parity": program.parity, "ulp": program.ulp}
    _compare(program.f, jitted, list(program.calls), lambda args: allowed)
    assert "TJ013" not in str(jitted.report()), "the compiler has failed: TJ013"
    return True


@functools.cache
def _gradients() -> dict[str, Any]:
    import tests.transforms.gradient_algorithms
    import tests.transforms.gradient_store_programs  # noqa: F401 - both add programs
    from tests.transforms.gradient_programs import PROGRAMS

    return dict(PROGRAMS)


def _gradient(name: str, device: str) -> bool:
    import tracejit
    from tests.support.compare import leaves

    program = _gradients()[name]
    gradient = tracejit.grad(program.function)
    moved = tracejit.jit(gradient, device=device)
    for call in program.calls[:2]:
        try:
            expected = gradient(*copy.deepcopy(call))
        except TypeError as error:
            try:
                moved(*copy.deepcopy(call))
            except TypeError as raised:
                assert str(raised) == str(error)
                continue
            raise AssertionError(f"no error instead of {error}") from None
        for a, b in zip(leaves(moved(*copy.deepcopy(call))), leaves(expected), strict=True):
            # Sums are formed in another order.
            eps = np.finfo(np.asarray(b).dtype).eps if np.asarray(b).dtype.kind in "fc" else 0
            np.testing.assert_allclose(a, b, rtol=1e4 * eps, atol=1e4 * eps)
    return True
