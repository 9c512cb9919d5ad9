"""Functions, reports, graphs, compiles and runs become HTML: annotated source, text, tables.

Styles stand in the elements, since notebooks that are not trusted lose all others; colours are
translucent, so that they suit light and dark pages. All that comes from a program is escaped.
"""

from __future__ import annotations

import functools
import html
import inspect
import linecache
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tracejit.errors import CODES, TraceError
from tracejit.frontend.tracing.notes import KINDS
from tracejit.ir.graph import Graph
from tracejit.ir.text.syntax import print_graph
from tracejit.runtime.compile.stages import Lowered
from tracejit.runtime.dataflow.executor import Run
from tracejit.runtime.jitted import Jitted
from tracejit.runtime.report.report import Line, Report

__all__ = ["html_of", "text_html"]

_PRE = "margin:0;padding:0;line-height:1.35;white-space:pre;background:transparent;color:inherit"
_BOX = "max-height:30em;overflow:auto;border-left:2px solid rgba(128,128,128,.4);padding-left:.6em"
_CELL = "text-align:left;padding:.1em .8em .1em 0;vertical-align:top;background:transparent"
#: The kinds of lines, what matters most first, and their colours.
_HEAT = {
    "eager": "rgba(220,50,47,.30)",
    "host": "rgba(230,130,0,.30)",
    "bails": "rgba(230,130,0,.30)",
    "copied": "rgba(150,80,210,.28)",
    "unrolled": "rgba(220,190,0,.30)",
    "peeled": "rgba(220,190,0,.30)",
    "duplicated": "rgba(220,190,0,.30)",
}
_COMPILED = "rgba(60,170,90,.24)"
#: Longer texts are cut.
_LINES = 400
#: Between lines of which something is said, so many others are shown.
_GAP = 15


@functools.singledispatch
def html_of(x: Any) -> str:
    """The HTML of an object."""
    return text_html(str(x))


def text_html(text: str, lines: int = _LINES) -> str:
    """Text as it is, in a box; a longer one than so many lines is cut."""
    rows = text.rstrip("\n").splitlines()
    more = f"\n... {len(rows) - lines} more lines" if len(rows) > lines else ""
    body = html.escape("\n".join(rows[:lines]) + more)
    return f'<div style="{_BOX}"><pre style="{_PRE}">{body}</pre></div>'


@html_of.register
def _(jitted: Jitted) -> str:
    report = jitted.report()
    if not report.variants and not report.fallbacks:
        return f"<div><b>{html.escape(repr(jitted))}</b>: it has not been called yet</div>"
    return _report(report, _extent(jitted))


@html_of.register
def _(report: Report) -> str:
    return _report(report)


def _extent(jitted: Jitted) -> tuple[str, int, int] | None:
    """The file of a function, and its first and last line there."""
    try:
        lines, first = inspect.getsourcelines(jitted.__tracejit__)
        file = inspect.getsourcefile(jitted.__tracejit__)
    except (OSError, TypeError):
        return None
    return None if file is None else (file, first, first + len(lines) - 1)


def _report(report: Report, extent: tuple[str, int, int] | None = None) -> str:
    compiled, eager = len(report.variants), len(report.fallbacks)
    heads = [
        f"<div><b>{html.escape(report.function)}</b>: {compiled} compiled, {eager} eager</div>"
    ]
    if compiled:
        rows = []
        for c in report.variants:
            memory = [] if c.buffers is None else list(c.buffers.lines())
            used = [text.removeprefix("memory: ") for text in memory[:1]]
            rows.append((c.signature, c.reason, f"{c.seconds * 1e3:.0f} ms", *used))
        heads.append(_table(("compiled for", "because of", "took", "memory"), rows))
    for f in report.fallbacks:
        colour = _HEAT["eager"]
        heads.append(
            f'<div style="background:{colour}">{html.escape(str(f))}<br>'
            f"What to do: {html.escape(CODES[f.code][1])} "
            f"(<code>tracejit explain {f.code}</code>)</div>"
        )
    rest = [str(part) for part in report.parts]
    if report.bailouts:
        rest.append(f"{report.bailouts} calls repeated eagerly")
    heads += [f"<div>{html.escape(text)}</div>" for text in rest]
    return "<div>" + "".join([*heads, *_sources(report.lines, extent)]) + "</div>"


def _sources(lines: Sequence[Line], extent: tuple[str, int, int] | None) -> Iterator[str]:
    """The source of each file around the lines, in the colours of what became of them; all lines of
    the function whose `extent` is given.
    """
    files: dict[str, dict[int, list[Line]]] = defaultdict(lambda: defaultdict(list))
    for line in lines:
        files[line.where.file][line.line].append(line)
    for file, by_number in files.items():
        yield f"<div><i>{html.escape(os.path.basename(file))}</i></div>"
        rows, last = [], 0
        if extent is not None and extent[0] == file and extent[2] - extent[1] < _LINES:
            for number in range(extent[1], extent[2] + 1):
                by_number[number] += ()
        for number in sorted(by_number):
            first = last + 1 if last and number - last <= _GAP else number
            if last and first > last + 1:
                rows.append(_source_line("...", "", ()))
            rows += [
                _source_line(str(k), linecache.getline(file, k), by_number.get(k, ()))
                for k in range(first, number + 1)
            ]
            last = number
        yield f'<div style="{_BOX}"><pre style="{_PRE}">{"".join(rows)}</pre></div>'
    if files:
        yield _legend({line.kind for line in lines})


def _source_line(number: str, source: str, lines: Sequence[Line]) -> str:
    said = [f"{x.kind}: {x.why or KINDS[x.kind]}" for x in lines]
    colour = f"background:{_colour([x.kind for x in lines])};" if lines else ""
    note = "  # " + "; ".join(f"{x.kind} {x.why}".strip() for x in lines if x.kind != "compiled")
    note = f'<span style="opacity:.65">{html.escape(note)}</span>' if len(note) > 4 else ""
    text = html.escape(source.rstrip("\n"))
    title = html.escape("\n".join(said), quote=True)
    return f'<span title="{title}" style="{colour}display:block">{number:>5}  {text}{note}</span>'


def _colour(kinds: Iterable[str]) -> str:
    found = set(kinds)
    return next((colour for kind, colour in _HEAT.items() if kind in found), _COMPILED)


def _legend(kinds: Iterable[str]) -> str:
    spans = [
        f'<span style="background:{_colour([kind])};padding:0 .4em" '
        f'title="{html.escape(KINDS[kind], quote=True)}">{html.escape(kind)}</span>'
        for kind in KINDS
        if kind in set(kinds)
    ]
    return f'<div style="padding-top:.3em">{" ".join(spans)}</div>'


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        inner = (f'<{tag} style="{_CELL}">{html.escape(cell)}</{tag}>' for cell in cells)
        return f"<tr>{''.join(inner)}</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    return f'<table style="border-collapse:collapse">{row(heads, "th")}{body}</table>'


@html_of.register
def _(graph: Graph) -> str:
    return text_html(print_graph(graph))


@html_of.register
def _(lowered: Lowered) -> str:
    name = lowered.graphs["trace"].name
    parts = [f"<div><b>{html.escape(name)}</b>, lowered; a click opens a stage</div>"]
    before: Graph | None = None
    for stage in lowered.stages:
        graph = lowered.graphs.get(stage)
        same = graph is not None and graph is before
        before = graph if graph is not None else before
        if not same:
            taken = lowered.seconds.get(stage)
            title = stage if taken is None else f"{stage}, {taken * 1e3:.1f} ms"
            text = text_html(_text_or_reason(functools.partial(lowered.text, stage)))
            is_open = " open" if stage == "fuse" else ""
            parts.append(
                f"<details{is_open}><summary>{html.escape(title)}</summary>{text}</details>"
            )
    return f"<div>{''.join(parts)}</div>"


def _text_or_reason(text: Callable[[], str]) -> str:
    try:
        return text()
    except TraceError as error:
        return str(error)


@html_of.register
def _(run: Run) -> str:
    seconds: Counter[tuple[str, str]] = Counter()
    count: Counter[tuple[str, str]] = Counter()
    for firing in run.times:
        key = (str(firing.node.where or ""), firing.node.op.name)
        seconds[key] += firing.seconds  # type: ignore[assignment]
        count[key] += 1
    rows = [
        (op, place, str(count[place, op]), f"{taken * 1e6:.1f} us")
        for (place, op), taken in seconds.most_common(20)
    ]
    head = f"<div><b>run</b> of {len(run.times)} nodes, {len(run.outputs)} results</div>"
    return f"<div>{head}{_table(('op', 'line', 'times', 'took'), rows)}</div>"
