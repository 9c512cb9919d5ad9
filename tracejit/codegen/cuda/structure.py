"""How a kernel's statements divide: what is launched together, how loops lie in each other"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.accesses import accessed
from tracejit.ir.dims import Dim
from tracejit.ir.kernel import (
    Call,
    Check,
    Expr,
    For,
    If,
    Let,
    Load,
    Reduce,
    ScanLoop,
    Stmt,
    Store,
    Var,
    While,
    expressions,
    inner_bodies,
    sizes_in,
)

__all__ = [
    "SHORT",
    "Part",
    "by_rows",
    "checks_index",
    "independent",
    "is_ordered",
    "name_carried",
    "names_bound",
    "names_in",
    "needed",
    "parts_of",
    "sunk",
    "symbols_of",
    "width",
]

#: A row of no more elements is a thread's.
SHORT = 32


@dataclass(frozen=True)
class Part:
    """Statements of the kernel's body that are launched together; `before` binds what they use."""

    kind: str
    before: tuple[Let, ...]
    body: tuple[Stmt, ...]


def parts_of(body: Sequence[Stmt]) -> list[Part] | None:
    """Groups of the statements; None where one of them needs more than the others can give it."""
    lets: list[Let] = []
    out: list[Part] = []
    #: The names that each group binds, which no other may use.
    bound: list[set[str]] = []
    stored: set[str] = set()
    for s in body:
        if isinstance(s, Let) and (not out or out[-1].kind == "nest"):
            lets.append(s)
            continue
        if isinstance(s, Reduce):
            kind = "alone" if is_ordered(s) else "sum"
            out.append(Part(kind, tuple(lets), (s,)))
            bound.append({t.name for t in s.targets})
        elif isinstance(s, (Let, Store)) and out and out[-1].kind in ("sum", "alone"):
            out[-1] = replace(out[-1], body=(*out[-1].body, s))
            bound[-1] |= {s.name} if isinstance(s, Let) else set()
        else:
            out.append(Part("nest", tuple(lets), (s,)))
            bound.append({c.name for c in s.carries} if isinstance(s, ScanLoop) else set())
        stored |= accessed([s])[1]
    if stored & accessed(lets)[0]:
        return None
    for k, part in enumerate(out):
        used = names_in(part.body)
        if any(used & names for j, names in enumerate(bound) if j != k):
            return None
    return [replace(part, before=needed(part.before, part.body)) for part in out]


def needed(lets: Sequence[Let], body: Sequence[Stmt]) -> tuple[Let, ...]:
    """What statements use of the bindings before them, and those that check an index."""
    used = names_in(body)
    out: list[Let] = []
    for s in reversed(lets):
        if s.name in used or checks_index(s.expr):
            out.append(s)
            used |= names_in([s])
    return tuple(reversed(out))


def checks_index(e: Expr) -> bool:
    """Whether an expression checks an index."""
    stack, seen = [e], set[int]()
    while stack:
        e = stack.pop()
        if isinstance(e, Call) and id(e) not in seen:
            seen.add(id(e))
            stack += e.args
            if e.fn == "wrap_index":
                return True
    return False


def symbols_of(body: Sequence[Stmt]) -> set[str]:
    """The names that sizes and places mention."""
    return names_in(body, False)


def names_bound(body: Sequence[Stmt]) -> set[str]:
    """The names that statements bind to values, not to numbers of iterations."""
    found = {s.name for s in body if isinstance(s, Let)}
    for s in body:
        for inner in inner_bodies(s):
            found |= names_bound(inner)
    return found


def names_in(body: Sequence[Stmt], variables: bool = True) -> set[str]:
    """Every name that statements mention, in expressions and in sizes."""
    found: set[str] = set()

    def dim(d: Dim) -> None:
        if not isinstance(d, int):
            found.update(d.symbols)

    def expr(e: Expr, seen: set[int]) -> None:
        if id(e) in seen:
            return
        seen.add(id(e))
        match e:
            case Var(name) if variables:
                found.add(name)
            case Load(_, index):
                for d in index:
                    dim(d)
            case Call(_, args):
                for a in args:
                    expr(a, seen)
            case _:
                if hasattr(e, "dim"):
                    dim(e.dim)

    seen: set[int] = set()
    for s in body:
        for d in sizes_in(s):
            dim(d)
        for e in expressions(s):
            expr(e, seen)
        for inner in inner_bodies(s):
            found |= names_in(inner, variables)
    return found


def is_ordered(s: Reduce) -> bool:
    """Whether a reduction has to go from left to right.

    Products of floats may leave the range between. Whether they can is seen when all factors are
    known, and those that can are formed once more: not where that would store twice. (Products of
    halves are in single precision, as NumPy's.)
    """
    products = [t for t in s.targets if t.combine == "prod" and t.dtype[0] == "f"]
    kinds = {t.dtype for t in products if t.identity is None}
    return "f16" in kinds or bool(kinds and accessed(s.body)[1])


def name_carried(s: ScanLoop) -> str:
    """The name of what is carried on."""
    (c,) = s.carries
    assert isinstance(c.next, Var)
    return c.next.name


def independent(s: Stmt) -> For | None:
    """A loop whose iterations may run side by side: also one in order that only checks."""
    if isinstance(s, For):
        return s
    if isinstance(s, ScanLoop) and not s.carries and not accessed(s.body)[1]:
        return For(s.var, s.size, s.body)
    return None


def sunk(body: Sequence[Stmt]) -> Sequence[Stmt]:
    """The body of a loop that ends in a loop, with what comes before it inside."""
    *before, last = body
    if not before or not isinstance(last, For) or not all(isinstance(s, Let) for s in before):
        return body
    stored = accessed([last])[1]
    if accessed(before)[0] & stored or by_rows(last.body):
        return body
    names = {s.name for s in before if isinstance(s, Let)}
    if not isinstance(last.size, int) and last.size.symbols & names:
        return body
    return (replace(last, body=(*before, *last.body)),)


def by_rows(body: Sequence[Stmt]) -> bool:
    """Whether a block is to share the work of one row."""
    if any(isinstance(s, (ScanLoop, While, If, Check)) for s in body):
        return False
    for s in body:
        if isinstance(s, Reduce) and s.vector and not is_ordered(s):
            if not (isinstance(s.size, int) and s.size <= SHORT):
                return True
        if isinstance(s, For) and by_rows(s.body):
            return True
    return False


def width(body: Sequence[Stmt]) -> Dim:
    """How many threads could share a row: as many as the first loop of it has steps."""
    for s in body:
        if isinstance(s, (For, Reduce)):
            inner = width(s.body) if isinstance(s, For) and by_rows(s.body) else s.size
            if inner != 1:
                return inner
    return 1
