"""Graphs to text; the grammar is in syntax.py."""

from __future__ import annotations

import keyword
import math
import re
import unicodedata
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from tracejit.errors import GraphError, Where
from tracejit.ir.dims import Poly
from tracejit.ir.graph import Attr, ConstArray, Graph, Node, Value
from tracejit.ir.types import ArrayType, dtype_name

__all__ = [
    "NameTable",
    "TextLine",
    "constant_hash",
    "def_lines",
    "graph_lines",
    "identifier",
    "name_values",
    "node_line",
    "node_lines",
    "print_graph",
    "results_line",
]

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Constant arrays of more elements are written to the side table.
_INLINE_ELEMENTS = 16
_COMMENT_COLUMN = 72
_RESERVED_SIZES = {"inf", "nan"}


class TextLine(str):
    """A line of text that stands for something from a place in the user's source."""

    __slots__ = ("where",)
    where: Where | None

    def __new__(cls, text: str, where: Where | None) -> TextLine:
        """The line with its place."""
        line = super().__new__(cls, text)
        line.where = where
        return line

    def __getnewargs__(self) -> tuple[str, Where | None]:  # type: ignore[override]
        return str(self), self.where


def graph_lines(graph: Graph) -> list[str]:
    """The lines of `print_graph`; those of nodes are `TextLine`s."""
    return list(_graph_lines(graph, None, ""))


def print_graph(graph: Graph, constants: dict[str, Array] | None = None) -> str:
    """The text of `graph`; its large constants are added to `constants` by their hash.

    Raises GraphError for what has no text: an attribute of another kind, a size named `inf`.
    """
    return "\n".join(_graph_lines(graph, constants, "")) + "\n"


def name_values(graph: Graph) -> None:
    """Give every value the name that it prints under.

    What a pass puts in its place inherits the name: the texts of two stages can be compared.
    """
    names = NameTable(graph)
    for value in [*graph.inputs, *(v for node in graph.nodes for v in node.outputs)]:
        value.name = names.value(value)
    for node in graph.nodes:
        for region in node.regions:
            name_values(region)


def node_lines(graph: Graph, start: int, stop: int) -> list[tuple[int, str]]:
    """(node index, line) of the nodes in range(start, stop), for messages; a broken graph too."""
    names = NameTable(graph)
    lines = []
    for i in range(max(start, 0), min(stop, len(graph.nodes))):
        try:
            lines.append((i, node_line(graph.nodes[i], i, names, None)))
        except GraphError as error:
            lines.append((i, f"{graph.nodes[i]!r}  # {error}"))
    return lines


def constant_hash(array: Array) -> str:
    """The name of a constant in the side table: 16 hexadecimal digits of its content's SHA-256."""
    head = f"{dtype_name(array.dtype)}{array.shape}".encode()
    from hashlib import sha256

    return sha256(head + array.tobytes()).hexdigest()[:16]


class NameTable:
    """The names of a graph's values and regions: kept where set and free, numbered otherwise."""

    def __init__(self, graph: Graph) -> None:
        wanted: list[tuple[object, str]] = [(v, v.name) for v in graph.inputs]
        taken = set(graph.sizes)
        for i, node in enumerate(graph.nodes):
            taken.update(node.binds)
            wanted += [((i, k), identifier(r.name)) for k, r in enumerate(node.regions)]
            wanted += [(v, v.name) for v in node.outputs]
        for size in taken:
            if size in _RESERVED_SIZES or not _is_name(size):
                raise GraphError(f"a size cannot be called {size!r}")
        wanted = [(key, name if _is_name(name) else "") for key, name in wanted]
        given = {name for _, name in wanted}
        next_number: dict[str, int] = {}
        self._names: dict[object, str] = {}
        for key, name in wanted:
            if not name or name in taken:
                base = name or "v"
                number = next_number.get(base, 1 if name else 0)
                while f"{base}{number}" in taken or f"{base}{number}" in given:
                    number += 1
                next_number[base] = number + 1
                name = f"{base}{number}"
            taken.add(name)
            self._names[key] = name

    def value(self, v: Value) -> str:
        """The name of a value; for one that the graph does not define, a text that says so."""
        return self._names.get(v) or f"<undefined {v.name}>"

    def region(self, node_index: int, region_index: int) -> str:
        """The name of a node's region."""
        return self._names[node_index, region_index]


def _is_name(name: str) -> bool:
    if not name.isidentifier() or keyword.iskeyword(name):
        return False
    # Python normalises identifiers as it parses them.
    return name.isascii() or unicodedata.normalize("NFKC", name) == name


def identifier(name: str) -> str:
    """`name`, or something like it that can be a Python identifier (`<lambda>`)."""
    if _is_name(name):
        return name
    plain = re.sub(r"\W", "", name, flags=re.ASCII)
    return plain if _is_name(plain) else f"{plain}_" if _is_name(f"{plain}_") else f"_{plain}"


def _graph_lines(graph: Graph, constants: dict[str, Array] | None, indent: str) -> Iterator[str]:
    yield from def_lines(graph, identifier(graph.name), constants, indent)


def def_lines(
    graph: Graph, name: str, constants: dict[str, Array] | None, indent: str
) -> Iterator[str]:
    """A graph, or a region, as a function called `name`."""
    names = NameTable(graph)
    yield from results_line(graph.results, indent)
    params = [f"{s}: size" for s in graph.sizes]
    params += [f"{names.value(v)}: {v.type}" for v in graph.inputs]
    yield f"{indent}def {name}({', '.join(params)}):"
    inner = indent + "    "
    for i, node in enumerate(graph.nodes):
        for k, region in enumerate(node.regions):
            yield from def_lines(region, names.region(i, k), constants, inner)
        yield TextLine(inner + node_line(node, i, names, constants, len(inner)), node.where)
    outputs = [names.value(v) for v in graph.outputs]
    outputs += [f"size({d})" for d in graph.size_outputs]
    yield f"{inner}return {', '.join(outputs)}".rstrip()


def results_line(results: tuple[str, ...], indent: str = "") -> Iterator[str]:
    """The decorator that says what the results are, unless every one is fresh."""
    if any(r != "fresh" for r in results):
        yield f"{indent}@results({', '.join(_string(r) for r in results)})"


def node_line(
    node: Node, index: int, names: NameTable, constants: dict[str, Array] | None, indent: int = 0
) -> str:
    """Node `index` of the graph that `names` was made for; its regions stand before it."""
    arguments = [names.value(v) for v in node.inputs]
    arguments += [f"{k}={_attr_text(a, constants)}" for k, a in node.attrs.items()]
    if node.regions:
        regions = [names.region(index, k) for k in range(len(node.regions))]
        arguments.append(f"regions={_tuple(regions)}")
    if node.binds:
        arguments.append(f"binds={_tuple(list(node.binds))}")
    call = f"{node.op.name}({', '.join(arguments)})"
    targets = [names.value(v) for v in node.outputs]
    match node.outputs:
        case ():
            line = call
        case (only,):
            line = f"{targets[0]}: {only.type} = {call}"
        case several:
            types = ", ".join(str(v.type) for v in several)
            line = f"{', '.join(targets)} = typed({call}, {types})"
    if node.where is not None:
        place = " ".join(str(node.where).split())
        line = f"{line.ljust(_COMMENT_COLUMN - indent)}  # {place}"
    return line


def _tuple(items: list[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _string(text: str) -> str:
    quoted = repr(text)
    return f'"{quoted[1:-1]}"' if quoted[0] == "'" and '"' not in quoted else quoted


def _attr_text(attr: Attr, constants: dict[str, Array] | None) -> str:
    # Exact types: a subclass such as np.float64 would come back as another one.
    if type(attr) is str:
        return _string(attr)
    if attr is None or type(attr) in (bool, int, float):
        return repr(attr)
    if type(attr) is complex:
        return f"complex({attr.real!r}, {attr.imag!r})"
    if isinstance(attr, Poly):
        return str(attr)
    if isinstance(attr, ConstArray):
        return _array_text(attr.array, constants)
    if type(attr) is tuple:
        return _tuple([_attr_text(a, constants) for a in attr])
    raise GraphError(f"an attribute of type {type(attr).__name__} has no text: {attr!r}")


def _plain_nans(number: Any) -> Any:
    """`number` as it is read back: the text of a NaN has neither sign nor payload."""
    if isinstance(number, complex):
        return complex(_plain_nans(number.real), _plain_nans(number.imag))
    return math.nan if number != number else number


def _array_text(array: Array, constants: dict[str, Array] | None) -> str:
    kind = ArrayType(array.dtype, array.shape)
    if array.size <= _INLINE_ELEMENTS:
        elements = array.ravel().tolist()
        written = [_plain_nans(e) for e in elements]
        if np.array(written, array.dtype).tobytes() == array.tobytes():
            return f"array({', '.join([str(kind), *(_attr_text(e, None) for e in elements)])})"
    name = constant_hash(array)
    if constants is not None:
        constants[name] = array
    return f'table({kind}, "{name}")'
