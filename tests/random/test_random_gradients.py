"""Derivatives of random functions: all ways to them agree."""

from __future__ import annotations

import pytest

from tests.random.gradients import Wrong, check, generate

BLOCK = 4


@pytest.mark.sampled(4)
@pytest.mark.parametrize("block", range(4))
def test_random_functions(block: int) -> None:
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        try:
            check(seed, native=seed % BLOCK == 0, second=seed % BLOCK == 1)
        except Wrong as e:
            pytest.fail(f"seed {seed}: {e}\n{generate(seed).source()}")


@pytest.mark.parametrize("seed", [11, 18, 45, 47, 105, 159, 910632])
def test_functions_that_were_wrong_once(seed: int) -> None:
    check(seed, second=seed > 100)


def test_generation_is_deterministic() -> None:
    assert generate(7).source() == generate(7).source()
    assert len({generate(seed).source() for seed in range(50)}) == 50


def test_every_construct_is_drawn() -> None:
    text = "".join(generate(seed).source() for seed in range(200))
    for construct in (
        *("while ", "for ", "break", "continue", "return", "else:", "h0(", "np.add.at", "out="),
        *("where=", "[::-1]", "np.where", "np.cumsum", "m[[0, 1]]", "*= ", "+= ", "@ m.T"),
    ):
        assert construct in text, construct
