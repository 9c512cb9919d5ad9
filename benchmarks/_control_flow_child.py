"""One fresh process of the `control_flow` benchmark: a first call, or a loop that is interrupted.

python -m benchmarks._control_flow_child first tracejit julia      CPU ms as JSON
python -m benchmarks._control_flow_child stop tracejit scalar      writes when it was stopped
"""

import json
import sys
import time

import numpy as np

from . import _control_flow_programs as programs
from ._first_call_child import load, load_modules, milliseconds


def first_call(compiler: str, name: str) -> None:
    """Print the CPU milliseconds of import, back-end start and first call."""
    found = []
    times = {"import": milliseconds(lambda: found.append(load(compiler)))}
    function, _, arguments, _ = programs.SCALAR_LOOPS[name]
    if compiler == "jax":
        import jax

        def first(x):
            return jax.lax.fori_loop(0, 3, lambda i, s: s + jax.numpy.where(x[i] > 0, 1, 0), 0)

        warm_up, compiled = found[0](first), programs.jax_forms(jax)[name]
        call = lambda: jax.block_until_ready(compiled(*arguments))  # noqa: E731
    else:
        warm_up, compiled = found[0](programs.warm_up), found[0](function)
        call = lambda: compiled(*arguments)  # noqa: E731
    times["modules"] = milliseconds(load_modules) if compiler == "tracejit" else 0.0
    times["start"] = milliseconds(lambda: warm_up(np.linspace(0.1, 1.0, 4)))
    times["first"] = milliseconds(call)
    if compiler == "tracejit":
        times["fallbacks"] = len(compiled.report().fallbacks)
    print(json.dumps(times))


def stop(compiler: str, kind: str) -> None:
    """Enter a loop that does not end; on Ctrl-C print the time, then make another call."""
    jit = load(compiler)
    if kind == "scalar":
        endless, start, end = jit(programs.never_converges), 0.5, 0.75
    else:
        endless, start = jit(programs.never_converges_on_arrays), np.ones(1000)
        end = np.full(1000, 2.0)
    endless(end)
    other = jit(programs.warm_up)
    other(np.linspace(0.1, 1.0, 4))
    print("ready", flush=True)
    try:
        endless(start)
    except KeyboardInterrupt:
        print(time.monotonic(), flush=True)
    result = float(other(np.linspace(0.1, 1.0, 4)))
    works = abs(result - float(programs.warm_up(np.linspace(0.1, 1.0, 4)))) < 1e-12
    print("usable" if works else "unusable", flush=True)


if __name__ == "__main__":
    {"first": first_call, "stop": stop}[sys.argv[1]](*sys.argv[2:])
