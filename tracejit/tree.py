"""Trees of arrays: models, optimiser states and gradients, taken apart and put together.

    for p, g in zip(tracejit.tree.leaves(model), tracejit.tree.leaves(slopes)):
        p -= rate * g

Lists, tuples, dicts, namedtuples and dataclasses are trees; their leaves are arrays and numbers. An
object of a class of the program's is a tree of its attributes, in which only arrays of real or
complex floats are leaves, each of them once: its numbers are settings. A `RowGradient`, which
stands for an array, is one leaf. All else (texts, None, functions, an object's integers) is carried
along, and so are arrays that the class names as state:

    class Normalise:
        __buffers__ = ("mean",)

Compiled functions may call these functions, but for `entries`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["entries", "flatten", "leaves", "map", "paths", "unflatten"]


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """The leaves of a tree in order, and its structure, which `unflatten` takes."""
    from tracejit.frontend.python.trees import flattened

    return flattened(tree)


def leaves(tree: Any) -> list[Any]:
    """The leaves of a tree in order: dicts by insertion, objects by their attributes."""
    return flatten(tree)[0]


def unflatten(structure: Any, leaves: Sequence[Any]) -> Any:
    """A tree of a structure around other leaves; objects are made anew without `__init__`.

    Raises ValueError for another number of leaves.
    """
    from tracejit.frontend.python.trees import rebuilt

    return rebuilt(structure, leaves)


def map(f: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """A tree like `tree` with `f(leaf, *leaves of others at its place)` in place of each leaf.

    Raises ValueError for another tree with more or fewer leaves.
    """
    from tracejit.frontend.python.trees import mapped

    return mapped(f, tree, others)


def paths(tree: Any) -> list[tuple[str, Any]]:
    """The leaves of a tree in order, each with its path as a program would write it behind the
    tree: `.layers[0].w`, `['scale']`.

    Raises TypeError for arrays of floats in what is no tree, such as an `OrderedDict`.
    """
    from tracejit.frontend.python.tree_paths import named

    return named(tree)


def entries(tree: Any, buffers: bool = False) -> list[tuple[tuple[Any, ...], Any]]:
    """The leaves of a tree in order, each with the keys of its path: `("layers", 0, "w")`.

    A leaf to which several paths lead comes once for each of them. With `buffers` the arrays are
    among them that classes name in `__buffers__`. Raises TypeError as `paths` does.
    """
    from tracejit.frontend.python.tree_paths import entries

    return entries(tree, buffers)


def _traced(function: Callable[..., Any], run: Callable[..., Any]) -> None:
    """Let `run(interpreter, ...)` do in traced programs what a function does."""
    function.__tracejit_traced__ = run  # type: ignore[attr-defined]


def _traced_flatten(interpreter: Any, tree: Any) -> Any:
    from tracejit.frontend.python.trees import flattened

    found, structure = flattened(tree, interpreter)
    return interpreter.allocate(found), interpreter.allocate(structure)


def _traced_unflatten(interpreter: Any, structure: Any, leaves: Any) -> Any:
    from tracejit.frontend.python.trees import rebuilt

    return rebuilt(structure, list(interpreter.iterate(leaves)), interpreter)


def _traced_map(interpreter: Any, f: Any, tree: Any, *others: Any) -> Any:
    from tracejit.frontend.python.trees import mapped

    return mapped(f, tree, others, interpreter)


def _traced_paths(interpreter: Any, tree: Any) -> Any:
    from tracejit.frontend.python.tree_paths import named

    return interpreter.allocate(named(tree, interpreter))


_traced(flatten, _traced_flatten)
_traced(leaves, lambda interpreter, tree: _traced_flatten(interpreter, tree)[0])
_traced(unflatten, _traced_unflatten)
_traced(map, _traced_map)
_traced(paths, _traced_paths)
