"""Sums of single precision that are formed in double precision keep to single precision instead.

    t2 = cast(t1, f64);  r3 = sum of t2;  o0[i] = cast(r3, f32)
    ->  r3 = sum of t1, with its error;   o0[i] = r3

It is done where nothing but the rounded sum is used: see `combine.py` for how good it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tracejit.ir.kernel import (
    Call,
    Expr,
    For,
    Let,
    Reduce,
    ScanLoop,
    Stmt,
    Store,
    Target,
    Var,
    expressions,
    inner_bodies,
)

__all__ = ["narrow_sums"]

_SINGLE = ("f32", "f16")


def narrow_sums(body: Sequence[Stmt]) -> tuple[Stmt, ...]:
    """The statements with such sums in single precision."""
    wide = {t.name for t in _targets(body) if t.combine == "sum" and t.dtype == "f64"}
    found = {name for name in wide if _source(body, name) is not None}
    kept: set[str] = set()
    for e in _expressions(body):
        _find_wide_uses(e, found, kept, set())
    found -= kept
    if not found:
        return tuple(body)
    return tuple(_narrowed(s, found, {}) for s in body)


def _targets(body: Sequence[Stmt]) -> list[Target]:
    out: list[Target] = []
    for s in body:
        if isinstance(s, Reduce):
            out += s.targets
        if isinstance(s, (For, Reduce, ScanLoop)):
            out += _targets(s.body)
    return out


def _source(body: Sequence[Stmt], name: str) -> Expr | None:
    """What a target of that name adds up, before it was made wide."""
    for s in body:
        if isinstance(s, (For, Reduce, ScanLoop)):
            found = _source(s.body, name)
            if found is not None:
                return found
        if isinstance(s, Reduce):
            for t in s.targets:
                if t.name == name:
                    return _before_cast(t.expr, s.body)
    return None


def _before_cast(e: Expr, body: Sequence[Stmt]) -> Expr | None:
    if isinstance(e, Var):
        bound = [s.expr for s in body if isinstance(s, Let) and s.name == e.name]
        e = bound[0] if len(bound) == 1 else e
    if isinstance(e, Call) and e.fn == "cast" and e.args[0].dtype in _SINGLE:
        return e.args[0]
    return None


def _expressions(body: Sequence[Stmt]) -> list[Expr]:
    out: list[Expr] = []
    for s in body:
        out += expressions(s)
        for inner in inner_bodies(s):
            out += _expressions(inner)
    return out


def _find_wide_uses(e: Expr, names: set[str], kept: set[str], seen: set[int]) -> None:
    """Put those of `names` into `kept` that an expression uses otherwise than rounded."""
    if id(e) in seen:
        return
    seen.add(id(e))
    if isinstance(e, Var) and e.name in names:
        kept.add(e.name)
    if isinstance(e, Call):
        for a in e.args:
            rounded = e.fn == "cast" and e.dtype in _SINGLE and isinstance(a, Var)
            if not rounded:
                _find_wide_uses(a, names, kept, seen)


def _narrowed(s: Stmt, names: set[str], known: dict[int, Expr]) -> Stmt:
    def one(e: Expr) -> Expr:
        return _mapped(e, rule, known)

    def rule(e: Expr) -> Expr | None:
        if isinstance(e, Call) and e.fn == "cast" and isinstance(e.args[0], Var):
            v = e.args[0]
            if v.name in names:
                single = Var(v.name, "f32")
                return single if e.dtype == "f32" else replace(e, args=(single,))
        return None

    match s:
        case Let() | Store():
            return replace(s, expr=one(s.expr))
        case For():
            return replace(s, body=tuple(_narrowed(x, names, known) for x in s.body))
        case ScanLoop():
            carries = tuple(replace(c, init=one(c.init), next=one(c.next)) for c in s.carries)
            body = tuple(_narrowed(x, names, known) for x in s.body)
            return replace(s, body=body, carries=carries)
        case Reduce():
            body = tuple(_narrowed(x, names, known) for x in s.body)
            targets = []
            for t in s.targets:
                if t.name not in names:
                    targets.append(replace(t, expr=one(t.expr)))
                    continue
                term = _before_cast(t.expr, s.body)
                assert term is not None
                if term.dtype == "f16":
                    term = Call("cast", (term,), "f32")
                targets.append(replace(t, dtype="f32", expr=one(term)))
            used = _names(body, [t.expr for t in targets])
            # What was only made wide for the sum is not needed any more.
            body = tuple(x for x in body if not (isinstance(x, Let) and _is_wide(x, used)))
            return replace(s, body=body, targets=tuple(targets))
    return s


def _is_wide(s: Let, used: set[str]) -> bool:
    return s.dtype == "f64" and s.name not in used


def _names(body: Sequence[Stmt], more: Sequence[Expr]) -> set[str]:
    """The names that expressions read."""
    found: set[str] = set()
    stack = [*_expressions(body), *more]
    seen: set[int] = set()
    while stack:
        e = stack.pop()
        if id(e) in seen:
            continue
        seen.add(id(e))
        if isinstance(e, Var):
            found.add(e.name)
        elif isinstance(e, Call):
            stack += e.args
    return found


def _mapped(e: Expr, rule: Callable[[Expr], Expr | None], known: dict[int, Expr]) -> Expr:
    if id(e) not in known:
        found = rule(e)
        if found is None:
            found = e
            if isinstance(e, Call):
                args = tuple(_mapped(a, rule, known) for a in e.args)
                if any(a is not b for a, b in zip(args, e.args, strict=True)):
                    found = replace(e, args=args)
        known[id(e)] = found
    return known[id(e)]
