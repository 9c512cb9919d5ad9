"""The parts of the containers that a loop changes, and whether it has anything to roll."""

from __future__ import annotations

from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.control.regions import Side
from tracejit.frontend.tracing.grown import is_grown
from tracejit.frontend.tracing.trace import Trace, user_line
from tracejit.frontend.tracing.tracer import Tracer
from tracejit.frontend.tracing.union import Union

__all__ = ["is_static", "keys_in", "parts_in", "with_parts"]


def keys_in(contents: Any) -> list[Any]:
    """The positions or keys of a container's parts."""
    if is_grown(contents):
        return [contents[0].form, *range(len(contents[0].arrays))]
    return list(range(len(contents))) if isinstance(contents, list) else list(contents)


def parts_in(contents: Any) -> list[Any]:
    """The parts of a container, or of an object. Raises TraceError for a set."""
    if isinstance(contents, set):
        raise TraceError("TJ017", "a set that a loop changes", user_line())
    if is_grown(contents):
        return [*contents[0].arrays, contents[1]]
    return list(contents) if isinstance(contents, list) else list(contents.values())


def with_parts(contents: Any, parts: list[Any]) -> Any:
    """The contents with other parts."""
    if is_grown(contents):
        return [contents[0].with_arrays(parts[:-1]), parts[-1]]
    return parts if isinstance(contents, list) else dict(zip(contents, parts, strict=True))


def is_static(side: Side) -> bool:
    """Whether an iteration leaves nothing in the graph, and nothing traced in names."""
    if side.region.builder.nodes or side.stored or isinstance(side.outcome, Union):
        return False
    made = [*side.names.values(), *(v for _, c in side.changed.values() for v in parts_in(c))]
    return not any(isinstance(x, (Tracer, Union)) and side.region.encloses(_home(x)) for x in made)


def _home(x: Any) -> Trace:
    trace: Trace = x.predicate.trace if isinstance(x, Union) else x.trace
    return trace
