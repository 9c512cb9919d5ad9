"""What a function gives for operands of some types, found by calling it on stand-ins for them.

Each case of stand-ins has its own sizes and values: the operands' real values where they are known,
else small arrays whose sizes are all different where the operands' are. What is the same in all
cases is what the result is declared to be. It may turn out to be wrong: the program checks it.
"""

from __future__ import annotations

import itertools
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from tracejit.base.lazy_dataclass import dataclass
from tracejit.frontend.host.functions import may_crash
from tracejit.frontend.tracing.concrete_trace import ConcreteTrace
from tracejit.frontend.tracing.sizes import ShapeEnv
from tracejit.ir.dims import Dim, Poly, evaluate, floordiv, free_symbols
from tracejit.ir.evaluate import evaluate as evaluate_graph
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import ArrayType, NpScalar, Type, dtype_of, shape_of, type_sizes
from tracejit.ops.host.call import call_on
from tracejit.ops.host.functions import Unsuitable, describe

__all__ = ["Example", "Undecided", "infer_by_example", "real_values"]

Array = np.ndarray[Any, Any]

#: Sizes up to this one are taken as they are: three coordinates, two columns.
_SMALL = 4
_SIZES = ((9, 14, 6, 11, 17, 8, 13, 22), (17, 6, 12, 7, 10, 19, 5, 15))
_SMALLER = (1, 2, 3, 5, 9)
_UNKNOWN = 5
#: Elements of all operands together, for calls on the sizes or values that there are.
_MUCH = 2**17
_NODES = 300
#: Crashes on stand-ins of one call, and the seconds that a child may take for one of them.
_CRASHES, _PATIENCE = 4, 10.0


class Undecided(Exception):
    """No result on any stand-in, or results of different types."""


@dataclass
class Example:
    """A result: the template of its containers, and its leaves as `describe` gives them.

    A size is made of the operands' or a number; None where it depends on values, `(k,)` where it is
    the same as number k of those.
    """

    result: Any
    types: tuple[Any, ...]


@dataclass
class _Case:
    """The sizes that symbols, and constant sizes, have in one call; `values` the operands.

    Cases of a later group are tried where no stand-ins of the groups before have given a result.
    """

    symbols: Mapping[str, int]
    constants: Mapping[int, int] = field(default_factory=dict)
    kind: int = 0
    group: int = 0
    values: Sequence[Any] | None = None
    result: Any = None
    types: list[Any] = field(default_factory=list)

    def size(self, d: Dim) -> int:
        return self.constants.get(d, d) if isinstance(d, int) else evaluate(d, self.symbols)


#: The template and the types of a result, or None.
_Outcome: TypeAlias = tuple[Any, list[Any]] | None


def infer_by_example(
    function: Callable[..., Any],
    attrs: Mapping[str, Any],
    types: Sequence[Type],
    dims: Mapping[int, Dim],
    real: Sequence[Any] | None,
    env: ShapeEnv,
    is_exact: bool = False,
) -> Example:
    """What `function` gives for operands of `types`.

    `attrs` has the templates of its arguments, `dims` the sizes that operands are the values of,
    `real` the operands' values in the present call, if they are known; `is_exact` says that the
    call is for these values alone. Raises Undecided.
    """
    call = partial(_call, function, attrs, types, dims)
    cases = list(_cases(types, dims, real, env))
    outcomes = list(_outcomes(call, cases[:1], ())) if is_exact else []
    if not any(outcomes):
        if may_crash(attrs["function"]):
            outcomes = _outcomes_apart(call, cases, outcomes)
        else:
            outcomes += _outcomes(call, cases, outcomes)
    found = []
    for case, outcome in zip(cases, outcomes, strict=False):
        if outcome is not None:
            case.result, case.types = outcome
            found.append(case)
    if not found:
        raise Undecided("it raises, or crashes, for whatever it is given while compiling")
    first = found[0]
    if first.values is None:
        usual = [c for c in found if c.kind in (0, 3)] or found
        first = usual[0]
        if any(_form(c) != _form(first) for c in usual):
            raise Undecided("the type of its result depends on values")
    alike = [c for c in found if _form(c) == _form(first)]
    bases = list(dict.fromkeys([*(d for t in types for d in shape_of(t)), *dims.values()]))
    unknown: list[list[int]] = []
    leaves = [
        _leaf([c.types[k] for c in alike], alike, bases, unknown, env)
        for k in range(len(first.types))
    ]
    return Example(first.result, tuple(leaves))


# Calls -------------------------------------------------------------------------------------------


def _outcomes(
    call: Callable[[_Case], _Outcome], cases: Sequence[_Case], known: Sequence[_Outcome]
) -> Iterator[_Outcome]:
    """Yields what calls give for the cases behind those that are known. Raises Undecided."""
    outcomes = list(known)
    before = _random_state()
    drawn = pickle.dumps(before)
    try:
        while not _is_enough(cases, outcomes):
            outcomes.append(call(cases[len(outcomes)]))
            yield outcomes[-1]
    finally:
        has_drawn = pickle.dumps(_random_state()) != drawn
        if has_drawn:
            sys.modules["numpy.random.mtrand"].set_state(before)
    if has_drawn:
        raise Undecided("a function that draws random numbers")


def _is_enough(cases: Sequence[_Case], outcomes: Sequence[_Outcome]) -> bool:
    n = len(outcomes)
    if n in (0, len(cases)) or cases[n].group == cases[n - 1].group:
        return n == len(cases)
    return any(c.values is None and o for c, o in zip(cases, outcomes, strict=False))


def _outcomes_apart(
    call: Callable[[_Case], _Outcome], cases: Sequence[_Case], known: Sequence[_Outcome]
) -> list[_Outcome]:
    """The outcomes of all cases, called in child processes. Raises Undecided."""
    from tracejit.frontend.host.child_process import ChildCrashed, yielded_in_child

    outcomes, crashes = list(known), 0

    def told() -> Iterator[_Outcome | str]:
        try:
            yield from _outcomes(call, cases, outcomes)
        except Undecided as e:
            yield str(e)

    while not _is_enough(cases, outcomes):
        try:
            for outcome in yielded_in_child(told(), _PATIENCE):
                if isinstance(outcome, str):
                    raise Undecided(outcome)
                outcomes.append(outcome)
        except ChildCrashed:
            outcomes.append(None)
            crashes += 1
            if crashes > _CRASHES:
                raise Undecided("it crashes for what it is given while compiling") from None
        except TimeoutError:
            raise Undecided(f"what it gives is not known after {_PATIENCE:g} s") from None
        except OSError as e:
            raise Undecided(f"it might crash, and there is no child process: {e}") from None
    return outcomes


# Cases -------------------------------------------------------------------------------------------


def _cases(
    types: Sequence[Type], dims: Mapping[int, Dim], real: Sequence[Any] | None, env: ShapeEnv
) -> Iterator[_Case]:
    """The cases in groups: real values, small sizes, then the present ones."""
    used = list(dict.fromkeys([*(d for t in types for d in shape_of(t)), *dims.values()]))
    names = sorted({s for d in used for s in free_symbols(d)})
    present = {s: env.hints.get(s, _UNKNOWN) for s in names}
    constants = [d for d in used if isinstance(d, int) and d > _SMALL]
    if real is not None:
        yield _Case(present, values=real)
    if not names and not constants:
        yield from (_Case({}, kind=k, group=1) for k in range(4))
        return
    for sizes in _small_sizes(names, constants, used):
        yield from (_Case(*sizes, kind=k, group=1) for k in range(4))
    elements = sum(_elements(t, present) for t in types)
    for k in range(4 if elements < _MUCH else 1):
        yield _Case(present, kind=k, group=2)


def _small_sizes(
    names: Sequence[str], constants: Sequence[int], used: Sequence[Dim]
) -> list[tuple[dict[str, int], dict[int, int]]]:
    """Two choices of what symbols and constants are, such that each size differs, if they can be.

    What is left of an array behind a place is nothing where the place is too large.
    """
    usual: list[tuple[dict[str, int], dict[int, int]]] = []
    for smaller in _SMALLER:
        pair = []
        for sizes in _SIZES:
            many = iter([*sizes, *range(23, 23 + 2 * len(used), 2)])
            chosen = {s: next(many) // smaller for s in names}
            pair.append((chosen, {d: next(many) for d in constants}))
        lengths = [[evaluate(d, chosen) for chosen, _ in pair] for d in used if isinstance(d, Poly)]
        if all(min(two) > 0 and two[0] != two[1] for two in lengths):
            return pair
        usual = pair if smaller == 1 else usual
    return usual


def _elements(t: Type, symbols: Mapping[str, int]) -> int:
    return int(np.prod([max(evaluate(d, symbols), 0) for d in shape_of(t)]))


def _call(
    function: Callable[..., Any],
    attrs: Mapping[str, Any],
    types: Sequence[Type],
    dims: Mapping[int, Dim],
    case: _Case,
) -> _Outcome:
    """What the function gives; None where it raises. Raises Undecided where no graph holds it."""
    try:
        if case.values is not None:
            given = [np.array(x) if isinstance(x, np.ndarray) else x for x in case.values]
        else:
            given = [_placeholder(t, dims.get(k), case) for k, t in enumerate(types)]
        before = [x.tobytes() if isinstance(x, np.ndarray) else b"" for x in given]
        # LAPACK prints a note of each NaN that zeros and ones make on the way to it.
        how: Any = "raise" if case.values is None and case.kind in (1, 2) else "ignore"
        with np.errstate(all="ignore", invalid=how, divide=how), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result, leaves = call_on(function, attrs, given)
        outcome = result, [describe(x) for x in leaves]
    except Unsuitable as e:
        raise Undecided(str(e)) from None
    except Exception:
        return None
    if any(
        isinstance(x, np.ndarray) and x.tobytes() != b for x, b in zip(given, before, strict=True)
    ):
        raise Undecided("a function that stores into its arguments")
    return outcome


def _placeholder(t: Type, dim: Dim | None, case: _Case) -> Any:
    """A value of type `t`. Raises ValueError where the case has no size for it."""
    if dim is not None:
        return case.size(dim)
    dtype = dtype_of(t)
    if isinstance(t, ArrayType):
        shape = tuple(case.size(d) for d in t.shape)
        if min(shape, default=0) < 0:
            raise ValueError("a negative size")
        array = _elements_of(dtype, tuple(shape[a] for a in t.order), case.kind)
        return array.transpose(np.argsort(t.order))
    number = {"b": (True, True, False, True), "f": (0.5, 1.0, 0.0, 0.75)}.get(
        "f" if dtype.kind == "c" else dtype.kind, (2, 1, 0, 3)
    )[case.kind]
    return dtype.type(number) if isinstance(t, NpScalar) else dtype.type(number).item()


def _elements_of(dtype: np.dtype[Any], shape: tuple[int, ...], kind: int) -> Array:
    """Increasing numbers, or a well-conditioned matrix; ones; zeros; numbers in no order."""
    count = int(np.prod(shape))
    if kind in (1, 2):
        return np.full(shape, 2 - kind, dtype)
    place = np.arange(count)
    if dtype.kind == "b":
        flat = place % 3 == 0
    elif dtype.kind in "iu":
        flat = place % 4 if kind == 0 else place * 7 % 5
    elif kind == 3:
        flat = np.cos(place * 2.4 + 1)
    elif len(shape) > 1 and shape[-1] == shape[-2]:
        n = shape[-1]
        near = 0.5 ** abs(np.subtract.outer(np.arange(n), np.arange(n)))
        return np.broadcast_to(near + np.eye(n), shape).astype(dtype, "C")
    else:
        flat = (place + 1) / (count + 1)
    return np.array(flat).astype(dtype).reshape(shape)


def _random_state() -> Any:
    """What NumPy's global random numbers will be."""
    module = sys.modules.get("numpy.random.mtrand")
    return None if module is None else module.get_state(legacy=False)


# Results -----------------------------------------------------------------------------------------


def _form(case: _Case) -> Any:
    """A result but for sizes and orders."""
    kinds = [(*t[:2], len(t[2])) if t[0] == "array" else t for t in case.types]
    return case.result, kinds


def _leaf(
    found: Sequence[Any],
    cases: Sequence[_Case],
    bases: Sequence[Dim],
    unknown: list[list[int]],
    env: ShapeEnv,
) -> Any:
    """What cases have in common; `unknown` are the lengths so far that depend on values."""
    first = found[0]
    if first[0] != "array":
        return first
    shape: list[Any] = []
    for axis in range(len(first[2])):
        lengths = [t[2][axis] for t in found]
        size: Any = _fitted(lengths, cases, bases, env)
        if size is None and lengths in unknown:
            size = (unknown.index(lengths),)
        elif size is None:
            unknown.append(lengths)
        shape.append(size)
    orders = {t[3] for t in found}
    return "array", first[1], tuple(shape), first[3] if len(orders) == 1 else ()


def _fitted(
    lengths: Sequence[int], cases: Sequence[_Case], bases: Sequence[Dim], env: ShapeEnv
) -> Dim | None:
    """The size that is `lengths` in these cases, of those that results have; None for none."""
    if any(isinstance(d, Poly) and len({c.size(d) for c in cases}) == 1 for d in bases):
        return None
    if len(set(lengths)) == 1:
        return lengths[0]
    for parts, rule in _candidates(bases):
        if [rule(min, max, *map(c.size, parts)) for c in cases] == list(lengths):
            d: Dim = rule(env.minimum, env.maximum, *parts)
            return d if env.fits(d) else None
    return None


_Rule: TypeAlias = Callable[..., Any]

#: The sizes that results commonly have, made of one size or two of the operands: `low` and `high`
#: are the smaller and the larger of two.
_OF_ONE: tuple[_Rule, ...] = (
    lambda low, high, a: a - 1,
    lambda low, high, a: a + 1,
    lambda low, high, a: floordiv(a, 2) + 1,
    lambda low, high, a: 2 * a,
    lambda low, high, a: 2 * a - 2,
    lambda low, high, a: 2 * a - 1,
    lambda low, high, a: a * a,
)
_OF_TWO: tuple[_Rule, ...] = (
    lambda low, high, a, b: low(a, b),
    lambda low, high, a, b: high(a, b),
    lambda low, high, a, b: a + b,
    lambda low, high, a, b: a + b - 1,
    lambda low, high, a, b: high(a, b) - low(a, b) + 1,
    lambda low, high, a, b: a * b,
)


def _candidates(bases: Sequence[Dim]) -> Iterator[tuple[tuple[Dim, ...], _Rule]]:
    """The sizes to try, the plainest first."""
    for a in bases:
        yield (a,), lambda low, high, a: a
    for a in bases:
        for rule in _OF_ONE:
            yield (a,), rule
    for a, b in itertools.combinations(bases, 2):
        for rule in _OF_TWO:
            yield (a, b), rule


# Real values -------------------------------------------------------------------------------------


def real_values(trace: Any, values: Sequence[Value]) -> list[Any] | None:
    """What values are in the present call, where little work tells it; else None."""
    if isinstance(trace, ConcreteTrace):
        return [trace.concrete(v) for v in values]
    outer: list[Value] = []
    for v in values:
        region, found = trace, v
        while region.parent is not None:
            origin = [o for o, i in region.captures.items() if i is found]
            if not origin:
                return None
            region, found = region.parent, origin[0]
        outer.append(found)
    root = trace.root
    nodes = _needed(root.builder.nodes, outer)
    if nodes is None or not set(root.builder.inputs) <= root.samples.keys():
        return None
    sizes = {s: root.env.hints[s] for s in root.builder.sizes if s in root.env.hints}
    inputs = tuple(root.builder.inputs)
    known = {s for n in nodes for s in n.binds} | sizes.keys()
    read = {s for n in nodes for s in n.sizes().union(*(type_sizes(v.type) for v in n.outputs))}
    if not read <= known:
        return None
    graph = Graph("prefix", tuple(sizes), inputs, tuple(nodes), tuple(outer))
    elements = [
        _elements(v.type, {**root.env.hints, **dict.fromkeys(known - sizes.keys(), 9)})
        for v in [*outer, *(o for n in nodes for o in n.outputs)]
    ]
    if sum(elements) > _MUCH:
        return None
    try:
        return list(evaluate_graph(graph, [root.samples[v] for v in inputs], sizes))
    except Exception:
        return None


def _needed(nodes: Sequence[Node], values: Sequence[Value]) -> list[Node] | None:
    """The nodes that values depend on; None where there are many, or ones with regions."""
    wanted: set[Value] = set(values)
    sizes: set[str] = set().union(*(type_sizes(v.type) for v in values))
    found: list[Node] = []
    for node in reversed(nodes):
        if wanted.isdisjoint(node.outputs) and sizes.isdisjoint(node.binds):
            continue
        if node.regions or not node.op.pure or len(found) > _NODES:
            return None
        found.append(node)
        wanted.update(node.inputs)
        sizes |= node.sizes().union(*(type_sizes(v.type) for v in node.outputs))
    return found[::-1]
