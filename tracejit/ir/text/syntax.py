"""Graphs to text and back: a subset of Python's syntax, one node a line.

    @results("fresh", "input 0")
    def f(n: size, x: f64[n, 3], y: f64[3, n] @ (1, 0,)):
        t: f64[3, n] @ (1, 0,) = transpose(x, axes=(1, 0))              # file.py:7
        def then(a: f64[3]):
            return a
        lo, hi = typed(op(t, flag=True, regions=(then,), binds=(k,)), f64[k], i64)
        bind_size(c, binds=(m,))
        return t, x, size(m - 1)

A parameter is a size or a value. Positional arguments of an op are values; keywords are attributes,
but `regions` (nested `def`s, written before their node) and `binds` (the sizes that the node
defines). `@results` is left out where every result is fresh. Attributes are None, bool, int, float
(also `inf` and `nan`), `complex(re, im)`, strings, sizes, tuples, `array(type, elements...)` and,
above 16 elements, `table(type, "hash")`, whose elements lie in a table beside the text. The comment
`# file:line` is the place in the user's program.

Printing what was parsed from a printed text gives that text, byte for byte.
"""

from __future__ import annotations

from tracejit.ir.text.parse import parse_graph
from tracejit.ir.text.print import constant_hash, name_values, node_lines, print_graph

__all__ = ["constant_hash", "name_values", "node_lines", "parse_graph", "print_graph"]
