"""Entries for many objects: no two of them are one, or the call is another one's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit.runtime import native

pytestmark = pytest.mark.skipif(not native.available(), reason=native.why_not())


class Holder:
    def __init__(self, v: float) -> None:
        self.v = v


def increased(x: Any, holders: Any) -> Any:
    for holder in holders:
        holder.v = holder.v + 1
    return x * holders[0].v


@pytest.mark.parametrize("count", [2, 12, 13, 64, 200])
def test_objects_of_a_list(count: int) -> None:
    compiled, x = tracejit.jit(increased), np.ones(2)
    for first, second in [(0, count - 1), (count // 2, count - 1), (0, 1)]:
        for twice in (False, True, False):
            mine, plain = ([Holder(float(k)) for k in range(count)] for _ in range(2))
            if twice:
                mine[second], plain[second] = mine[first], plain[first]
            np.testing.assert_array_equal(compiled(x, mine), increased(x, plain))
            assert [h.v for h in mine] == [h.v for h in plain]
    (structure,) = compiled._structures.values()
    assert all(variant.call_spec is not None for variant in structure.variants)
