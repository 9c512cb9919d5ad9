"""Scalars that stay on the device: a kernel that reads some loads them from where they lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tracejit.ir.kernel import Call, Expr, Kernel, Let, Load, Param, Var

__all__ = ["with_cells"]


def with_cells(
    kernel: Kernel, given: Sequence[Expr], cells: Mapping[str, str]
) -> tuple[Kernel, list[str], list[Expr]]:
    """The kernel with scalars of the device loaded in it: more buffers, and what is left."""
    lets: list[Let] = []
    params: list[Param] = []
    pointers: list[str] = []
    scalars: list[Var] = []
    values: list[Expr] = []
    loads: dict[str, Expr] = {}
    for v, e in zip(kernel.scalars, given, strict=True):
        names = _variables(e)
        if not any(x.name in cells for x in names):
            scalars.append(v)
            values.append(e)
            continue
        for x in names:
            if x.name in loads:
                continue
            if x.name in cells:
                # In registers halves are floats; in memory they are halves.
                params.append(Param(f"{x.name}_at", x.dtype, ()))
                pointers.append(cells[x.name])
                loads[x.name] = Load(f"{x.name}_at", (), x.dtype)
            else:
                scalars.append(x)
                values.append(x)
                loads[x.name] = x
        lets.append(Let(v.name, v.dtype, _replaced(e, loads, {})))
    if not lets:
        return kernel, [], list(given)
    out = replace(
        kernel,
        params=(*kernel.params, *params),
        scalars=tuple(scalars),
        body=(*lets, *kernel.body),
    )
    return out, pointers, values


def _variables(e: Expr) -> list[Var]:
    """The variables of an expression, each once."""
    found: dict[str, Var] = {}
    seen: set[int] = set()
    stack = [e]
    while stack:
        x = stack.pop()
        if isinstance(x, Var):
            found.setdefault(x.name, x)
        elif isinstance(x, Call) and id(x) not in seen:
            seen.add(id(x))
            stack += x.args
    return list(found.values())


def _replaced(e: Expr, by: Mapping[str, Expr], known: dict[int, Expr]) -> Expr:
    if isinstance(e, Var):
        return by[e.name]
    if not isinstance(e, Call):
        return e
    if id(e) not in known:
        known[id(e)] = replace(e, args=tuple(_replaced(a, by, known) for a in e.args))
    return known[id(e)]
