"""What IPython's formatters give for our objects, and the magics, in a shell of this process."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import tracejit

VOID = {"br"}


class Checked(HTMLParser):
    """Reads HTML whose elements are closed in order; its text and its elements' attributes."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text, self.tags = "", list[tuple[str, dict[str, str | None]]]()
        self.feed(source)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@tracejit.jit
def mixed(x, y):
    a = np.where(x < y, x, "<b>&'\"" != "" and 2.0)
    b = np.partition(a, 1)
    return b.sum()


@tracejit.jit
def eager(x):
    return eval("x + 1")


@pytest.fixture(scope="module")
def shell() -> Iterator[Any]:
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output
    from traitlets.config import Config

    settings = Config()
    settings.HistoryManager.enabled = False
    found = InteractiveShell.instance(config=settings)
    found.run_cell("%load_ext tracejit\nimport numpy as np, tracejit\nx = np.arange(4.0)")
    found.capture_output = capture_output
    yield found
    InteractiveShell.clear_instance()


def html_of(x: object, shell: Any) -> Checked:
    data, _ = shell.display_formatter.format(x)
    return Checked(data["text/html"])


def test_a_function_and_its_report(shell: Any) -> None:
    fresh = tracejit.jit(lambda x: x)
    assert "has not been called yet" in html_of(fresh, shell).text
    mixed(np.ones(3), np.zeros(3))
    eager(1.0)
    for shown in (mixed, mixed.report()):
        page = html_of(shown, shell)
        assert "first call" in page.text and 'x, "<b>&\'\\"" != ""' in page.text
        heat = [attrs["style"] or "" for _, attrs in page.tags if "title" in attrs]
        assert any("rgba(60,170,90" in x for x in heat), "a compiled line is green"
        assert any("rgba(230,130,0" in x for x in heat), "a host call is orange"
    page = html_of(eager, shell)
    assert "TJ002" in page.text and "What to do" in page.text


def test_graphs_stages_and_runs(shell: Any) -> None:
    args = (np.ones(3), np.zeros(3))
    assert "host_call" in html_of(mixed.trace(*args), shell).text
    graph = mixed.trace(*args)
    assert str(graph).startswith("def mixed(")
    for x in (graph, mixed.report()):
        assert shell.display_formatter.format(x)[0]["text/plain"] == str(x)
    page = html_of(mixed.lower(*args), shell)
    summaries = [tag for tag, _ in page.tags if tag == "summary"]
    assert len(summaries) >= 5 and "define " in page.text
    assert [tag for tag, attrs in page.tags if tag == "details" and "open" in attrs] == ["details"]
    assert "host_call" in html_of(mixed.partial(*args), shell).text


def test_a_long_text_is_cut() -> None:
    from tracejit.notebook.html import text_html

    assert "... 5 more lines" in text_html("x\n" * 15, lines=10)


def run(shell: Any, cell: str) -> tuple[str, list[Any]]:
    """What a cell prints, and the outputs that it displays."""
    with shell.capture_output() as captured:
        shell.run_cell(cell)
    return captured.stdout + captured.stderr, captured.outputs


def texts(outputs: list[Any]) -> list[str]:
    assert all("text/html" in out.data for out in outputs)
    return [out.data["text/plain"] for out in outputs]


def test_the_functions_of_a_cell_are_compiled(shell: Any) -> None:
    cell = "def cube(x):\n    return x**3\n\ndef twice(x):\n    return cube(x) * 2\n\ny = twice(x)"
    printed, outputs = run(shell, f"%%tracejit\n{cell}")
    assert printed == "" and np.array_equal(shell.user_ns["y"], 2 * np.arange(4.0) ** 3)
    first, second = texts(outputs)
    assert first.startswith("cube: 0 compiled") and second.startswith("twice: 1 compiled, 0 eager")
    _, outputs = run(shell, f"%%tracejit --stage fuse\n{cell}")
    assert "fusion(" in texts(outputs)[-1]
    assert "no stage fusee" in run(shell, f"%%tracejit --stage fusee\n{cell}")[0]
    assert not [name for name in shell.user_ns if "of_a_cell" in name]


def test_a_call_on_a_line(shell: Any) -> None:
    shell.run_cell("def half(x, *, by=2):\n    return x / by")
    _, outputs = run(shell, "z = %tracejit half(x, by=4)")
    assert texts(outputs)[0].startswith("half: 1 compiled")
    assert np.array_equal(shell.user_ns["z"], np.arange(4.0) / 4)
    _, outputs = run(shell, "%tracejit --stage llvm half(*[x])")
    assert "define " in texts(outputs)[0]
    shell.run_cell("def total(x):\n    return (x * x).sum()")
    _, outputs = run(shell, "%tracejit --grad 0 --stage trace total(x)")
    assert texts(outputs)[0].startswith("def ")
    for line in ("%tracejit half", "%tracejit --stage nonsense half(x)", "%tracejit --x half(x)"):
        printed, _ = run(shell, line)
        assert printed.startswith("UsageError") and "Traceback" not in printed
