"""Networks: nine float32 models and their layers in plain NumPy, against PyTorch and JAX.

Each model's forward pass and training step; `--only` takes models and layers by name (by a part of
it), `ncf_1m` for tables of a million rows, `torch.compile` to let that take part. All are checked
before they are timed: three steps of a model against PyTorch, by losses and parameters.
"""

import copy
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import tracejit

from ..harness import Table, absent, peer
from . import alexnet, lenet, lstm, mlp, mobilenet, ncf, resnet, transformer, vgg
from .contest import Call, Contest, how_it_ran, require_close, with_means
from .layers import LAYERS, Layer
from .model import Arrays, Model

MODELS = [
    module.MODEL for module in (mlp, lenet, alexnet, vgg, resnet, mobilenet, lstm, ncf, transformer)
]
#: Of a float32 network's loss after three steps, and of how far its parameters moved.
LOSS_RTOL, MOVE_RTOL = 1e-4, 5e-3
#: Of a layer's results, by norm.
LAYER_RTOL = 1e-4


def strictly(function: Any, arguments: Sequence[Any]) -> str:
    """ "yes" where a function compiles whole, or why it does not."""
    try:
        tracejit.jit(function, strict=True)(*copy.deepcopy(list(arguments)))
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
    return "yes"


class Ours:
    """A model compiled by tracejit, its parameters updated in place."""

    def __init__(self, model: Model, p: Arrays, inputs: list[Any], target: Any) -> None:
        self.p, self.state = {k: x.copy() for k, x in p.items()}, model.state(p)
        self.inputs, self.target = inputs, target
        self.jitted_forward, self.jitted_step = (
            tracejit.jit(model.forward),
            tracejit.jit(model.step),
        )

    def forward(self) -> Any:
        return self.jitted_forward(self.p, *self.inputs)

    def step(self) -> Any:
        return self.jitted_step(self.p, self.state, *self.inputs, self.target)

    def parameters(self) -> Arrays:
        return {k: x.copy() for k, x in self.p.items()}


def three_steps(twin: Any) -> tuple[Any, list[float], Arrays]:
    """Predictions, the losses of three steps, and the parameters after them."""
    predicted = np.array(twin.forward())
    losses = [float(twin.step()) for _ in range(3)]
    return predicted, losses, twin.parameters()


def agree(got: tuple[Any, list[float], Arrays], want: Any, start: Arrays) -> None:
    """Raises AssertionError where predictions, losses or the parameters' moves differ."""
    require_close(got[0], want[0], LOSS_RTOL, "the prediction")
    require_close(got[1], want[1], LOSS_RTOL, "the loss")
    for k, before in start.items():
        moved, wanted = got[2][k] - before, want[2][k] - before
        off, size = np.linalg.norm(moved - wanted), np.linalg.norm(wanted)
        rounding = np.finfo(np.float32).eps * np.linalg.norm(before)
        if not off <= MOVE_RTOL * size + rounding:
            raise AssertionError(f"the move of {k} is off by {off / size:.2g}")


def model_contest(model: Model, with_compile: bool) -> tuple[Contest, str]:
    """Who computes one model, PyTorch's outcome being what the others must have."""
    p, inputs, target = model.make(np.random.default_rng(5), False)
    found = Contest(model.name)
    want: list[Any] = []

    def checked(twin: Any) -> dict[str, Call]:
        got = three_steps(twin)
        if want:
            agree(got, want[0], p)
        want.append(got)
        return {"forward": twin.forward, "step": twin.step}

    if peer("torch"):
        from . import torch_models as torch

        found.add("torch", lambda: checked(torch.Twin(model, p, inputs, target, False)))
    ours = Ours(model, p, inputs, target)
    found.add("tracejit", lambda: checked(ours))
    found.notes += how_it_ran(f"{model.name}, forward", ours.jitted_forward)
    found.notes += how_it_ran(f"{model.name}, step", ours.jitted_step)
    if peer("jax"):
        from . import jax_models as jax

        found.add("jax", lambda: checked(jax.Twin(model, p, inputs, target)))
    if with_compile and peer("torch"):
        found.add("torch.compile", lambda: checked(torch.Twin(model, p, inputs, target, True)))
    return found, strictly(model.step, [p, model.state(p), *inputs, target])


def of_models(models: Sequence[Model], rounds: int, with_compile: bool) -> Table:
    """A table of forward passes and steps."""
    table = Table("models: CPU time, one thread, float32", [])
    for model in models:
        contest, strict = model_contest(model, with_compile)
        row = contest.rows(("forward", "step"), rounds)
        table.rows.append(row | {"strict": "yes" if strict == "yes" else "no"})
        table.notes += contest.notes
        for who, calls in contest.calls.items():
            if not np.isfinite(float(calls["step"]())):
                table.notes.append(f"{model.name}: {who}'s loss grew beyond all bounds")
        if strict != "yes":
            table.notes.append(f"{model.name}: not strict: {strict}")
    return table


def layer_contest(layer: Layer) -> tuple[Contest, str]:
    """Who computes one layer, plain NumPy's result and tracejit's gradient being the measure."""
    rng = np.random.default_rng(6)
    given = list(layer.make(rng))
    plain = layer.function(*copy.deepcopy(given))
    cotangent = None if layer.update else rng.standard_normal(plain.shape).astype(np.float32)
    function = layer.function
    want: list[Any] = []

    def both(arrays, g):
        out, pull = tracejit.vjp(function, *arrays)
        return out, *pull(g)

    jitted, jitted_both = tracejit.jit(function), tracejit.jit(both)
    held = copy.deepcopy(given)

    def update():
        jitted(*held)
        return held[0], held[2], held[3]

    def mine() -> tuple[Any, Any]:
        if layer.update:
            return None, update
        return lambda: jitted(*given), lambda: jitted_both(tuple(given), cotangent)

    def checked(calls: tuple[Any, Any]) -> dict[str, Call]:
        forward, both = calls
        got = [np.array(x) for x in both()]
        if forward is not None:
            require_close(forward(), plain, LAYER_RTOL, "the result")
        for k, (a, b) in enumerate(zip(got, want[0] if want else got, strict=True)):
            require_close(a, b, LAYER_RTOL, f"result {k}")
        want.append(got)
        return {"both": both} if forward is None else {"forward": forward, "both": both}

    found = Contest(layer.name)
    if peer("torch"):
        from . import torch_layers as torch

        found.add("torch", lambda: checked(torch.calls(layer, given, cotangent)))
    found.add("tracejit", lambda: checked(mine()))
    found.notes += how_it_ran(layer.name, jitted if layer.update else jitted_both)
    if peer("jax"):
        from . import jax_layers as jax

        found.add("jax", lambda: checked(jax.calls(layer, given, cotangent)))
    if layer.update:
        return found, strictly(function, given)
    return found, strictly(both, [tuple(given), cotangent])


def of_layers(layers: Sequence[Layer], rounds: int) -> Table:
    """A table of layers, forward, and forward with backward."""
    table = Table("layers, forward and both passes: CPU time, one thread, float32", [])
    for layer in layers:
        contest, strict = layer_contest(layer)
        row = contest.rows(("forward", "both"), rounds)
        table.rows.append(row | {"strict": "yes" if strict == "yes" else "no"})
        table.notes += contest.notes
        if strict != "yes":
            table.notes.append(f"{layer.name}: not strict: {strict}")
    return table


def run(quick: bool, only: str = "") -> list[Table]:
    parts = [x for x in only.split(",") if x and x != "torch.compile"]
    with_compile = "torch.compile" in only.split(",")
    rounds = 5 if quick else 15
    models = [m for m in MODELS if not parts or m.name in parts]
    if "ncf_1m" in parts:
        models.append(ncf.LARGE)
    layers = [x for x in LAYERS if not parts or any(part in x.name for part in parts)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tables = [of_models(models, rounds, with_compile)] if models else []
        tables += [of_layers(layers, rounds)] if layers else []
    for table in tables:
        with_means(table)
        table.notes += absent("torch", "jax")
    if models and not peer("torch"):
        tables[0].notes.append("without PyTorch the models' steps are timed unchecked")
    return tables
