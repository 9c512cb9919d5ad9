"""A slice of the random programs of plain Python: calls leave what plain Python leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.random.plain.check import check, write
from tests.random.plain.draw import draw

BLOCK = 15


@pytest.mark.sampled(4)
@pytest.mark.parametrize("block", range(10))
def test_random_programs(block: int, tmp_path: Path) -> None:
    differ = []
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        verdict = check(write(draw(seed), tmp_path / f"program_{seed}.py"))
        if verdict.differs:
            differ.append(
                f"seed {seed}, call {verdict.call}: {verdict.differs}\n"
                f"  expected {verdict.expected!r}\n  got      {verdict.got!r}\n"
                f"  reduce it with: python -m tests.random.plain 1 --seed {seed}"
            )
    assert not differ, "\n".join(differ)
