"""Blocks in which floating-point errors are ignored."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np
import pytest

from tracejit.link.quiet import quietly

ZERO = np.zeros(1)


def test_errors_are_ignored_inside_only() -> None:
    seen: list[Any] = []
    for mode in ("raise", "warn", "ignore", "call"):
        with np.errstate(all=mode, call=lambda *args: seen.append(args)):
            before, size = np.geterr(), np.getbufsize()
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with quietly():
                    assert np.isnan(ZERO / ZERO)
                    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
                        1 / ZERO
                    with quietly():
                        assert np.isinf(1 / ZERO)
                    assert set(np.geterr().values()) == {"ignore"}
            assert np.geterr() == before and np.getbufsize() == size and not seen
            if mode == "raise":
                with pytest.raises(FloatingPointError):
                    ZERO / ZERO


def test_what_is_raised_inside_ends_it() -> None:
    before = np.geterr()
    with pytest.raises(KeyError), quietly():
        raise KeyError
    assert np.geterr() == before


def test_each_thread_has_its_own() -> None:
    found: list[Any] = []

    def work() -> None:
        found.append(np.geterr())
        with quietly():
            found.append(np.geterr())

    with quietly():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert found == [np.geterr(), dict.fromkeys(found[1], "ignore")]
