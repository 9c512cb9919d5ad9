"""Warnings and log records of compiled programs: those of plain Python, in the same order."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.frontend.control import message_samples as samples

INPUTS = [np.array([2.0, -3.0, 0.0]), np.array([0.0, 0.5]), np.array([4.0, 5.0, -6.0, 7.0])]


def warned(f: Any, x: Any, action: Any) -> Any:
    vars(samples).pop("__warningregistry__", None)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter(action)
        results = [f(x), f(x)]
    return results, [(str(w.message), w.category, w.filename, w.lineno) for w in found]


@pytest.mark.parametrize("action", ["always", "default", "ignore", "module"])
def test_warnings(action: str) -> None:
    f = tracejit.jit(samples.warns)
    for x in INPUTS:
        assert warned(f, x, action) == warned(samples.warns, x, action)
    assert f.report().fallbacks == [] and f.report().bailouts == 0


def test_a_warning_that_is_an_error_is_raised_in_its_place() -> None:
    f = tracejit.jit(samples.warns_and_stores)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f(np.array([1.0, 2.0]), np.zeros(2))
    for action in ("error", "ignore"):
        seen = []
        for g in (f, samples.warns_and_stores):
            out = np.zeros(2)
            with warnings.catch_warnings():
                warnings.simplefilter(action)  # type: ignore[arg-type]
                try:
                    seen.append([g(np.array([1.0, 2.0]), out).tolist(), out.tolist()])
                except UserWarning as e:
                    seen.append([str(e), out.tolist()])
        assert seen[0] == seen[1]


class Collector(logging.Handler):
    """Prints what it is given, with its place."""

    def emit(self, record: logging.LogRecord) -> None:
        place = record.filename, record.lineno, record.funcName, record.levelname
        print("record", record.name, record.getMessage(), *place)


def test_records_and_prints_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    f, collector = tracejit.jit(samples.logs), Collector()
    logging.root.addHandler(collector)
    try:
        for level in (logging.INFO, logging.WARNING):
            samples.LOGGER.setLevel(level)
            for x in INPUTS:
                assert f(x) == samples.logs(x)
                text = capsys.readouterr().out
                half = len(text) // 2
                assert text[:half] == text[half:] and "record" in text
    finally:
        logging.root.removeHandler(collector)
        samples.LOGGER.setLevel(logging.NOTSET)
    assert f.report().fallbacks == [] and f.report().bailouts == 0
