"""Rows: softmax, norms, losses, attention and distances over matrices, against NumPy and peers."""

import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tracejit

from .harness import Cell, Contender, Table, absent, check, measure, peer, rebind
from .networks.contest import how_it_ran, with_means

SIZES = ((200, 512), (2000, 4096), (20000, 512))
#: Columns of what multiplies a matrix: attention's keys have them, k-means has so many centres.
HEAD, CENTRES = 64, 16


def softmax(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def log_softmax(x):
    shifted = x - np.max(x, axis=1, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))


def layer_norm(x, scale, shift):
    mean = np.mean(x, axis=1, keepdims=True)
    variance = np.mean((x - mean) ** 2, axis=1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * scale + shift


def batch_norm(x, scale, shift):
    mean = np.mean(x, axis=0)
    variance = np.mean((x - mean) ** 2, axis=0)
    return (x - mean) / np.sqrt(variance + 1e-5) * scale + shift


def variance(x):
    return np.var(x, axis=1)


def cross_entropy(x, labels):
    largest = np.max(x, axis=1, keepdims=True)
    total = np.log(np.sum(np.exp(x - largest), axis=1)) + largest[:, 0]
    return np.mean(total - x[np.arange(x.shape[0]), labels])


def attention(q, k, mask):
    scores = np.where(mask, q @ k.T / 8.0, -np.inf)
    e = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def cosine(x, y):
    lengths = np.sqrt(np.sum(x * x, axis=1)) * np.sqrt(np.sum(y * y, axis=1))
    return np.sum(x * y, axis=1) / lengths


def assign(x, centres):
    square = np.sum(x**2, axis=1)[:, None] + np.sum(centres**2, axis=1)
    return np.argmin(square - 2 * (x @ centres.T), axis=1)


@dataclass(frozen=True)
class Case:
    """A function, and what it takes at a size and a dtype."""

    function: types.FunctionType
    make: Callable[..., tuple[Any, ...]]


def matrix(rng: Any, m: int, n: int) -> tuple[Any, ...]:
    return (rng.standard_normal((m, n)),)


def scaled(rng: Any, m: int, n: int) -> tuple[Any, ...]:
    return rng.standard_normal((m, n)), rng.uniform(0.5, 1.5, n), rng.standard_normal(n)


def labelled(rng: Any, m: int, n: int) -> tuple[Any, ...]:
    return rng.standard_normal((m, n)), rng.integers(0, n, m)


def queries(rng: Any, m: int, n: int) -> tuple[Any, ...]:
    q, k = rng.standard_normal((m, HEAD)), rng.standard_normal((n, HEAD))
    return q, k, rng.random((m, n)) < 0.8


def pairs(rng: Any, m: int, n: int) -> tuple[Any, ...]:
    return rng.standard_normal((m, n)), rng.standard_normal((m, n))


def points(rng: Any, m: int, n: int) -> tuple[Any, ...]:
    return rng.standard_normal((m, n)), rng.standard_normal((CENTRES, n))


CASES = {
    case.function.__name__: case
    for case in (
        Case(softmax, matrix),
        Case(log_softmax, matrix),
        Case(layer_norm, scaled),
        Case(batch_norm, scaled),
        Case(variance, matrix),
        Case(cross_entropy, labelled),
        Case(attention, queries),
        Case(cosine, pairs),
        Case(assign, points),
    )
}


def torch_versions(torch: Any) -> dict[str, Callable[..., Any]]:
    """PyTorch's own functions for the cases."""
    F = torch.nn.functional

    def masked(q, k, mask):
        return torch.softmax((q @ k.T / 8.0).masked_fill(~mask, -torch.inf), dim=1)

    def batch_norm(x, scale, shift):
        return F.batch_norm(x, None, None, scale, shift, training=True)

    def assign(x, centres):
        square = (x**2).sum(dim=1)[:, None] + (centres**2).sum(dim=1)
        return torch.argmin(square - 2 * (x @ centres.T), dim=1)

    return {
        "softmax": lambda x: torch.softmax(x, dim=1),
        "log_softmax": lambda x: torch.log_softmax(x, dim=1),
        "layer_norm": lambda x, scale, shift: F.layer_norm(x, scale.shape, scale, shift),
        "batch_norm": batch_norm,
        "variance": lambda x: torch.var(x, dim=1, correction=0),
        "cross_entropy": F.cross_entropy,
        "attention": masked,
        "cosine": lambda x, y: F.cosine_similarity(x, y, dim=1),
        "assign": assign,
    }


def contenders(name: str, arguments: tuple[Any, ...]) -> tuple[list[Contender], Any]:
    """NumPy, tracejit, the peers that are installed, and a copy of the matrix; the compiled one."""
    function = CASES[name].function
    names = {f"a{k}": x for k, x in enumerate(arguments)}
    call = f"f({', '.join(names)})"
    jitted = tracejit.jit(function)
    found = [
        Contender("numpy", call, {"f": function, **names}),
        Contender("tracejit", call, {"f": jitted, **names}),
    ]
    if torch := peer("torch"):
        torch.set_num_threads(1)
        tensors = {k: torch.tensor(x) for k, x in names.items()}
        found.append(Contender("torch", call, {"f": torch_versions(torch)[name], **tensors}))
    if jax := peer("jax"):
        given = {k: jax.device_put(x) for k, x in names.items()}
        ready = f"ready({call})"
        f = jax.jit(rebind(function, np=peer("jax.numpy")))
        found.append(Contender("jax", ready, {"ready": jax.block_until_ready, "f": f, **given}))
    whole = max(arguments, key=lambda x: x.nbytes)
    held = {"copyto": np.copyto, "out": np.zeros_like(whole), "x": whole}
    found.append(Contender("copy", "copyto(out, x)", held, yardstick=True))
    return found, jitted


def row(name: str, dtype: Any, size: tuple[int, int], rounds: int, table: Table) -> dict[str, Cell]:
    """Milliseconds of each at one size, ours over the others', and what share of a copy's speed."""
    rng = np.random.default_rng(4)
    arguments = tuple(
        x.astype(dtype) if x.dtype.kind == "f" else x for x in CASES[name].make(rng, *size)
    )
    found, jitted = contenders(name, arguments)
    rtol, atol = (1e-4, 1e-4) if dtype == np.float32 else (1e-9, 1e-9)
    if name == "assign":
        rtol = atol = 0.0
    check(found, rtol, atol)
    times = {who: timing.cpu for who, timing in measure(found, rounds).items()}
    label = f"{name} {np.dtype(dtype)} {size[0]}x{size[1]}"
    table.notes += how_it_ran(label, jitted)
    cells: dict[str, Cell] = {"": label}
    cells |= {f"{who} ms": seconds * 1e3 for who, seconds in times.items()}
    peers = [who for who in times if who not in ("tracejit", "copy")]
    cells |= {f"time / {who}": times["tracejit"] / times[who] for who in peers}
    result = np.asarray(found[0].result())
    moved = sum(x.nbytes for x in arguments) + result.nbytes
    copied = 2 * max(x.nbytes for x in arguments)
    cells["share of copy"] = (moved / times["tracejit"]) / (copied / times["copy"])
    return cells


def run(quick: bool, only: str = "") -> list[Table]:
    table = Table("rows: CPU time, one thread, tracejit over each", [])
    parts = [x for x in only.split(",") if x]
    rounds, sizes = (3, SIZES[:1]) if quick else (11, SIZES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in CASES:
            if parts and name not in parts:
                continue
            for size in sizes:
                for dtype in (np.float32, np.float64):
                    table.rows.append(row(name, dtype, size, rounds, table))
    with_means(table)
    table.notes += absent("torch", "jax")
    table.notes.append("share of copy: bytes taken and given a second over those of a copy")
    return [table]
