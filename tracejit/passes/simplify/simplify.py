"""Simplification: rewrites that hold to the last bit for every operand, in one sweep.

    x * 1 -> x;  x / 4.0 -> x * 0.25;  where(not c, a, b) -> where(c, b, a);  x[a:b][c:d] -> x[e:f]

Each node is looked at once as it is rebuilt, with its operands already simple; what a rule makes
is looked at in turn. Rules that hold only "nearly", such as x + 0 for floats (-0.0 + 0 is 0.0),
have no place here. The rules are in `elementwise`, `no_nan`, `index`,
`python_numbers` and `scatters`.
"""

from __future__ import annotations

import tracejit.passes.simplify.elementwise
import tracejit.passes.simplify.index
import tracejit.passes.simplify.no_nan
import tracejit.passes.simplify.python_numbers
import tracejit.passes.simplify.scatters  # noqa: F401 - these fill the table of rules
from tracejit.ir.graph import Graph, replay
from tracejit.passes.simplify.rewriter import Rewriter, without

__all__ = ["simplify"]


def simplify(graph: Graph) -> Graph:
    """`graph` with the rules applied to every node."""
    rewriter = Rewriter()
    return without(replay(graph, rewriter.emit, region=simplify), rewriter.replaced)
