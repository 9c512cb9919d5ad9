"""Handlers make nodes of the graph: what only composes functions of NumPy is in the prelude."""

from __future__ import annotations

import ast
from pathlib import Path

from tracejit.frontend import numpy as numpy_handlers

FOLDER = Path(numpy_handlers.__path__[0])
#: Functions by which a handler makes nodes, and methods.
MAKERS = {"apply", "apply_to_arrays"}
METHODS = {"emit", "emit_all", "store", "store_masked"}
#: What stands for one operation of NumPy, in tracers' terms.
OPERATIONS = {"asarray", "astype", "elementwise"}
#: Handlers that do neither, each with the reason.
REASONS = {
    **dict.fromkeys("_in_order array asarray_ copy".split(), "it makes an array"),
    **dict.fromkeys(
        "_part broadcast_arrays expand_dims matrix_transpose moveaxis sliding_window_view "
        "squeeze swapaxes transpose".split(),
        "it makes a view",
    ),
    **dict.fromkeys(
        "can_cast isscalar iterable ndim result_type shape size".split(), "the trace answers it"
    ),
    "_triangle": "of known sizes it makes constants",
    "count_nonzero": "it is a reduction",
    "gradient": "traced from the prelude it has more nodes",
}
#: Handlers that do, though NumPy could spell them, each with the reason.
KEPT = {
    **dict.fromkeys(
        "pad roll".split(), "traced from the prelude, a first compile takes 30 to 70 ms longer"
    ),
    **dict.fromkeys("geomspace logspace".split(), "powers and logarithms are NumPy's own loops"),
    "linspace": "those two and np.r_ are made of it",
    "_triangle": "traced, the number of indices would be known at run time only",
    "place": "it shares all of its parts with np.put and np.putmask",
}

Place = tuple[str, str]


class Functions:
    """All functions of the folder, which of them are handlers, and what modules import."""

    def __init__(self) -> None:
        self.bodies: dict[Place, ast.FunctionDef] = {}
        self.imported: dict[Place, Place] = {}
        self.handlers: set[Place] = set()
        for path in FOLDER.rglob("*.py"):
            module = ".".join(path.relative_to(FOLDER.parents[2]).with_suffix("").parts)
            for node in ast.parse(path.read_text()).body:
                self._add(module, node)

    def _add(self, module: str, node: ast.stmt) -> None:
        if isinstance(node, ast.ImportFrom):
            for a in node.names:
                self.imported[module, a.asname or a.name] = node.module or "", a.name
        elif isinstance(node, ast.FunctionDef):
            self.bodies[module, node.name] = node
            if any(map(_is_handles, node.decorator_list)):
                self.handlers.add((module, node.name))
        for x in ast.walk(node):
            # handles(np.hanning)(_window(...)): what makes the handler counts as one.
            if isinstance(x, ast.Call) and _is_handles(x.func) and isinstance(x.args[0], ast.Call):
                made = x.args[0].func
                if isinstance(made, ast.Name):
                    self.handlers.add((module, made.id))

    def makes_nodes(self, place: Place, seen: set[Place]) -> bool:
        """Whether a function, or one that it names and that is no handler, makes nodes."""
        body = self.bodies.get(place)
        if body is None or place in seen:
            return False
        seen.add(place)
        for node in (n for statement in body.body for n in ast.walk(statement)):
            if isinstance(node, ast.Attribute) and node.attr in METHODS:
                return True
            if not isinstance(node, ast.Name) or node.id in OPERATIONS:
                continue
            other = self.imported.get((place[0], node.id), (place[0], node.id))
            if node.id in MAKERS or other not in self.handlers and self.makes_nodes(other, seen):
                return True
        return False


def _is_handles(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "handles"
    )


def test_handlers_do_not_only_compose() -> None:
    functions = Functions()
    composed = {p[1] for p in functions.handlers if not functions.makes_nodes(p, set())}
    assert sorted(composed - REASONS.keys()) == []
    assert sorted(REASONS.keys() - composed) == [], "they make nodes"
    assert sorted(KEPT.keys() - {p[1] for p in functions.handlers}) == [], "they are no handlers"
