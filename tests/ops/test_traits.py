"""What ops say of themselves, held against what they compute on their samples."""

from typing import Any

import numpy as np
import pytest

import tracejit.ops  # noqa: F401 - fills the registry
from tests.support.native_kernels import same_bits
from tracejit.errors import Bailout
from tracejit.ir.op import OPS, Op


def named(trait: str) -> list[str]:
    """The ops that have a trait."""
    return [name for name, op in OPS.items() if getattr(op, trait)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", named("commutes"))
def test_commuting_operands_change_places(name: str) -> None:
    for inputs, attrs in OPS[name].samples():
        x, y = inputs
        with np.errstate(all="ignore"):
            (one,), (other,) = (OPS[name].evaluate(given, attrs) for given in ((x, y), (y, x)))
        if one.dtype.kind == "c":
            assert same_bits(one.real, other.real) and same_bits(one.imag, other.imag)
        else:
            assert same_bits(one, other)


@pytest.mark.parametrize("name", named("updates"))
def test_updates_replace_what_their_reader_reads(name: str) -> None:
    op = OPS[name]
    assert op.reader in OPS and not OPS[op.reader].updates
    for inputs, attrs in op.samples():
        try:
            (out,) = op.evaluate(inputs, attrs)
            place = op.replaced(inputs, attrs)
        except Bailout:
            continue
        kept = np.ones(out.shape, bool)
        # What is applied to elements does not replace them: its places are the indices.
        kept[tuple(inputs[2:]) if type(op).replaced is Op.replaced else place] = False
        assert out.dtype == inputs[0].dtype
        assert same_elements(out[kept], inputs[0][kept])


def same_elements(a: Any, b: Any) -> bool:
    """Whether two arrays hold the same bytes."""
    return bool(a.tobytes() == b.tobytes())


@pytest.mark.parametrize("name", named("moves"))
def test_moves_of_equal_elements_give_such_elements(name: str) -> None:
    op: Any = OPS[name]
    for (x,), attrs in op.samples():
        filled = np.full_like(x, 1)
        (out,) = op.evaluate((filled,), attrs)
        assert out.dtype == filled.dtype and (np.asarray(out) == filled.dtype.type(1)).all()


def test_views_are_names_and_moves() -> None:
    assert set(named("view")) <= set(named("renames")) & set(named("moves"))
    assert all(OPS[name].fused == "index" for name in named("moves"))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", named("arithmetic"))
def test_arithmetic_is_that_of_the_ufunc(name: str) -> None:
    op: Any = OPS[name]
    for inputs, attrs in op.samples():
        if not any(isinstance(x, complex) for x in inputs):
            try:
                (out,) = op.evaluate(inputs, attrs)
            except Bailout:
                continue
            with np.errstate(all="ignore"):
                expected = getattr(np, op.arithmetic)(*(np.asarray(x) for x in plain(inputs)))
            assert np.array_equal(out, expected, equal_nan=expected.dtype.kind in "fc")


def plain(inputs: Any) -> Any:
    """Python's truths as the ints that they are to its arithmetic."""
    return [int(x) if type(x) is bool else x for x in inputs]


@pytest.mark.parametrize("name", named("by_package"))
def test_a_package_of_arrays_gives_what_the_op_means(name: str) -> None:
    op: Any = OPS[name]
    for inputs, attrs in op.samples():
        with np.errstate(all="ignore"):
            expected = op.evaluate(inputs, attrs)
            found = op.by_package(np, inputs, attrs)
        for x, y in zip(expected, found, strict=True):
            loose = 1e-2 if x.dtype.char in "efF" else 1e-9
            assert x.shape == y.shape
            assert np.allclose(x, y, rtol=loose, atol=loose, equal_nan=True), (inputs, attrs)


def test_terms_of_sums_have_no_further_form() -> None:
    assert {OPS[op.term].term for op in OPS.values() if op.term} == {""}


def test_what_repeats_a_routine_has_one() -> None:
    assert {name for name in named("stacked") if not OPS[name].routine} == {"matmul"}
