"""Random programs of numbers, NumPy scalars, lists and arrays agree with Python and NumPy."""

from __future__ import annotations

import pytest

from tests.random.dynamic import check
from tests.random.scalars import generate

BLOCK = 8


@pytest.mark.sampled(4)
@pytest.mark.parametrize("block", range(4))
def test_random_programs(block: int) -> None:
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        case = generate(seed)
        verdict = check(case, readers=seed % 3 == 0)
        if verdict.reader:
            pytest.fail(
                f"seed {seed}, {verdict.reader}, call {verdict.call}: {verdict.message}\n"
                f"{case.source()}\n"
                f"shrink it with: python -m tests.random.scalars --seeds {seed}:{seed + 1}"
            )


def test_generation_is_deterministic() -> None:
    assert generate(7) == generate(7)
    assert len({generate(seed).source() for seed in range(40)}) == 40


def test_every_construct_is_drawn() -> None:
    text = "".join(generate(seed).source() for seed in range(150))
    for construct in (
        *("@=", "+=", "-=", "*=", "/=", "//=", "**=", ".append(", ".extend(", "del l", ".pop()"),
        *("np.int64(", "np.float32(", "] * ", "np.count_nonzero", "sum(", "max(", "divmod("),
        *(" in ", "for ", "if ", "else:", "[1:] = ", "[v * 2 for v in", "np.array(", "'ab' * ("),
    ):
        assert construct in text, construct
