"""Scalars that stay on the device: a kernel that reads some loads them from where they lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tracejit.codegen.device.target import NotAGraph
from tracejit.ir.kernel import (
    Call,
    Check,
    Expr,
    For,
    Kernel,
    Let,
    Load,
    Param,
    Stmt,
    Store,
    Var,
    inner_bodies,
)

__all__ = ["store_kernel", "with_cells", "with_device_sizes"]


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


def with_device_sizes(
    kernel: Kernel, known: Mapping[str, Var], cells: Mapping[str, str]
) -> tuple[Kernel, list[str]]:
    """The kernel with sizes that are on the device loaded in it: more buffers.

    Raises NotAGraph where the number of threads would depend on one.
    """
    found = [s for s in kernel.sizes if s in known]
    if any(_counts(s, set(found)) for s in kernel.body):
        raise NotAGraph("work of a size that changes")
    if not found:
        return kernel, []
    params = tuple(Param(f"{s}_at", "i64", ()) for s in found)
    lets = tuple(Let(s, "i64", Load(f"{s}_at", (), "i64")) for s in found)
    out = replace(
        kernel,
        params=(*kernel.params, *params),
        sizes=tuple(s for s in kernel.sizes if s not in known),
        body=(*lets, *kernel.body),
    )
    return out, [cells[known[s].name] for s in found]


def _counts(s: Stmt, sizes: set[str]) -> bool:
    """Whether a loop of a statement runs as often as one of these sizes says."""
    size = getattr(s, "size", 0)
    if not isinstance(size, int) and size.symbols & sizes:
        return True
    return any(_counts(x, sizes) for body in inner_bodies(s) for x in body)


def store_kernel(scalars: Sequence[Sequence[str]], checks: int) -> Kernel:
    """A kernel that writes scalars, by their parts' dtypes, as if at once; and fails by checks."""
    params: list[Param] = []
    variables: list[Var] = []
    body: list[Stmt] = []
    for n, dtypes in enumerate(scalars):
        params.append(Param(f"out{n}", dtypes[0], (len(dtypes),), output=True))
        parts = [Var(f"v{n}_{k}", d) for k, d in enumerate(dtypes)]
        variables += parts
        body += [Store(f"out{n}", (k,), v) for k, v in enumerate(parts)]
    bad = [Var(f"bad{n}", "b1") for n in range(checks)]
    # In one loop, which is one launch: it reads all before it writes any.
    once = For("i", 1, (*map(Check, bad), *body))
    return Kernel("store", tuple(params), (), (*variables, *bad), (once,))


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
