"""The page in a real browser, from a file: nothing fails, and lines find each other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tracejit
from tests.support.chromium import MISSING, Browser, browser
from tests.view.test_page import IMAGE, data_of
from tests.view.viewed import blurred, norm, norm_and_one, with_two_reasons
from tracejit.view.page import view_both

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)

ROW = "[...document.querySelectorAll('.pane')][0].querySelectorAll('.row')"
PINNED = "[...document.querySelectorAll('.pane')].map(p => p.querySelectorAll('.row.pin').length)"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Browser, Path]]:
    folder = tmp_path_factory.mktemp("pages")
    with browser() as found:
        yield found, folder


def test_a_click_on_a_line_finds_its_assembly(shown: tuple[Browser, Path]) -> None:
    page, folder = shown
    viewed = tracejit.jit(blurred).view(IMAGE, 0.1)
    page.open(viewed.save(folder / "page.html"))
    assert page.run("document.documentElement.dataset.ready") == "true"
    page.run(f"[...{ROW}].find(r => r.textContent.includes('np.hypot')).click()")
    source, stage, assembly = page.run(PINNED)
    assert source == 1 and stage > 1 and assembly > 5
    text = page.run("[...document.querySelectorAll('.row.pin')].map(r => r.textContent)")
    assert any("hypot(" in line for line in text) and any("\t" in line for line in text)
    # And back: a line of assembly finds the source.
    page.key("Escape")
    assert page.run(PINNED) == [0, 0, 0]
    page.run(
        "[...[...document.querySelectorAll('.pane')][2].querySelectorAll('.row')]"
        ".find(r => r.textContent.includes('vsubp') || r.textContent.includes('%xmm')).click()"
    )
    data = data_of(viewed)
    assert page.run(PINNED)[0] == 1
    # Every node is drawn.
    for k, name in enumerate(page.run("VIEWS.map(v => v.name)")):
        page.key(str(k + 1))
        picture = next((d for d in data["drawings"] if d["name"] == name), None)
        if picture is not None:
            assert page.run("document.querySelectorAll('g.node').length") == len(picture["nodes"])
    assert page.errors == []


def test_keys_search_and_colours(shown: tuple[Browser, Path]) -> None:
    page, folder = shown
    page.open(tracejit.jit(blurred).view(IMAGE, 0.1).save(folder / "page.html"))
    page.key("j")
    page.key("Enter")
    assert page.run(PINNED)[0] == 1 and page.run("state.pinned") >= 0
    before = page.run("document.querySelectorAll('select')[0].value")
    page.key("]")
    assert page.run("document.querySelectorAll('select')[0].value") != before
    page.key("[")
    page.key("d")
    assert page.run("document.querySelectorAll('.row.added').length") > 0
    page.key("/")
    page.run("search.value = 'hypot'; search.dispatchEvent(new Event('input'))")
    assert page.run("document.querySelectorAll('.row.hit').length") > 0
    page.run("search.blur()")
    back = "getComputedStyle(document.body).backgroundColor"
    page.dark(False)
    light = page.run(back)
    page.dark(True)
    dark = page.run(back)
    page.key("t")
    assert page.run(back) == light != dark
    assert page.errors == []


def test_a_drawing_finds_what_is_searched_and_chosen(shown: tuple[Browser, Path]) -> None:
    page, folder = shown
    page.open(tracejit.jit(blurred).view(IMAGE, 0.1).save(folder / "page.html"))
    page.run("open('dataflow')")
    for how in (
        "search.value = 'sort'; search.dispatchEvent(new Event('input'))",
        "[...document.querySelectorAll('.row')].find(r => r.textContent.includes('hypot')).click()",
    ):
        page.run(how)
        marked = "document.querySelector('g.node.hit, g.node.pin').getBoundingClientRect().toJSON()"
        box = page.run(marked)
        assert 0 < box["x"] < 1500 and 0 < box["y"] < 900
        page.run("search.value = ''; search.dispatchEvent(new Event('input'))")
    before = page.run("document.querySelector('.drawing svg').getAttribute('viewBox')")
    page.run("document.querySelector('.drawing svg').focus()")
    page.key("f")
    assert page.run("document.querySelector('.drawing svg').getAttribute('viewBox')") != before
    ends = "[...document.querySelectorAll('g.node')].map(n => n.getBoundingClientRect().bottom)"
    assert max(page.run(ends)) < 900
    page.run("document.activeElement.blur()")
    assert page.errors == []


def test_two_side_by_side(shown: tuple[Browser, Path]) -> None:
    page, folder = shown
    given = (IMAGE[0],)
    page.open(view_both((norm, given), (norm_and_one, given)).save(folder / "both.html"))
    assert page.run("document.querySelectorAll('.sides .pane').length") == 2
    assert page.run("document.querySelectorAll('.sides .row').length") == 4
    # Both halves of a row light up, and the two fill the page.
    page.run("document.querySelectorAll('.sides .row')[0].click()")
    assert page.run("document.querySelectorAll('.sides .row.pin').length") == 2
    assert page.run("document.querySelector('.sides').clientWidth") > 1490
    page.key("]")
    assert page.run("document.querySelector('select').selectedOptions[0].text") == "trace"
    assert page.errors == []


def test_what_runs_eagerly_has_its_reasons(shown: tuple[Browser, Path]) -> None:
    page, folder = shown
    viewed = tracejit.jit(with_two_reasons).view(np.ones(3))
    page.open(viewed.save(folder / "page.html"))
    assert page.run("document.documentElement.dataset.ready") == "true"
    text = page.run("document.querySelectorAll('section.pane')[1].textContent")
    assert "TJ008" in text and "time.perf_counter" in text and "what to do" in text
    page.run("document.querySelector('td button').click()")
    assert page.run("document.querySelectorAll('.row.pin').length") == 1
    for k in range(len(page.run("VIEWS.map(v => v.name)"))):
        page.key(str(k + 1))
    assert page.errors == []
