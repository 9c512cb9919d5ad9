"""Random views and what functions make of them: strides, flags and sharing of results."""

from __future__ import annotations

import pytest

from tests.random.layouts import Wrong, check, generate

BLOCK = 25


@pytest.mark.compiles
@pytest.mark.sampled(24)
@pytest.mark.parametrize("block", range(24))
def test_results_lie_as_numpys(block: int) -> None:
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        try:
            check(seed)
        except Wrong as e:
            text, args = generate(seed)
            pytest.fail(f"seed {seed}: {text} of {[x.strides for x in args]}: {e}")


def test_generation_is_deterministic() -> None:
    assert generate(7)[0] == generate(7)[0]
    assert len({generate(seed)[0] for seed in range(50)}) >= 48
