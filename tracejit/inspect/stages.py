"""A function becomes the texts of its stages, whose lines know their places in the source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tracejit.api import jit, value_and_grad
from tracejit.codegen.llvm.debug_info import instruction_places
from tracejit.codegen.llvm.engine import located_assembly, optimized_text
from tracejit.codegen.reference import kernel_lines
from tracejit.ir.text.dataflow import dataflow_lines
from tracejit.ir.text.print import TextLine, graph_lines

__all__ = ["Place", "Stage", "lowered_stages", "stages"]


class Place(NamedTuple):
    """A line of the user's source."""

    file: str
    line: int


@dataclass(frozen=True)
class Stage:
    """The text of a function at one stage of its compile.

    `lines` has for each line of `text` the places that it comes from, none where it is the
    compiler's own. `seconds` is what the stage has taken, None where that was not measured;
    `changed` whether the text differs from that of the stage before.
    """

    name: str
    text: str
    lines: tuple[tuple[Place, ...], ...]
    seconds: float | None
    changed: bool


def stages(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    grad: int | Sequence[int] | None = None,
    device: str | None = None,
) -> list[Stage]:
    """The stages of a compile for such arguments: trace, each pass, dataflow, kernel, llvm,
    optimized and asm; for a device what runs there.

    With `grad` they are those of value and gradient by the arguments of these numbers. Raises
    TraceError where the call cannot be traced.
    """
    if grad is not None:
        function = value_and_grad(function, grad)
    compiled: Any = function if hasattr(function, "lower") else jit(function)
    compiled = compiled if device is None else jit(compiled, device=device)
    return lowered_stages(compiled.lower(*args, **(kwargs or {})))


def lowered_stages(lowered: Any) -> list[Stage]:
    """The stages of what `f.lower(...)` gives."""
    found: list[Stage] = []
    texts: dict[str, str] = {}
    for name in _names(lowered):
        lines = _lines(lowered, name)
        text = "".join(f"{line}\n" for line, _ in lines)
        before = texts.get("graph") if name in lowered.graphs else None
        if name in lowered.graphs:
            texts["graph"] = text
        found.append(
            Stage(
                name,
                text,
                tuple([places for _, places in lines]),
                lowered.seconds.get(name),
                text != before,
            )
        )
    return found


def _names(lowered: Any) -> Iterable[str]:
    for name in lowered.stages:
        yield name
        if name == "llvm" and lowered.device is None:
            yield "optimized"


_Lines = list[tuple[str, tuple[Place, ...]]]


def _lines(lowered: Any, stage: str) -> _Lines:
    """The lines of a stage with their places."""
    if stage in lowered.graphs:
        return _of_text(graph_lines(lowered.graphs[stage]))
    if stage == "dataflow":
        return _of_text(dataflow_lines(lowered.dataflow))
    if stage == "kernel":
        kernels = lowered.program.kernels
        return _of_text([line for k in kernels for line in (*kernel_lines(k), "")])
    if lowered.device is None and stage in ("llvm", "optimized", "asm"):
        text = lowered.located_program.text
        if stage == "asm":
            return [(line, _one(place)) for line, place in located_assembly(text)]
        text = optimized_text(text) if stage == "optimized" else text
        return [(line, _one(place)) for line, place in instruction_places(text)]
    return [(line, ()) for line in lowered.text(stage).splitlines()]


def _of_text(lines: Iterable[str]) -> _Lines:
    return [
        (str(line), _one((where.file, where.line) if where is not None else None))
        for line in lines
        for where in (line.where if isinstance(line, TextLine) else None,)
    ]


def _one(place: tuple[str, int] | None) -> tuple[Place, ...]:
    return () if place is None else (Place(*place),)
