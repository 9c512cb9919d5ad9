"""Programs of the project in two processes: the second compiles nothing, and gives the same."""

from __future__ import annotations

import pytest

from tests.runtime.cache.warmth import COLD, KINDS, compared

GROUPS = [(kind, group) for kind, (groups, _) in KINDS.items() for group in groups()]


@pytest.mark.sampled(187)
@pytest.mark.parametrize("kind, group", GROUPS, ids=[f"{kind} {group}" for kind, group in GROUPS])
def test_a_second_process_compiles_nothing(kind: str, group: str) -> None:
    for x in compared(kind, group):
        assert x.is_same, x
        assert x.is_apart or x.is_warm or x.name in COLD, x
