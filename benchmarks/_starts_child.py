"""One fresh process of the `starts` benchmark: compiler and program in, CPU ms as JSON out."""

import json
import sys
import time

import numpy as np


def one_liner(x, y):
    return np.sin(x) * y + 1


def black_scholes(s, k, t, r, v):
    root = np.sqrt(t)
    d1 = (np.log(s / k) + (r + v * v / 2) * t) / (v * root)
    d2 = d1 - v * root
    return s / (1 + np.exp(-1.702 * d1)) - k * np.exp(-r * t) / (1 + np.exp(-1.702 * d2))


def loss(x, y):
    return (np.sin(x) * y + 1).sum()


def cpu() -> float:
    """CPU milliseconds of the process so far, of all threads, in the kernel too."""
    return time.process_time() * 1e3


def tracejit_versions():
    """What compiles a function, and what its gradient."""
    import tracejit

    return tracejit.jit, tracejit.grad


def numba_versions():
    """The same for Numba, which has no gradients."""
    import numba

    return numba.njit(cache=True), None


def jax_versions():
    """The same for JAX; the functions are those of this file over `jax.numpy`."""
    import jax

    from .harness import rebind

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)

    def finished(f):
        return lambda *given: jax.block_until_ready(f(*given))

    def jit(f):
        return finished(jax.jit(rebind(f, np=jax.numpy)))

    def grad(f):
        return finished(jax.jit(jax.grad(rebind(f, np=jax.numpy))))

    return jit, grad


COMPILERS = {"tracejit": tracejit_versions, "numba": numba_versions, "jax": jax_versions}


def first_call(compiler: str, program: str) -> dict[str, float]:
    """What a process spends on one function."""
    size = 100_000 if program == "large" else 5
    x = np.linspace(0.0, 1.0, size)
    given = x, x + 1
    if program == "black-scholes":
        given = (*(x + k for k in (90.0, 95.0, 0.5)), 0.02, x + 0.2)
    begin = cpu()
    jit, grad = COMPILERS[compiler]()
    imported = cpu()
    plain = black_scholes if program == "black-scholes" else one_liner
    f = grad(loss) if program == "gradient" else jit(plain)
    decorated = cpu()
    f(*given)
    called = cpu()
    return {
        "import": imported - begin,
        "decoration": decorated - imported,
        "first call": called - decorated,
        "whole": called - begin,
    }


def further_calls() -> dict[str, float]:
    """The first calls of the programs, one after another in one process, less what they run."""
    import tracejit

    from .programs import PROGRAMS

    tracejit.jit(one_liner)(np.ones(5), np.ones(5))
    spent = {}
    for program in PROGRAMS:
        f = tracejit.jit(program.kernel)
        times = []
        for _ in range(2):
            given = list(program.arguments("S").values())
            begin = cpu()
            f(*given)
            times.append(cpu() - begin)
        spent[program.name] = max(times[0] - times[1], 0.1)
    return spent


def one_program(name: str) -> dict[str, float]:
    """The first call of one of the programs, less a second one, in a process of its own."""
    from .programs import named

    program = named(name)
    import tracejit

    times = []
    f = None
    for _ in range(2):
        given = list(program.arguments("S").values())
        begin = cpu()
        f = f or tracejit.jit(program.kernel)
        f(*given)
        times.append(cpu() - begin)
    return {"first call": max(times[0] - times[1], 0.1)}


def main(compiler: str, program: str) -> None:
    """Print the CPU milliseconds of each step."""
    kind, _, name = program.partition(":")
    if kind == "program":
        spent = one_program(name)
    else:
        spent = further_calls() if program == "programs" else first_call(compiler, program)
    print(json.dumps(spent))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
