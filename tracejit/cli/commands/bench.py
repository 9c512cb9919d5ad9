"""`tracejit bench`: the time of a call, against plain NumPy, Numba and JAX."""

from __future__ import annotations

import argparse
import contextlib
import copy
import importlib.util
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tracejit import config
from tracejit.cli.calls import Call, add_call, read_call
from tracejit.cli.comparing import compare_results
from tracejit.cli.errors import Usage, unknown
from tracejit.cli.output import add_json, print_json
from tracejit.cli.peers import Peer, jax_peer, numba_peer
from tracejit.cli.timing import Contender, measure
from tracejit.codegen.llvm.engine import host_target
from tracejit.errors import FallbackWarning, GraphError
from tracejit.ir.evaluate import type_of
from tracejit.runtime.report.fitting import duration

__all__ = ["add", "run"]

_PEERS: dict[str, tuple[str, Callable[..., Peer]]] = {
    "numba": ("Numba (njit)", numba_peer),
    "jax": ("JAX (np is jax.numpy)", jax_peer),
}
_ABOUT = """\
Medians of turns in which all take part, alternating; the ratio is of CPU times. Numba and JAX are
shown where they are installed and can take the function as it is. Exit 1 where the compiled result
is not NumPy's. It is measured in a process of its own, in which BLAS, OpenMP, Numba and tracejit
have --threads threads.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.epilog = _ABOUT
    add_call(parser)
    parser.add_argument("--rounds", type=int, default=15, help="turns (default: 15)")
    parser.add_argument("--threads", type=int, default=1, help="for each (default: 1)")
    parser.add_argument("--against", default="numba,jax", help="(default: numba,jax)")
    parser.add_argument("--here", action="store_true", help="measure in this process")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Print what a call takes."""
    if options.rounds < 1 or options.threads < 1:
        raise Usage("--rounds and --threads must be at least 1")
    peers = [name.strip() for name in options.against.split(",") if name.strip()]
    for name in peers:
        if name not in _PEERS:
            raise unknown("library", name, _PEERS)
    if not options.here:
        return _in_child(options)
    call = read_call(options)
    config.set_num_threads(options.threads)
    with warnings.catch_warnings(), _silent():
        # The table says it.
        warnings.simplefilter("ignore", FallbackWarning)
        contenders, changes = _contenders(call, peers)
        measure(contenders, options.rounds, changes)
    plain, compiled = contenders[:2]
    if plain.wall is not None and compiled.wall is not None:
        call.compiled.report().measured(compiled.wall, plain.wall)
    data = _data(call, contenders, options)
    if options.json:
        print_json(data)
    else:
        _print(data)
    return 0 if contenders[1].agrees else 1


def _in_child(options: argparse.Namespace) -> int:
    """Run the command in a process of its own: libraries read how many threads to use at first."""
    threads = str(options.threads)
    names = ("OMP", "OPENBLAS", "MKL", "NUMBA", "TRACEJIT")
    env = os.environ | {f"{name}_NUM_THREADS": threads for name in names}
    if options.threads == 1:
        flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        env["XLA_FLAGS"] = f"{env.get('XLA_FLAGS', '')} {flags}".strip()
    env["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    # The path has the working directory where this process's has it, and not in front of all.
    command = [sys.executable, "-P", "-m", "tracejit", *options.argv, "--here"]
    return subprocess.run(command, env=env, check=False).returncode


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """What the function prints, call by call, goes nowhere."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        with contextlib.redirect_stdout(nowhere):
            yield


def _contenders(call: Call, peers: Sequence[str]) -> tuple[list[Contender], bool]:
    """Who answers the call, and how right; whether the call changes its arguments."""
    # What a transform makes has no plain form: its operations run one by one, on a tape.
    name = "op by op" if hasattr(call.plain, "traced_call") else "NumPy"
    plain = Contender(name, call.plain, call.args, call.kwargs, note="expected", eager=True)
    after = call.copied()
    with config.eager():
        want = call.run_on(call.plain, after)
    changes = not compare_results((call.args, call.kwargs), after, exact=True)[0]
    compiled = Contender("tracejit", call.compiled, call.args, call.kwargs)
    given = call.copied()
    start = time.perf_counter()
    got = call.run_on(call.compiled, given)
    compiled.first_call = time.perf_counter() - start
    compiled.agrees, compiled.note = compare_results((want, after), (got, given))
    fallbacks = call.compiled.report().fallbacks
    if fallbacks:
        compiled.note += f"; runs eagerly: {fallbacks[0]}"
    found = [plain, compiled]
    for name in peers:
        if importlib.util.find_spec(name) is not None:
            found.append(_peer(*_PEERS[name], call, want))
    return found, changes


def _peer(title: str, make: Callable[..., Peer], call: Call, want: Any) -> Contender:
    """Another compiler, if it takes the function and gives what NumPy gives."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function, args, kwargs = make(call.plain, *call.copied())
            start = time.perf_counter()
            got = function(*copy.deepcopy(args), **copy.deepcopy(kwargs))
        first_call = time.perf_counter() - start
        agrees, note = compare_results(want, got, values_only=True)
    except Exception as error:
        why = next(iter(str(error).strip().splitlines()), "")
        return Contender(title, None, note=f"not as it is: {type(error).__name__}: {why}"[:120])
    return Contender(title, function, args, kwargs, note, agrees, first_call)


def _data(call: Call, contenders: Sequence[Contender], options: argparse.Namespace) -> Any:
    """All that is said, as data; seconds."""
    base = contenders[0].cpu or 0.0
    rows = [
        {
            "name": c.name,
            "cpu": c.cpu,
            "wall": c.wall,
            "speedup": base / c.cpu if c.cpu else None,
            "first_call": c.first_call,
            "agrees": c.agrees if c.function is not None else None,
            "note": c.note,
        }
        for c in contenders
    ]
    given = [*map(_described, call.args), *(f"{k}={_described(x)}" for k, x in call.kwargs.items())]
    return {
        "function": call.target,
        "arguments": given,
        "threads": options.threads,
        "rounds": options.rounds,
        "processor": host_target().cpu,
        "rows": rows,
    }


def _described(x: Any) -> str:
    """The type of an argument as the command line writes it, or its value."""
    try:
        if isinstance(x, (np.ndarray, np.generic)):
            return str(type_of(x))
        simple = isinstance(x, (int, float, complex, str, type(None)))
        return repr(x)[:40] if simple else type(x).__name__
    except GraphError:
        return f"{x.dtype}{list(x.shape)}"


def _print(data: Any) -> None:
    print(f"{data['function']}({', '.join(data['arguments'])})")
    print(
        f"{data['threads']} thread(s), medians of {data['rounds']} turns, {data['processor']}; "
        "times of one call"
    )
    heads = ("", "CPU", "wall", "ratio", "first call", "result")
    rows = [
        (
            row["name"],
            _shown(row["cpu"]),
            _shown(row["wall"]),
            "" if row["speedup"] is None else f"{row['speedup']:.2f} x",
            _shown(row["first_call"]),
            row["note"],
        )
        for row in data["rows"]
    ]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for cells in (heads, *rows):
        line = [c.rjust(w) for c, w in zip(cells[1:-1], widths[1:-1], strict=True)]
        print("  ".join([cells[0].ljust(widths[0]), *line, cells[-1]]).rstrip())


def _shown(seconds: float | None) -> str:
    return "" if seconds is None else duration(seconds)
