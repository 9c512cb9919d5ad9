"""Optimisers: one compiled update of a million parameters, against PyTorch's fused and others."""

from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit
from tracejit import optim

from .harness import Cell, Contender, Table, absent, measure, peer

#: Parameters in all, and in how many arrays.
SIZE, COUNTS = 1_000_000, (1, 100)
#: Ours of the parameters; PyTorch's name and options.
CASES: dict[str, tuple[Callable[[Any], Any], str, dict[str, Any]]] = {
    "SGD": (lambda p: optim.SGD(p, 1e-3), "SGD", {"lr": 1e-3}),
    "Momentum": (lambda p: optim.Momentum(p, 1e-3), "SGD", {"lr": 1e-3, "momentum": 0.9}),
    "Nesterov": (
        lambda p: optim.Momentum(p, 1e-3, nesterov=True),
        "SGD",
        {"lr": 1e-3, "momentum": 0.9, "nesterov": True},
    ),
    "AdaGrad": (optim.AdaGrad, "Adagrad", {}),
    "AdaDelta": (optim.AdaDelta, "Adadelta", {}),
    "RMSProp": (optim.RMSProp, "RMSprop", {}),
    "Adam": (optim.Adam, "Adam", {}),
    "AMSGrad": (lambda p: optim.Adam(p, amsgrad=True), "Adam", {"amsgrad": True}),
    "AdamW": (optim.AdamW, "AdamW", {}),
    "Lion": (optim.Lion, "", {}),
}
#: How PyTorch may run its step; not every optimiser has each.
WAYS = ("fused", "foreach")


def update(opt: Any, params: Any, grads: Any) -> None:
    opt.update(params, grads)


def arrays(count: int) -> tuple[list[Any], list[Any]]:
    """Parameters and gradients: together `SIZE` numbers of float32."""
    rng = np.random.default_rng(0)
    shape = (2, count, SIZE // count)
    params, grads = rng.standard_normal(shape, dtype=np.float32)
    return [p.copy() for p in params], [g.copy() for g in grads]


def torch_optimiser(torch: Any, name: str, options: dict[str, Any], count: int, way: str) -> Any:
    """PyTorch's optimiser of the same parameters, with their gradients; None where it has none,
    or one that adds momentum to the gradients themselves.
    """
    if way == "foreach" and "nesterov" in options:
        return None
    params, grads = arrays(count)
    tensors = [torch.tensor(p, requires_grad=True) for p in params]
    for p, g in zip(tensors, grads, strict=True):
        p.grad = torch.tensor(g)
    try:
        return getattr(torch.optim, name)(tensors, **options, **{way: True})
    except TypeError:
        return None


def contenders(name: str, count: int) -> list[Contender]:
    """tracejit, NumPy, PyTorch's ways, and a copy of as much as Adam reads and writes."""
    make, torch_name, options = CASES[name]
    found = []
    for who, f in (("tracejit", tracejit.jit(update, strict=True)), ("numpy", update)):
        params, grads = arrays(count)
        names = {"f": f, "opt": make(params), "params": params, "grads": grads}
        found.append(Contender(who, "f(opt, params, grads)", names))
    if torch_name and (torch := peer("torch")):
        torch.set_num_threads(1)
        for way in WAYS:
            opt = torch_optimiser(torch, torch_name, options, count, way)
            if opt is not None:
                found.append(Contender(f"torch {way}", "step()", {"step": opt.step, "opt": opt}))
    return found


def agree(name: str, found: list[Contender]) -> None:
    """Raise AssertionError unless the parameters are the same after three steps of each."""
    for contender in found:
        for _ in range(3):
            contender.result()
    want = found[0].names["params"]
    for contender in found[1:]:
        opt = contender.names["opt"]
        got = contender.names.get("params") or [p.detach() for p in opt.param_groups[0]["params"]]
        for p, q in zip(want, got, strict=True):
            np.testing.assert_allclose(p, q, rtol=2e-6, atol=2e-6, err_msg=contender.name)


def row(name: str, count: int, rounds: int, table: Table) -> dict[str, Cell]:
    """Milliseconds of an update by each, and ours over the others'."""
    found = contenders(name, count)
    agree(name, found)
    times = {who: timing.cpu for who, timing in measure(found, rounds).items()}
    cells: dict[str, Cell] = {"": f"{name}, {count} x {SIZE // count}"}
    cells |= {f"{who} ms": seconds * 1e3 for who, seconds in times.items()}
    cells |= {f"time / {who}": times["tracejit"] / times[who] for who in times if who != "tracejit"}
    theirs = [times[f"torch {way}"] for way in WAYS if f"torch {way}" in times]
    if theirs:
        speed = min(theirs) / times["tracejit"]
        table.require(f"{cells['']}: times PyTorch's faster", speed, at_least=1.2)
    return cells


def run(quick: bool, only: str = "") -> list[Table]:
    table = Table("optimisers: CPU time of an update, one thread", [])
    parts = [x for x in only.split(",") if x]
    rounds = 3 if quick else 15
    for name in CASES:
        if not parts or name in parts:
            table.rows += [row(name, count, rounds, table) for count in COUNTS]
    table.notes += absent("torch")
    return [table]
