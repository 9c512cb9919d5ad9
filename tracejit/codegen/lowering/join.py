"""Two kernels over the same rows become one: what one row leaves is still close when it is read.

    for i: r = max of x[i, :]; m[i] = r          for i: for j: e[i, j] = exp(x[i, j] - m[i]) ...
    ->  for i: { r = max of x[i, :]; m[i] = r; for j: e[i, j] = exp(x[i, j] - m[i]) ... }

Both are one nest whose outer loops have the same sizes, as many as there are around the reduction
of a row. Of memory that one of them writes each row has a part of its own, in both: what a row
reads is never what another one writes. A block then has a row for all of it, and reads it from
memory once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.affine import split_linear
from tracejit.codegen.lowering.collapse import map_dims
from tracejit.ir.dims import Dim, bounds, floordiv, prod, substitute, symbol
from tracejit.ir.kernel import (
    Call,
    Carry,
    Expr,
    For,
    IndexValue,
    Kernel,
    Let,
    Load,
    Reduce,
    ScanLoop,
    Stmt,
    Store,
    Target,
    Var,
    expressions,
    inner_bodies,
)

__all__ = [
    "Stage",
    "accesses",
    "apart",
    "fresh",
    "join",
    "loops_in",
    "names_of",
    "renamed",
    "row_loops",
    "rows_of",
]


#: Elements of a row, at least, of which loops over all elements become loops over each row's.
_LEAST = 16


@dataclass(frozen=True)
class Stage:
    """So many statements of each row, and whether the rows may run in lanes."""

    statements: int
    vector: bool


def join(
    first: Kernel, second: Kernel, *, several: bool = False
) -> tuple[Kernel, Stage, Stage] | None:
    """One kernel that does what both do one after the other, and what each does; or None.

    Parameters and sizes of the same name are the same; names that kernels bind may not be. With
    `several` a loop of one may become as many as there are of the other.
    """
    if not all(len(k.body) == 1 for k in (first, second)):
        return None
    depths = {rows_of(k): k for k in (first, second)}
    depth = max(filter(None, depths), default=None)
    if depth is None or not several and len(depths.keys() - {None}) > 1:
        return None
    sizes = [loop.size for loop in row_loops(depths[depth], depth)]
    if several and None in depths:
        sizes = _as_many(sizes, depths[None])
        depth = len(sizes)
    names = _bound(first.body) | {v.name for v in first.scalars}
    second = _with_fresh_names(second, names)
    nests: list[Stmt | None] = [first.body[0], second.body[0]]
    if several:
        names |= names_of(second) | names_of(first)
        nests = [_in_rows(k.body[0], sizes, names) for k in (first, second)]
    one, other = (None if nest is None else _chain(nest, depth) for nest in nests)
    if one is None or other is None:
        return None
    if [loop.size for loop in one] != [loop.size for loop in other]:
        return None
    stages = [Stage(len(nest[-1].body), nest[-1].vector) for nest in (one, other)]
    table = {b.var: a.var for a, b in zip(one, other, strict=True)}
    inner = tuple(_renamed(s, table) for s in other[-1].body)
    shared = _shared_writes(one[-1].body, inner)
    body: tuple[Stmt, ...] = (*one[-1].body, *inner)
    places, loops = accesses(body) if shared else {}, dict(loops_in(body))
    if not all(apart(one, places[buffer], loops) for buffer in shared):
        return None
    for loop in reversed(one):
        body = (replace(loop, body=body, vector=False),)
    params = {p.name: p for p in first.params}
    for p in second.params:
        known = params.get(p.name)
        params[p.name] = p if known is None else replace(known, output=known.output or p.output)
    scalars = {v.name: v for v in (*first.scalars, *second.scalars)}
    joined = Kernel(
        first.name,
        tuple(params.values()),
        tuple(sorted({*first.sizes, *second.sizes})),
        tuple(scalars.values()),
        body,
    )
    return joined, stages[0], stages[1]


def _as_many(sizes: list[Dim], kernel: Kernel) -> list[Dim]:
    """The sizes of the outermost loops of a nest that go over as much as loops of these sizes."""
    own: list[Dim] = []
    (s,) = kernel.body
    while isinstance(s, For):
        own.append(s.size)
        if len(own) > len(sizes) and prod(own) == prod(sizes):
            return own
        if len(s.body) != 1:
            break
        (s,) = s.body
    return sizes


def _in_rows(s: Stmt, sizes: Sequence[Dim], taken: set[str]) -> Stmt | None:
    """A nest whose outermost loops have these sizes; a loop may be several, which are one in it."""
    if not sizes:
        return s
    if not isinstance(s, For):
        return None
    size, *rest = sizes
    if s.size == size:
        if not rest:
            return s
        inner = _in_rows(s.body[0], rest, taken) if len(s.body) == 1 else None
        return None if inner is None else replace(s, body=(inner,))
    if isinstance(size, int) and size <= 0:
        return None
    each = floordiv(s.size, size)
    # Loops of few elements would not fill lanes.
    if each * size != s.size or not rest and isinstance(each, int) and each < _LEAST:
        return None
    outer = fresh(f"{s.var}_row", taken)
    place = {s.var: symbol(outer) * each + symbol(s.var)}
    body = tuple(map_dims(inner, lambda d: substitute(d, place)) for inner in s.body)
    nest = _in_rows(For(s.var, each, body, s.vector), rest, taken)
    return None if nest is None else For(outer, size, (nest,))


def rows_of(kernel: Kernel) -> int | None:
    """How many loops there are around the first reduction along a row; None without one."""
    depth, body = 0, kernel.body
    while True:
        if any(isinstance(s, Reduce) and s.vector for s in body):
            return depth or None
        if len(body) != 1 or not isinstance(body[0], For):
            return None
        depth, body = depth + 1, body[0].body


def row_loops(kernel: Kernel, depth: int) -> list[For]:
    """The outermost loops of a kernel that is one nest with so many."""
    loops = _chain(kernel.body[0], depth)
    assert loops is not None
    return loops


def _chain(s: Stmt, depth: int) -> list[For] | None:
    """The outermost loops of a nest, so many."""
    out: list[For] = []
    while len(out) < depth:
        if not isinstance(s, For):
            return None
        out.append(s)
        if len(out) < depth:
            if len(s.body) != 1:
                return None
            s = s.body[0]
    return out


def _shared_writes(first: Sequence[Stmt], second: Sequence[Stmt]) -> set[str]:
    from tracejit.codegen.accesses import accessed

    (reads, writes), (others, stores) = accessed(first), accessed(second)
    return (writes & (others | stores)) | (stores & reads)


def loops_in(body: Sequence[Stmt]) -> Iterator[tuple[str, Dim]]:
    """The variables of inner loops, with their sizes."""
    for s in body:
        if isinstance(s, (For, Reduce, ScanLoop)):
            yield s.var, s.size
        for inner in inner_bodies(s):
            yield from loops_in(inner)


def accesses(body: Sequence[Stmt]) -> dict[str, list[tuple[Dim, ...]]]:
    """The buffers that statements access, and where."""
    found: dict[str, list[tuple[Dim, ...]]] = {}
    statements = list(reversed(body))
    while statements:
        s = statements.pop()
        if isinstance(s, Store):
            found.setdefault(s.buffer, []).append(s.index)
        stack, seen = list(expressions(s)), set[int]()
        while stack:
            e = stack.pop()
            if isinstance(e, Load):
                found.setdefault(e.buffer, []).append(e.index)
            elif isinstance(e, Call) and id(e) not in seen:
                seen.add(id(e))
                stack += e.args
        for inner in inner_bodies(s):
            statements += inner
    return found


def apart(
    outer: Sequence[For], places: Sequence[tuple[Dim, ...]], loops: Mapping[str, Dim]
) -> bool:
    """Whether iterations of the outer loops access disjoint parts of a buffer, and access it.

    `loops` are the inner ones.

    The steps of the outer loops are the same everywhere, that of each is the length of what those
    inside of it go over, and the rest stays below the innermost step.
    """
    steps: list[Dim] | None = None
    rests: list[Dim] = []
    for place in places:
        if len(place) != 1:
            return False
        (rest,) = place
        found: list[Dim] = []
        for loop in outer:
            split = split_linear(rest, loop.var)
            if split is None:
                return False
            step, rest = split
            found.append(step)
        if steps is not None and found != steps:
            return False
        steps = found
        rests.append(rest)
    if steps is None:
        return False
    for far, near, loop in zip(steps, steps[1:], outer[1:], strict=False):
        if far - near * loop.size != 0:
            return False
    return all(_below(rest, steps[-1], loops) for rest in rests)


def _below(rest: Dim, step: Dim, loops: Mapping[str, Dim]) -> bool:
    """Whether 0 <= rest < step for all iterations of inner loops."""
    low = high = rest
    for var, size in loops.items():
        split = split_linear(rest, var)
        if split is None or not isinstance(split[0], int):
            return False
        ends = {var: 0}, {var: size - 1}
        first, last = ends if split[0] >= 0 else ends[::-1]
        low, high = substitute(low, first), substitute(high, last)
    if any(not isinstance(d, int) and d.symbols & set(loops) for d in (low, high)):
        return False
    least, room = bounds(low, {})[0], bounds(step - 1 - high, {})[0]
    return least is not None and least >= 0 and room is not None and room >= 0


# Names ------------------------------------------------------------------------------------------


def _bound(body: Sequence[Stmt]) -> set[str]:
    """The names that statements bind."""
    found: set[str] = set()
    for s in body:
        match s:
            case Let(name, _, _):
                found.add(name)
            case For():
                found.add(s.var)
            case Reduce():
                found |= {s.var, *(t.name for t in s.targets), *(n for n, _ in s.quotients)}
            case ScanLoop():
                found |= {s.var, *(c.name for c in s.carries)}
        for inner in inner_bodies(s):
            found |= _bound(inner)
    return found


def names_of(kernel: Kernel) -> set[str]:
    """All names of a kernel."""
    given = {p.name for p in kernel.params} | {v.name for v in kernel.scalars}
    return given | {*kernel.sizes} | _bound(kernel.body)


def fresh(stem: str, taken: set[str]) -> str:
    """A name that is not taken; it is, from now on."""
    name, number = stem, 0
    while name in taken:
        number += 1
        name = f"{stem}{number}"
    taken.add(name)
    return name


def _with_fresh_names(kernel: Kernel, taken: set[str]) -> Kernel:
    """A kernel that binds none of these names."""
    table: dict[str, str] = {}
    own = _bound(kernel.body) | {v.name for v in kernel.scalars}
    for name in sorted(own & taken):
        fresh = f"{name}_b"
        while fresh in taken or fresh in own:
            fresh += "b"
        table[name] = fresh
        own.add(fresh)
    if not table:
        return kernel
    return replace(
        kernel,
        scalars=tuple(replace(v, name=table.get(v.name, v.name)) for v in kernel.scalars),
        body=tuple(_renamed(s, table) for s in kernel.body),
    )


def renamed(kernel: Kernel, table: Mapping[str, str]) -> Kernel:
    """A kernel with other names of its buffers."""
    params = tuple(replace(p, name=table.get(p.name, p.name)) for p in kernel.params)
    return replace(kernel, params=params, body=tuple(_renamed(s, table) for s in kernel.body))


def _renamed(s: Stmt, table: Mapping[str, str]) -> Stmt:
    """A statement with other names, for what it binds and for what it mentions."""
    symbols = {a: symbol(b) for a, b in table.items()}
    made: dict[int, Expr] = {}

    def name(x: str) -> str:
        return table.get(x, x)

    def dim(d: Dim) -> Dim:
        return substitute(d, symbols)

    def expr(e: Expr) -> Expr:
        if id(e) not in made:
            made[id(e)] = other(e)
        return made[id(e)]

    def other(e: Expr) -> Expr:
        match e:
            case Var():
                return replace(e, name=name(e.name))
            case Load():
                return replace(e, buffer=name(e.buffer), index=tuple(map(dim, e.index)))
            case IndexValue():
                return replace(e, dim=dim(e.dim))
            case Call():
                return replace(e, args=tuple(map(expr, e.args)))
        return e

    def target(t: Target) -> Target:
        return replace(t, name=name(t.name), expr=expr(t.expr))

    def carry(c: Carry) -> Carry:
        return replace(c, name=name(c.name), init=expr(c.init), next=expr(c.next))

    def walk(s: Stmt) -> Stmt:
        match s:
            case Let():
                return replace(s, name=name(s.name), expr=expr(s.expr))
            case Store():
                index = tuple(map(dim, s.index))
                return replace(s, buffer=name(s.buffer), index=index, expr=expr(s.expr))
            case For():
                body = tuple(map(walk, s.body))
                return replace(s, var=name(s.var), size=dim(s.size), body=body)
            case Reduce():
                return replace(
                    s,
                    var=name(s.var),
                    size=dim(s.size),
                    body=tuple(map(walk, s.body)),
                    targets=tuple(map(target, s.targets)),
                    quotients=tuple((name(n), dim(d)) for n, d in s.quotients),
                )
            case ScanLoop():
                return replace(
                    s,
                    var=name(s.var),
                    size=dim(s.size),
                    body=tuple(map(walk, s.body)),
                    carries=tuple(map(carry, s.carries)),
                )
        raise NotImplementedError(f"{type(s).__name__} beside rows")

    return walk(s)
