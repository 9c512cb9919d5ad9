"""Programs whose imports are recorded: which file of the package has imported which, and how.

`python -m tests.project.recorded_imports PROGRAM` runs one, and prints pairs as JSON: those of
`imported`, each call, and the first import of every file.
"""

import json
import sys

import numpy as np

#: Who has imported what.
FOUND: set[tuple[str, str]] = set()


class Recorder:
    """A finder that finds nothing: it notes who looks for a module that is not there yet."""

    def find_spec(self, name, path=None, target=None) -> None:
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
            frame = frame.f_back
        note(frame, name)


def note(frame, name: str) -> None:
    """A frame has imported a module."""
    who = "" if frame is None else frame.f_globals.get("__name__", "")
    if who.partition(".")[0] == name.partition(".")[0] == "tracejit":
        FOUND.add((who, name))


def cold() -> None:
    """A compile of what needs branches, loops, the prelude, BLAS and calls of NumPy's functions."""
    import tracejit

    @tracejit.jit
    def f(x, n):
        total = 0.0
        for k in range(n):
            total += x[k] if x[k] > 0 else np.median(x)
        if total > 3:
            print(total)
        return np.sort(x @ x[:, None]) + np.linalg.svd(np.outer(x, x))[1], [total] * 3

    x = np.linspace(-1.0, 1.0, 50)
    f(x, 7)
    f.lower(x, 7)
    print(f.report(), file=sys.stderr)


def gradient() -> None:
    """A gradient, a batch and a derivative by both modes."""
    import tracejit

    def loss(x, y):
        return (np.sin(x) * y + 1).sum() + np.linalg.det(np.eye(3) * x[0])

    x = np.linspace(0.1, 1.0, 5)
    tracejit.value_and_grad(loss)(x, x + 1)
    tracejit.jit(tracejit.vmap(tracejit.grad(loss), (0, None)))(np.stack([x, x]), x)
    tracejit.hessian(loss)(x, x)


def device() -> None:
    """A simulated GPU."""
    import tracejit
    from tracejit.runtime.device.simulated import to_simulated

    @tracejit.jit
    def f(x):
        return (x - x.mean()) / np.sqrt((x * x).sum()) @ x

    f(to_simulated(np.arange(4.0)))


def distributed() -> None:
    """One step of a training on several processes."""
    import tracejit
    from tracejit import dist, nn, optim

    @tracejit.jit
    def step(net, opt, x, y):
        loss, grads = tracejit.value_and_grad(lambda net: nn.cross_entropy(net(x), y))(net)
        opt.update(net, grads)
        return loss

    rng = np.random.default_rng(0)
    net = nn.Linear(20, 3, rng)
    x, y = rng.standard_normal((60, 20)), rng.integers(0, 3, 60)
    dist.data_parallel(step)(net, optim.Adam(net, lr=1e-2), x, y)


PROGRAMS = {f.__name__: f for f in (cold, gradient, device, distributed)}


def main(program: str) -> None:
    """Run a program, and print the pairs."""
    sys.meta_path.insert(0, Recorder())
    from tracejit.base import late

    load = late.import_module

    def import_module(name: str):
        note(sys._getframe(2), name)
        return load(name)

    late.import_module = import_module
    PROGRAMS[program]()
    print(json.dumps(sorted(FOUND)))


if __name__ == "__main__":
    main(sys.argv[1])
