"""Random programs whose arrays change size and share memory agree with NumPy."""

from __future__ import annotations

import pytest

from tests.random.dynamic import check, generate

BLOCK = 6


@pytest.mark.sampled(6)
@pytest.mark.parametrize("block", range(6))
def test_random_programs(block: int) -> None:
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        case = generate(seed)
        verdict = check(case, readers=seed % 3 == 0)
        if verdict.reader:
            pytest.fail(
                f"seed {seed}, {verdict.reader}, call {verdict.call}: {verdict.message}\n"
                f"{case.source()}\n"
                f"shrink it with: python -m tests.random.dynamic --seeds {seed}:{seed + 1}"
            )


def test_generation_is_deterministic() -> None:
    assert generate(7) == generate(7)
    assert len({generate(seed).source() for seed in range(50)}) == 50


def test_every_construct_is_drawn() -> None:
    text = "".join(generate(seed).source() for seed in range(300))
    for construct in (
        *("np.add.at", "copyto", ".fill(", "out=", "where=", ".sort()", ".T", "reshape(-1)"),
        *("np.diagonal", ".real", ".imag", "flatnonzero", "np.repeat", "concatenate", "np.unique"),
        *("while ", "for ", "break", "return", "h(", "::-1", "np.cumsum", "np.argwhere"),
    ):
        assert construct in text, construct
