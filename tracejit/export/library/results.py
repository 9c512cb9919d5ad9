"""The result of a trace becomes a Python expression of what a library's function gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tracejit.export.library.refusals import NotExported
from tracejit.frontend.tracing.pytree import LEAF, Alternative, Boxed, Static
from tracejit.runtime.compile.stages import ResultPlan, Traced

__all__ = ["result_text"]

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
#: Lists of the elements of one array, by their forms in `tracing/boxed.py`.
_LISTS = {
    "python": "{}.tolist()",
    "scalar": "list({})",
    "array": "[row.copy() for row in {}]",
}


def result_text(traced: Traced, names: Sequence[str], places: Sequence[int | None]) -> str:
    """The expression: results are `r[0]`, `r[1]`, arguments `a["x"]`.

    `names` are those of the arguments, `places` the numbers of their leaves. Raises NotExported for
    a result that is no array or number of its own, argument, or tuple, list or dict of these.
    """
    arguments = {place: name for name, place in zip(names, places, strict=True)}
    leaves = iter([_plan_text(traced, plan, arguments) for plan in traced.plans])
    return _node_text(traced.tree.root, leaves)


def _plan_text(traced: Traced, plan: ResultPlan, arguments: dict[int | None, str]) -> str:
    if plan.same_as is not None:
        return _plan_text(traced, traced.plans[plan.same_as], arguments)
    if plan.views:
        raise NotExported("a result is a view of another array: return a copy of it")
    if plan.leaf is None:
        return f"r[{plan.index}]"
    if plan.leaf not in arguments:
        raise NotExported("a result is an object from outside the function, or a constant")
    return f"a[{arguments[plan.leaf]!r}]"


def _node_text(node: Any, leaves: Iterator[str]) -> str:
    if node == LEAF:
        return next(leaves)
    if isinstance(node, Static) and type(node.value) in _PLAIN:
        text = repr(node.value)
        if "nan" not in text and "inf" not in text:
            return text
    if isinstance(node, Alternative):
        # The flag comes first, then the leaves of either side.
        flag = next(leaves)
        first, second = _node_text(node.first, leaves), _node_text(node.second, leaves)
        return f"({first} if {flag} else {second})"
    if isinstance(node, Boxed) and node.form in _LISTS:
        return _LISTS[node.form].format(next(leaves))
    if isinstance(node, tuple) and node[0] in (tuple, list, dict):
        cls, keys, children = node
        parts = [_node_text(child, leaves) for child in children]
        if cls is tuple:
            return f"({', '.join(parts)}{',' * (len(parts) == 1)})"
        if cls is list:
            return f"[{', '.join(parts)}]"
        values = [k.value if isinstance(k, Static) else k for k in keys]
        if all(type(k) in (str, int, bool) for k in values):
            pairs = [f"{k!r}: {p}" for k, p in zip(values, parts, strict=True)]
            return f"{{{', '.join(pairs)}}}"
    raise NotExported("a result is more than arrays and numbers, in tuples, lists and dicts")
