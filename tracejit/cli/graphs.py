"""`tracejit opt`, `lower`, `run` and `diff`: what can be done with the text of a graph."""

from __future__ import annotations

import ast
import difflib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tracejit.ops  # noqa: F401 - fills the registry
from tracejit.cli.errors import Failure, Usage
from tracejit.cli.show import example
from tracejit.errors import Bailout, GraphError
from tracejit.ir.evaluate import evaluate
from tracejit.ir.graph import Graph
from tracejit.ir.text.syntax import parse_graph, print_graph
from tracejit.ir.types import ArrayType, NpScalar, PyScalar, type_substitute
from tracejit.ir.verify import verify
from tracejit.passes.manager import PASSES, run_passes

__all__ = ["diff", "lower", "opt", "run"]

_DEFAULT_SIZE = 8


def opt(file: str, passes: str | None, each: bool) -> int:
    """Print a graph after the passes; with `each`, the difference that every one makes."""
    named = {step.__name__: step for step in PASSES}
    names = list(named) if passes is None else [p.strip() for p in passes.split(",") if p.strip()]
    unknown = [name for name in names if name not in named]
    if unknown:
        raise Usage(f"there is no pass {unknown[0]}; there are {', '.join(named)}")
    graph = _read(file)
    texts = [("before", print_graph(graph))]

    def observe(name: str, after: Graph, seconds: float) -> None:
        texts.append((name, print_graph(after)))

    try:
        run_passes(graph, verify=True, observe=observe, passes=[named[name] for name in names])
    except GraphError as error:
        raise Failure(str(error)) from None
    if each:
        _print_differences(texts)
    else:
        print(texts[-1][1], end="")
    return 0


def lower(file: str, backend: str) -> int:
    """Print the LLVM text or the kernels of a graph."""
    from tracejit.runtime.compile.graph_call import lower_graph

    graph = _read(file)
    try:
        print(lower_graph(graph, backend).rstrip("\n"))
    except (GraphError, NotImplementedError) as error:
        raise Failure(f"{file} cannot be lowered: {error}") from None
    return 0


def run(
    file: str,
    *,
    inputs: str | None,
    sizes: str,
    seed: int,
    backend: str,
    compare: bool,
    each: bool,
) -> int:
    """Run a graph on arrays of a file or on random ones; print or compare the results.

    With `each`, compare what it gives before the passes and after each of them.
    """
    graph = _read(file)
    values = _random(graph, sizes, seed) if inputs is None else _load(graph, inputs)
    if each:
        return _run_each(graph, values)
    backends = ("numpy", "llvm") if compare else (backend,)
    results = [_run_on(graph, values, name) for name in backends]
    if not compare:
        for name, result in zip(_names(graph), results[0], strict=True):
            print(f"{name} = {np.array2string(np.asarray(result), threshold=20)}")
        return 0
    exact = _is_exact(graph)
    agree = True
    for name, expected, found in zip(_names(graph), *results, strict=True):
        same, text = _compare(expected, found, exact)
        agree = agree and same
        print(f"{name}: {text}")
    return 0 if agree else 1


def _run_each(graph: Graph, values: list[Any]) -> int:
    """Print where results begin to differ: after a pass, or in native code."""
    expected, exact = _run_on(graph, values, "numpy"), _is_exact(graph)

    def differs(name: str, after: Graph, backend: str) -> bool:
        found = _run_on(after, values, backend)
        for result, a, b in zip(_names(graph), expected, found, strict=True):
            same, text = _compare(a, b, exact)
            if not same:
                print(f"{name}: {result}: {text}")
                return True
        print(f"{name}: the same")
        return False

    after = graph
    for step in PASSES:
        after, before = step(after), after
        if after is not before and differs(step.__name__, after, "numpy"):
            return 1
    return int(differs("native code", graph, "llvm"))


def diff(folder: str) -> int:
    """Print what each stage of a dump changed; for each compile if it holds several."""
    from tracejit.runtime.compile.dump import graph_files

    root = Path(folder)
    if not root.is_dir():
        raise Failure(f"there is no folder {folder}")
    folders = [root] if graph_files(root) else sorted(p for p in root.iterdir() if graph_files(p))
    if not folders:
        raise Failure(f"{folder} holds no dump: no file such as 00-trace.graph")
    for one in folders:
        if len(folders) > 1:
            print(f"=== {one.name}")
        files = graph_files(one)
        _print_differences([(f.stem, f.read_text(encoding="utf-8")) for f in files])
    return 0


def _print_differences(texts: Sequence[tuple[str, str]]) -> None:
    for (old, before), (new, after) in zip(texts, texts[1:], strict=False):
        if before == after:
            print(f"--- {old}\n+++ {new}\n    no change")
            continue
        lines = difflib.unified_diff(
            before.splitlines(), after.splitlines(), old, new, n=2, lineterm=""
        )
        print("\n".join(lines))


def _read(file: str) -> Graph:
    """The graph of a file; its constants lie beside it, in FILE.npz or constants.npz."""
    constants: dict[str, Any] = {}
    try:
        if file == "-":
            text = sys.stdin.read()
        else:
            path = Path(file)
            text = path.read_text(encoding="utf-8")
            for table in (path.parent / "constants.npz", path.with_suffix(".npz")):
                if table.is_file():
                    with np.load(table, allow_pickle=False) as arrays:
                        constants.update(arrays)
        graph = parse_graph(text, constants, file)
        verify(graph)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        # A GraphError is a ValueError; its message names the line.
        raise Failure(str(error)) from None
    return graph


def _names(graph: Graph) -> list[str]:
    return [v.name or f"result {k}" for k, v in enumerate(graph.outputs)]


def _random(graph: Graph, text: str, seed: int) -> list[Any]:
    sizes: dict[str, Any] = dict.fromkeys(graph.sizes, _DEFAULT_SIZE)
    try:
        keywords = ast.parse(f"f({text})", mode="eval").body
        assert isinstance(keywords, ast.Call)
        given = {k.arg or "**": ast.literal_eval(k.value) for k in keywords.keywords}
    except (SyntaxError, ValueError, AssertionError):
        raise Usage(f'--sizes cannot be read: {text!r}; write "n=8, m=3"') from None
    for name, size in given.items():
        if name not in sizes:
            raise Usage(f"the graph has no size {name}; it has {', '.join(sizes) or 'none'}")
        if type(size) is not int or size < 0:
            raise Usage(f"the size {name} is not a number from 0: {size!r}")
    sizes |= given
    rng = np.random.default_rng(seed)
    try:
        return [example(type_substitute(v.type, sizes), rng) for v in graph.inputs]
    except ValueError as error:
        raise Failure(f"no random inputs: {error}") from None


def _load(graph: Graph, file: str) -> list[Any]:
    try:
        with np.load(file, allow_pickle=False) as arrays:
            table = dict(arrays)
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise Failure(f"cannot read {file}: {error}") from None
    values = []
    for k, v in enumerate(graph.inputs):
        name = v.name if v.name in table else f"arr_{k}"
        if name not in table:
            raise Failure(f"{file} holds neither {v.name} nor {name}")
        value = table[name]
        if isinstance(v.type, (NpScalar, PyScalar)) and value.shape == ():
            value = value[()] if isinstance(v.type, NpScalar) else value.item()
        values.append(value)
    return values


def _run_on(graph: Graph, values: list[Any], backend: str) -> tuple[Any, ...]:
    from tracejit.runtime.compile.graph_call import run_graph

    try:
        if backend == "numpy":
            return evaluate(graph, values)[: len(graph.outputs)]
        return run_graph(graph, values)
    except (GraphError, NotImplementedError) as error:
        raise Failure(f"{graph.name}: {error}") from None
    except Bailout as error:
        raise Failure(f"{graph.name} bails out: {error}") from None


def _is_exact(graph: Graph) -> bool:
    nodes = list(graph.nodes)
    return all(
        n.op.parity_of([v.type for v in n.inputs]) == "exact"
        and all(_is_exact(region) for region in n.regions)
        for n in nodes
    )


def _compare(expected: Any, found: Any, exact: bool) -> tuple[bool, str]:
    """Whether two results agree, and how far; `exact`: to the last bit, all NaNs being one."""
    a, b = np.asarray(expected), np.asarray(found)
    if (a.dtype, a.shape, type(expected)) != (b.dtype, b.shape, type(found)):
        kinds = [
            f"{type(x).__name__} {ArrayType(y.dtype, y.shape)}"
            for x, y in ((expected, a), (found, b))
        ]
        return False, f"DIFFERENT: {kinds[0]} and {kinds[1]}"
    if a.dtype.kind not in "fc":
        same = bool(np.array_equal(a, b))
        return same, "equal" if same else "different"
    parts = [(a.real, b.real), (a.imag, b.imag)] if a.dtype.kind == "c" else [(a, b)]
    both_nan = [np.isnan(x) & np.isnan(y) for x, y in parts]
    bits = [
        (x == y) & (np.signbit(x) == np.signbit(y)) | nan
        for (x, y), nan in zip(parts, both_nan, strict=True)
    ]
    if all(m.all() for m in bits):
        return True, "equal to the last bit"
    with np.errstate(all="ignore"):
        error = np.where(np.logical_and.reduce(both_nan) | (a == b), 0.0, np.abs(a - b))
        scale = np.max(np.abs(a), initial=0.0, where=np.isfinite(a))
    largest = float(np.max(error, initial=0.0))
    eps = float(np.finfo(a.dtype).eps)
    # Sums in another order, and functions within some units in the last place.
    close = bool(largest <= 64 * eps * float(scale) * max(1.0, a.size) ** 0.5)
    agrees = close and not exact
    text = (
        f"largest difference {largest:.3g}, {largest / (eps * scale or eps):.1f} eps of the largest"
    )
    return agrees, text if agrees else f"DIFFERENT: {text}"
