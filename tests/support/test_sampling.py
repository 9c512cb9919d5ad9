"""The slices of generic tests: every case is in one, a run says which, `always` is always in."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import sampling
from tests.support.sampling import full, in_slice, sampled

NAMES = [f"case[{k}]" for k in range(1000)]


def slices(monkeypatch: pytest.MonkeyPatch, first: int, parts: int) -> list[list[str]]:
    """The slices of runs with seeds one after the other."""
    found = []
    for seed in range(first, first + parts):
        monkeypatch.setattr(sampling, "seed", seed)
        found.append(sampled(NAMES, parts))
    return found


@pytest.mark.parametrize("first", [0, 12345, 1 << 40])
@pytest.mark.parametrize("parts", [1, 2, 7])
def test_runs_one_after_the_other_take_each_case_once(monkeypatch, first, parts) -> None:
    found = slices(monkeypatch, first, parts)
    assert sorted(name for names in found for name in names) == sorted(NAMES)
    assert max(map(len, found)) - min(map(len, found)) <= 1
    assert all(names == sorted(names, key=NAMES.index) for names in found)


def test_the_seed_alone_decides(monkeypatch) -> None:
    assert slices(monkeypatch, 3, 5) == slices(monkeypatch, 3, 5)
    assert slices(monkeypatch, 3, 1)[0] == NAMES
    # A fixed name and seed keep their slice between versions of Python.
    monkeypatch.setattr(sampling, "seed", 3)
    assert sampled(["sin", "cos", "tan", "exp", "log", "sqrt"], 2) == ["cos", "exp", "log"]


def test_cases_are_asked_for_one_by_one(monkeypatch) -> None:
    """Where a test does not know all of them before."""
    found = []
    for seed in range(5, 12):
        monkeypatch.setattr(sampling, "seed", seed)
        found += [name for name in NAMES if in_slice(name, 7)]
    assert sorted(found) == sorted(NAMES)
    monkeypatch.setattr(sampling, "seed", None)
    assert in_slice("a", 1000)


def test_all_cases_run_without_a_seed(monkeypatch) -> None:
    monkeypatch.setattr(sampling, "seed", None)
    assert full() and sampled(NAMES, 10) == NAMES


def test_cases_that_found_bugs_always_run(monkeypatch) -> None:
    cases = [(k, f"case[{k}]") for k in range(1000)]
    for seed in range(10):
        monkeypatch.setattr(sampling, "seed", seed)
        assert not full()
        found = sampled(cases, 10, name=lambda case: case[1], always={"case[7]", "case[8]"})
        assert {(7, "case[7]"), (8, "case[8]")} <= set(found) and len(found) < 200
    with pytest.raises(ValueError, match=r"no cases of these names: \['case\[x\]'\]"):
        sampled(NAMES, 10, always={"case[x]"})


def test_kinds_are_dealt_by_themselves(monkeypatch) -> None:
    """Each kind is in each run, and runs one after the other still take every case."""
    kinds = {name: f"kind {len(str(k))} {k % 7}" for k, name in enumerate(NAMES)}
    rare = {name: str(k) for k, name in enumerate(NAMES[:3])}
    for kind in (kinds | rare).get, rare.get:
        found = set()
        for seed in range(8, 13):
            monkeypatch.setattr(sampling, "seed", seed)
            taken = sampled(NAMES, 5, kind=lambda name, kind=kind: kind(name) or "")
            assert {kind(name) for name in taken} == {kind(name) for name in NAMES}
            assert 190 < len(taken) < 230
            found |= set(taken)
        assert found == set(NAMES)


def test_shares_are_drawn_from_each_slice() -> None:
    """Runs of a third of the tests take each case of a third of the slices, too."""
    taken = {
        name: {seed % 3 for seed in range(60) if sampling.is_drawn(name, 3, seed)}
        for name in NAMES[:50]
    }
    assert all(slices == {0, 1, 2} for slices in taken.values())
    assert all(sampling.is_drawn(name, 1, seed) for seed, name in enumerate(NAMES))
    assert 250 < sum(sampling.is_drawn(name, 3, 7) for name in NAMES) < 420


@pytest.mark.sampled(2, always=["test_marked[0]"])
@pytest.mark.parametrize("k", range(20))
def test_marked(k) -> None:
    """What the next test looks at."""


@pytest.mark.sampled(2)
def test_alone() -> None:
    """Dealt with the next one."""


@pytest.mark.sampled(2)
def test_beside_it() -> None:
    """See above."""


def collected(*options: str) -> set[str]:
    """The tests of those above that a run takes."""
    path = Path(__file__)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", *options, str(path)],
        capture_output=True,
        text=True,
        cwd=path.parents[2],
    )
    assert done.returncode == 0, done.stdout + done.stderr
    marked = re.compile("::(test_(?:marked|alone|beside).*)")
    return {found[1] for line in done.stdout.splitlines() if (found := marked.search(line))}


def test_runs_take_slices_of_marked_tests() -> None:
    pair = {"test_alone", "test_beside_it"}
    every = {f"test_marked[{k}]" for k in range(20)} | pair
    even, odd = (collected("--seed", seed) for seed in ("6", "7"))
    assert even | odd == every and even & odd == {"test_marked[0]"}
    assert min(len(even), len(odd)) == 11 and len(even & pair) == 1
    assert (
        collected("--all") == collected("--seed", "7", "-k", "marked or alone or beside") == every
    )


def test_the_page_on_tests_lists_what_is_sampled() -> None:
    tests = Path(__file__).parents[1]
    mark = re.compile(r"^@pytest\.mark\.sampled\((\d+).*?^def (\w+)", re.MULTILINE | re.DOTALL)
    of_module = re.compile(r"^pytestmark = pytest\.mark\.sampled\((\d+)\)()$", re.MULTILINE)
    marked = {
        (f"{path.relative_to(tests).as_posix()}::{name}".removesuffix("::"), parts)
        for path in tests.rglob("test_*.py")
        for found in (mark, of_module)
        for parts, name in found.findall(path.read_text(encoding="utf-8"))
        if path != Path(__file__)
    }
    page = (tests.parent / "docs" / "testing.md").read_text(encoding="utf-8")
    listed = set(
        re.findall(r"^\| `([\w/]+\.py(?:::\w+)?)` \| (\d+) \| \d+ \|$", page, re.MULTILINE)
    )
    assert listed == marked
