"""One fresh process of the `first_call` benchmark: compiler and program in, CPU ms as JSON out."""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

x = np.linspace(0.1, 1.0, 1000)


def warm_up(x):
    """Any function compiled first pays for the start of the back end."""
    return x * 2.0 + 1.0


def one_liner(x):
    return np.sqrt(x) * 3.0 - x


def milliseconds(step: Callable[[], Any]) -> float:
    """CPU time of `step`, threads of the process included."""
    start = time.process_time()
    step()
    return (time.process_time() - start) * 1e3


def load(compiler: str) -> Callable[..., Any]:
    """Import a compiler; returns what turns a function into a compiled one."""
    if compiler == "numba":
        import numba

        return numba.njit
    if compiler == "jax":
        import jax

        def jit(function):
            compiled = jax.jit(function)
            return lambda *arguments: jax.block_until_ready(compiled(*arguments))

        return jit
    import tracejit

    return tracejit.jit


def load_modules() -> None:
    """Import what the first call of a compiled function imports, but for the back end itself."""
    import importlib

    for name in (
        "runtime.compile.specialize",
        "runtime.compile.publish",
        "codegen.program.emit",
        "frontend.interpreter.entry",
    ):
        importlib.import_module(f"tracejit.{name}")


def on_jax(function):
    """The same source over `jax.numpy`."""
    import jax

    from .harness import rebind

    return rebind(function, np=jax.numpy, erf=jax.scipy.special.erf)


def main(compiler: str, program: str) -> None:
    found: list[Callable[..., Any]] = []
    times = {"import": milliseconds(lambda: found.append(load(compiler)))}
    jit = found[0]
    if program == "one-liner":
        second, arguments = one_liner, (x,)
    else:
        from tracejit.demo.programs import black_scholes, option_market

        from .fusion import black_scholes_loop

        second = black_scholes_loop if compiler == "numba" else black_scholes
        arguments = option_market(1000)
    first = warm_up
    if compiler == "jax":
        first, second = on_jax(first), on_jax(second)
    compiled_first, compiled_second = jit(first), jit(second)
    times["modules"] = milliseconds(load_modules) if compiler == "tracejit" else 0.0
    times["first"] = milliseconds(lambda: compiled_first(x))
    times["second"] = milliseconds(lambda: compiled_second(*arguments))
    print(json.dumps(times))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
