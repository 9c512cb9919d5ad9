"""What innermost loops of known kernels do in one iteration, on x86-64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracejit.inspect.loops import Loop, find_loops
from tracejit.inspect.stages import stages


def loops(f: Any, *args: Any) -> list[Loop]:
    text = stages(f, args)[-1].text.splitlines()
    found = find_loops(text)
    for x in found:
        assert text[x.first].endswith(":") and text[x.last].startswith("\tj")
    return found


needs_x86 = pytest.mark.skipif(
    not loops(lambda x: np.sqrt(x), np.ones(1000)), reason="not an x86-64 machine"
)


def length(x: Any, y: Any) -> Any:
    return np.sqrt(x * x + y * y)


@needs_x86
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_a_fused_loop(dtype: str) -> None:
    x = np.ones(4096, dtype)
    main = max(loops(length, x, x), key=lambda found: found.bits)
    lanes = main.stored // x.itemsize
    assert main.bits in (128, 256, 512) and main.spills == main.calls == 0
    assert (main.loaded, main.operations) == (2 * main.stored, 4 * lanes)
    assert f"{main.bits}-bit vectors, {main.loaded} bytes read" in str(main)


@needs_x86
def test_a_sum_and_a_loop_in_order() -> None:
    def decayed(x: Any) -> Any:
        total = 0.0
        for v in x:
            total = total * 0.5 + v
        return total

    x = np.ones(4096)
    main = max(loops(lambda x: x.sum(), x), key=lambda found: found.operations)
    assert main.bits and main.stored == 0 and main.loaded == 8 * main.operations
    (step,) = [found for found in loops(decayed, x) if found.operations]
    assert step.bits == 0 and step.operations == 2 * (step.loaded // 8)
    assert "one number at a time" in str(step)


def test_what_is_no_assembly_has_no_loops() -> None:
    assert find_loops([]) == find_loops(["loop:", "\tb.ne\tloop"]) == []
