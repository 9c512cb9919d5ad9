"""Passes that are imported late leave alone what they are not imported for."""

import subprocess
import sys

import pytest

from tests.random.graphs import random_graph
from tracejit.ir.text.syntax import print_graph
from tracejit.passes.late import LatePass
from tracejit.passes.manager import PASSES

LATE = [step for step in PASSES if isinstance(step, LatePass)]


@pytest.mark.parametrize("seed", range(40))
def test_a_pass_changes_nothing_in_graphs_that_it_is_not_for(seed: int) -> None:
    graph, _ = random_graph(seed)
    for step in PASSES:
        if isinstance(step, LatePass) and not step.is_for(graph):
            after = step.function(graph)
            assert after is graph or print_graph(after) == print_graph(graph), step.__name__
        graph = step(graph)


def test_each_is_found() -> None:
    for step in LATE:
        assert step.function.__name__ == step.__name__
        assert (step.function.__doc__ or "").startswith(("`graph`", "Make"))


def test_a_plain_chain_imports_none() -> None:
    """Elementwise chains need no pass about memory, matrices or loops."""
    code = (
        "import sys\n"
        "import tracejit.ops\n"
        "from tracejit.ir.text.syntax import parse_graph\n"
        "from tracejit.passes.manager import run_passes\n"
        "text = '''def f(n: size, x: f64[n]):\n    y: f64[n] = sin(x)\n    return y\n'''\n"
        "known = set(sys.modules)\n"
        "run_passes(parse_graph(text), verify=False)\n"
        "print(*sorted(m for m in set(sys.modules) - known if 'passes' in m))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
