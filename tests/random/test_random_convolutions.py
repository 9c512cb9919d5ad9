"""Random convolutions: values, gradients, batches and second derivatives."""

from __future__ import annotations

import pytest

from tests.random.convolution_search import Wrong, check
from tests.random.convolutions import generate

BLOCK = 3


@pytest.mark.sampled(8)
@pytest.mark.parametrize("block", range(8))
def test_random_convolutions(block: int) -> None:
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        try:
            check(seed, gradient=seed % BLOCK == 1, batch=seed % (4 * BLOCK) == 0)
        except Wrong as e:
            pytest.fail(f"seed {seed}: {e}\n{generate(seed).text}")


def test_generation_is_deterministic() -> None:
    assert generate(7) == generate(7)
    assert len({generate(seed).text for seed in range(50)}) >= 48


def test_every_form_is_drawn() -> None:
    text = "".join(generate(seed).text for seed in range(200))
    for construct in (
        *("np.pad", "mode='edge'", "padded[", "as_strided", "sliding_window_view", "np.add.at"),
        *("np.einsum", "np.tensordot", " @ ", "for i in", "for h in", "columns[", "y += ", "e0 ="),
    ):
        assert construct in text, construct
