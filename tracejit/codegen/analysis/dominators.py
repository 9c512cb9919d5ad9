"""Sections of a flat graph that every way to some others goes through."""

from __future__ import annotations

from collections.abc import Container, Iterable

from tracejit.ir.dataflow import DataflowGraph

__all__ = ["common_dominator"]


def common_dominator(
    graph: DataflowGraph, sections: Iterable[int], among: Container[int]
) -> int | None:
    """The last one of `among` that every way to `sections` goes through; None if there is none."""
    above = _immediate(graph)
    found: int | None = None
    for section in sections:
        found = section if found is None else _common(above, found, section)
    while found is not None and found not in among:
        found = above[found] if found else None
    return found


def _immediate(graph: DataflowGraph) -> list[int]:
    """For each section the last one that every way to it goes through, 0 for the first.

    Sections follow their predecessors but for the ends of loops, which their heads dominate.
    """
    above = [0] * len(graph.sections)
    for section in graph.sections[1:]:
        before = [p for p in section.predecessors if p < section.id]
        last = before[0]
        for p in before[1:]:
            last = _common(above, last, p)
        above[section.id] = last
    return above


def _common(above: list[int], a: int, b: int) -> int:
    while a != b:
        if a > b:
            a = above[a]
        else:
            b = above[b]
    return a
