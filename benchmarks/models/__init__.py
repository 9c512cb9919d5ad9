"""Models: nine networks of the literature as `tracejit.nn` writes them, trained beside PyTorch.

Each is checked first where PyTorch is installed: with the same weights, in double precision, its
loss and all gradients are PyTorch's. Then steps of training in single precision are timed in turns
with PyTorch's and JAX's. `--only` takes models by name.
"""

import warnings
from typing import Any

import numpy as np

import tracejit
from tracejit import nn, optim

from ..harness import Table, absent, peer
from ..networks.contest import Contest, how_it_ran, with_means
from .cases import CASES, LOSSES, Case

#: Of a loss in double precision, and of each gradient by its norm.
RTOL = 1e-9


def in_doubles(net: Any) -> Any:
    """The same model with its parameters in double precision."""
    return tracejit.tree.map(lambda p: p.astype(np.float64), net)


def doubles(given: list[Any]) -> list[Any]:
    return [x.astype(np.float64) if x.dtype.kind == "f" else x for x in given]


def require_equal_gradients(case: Case, small: bool) -> float:
    """The largest difference from PyTorch's gradients, relative to a norm.

    Raises AssertionError where the loss or a gradient is not PyTorch's.
    """
    import torch

    from . import torch_twins

    rng = np.random.default_rng(3)
    net = in_doubles(case.build(rng, small))
    inputs, target = case.batches(rng, small)()
    given = doubles([*inputs, target])
    twin = case.twin(torch_twins, small).double()
    state = {k: torch.from_numpy(np.array(x)) for k, x in net.state_dict().items()}
    twin.load_state_dict(state, strict=False)
    assert set(dict(twin.named_parameters())) == set(net.parameters())
    loss, gradient = tracejit.jit(tracejit.value_and_grad(LOSSES[case.loss]))(net, *given)
    wanted = torch_loss(case.loss, twin(*map(torch.from_numpy, given[:-1])), given[-1])
    wanted.backward()
    worst = abs(loss - wanted.item()) / abs(wanted.item())
    assert worst <= RTOL, f"{case.name}: the loss is off by {worst:.2g}"
    found = nn.parameters(gradient)
    whole = max(np.linalg.norm(p.grad) for p in twin.parameters())
    for name, p in twin.named_parameters():
        off = np.linalg.norm(found[name] - p.grad.numpy()) / whole
        assert off <= RTOL, f"{case.name}: the gradient by {name} is off by {off:.2g}"
        worst = max(worst, off)
    return float(worst)


def torch_loss(name: str, out: Any, target: Any) -> Any:
    import torch
    from torch.nn import functional

    target = torch.from_numpy(target) if isinstance(target, np.ndarray) else target
    if name == "binary":
        return functional.binary_cross_entropy_with_logits(out, target)
    return functional.cross_entropy(out.reshape(-1, out.shape[-1]), target.reshape(-1))


class Ours:
    """A model with its compiled step."""

    def __init__(self, case: Case, small: bool) -> None:
        rng = np.random.default_rng(5)
        self.case, self.net = case, case.build(rng, small)
        self.draw = case.batches(rng, small)
        self.inputs, self.target = self.draw()
        self.opt = optim.SGD(self.net, lr=case.rate)
        loss = LOSSES[case.loss]

        def step(net, opt, *given):
            value, gradient = tracejit.value_and_grad(loss)(net, *given)
            opt.update(net, gradient)
            return value

        self.jitted = tracejit.jit(step)

    def step(self) -> Any:
        return self.jitted(self.net, self.opt, *self.inputs, self.target)

    def train(self, steps: int) -> list[float]:
        """The losses of so many steps of Adam, each on a new batch."""
        losses, self.opt = [], optim.Adam(self.net, lr=self.case.adam)
        for _ in range(steps):
            inputs, target = self.draw()
            losses.append(float(self.jitted(self.net, self.opt, *inputs, target)))
        return losses


class TorchTwin:
    """The same in PyTorch, eager."""

    def __init__(self, case: Case, ours: Ours, small: bool) -> None:
        import torch

        from . import torch_twins

        self.net = case.twin(torch_twins, small)
        state = {k: torch.from_numpy(np.array(x)) for k, x in ours.net.state_dict().items()}
        self.net.load_state_dict(state, strict=False)
        self.inputs = [torch.from_numpy(x) for x in ours.inputs]
        self.target, self.loss = torch.from_numpy(ours.target), case.loss
        self.opt = torch.optim.SGD(self.net.parameters(), lr=case.rate)

    def step(self) -> Any:
        self.opt.zero_grad()
        loss = torch_loss(self.loss, self.net(*self.inputs), self.target)
        loss.backward()
        self.opt.step()
        return loss.item()


def stepped(model: Any) -> dict[str, Any]:
    """A model's step, taken once: the first one is counted by itself."""
    model.step()
    return {"step": model.step}


def contest(case: Case, quick: bool) -> tuple[Contest, dict[str, Any]]:
    """Who takes a step of one model, and what was found out about it."""
    found, ours = Contest(case.name), Ours(case, small=False)
    facts: dict[str, Any] = {"parameters": sum(p.size for p in ours.net.parameters().values())}
    if peer("torch"):
        facts["gradients off"] = f"{require_equal_gradients(case, quick):.1e}"
        found.add("torch", lambda: stepped(TorchTwin(case, ours, False)))
    if peer("jax"):
        from . import jax_twins

        def twin() -> Any:
            given = (ours.net.parameters(), ours.inputs, ours.target, case.rate)
            return jax_twins.Twin(case.name, case.loss, *given)

        found.add("jax", lambda: stepped(twin()))
    found.add("tracejit", lambda: stepped(ours))
    found.notes += how_it_ran(case.name, ours.jitted)
    return found, facts


def run(quick: bool, only: str = "") -> list[Table]:
    cases = [c for c in CASES if not only or c.name in only.split(",")]
    table = Table("a step of training: CPU time, one thread, float32", [])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in cases:
            found, facts = contest(case, quick)
            row = found.rows(("step",), 3 if quick else 9)
            losses = Ours(case, small=False).train(case.steps)
            learnt = [float(np.mean(x)) for x in (losses[:5], losses[-5:])]
            table.rows.append(row | facts | {"first losses": learnt[0], "last losses": learnt[1]})
            table.notes += found.notes
            if not learnt[1] < learnt[0]:
                table.notes.append(f"{case.name}: does not learn")
    with_means(table)
    table.notes += absent("torch", "jax")
    return [table]
