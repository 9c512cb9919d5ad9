"""The line that is shown while a compile takes long."""

from __future__ import annotations

import io
import sys
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit.runtime.compile import specialize, spinner
from tracejit.runtime.compile.spinner import Spinner


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def slow(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A compile of 0.1 s whose patience is over after a hundredth; its function."""
    monkeypatch.setattr(spinner, "_PATIENCE", 0.01)
    publish = specialize.compile_and_publish
    monkeypatch.setattr(
        specialize, "compile_and_publish", lambda *args: (time.sleep(0.1), publish(*args))[1]
    )

    @tracejit.jit
    def waited_for(x: Any) -> Any:
        return x + 1

    return waited_for


@pytest.mark.compiles
def test_a_terminal_sees_the_stage_and_nothing_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    function, screen = slow(monkeypatch), Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    assert np.array_equal(function(np.zeros(2)), [1.0, 1.0])
    text = screen.getvalue()
    assert "waited_for: machine code, 0." in text and text.endswith("\r\x1b[J")


def test_a_pipe_sees_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    function, pipe = slow(monkeypatch), io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    function(np.zeros(2))
    assert pipe.getvalue() == ""


def test_a_short_compile_shows_nothing_and_waits_for_nothing() -> None:
    screen = Screen()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stderr", screen)
        with pytest.raises(KeyError), Spinner("f"):
            raise KeyError
    assert screen.getvalue() == ""


def test_one_line_for_compiles_inside_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spinner, "_PATIENCE", 0.005)
    monkeypatch.setattr(sys, "stderr", screen := Screen())
    with Spinner("outer"):
        time.sleep(0.03)
        with Spinner("inner"):
            time.sleep(0.03)
    assert "outer" in screen.getvalue() and "inner" not in screen.getvalue()


@pytest.mark.compiles
def test_a_notebook_sees_it(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    handle = SimpleNamespace(update=lambda data, raw: shown.append(data["text/plain"]))

    def display(data: dict[str, str], raw: bool, display_id: bool) -> Any:
        shown.append(data["text/plain"])
        return handle

    found = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython", found)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    slow(monkeypatch)(np.zeros(2))
    assert any("waited_for: machine code" in text for text in shown) and shown[-1] == ""
