"""Every op and every scalar function, compiled, against the evaluator, the reference and NumPy.

Ops, dtypes and forms come from the registry and the tables (`native_op_cases`,
`native_scalars`): a new op is tested because it is there. One slice of the ops' cases runs;
all of them do under `pytest --all` and `python -m tests.ops.native_ops`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tracejit.ops  # noqa: F401 - fills the registry
from tests.ops.native_op_cases import groups_of, is_a_function_of_values, samples_of
from tests.ops.native_op_checks import check
from tests.ops.native_scalars import all_functions, check_scalar, scalar_cases
from tests.support import sampling
from tests.support.compare import Mismatch
from tracejit.codegen.kernel import function as kernel_function
from tracejit.ir.evaluate import type_of
from tracejit.ir.kernel import Call, Const
from tracejit.ir.op import OPS
from tracejit.ops.array.complex_elements import Element
from tracejit.ops.array.elementwise import Elementwise

pytestmark = pytest.mark.sampled(14)

SCALARS = scalar_cases()
NAMES = sorted(name for name, op in OPS.items() if is_a_function_of_values(op))


@pytest.mark.parametrize("name", NAMES)
def test_an_op_by_itself(name: str) -> None:
    """Native code, the evaluator, the reference kernel and NumPy agree."""
    assert sum(map(check, groups_of(OPS[name], sampling.full()))), "no case of the op is a graph"


def is_a_value(x: Any) -> bool:
    """Whether a graph can be given it, or give it."""
    try:
        type_of(x)
    except TypeError:
        return False
    return x is not None


def test_no_op_is_left_out() -> None:
    """An op that does not run by itself has no sample of values that gives values."""
    for name in set(OPS) - set(NAMES):
        for inputs, attrs in samples_of(OPS[name]):
            results = OPS[name].evaluate(inputs, attrs)
            assert not all(map(is_a_value, (*inputs, *results))), f"{name} could run by itself"
    for name in NAMES:
        assert samples_of(OPS[name]), f"{name} has no samples"


@pytest.mark.sampled(32)
@pytest.mark.parametrize("fn", all_functions())
def test_a_scalar_function(fn: str) -> None:
    """It has its meaning in every number of lanes, on each combination of dtypes."""
    every = [case for case in SCALARS if case.fn == fn]
    assert every, f"{fn} has no code for any dtypes that it has a meaning for"
    assert all(map(check_scalar, sampling.sampled(every, 2, name=repr)))


# The net itself ---------------------------------------------------------------------------------


class _Negative(Elementwise):
    name = "negative"
    numpy = np.negative

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        return [([np.array([1.0, 2.0])], {})]


class _OfAWrongZero(_Negative):
    def scalar(self, args: tuple[Element, ...], dtypes: Sequence[str], out: str) -> Element:
        assert not isinstance(args[0], tuple)
        return Call("subtract", (Const(0.0, out), args[0]), out)


class _WithoutNaN(_Negative):
    def scalar(self, args: tuple[Element, ...], dtypes: Sequence[str], out: str) -> Element:
        assert not isinstance(args[0], tuple)
        whole = Call("fmin", (args[0], Const(np.inf, out)), out)
        return Call("negative", (whole,), out)


class _OfOneDtypeLess(_Negative):
    def scalar(self, args: tuple[Element, ...], dtypes: Sequence[str], out: str) -> Element:
        assert not isinstance(args[0], tuple)
        narrow = Call("negative", (Call("cast", (args[0],), "f32"),), "f32")
        return Call("cast", (narrow,), out)


@pytest.mark.parametrize("wrong", [_OfAWrongZero, _WithoutNaN, _OfOneDtypeLess])
def test_wrong_native_code_is_seen(wrong: type[_Negative]) -> None:
    assert all(check(group) for group in groups_of(_Negative()))
    with pytest.raises(Mismatch, match="native code against the evaluator"):
        for group in groups_of(wrong(), full=True):
            check(group)


def test_a_tail_that_ends_too_early_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    rest = kernel_function._KernelWriter._rest

    def shorter(self: Any, loop: Any, plan: Any, begin: str, end: str) -> Any:
        return rest(self, loop, plan, begin, self.fb.integer("sub", end, "1"))

    monkeypatch.setattr(kernel_function._KernelWriter, "_rest", shorter)
    with pytest.raises(Mismatch, match="native code against the evaluator"):
        for group in groups_of(_Negative(), full=True):
            check(group)
