"""One fresh process of the `programs` benchmark: compiler and program in, CPU ms as JSON out."""

import json
import sys
import warnings

import numpy as np

from ._control_flow_programs import warm_up
from ._first_call_child import load, load_modules, milliseconds
from ._programs_compilers import numba_version
from .programs import named


def main(compiler: str, name: str) -> None:
    """Print the CPU milliseconds of import, back-end start and first call at size S."""
    found = []
    times = {"import": milliseconds(lambda: found.append(load(compiler)))}
    program, jit, start = named(name), found[0], warm_up
    arguments = list(program.arguments("S").values())
    if compiler == "jax":
        import jax

        from . import _programs_jax

        def start(x):
            return jax.lax.fori_loop(0, 3, lambda i, s: s + jax.numpy.where(x[i] > 0, 1, 0), 0)

        version = _programs_jax.compiled(name)
        compiled = lambda *given: jax.block_until_ready(version(*given))  # noqa: E731
    else:
        compiled = numba_version(program.kernel) if compiler == "numba" else jit(program.kernel)
    started = jit(start)
    times["modules"] = milliseconds(load_modules) if compiler == "tracejit" else 0.0
    times["start"] = milliseconds(lambda: started(np.linspace(0.1, 1.0, 4)))
    times["first"] = milliseconds(lambda: compiled(*arguments))
    if compiler == "tracejit":
        times["fallbacks"] = len(compiled.report().fallbacks)
    print(json.dumps(times))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1], sys.argv[2])
