"""The command that measures errors over all float32 numbers: its measure, and blocks of it."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.vector_math_exhaustive import BLOCK, BLOCKS, Found, main, search


def test_the_measure_sees_what_is_wrong() -> None:
    x = np.array([1.0, 2.0, 3.0, -0.0, np.inf, np.nan], np.float32)
    truth = x.astype(np.float64)
    exact = Found()
    exact.add(x, x.copy(), truth)
    assert exact == Found()
    off = Found()
    off.add(x, np.nextafter(x, np.float32(np.inf)), truth)
    assert off.error == 1 and off.at == 1 and off.wrong == 1  # The sign of zero.
    for i, value in enumerate([np.nan, np.inf, -3.0, 0.0, 1e30, 1.0]):
        got = x.copy()
        got[i] = value
        found = Found()
        found.add(x, got, truth)
        assert found.wrong == 1 and found.error == 0


@pytest.mark.parametrize("fma", [True, False], ids=["fused", "plain"])
@pytest.mark.parametrize("name", ["arctan", "arcsin", "arccosh", "exp"])
def test_blocks_on_both_sides_of_zero(name: str, fma: bool) -> None:
    one = 0x3F80_0000 // BLOCK
    found = search(name, fma, [0, one - 1, one, one + BLOCKS // 2, BLOCKS - 1])
    assert found.wrong == 0 and 0 < found.error <= 0.95


def test_the_command_refuses_other_functions() -> None:
    for name in ("arctan2", "sqrtt"):
        with pytest.raises(SystemExit):
            main([name])


def test_the_command_prints_and_judges(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["arccos", "--every", str(BLOCKS // 2)]) == 0
    assert "arccos: 0." in capsys.readouterr().out
