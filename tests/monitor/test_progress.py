"""The live line: on a terminal, in a file and in a notebook, and what it leaves alone."""

from __future__ import annotations

import io
import re
import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tracejit import monitor
from tracejit.monitor import displays
from tracejit.monitor.bars import bar


class Screen(io.StringIO):
    """A terminal that interprets what is written: lines with a cursor."""

    def isatty(self) -> bool:
        return True

    def lines(self) -> list[str]:
        shown, row = [""], 0
        for part in re.findall(r"\x1b\[\d*[A-Z]|\r|\n|[^\x1b\r\n]+", self.getvalue()):
            if part == "\r":
                continue
            if part == "\n":
                row += 1
                shown += [""] * (row + 1 - len(shown))
            elif part == "\x1b[J":
                del shown[row + 1 :]
                shown[row] = ""
            elif part.endswith("A"):
                row -= int(part[2:-1])
            else:
                shown[row] += part
        return shown


@pytest.fixture(autouse=True)
def _drawn_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(displays.Terminal, "interval", 0.0)
    monkeypatch.setattr(displays.Notebook, "interval", 0.0)


def test_a_line_tells_step_values_rates_and_times() -> None:
    screen = Screen()
    batches = [(np.zeros((8, 3)), np.zeros(8))] * 4
    bar = monitor.progress(batches, name="a", file=screen)
    seen = []
    for _ in bar:
        bar.loss = np.float32(0.12345)
        bar.set(best=np.array(2))
        seen.append(screen.lines()[-1])
    assert seen[0] == "a  0/4  0:00"
    number = r"[\d,.]+"
    form = rf"a  3/4  loss 0.1235  best 2  {number} batches/s  {number} items/s"
    assert re.fullmatch(rf"{form}  0:00  0:00 left", seen[3])
    assert re.fullmatch(form.replace("3/4", "4/4") + "  0:00", screen.lines()[0])
    assert screen.lines()[1:] == [""]
    assert bar.step == bar.total == 4 and bar.loss == np.float32(0.12345)


def test_loops_inside_each_other_have_a_line_each() -> None:
    screen = Screen()
    for epoch in monitor.progress(range(2), name="epoch", file=screen):
        for k in monitor.progress(iter(range(3)), name="batch"):
            if k:
                outer, inner = screen.lines()
                assert outer.startswith(f"epoch  {epoch}/2") and inner.startswith(f"batch  {k}  ")
    first, last = screen.lines()
    assert first.startswith("epoch  2/2") and last == ""


def test_elsewhere_lines_are_written_now_and_then() -> None:
    file = io.StringIO()
    for _ in monitor.progress(range(3), name="outer", file=file, every=0.0):
        for _ in monitor.progress(range(1)):
            pass
    lines = file.getvalue().splitlines()
    assert len(lines) == 7 and "\x1b" not in file.getvalue()
    assert lines[0].startswith("outer  0/3") and " | 1/1" in lines[0]
    assert lines[-1].startswith("outer  3/3")
    file = io.StringIO()
    assert list(monitor.progress("abc", file=file)) == ["a", "b", "c"]
    assert file.getvalue().count("\n") == 1


def test_exceptions_and_iterators_that_are_left_end_the_line() -> None:
    screen = Screen()
    with pytest.raises(ZeroDivisionError):
        for k in monitor.progress(range(3), file=screen):
            1 / (1 - k)
    assert screen.lines()[0].startswith("1/3") and screen.lines()[1:] == [""]
    screen = Screen()
    iterator = iter(monitor.progress(range(3), file=screen))
    next(iterator)
    del iterator
    assert screen.lines()[1:] == [""]

    def failing() -> Iterator[int]:
        yield 1
        raise KeyError("source")

    with pytest.raises(KeyError, match="source"):
        list(monitor.progress(failing(), file=Screen()))


def test_what_cannot_be_drawn_leaves_the_loop_alone() -> None:
    class Closed(Screen):
        def write(self, text: str) -> int:
            raise OSError("closed")

    class Odd:
        def __str__(self) -> str:
            raise ValueError

    assert list(monitor.progress(range(3), file=Closed())) == [0, 1, 2]
    bar = monitor.progress(range(3), file=Screen())
    for _ in bar:
        bar.odd = Odd()
    assert bar.step == 3


def test_a_loop_can_be_run_again_and_by_threads() -> None:
    screen = Screen()
    bar = monitor.progress(range(2), file=screen)
    assert [list(bar), list(bar)] == [[0, 1], [0, 1]]
    assert len(screen.lines()) == 3

    screen = Screen()

    def run() -> None:
        for _ in monitor.progress(range(5), name="inner", file=screen):
            pass

    for _ in monitor.progress(range(1), name="main", file=screen):
        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    lines = screen.lines()
    assert sum(line.startswith("inner  5/5") for line in lines) == 4
    assert lines[-2].startswith("main  1/1")


def test_a_notebook_has_a_display_that_is_updated(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def display(data: dict[str, str], raw: bool, display_id: bool) -> Any:
        shown.append(data["text/plain"])
        return SimpleNamespace(update=update)

    def update(data: dict[str, str], raw: bool) -> None:
        shown[-1] = data["text/plain"]

    shell = SimpleNamespace(kernel=object())
    ipython = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    for _ in monitor.progress(range(2), name="epoch"):
        for _ in monitor.progress(range(2)):
            pass
    assert len(shown) == 1 and shown[0].startswith("epoch  2/2") and "\n" not in shown[0]


def test_a_bar_is_for_who_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    items = range(3)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert bar(items, name="a") is items
    monkeypatch.setattr(sys, "stderr", screen := Screen())
    assert list(bar(items, name="a")) == [0, 1, 2] and "a  3/3" in screen.getvalue()
