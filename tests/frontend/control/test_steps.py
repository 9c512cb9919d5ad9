"""What tracing costs, in steps: bodies of loops traced, operations recorded."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from benchmarks.corpus import FAMILIES
from benchmarks.corpus.program import differences, outcome
from tests.random.control_search import load
from tests.support.compare import assert_same
from tracejit.errors import TraceError
from tracejit.frontend.control import statements
from tracejit.frontend.control.loop_state import Loop
from tracejit.frontend.tracing import trace
from tracejit.frontend.tracing.fixpoints import Fixpoints, Nested
from tracejit.frontend.tracing.trace import Trace

#: For each kind of nest: what precedes a loop, its head, what its body begins and ends with.
NESTS = {
    "counted": ("", "for i{k} in range(n):", "", ""),
    "tested": ("i{k} = 0", "while i{k} < n:", "", "i{k} += 1"),
    "left": ("", "for i{k} in range(n):", "if s > 1e6:\n    break", ""),
    "stored": ("", "for i{k} in range(n):", "b[i{k}] += a[i{k}]", ""),
    "rebound": ("", "for i{k} in range(n):", "x = x * 0.5 + a", ""),
    "swapped": ("", "for i{k} in range(n):", "x, y = y, x", "x[0] += 1"),
    "kinds": ("", "for i{k} in range(n):", "if a[i{k}] > 0.5:\n    best = a[i{k}] + {k}", ""),
    "listed": ("", "for i{k} in range(n):", "found[0] = found[0] + a[i{k}]", ""),
    "outside": ("", "for i{k} in range(n):", "box[0] = box[0] + a[i{k}]", ""),
    "grown": ("", "for i{k} in range(n):", "", "y = np.concatenate((y, a[:1] + {k}))"),
    "made": ("r{k} = np.zeros(3)", "for i{k} in range(n):", "r{k}[i{k}] += s", "s = s + r{k}[0]"),
    "unlike": ("t{k} = 0.0", "for i{k} in range(n):", "", "t{k} += s * 0.25"),
}
START = """\
import numpy as np

def f(a, n, box):
    s = a[0]
    b, x, y = np.zeros(5), a.copy(), a + 1
    best, found = None, [a[1], 2]
"""


def nest(kind: str, depth: int) -> str:
    """A program with `depth` loops inside each other."""
    lines: list[str] = []
    before, head, first, last = NESTS[kind]

    def add(text: str, k: int, inner: bool) -> None:
        indent = "    " * (k + 1 + inner)
        lines.extend(indent + line for line in text.format(k=k).splitlines())

    for k in range(depth):
        add(before, k, False)
        add(head, k, False)
        add(first, k, True)
    add("s = s + a[i{k}] * 0.5", depth - 1, True)
    for k in reversed(range(depth)):
        add(last, k, True)
    return START + "\n".join(lines) + "\n    return s, b, x, y, best, found, box[0]\n"


def arguments(n: int) -> tuple[Any, ...]:
    return np.linspace(0.0, 1.0, 5), n, [np.float64(1.0)]


@pytest.fixture
def body_traces(monkeypatch: pytest.MonkeyPatch) -> list[Loop]:
    """The loops whose bodies are traced, once for each time."""
    traces: list[Loop] = []
    original = Loop._trace

    def counted(self: Loop) -> Any:
        traces.append(self)
        return original(self)

    monkeypatch.setattr(Loop, "_trace", counted)
    return traces


def count(traces: list[Loop], make: Callable[[], object]) -> int:
    traces.clear()
    make()
    return len(traces)


#: Those with memory of their own in each body, or whose code doubles with each level.
LARGE = {"made", "swapped"}


@pytest.mark.parametrize("kind", sorted(NESTS.keys() - LARGE))
def test_body_traces_of_a_nest(kind: str, tmp_path: Path, body_traces: list[Loop]) -> None:
    """At most as many as if each loop were traced once more in each trace of the loop around it."""
    found = []
    for depth in (2, 4, 6):
        f = tracejit.jit(load(nest(kind, depth), str(tmp_path)).f)
        found.append(count(body_traces, lambda f=f: f.trace(*arguments(3))))  # type: ignore[misc]
    # Differences of a sequence that grows with the square of the depth grow evenly.
    assert found[2] - found[1] <= 2 * (found[1] - found[0]) + 4, found
    assert found[2] <= 6 * 7, found


def test_body_traces_of_a_nest_that_asks_what_it_begins_with(
    tmp_path: Path, body_traces: list[Loop]
) -> None:
    """Each loop has an iteration in front, with loops that have one: the cube of the depth."""
    found = []
    for depth in (2, 4, 6):
        text = nest("left", depth).replace("s = a[0]", "s = 0.0")
        f = tracejit.jit(load(text, str(tmp_path)).f)
        found.append(count(body_traces, lambda f=f: f.trace(*arguments(3))))  # type: ignore[misc]
    assert found[2] <= 4 * found[1], found


@pytest.mark.sampled(9)
@pytest.mark.parametrize("kind", NESTS)
def test_graphs_are_those_of_loops_traced_from_scratch(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    f = load(nest(kind, 3), str(tmp_path)).f
    jitted = tracejit.jit(f)
    texts = [jitted.lower(*arguments(3)).text()]
    monkeypatch.setattr(Fixpoints, "next", lambda self, statement: Nested())
    texts.append(jitted.lower(*arguments(3)).text())
    assert renamed(texts[0]) == renamed(texts[1])
    for n in (3, 2):
        assert_same(f(*arguments(n)), jitted(*arguments(n)))


def renamed(text: str) -> str:
    """A graph's text without the numbers of its values and sizes, and lists of sizes."""
    text = re.sub(r"\bs\d+: size,? ?|sizes=\(.*\), (?=regions)| +#.*", "", text)
    return re.sub(r"\b[sv]\d+\b", "v", text)


UNKNOWN = """\
import time

def f(a, n):
    s = 0.0
    for i in range(n):
        for j in range(n):
            for k in range(n):
                s = s + a[k] + time.time()
    return s
"""

APPENDS = """\
import numpy as np

def f(a, n):
    out = {}
    for i in range(n):
        out[i] = [a[i % 5] * 2 if a[i % 5] > 0.5 else a[i % 5]]
    return np.array(list(out.values()))
"""


def test_what_no_copy_of_a_body_does_better_is_given_up_at_once(
    tmp_path: Path, body_traces: list[Loop]
) -> None:
    f = tracejit.jit(load(UNKNOWN, str(tmp_path)).f)
    a = np.linspace(0.0, 1.0, 5)

    def fails() -> None:
        with pytest.raises(TraceError, match="TJ002"):
            f.trace(a, 3)

    assert count(body_traces, fails) == 3


@pytest.fixture
def emitted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operations that are recorded, also those of traces that are dropped."""
    names: list[str] = []
    original = Trace.emit_all

    def counted(self: Trace, *args: Any, **kwargs: Any) -> Any:
        names.append(args[0])
        return original(self, *args, **kwargs)

    monkeypatch.setattr(Trace, "emit_all", counted)
    return names


@pytest.mark.compiles
def test_copies_of_a_body_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, emitted: list[str]
) -> None:
    monkeypatch.setattr(statements, "_COPIED", 300)
    plain = load(APPENDS, str(tmp_path)).f
    f = tracejit.jit(plain)
    a = np.linspace(0.0, 1.0, 5)
    assert_same(plain(a, 7), f(a, 7))
    assert f.report().fallbacks == []
    kinds = [(x.kind, x.why) for x in f.report().variants[0].lines if x.kind == "unrolled"]
    assert kinds == [("unrolled", "7 iterations: a size or an index as a Python value")]
    emitted.clear()
    f = tracejit.jit(plain)
    assert_same(plain(a, 500), f(a, 500))
    (fallback,) = f.report().fallbacks
    assert fallback.code == "TJ032" and "copies of a loop's body" in fallback.reason
    assert len(emitted) < 1000
    # It is remembered.
    emitted.clear()
    assert_same(plain(a, 500), f(a, 500))
    assert emitted == []


def leaving(depth: int) -> str:
    """Branches inside each other, of which each returns on its other side."""
    lines = ["def f(a, b):", "    s = a[0]"]
    lines += ["    " * (k + 1) + f"if a[{k}] > b[{k}]:" for k in range(depth)]
    lines.append("    " * (depth + 1) + "s = s + 1")
    for k in reversed(range(depth)):
        indent = "    " * (k + 1)
        lines += [f"{indent}else:", f"{indent}    return s * {k}", f"{indent}s = s * 1.5"]
    return "\n".join([*lines, "    return s"]) + "\n"


def test_what_follows_a_branch_runs_on_in_the_side_that_reaches_it(
    tmp_path: Path, emitted: list[str]
) -> None:
    counts = []
    for depth in (2, 4, 8):
        f = load(leaving(depth), str(tmp_path)).f
        jitted = tracejit.jit(f)
        emitted.clear()
        jitted.trace(np.ones(8), np.zeros(8))
        counts.append(len(emitted))
        for a in (np.ones(8), np.eye(8)[0], -np.ones(8), np.arange(8.0)[::-1]):
            assert_same(f(a, np.full(8, 0.5)), jitted(a, np.full(8, 0.5)))
    assert counts[2] - counts[1] <= 2 * (counts[1] - counts[0]), counts


REVERSED = """\
def f(x):
    rows = [[x[0], 1.0], [x[1], 2.0]]
    for k in range(len(x)):
        for _ in range(12):
            if x[k] > rows[0][1]:
                break
            rows.reverse()
        rows = rows + [[rows[-1][0], 3.0]]
    return len(rows)
"""


def test_values_of_several_kinds_are_limited(tmp_path: Path, emitted: list[str]) -> None:
    plain = load(REVERSED, str(tmp_path)).f
    f = tracejit.jit(plain)
    x = np.linspace(-1.0, 2.0, 3)
    assert_same(plain(x), f(x))
    (fallback,) = f.report().fallbacks
    assert fallback.code == "TJ032" and "values of different kinds" in fallback.reason
    assert len(emitted) < 3000


@pytest.mark.parametrize("item", ["max(x[k], 0)", "x if x[k] > 0 else y"])
def test_an_array_of_what_branches_leave_is_no_branch_for_each_combination(
    item: str, tmp_path: Path, emitted: list[str]
) -> None:
    counts = []
    for length in (4, 8, 16):
        text = f"import numpy as np\ndef f(x, y):\n    out = [{item} for k in range({length})]\n"
        f = load(text + "    return np.array(out)\n", str(tmp_path)).f
        emitted.clear()
        tracejit.jit(f).trace(np.ones(16), np.zeros(16))
        counts.append(len(emitted))
    assert counts[2] <= 2.2 * counts[1] <= 2.2**2 * counts[0], counts


def test_all_attempts_at_a_program_are_limited_together(
    monkeypatch: pytest.MonkeyPatch, emitted: list[str]
) -> None:
    """What is rolled back counts, and what is traced anew once something was learned."""
    monkeypatch.setattr(trace, "_LIMIT", 1200)
    (program,) = (p for p in FAMILIES["geometry"] if p.name == "douglas_peucker")
    f, make = tracejit.jit(program.f), program.inputs[0]
    for _ in range(2):
        expected, actual = outcome(program.f, make()), outcome(f, make())
        assert list(differences(expected, actual)) == []
    assert [x.code for x in f.report().fallbacks] == ["TJ032"]
    assert len(emitted) <= 1210
