"""`tracejit demo`: real programs on real data, NumPy beside compiled, as a table and pictures.

Every program is timed in turns with its compiled form, and its answers must agree within the bound
that its operations' parity class gives; otherwise the demo says where and returns 1.
"""

import argparse
import statistics
import sys
import time
import webbrowser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tracejit
from tracejit.demo import data, programs
from tracejit.demo.page import page
from tracejit.monitor.bars import bar

EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Demo:
    """A function, its arguments, and the error allowed in each result (an array or a number)."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    agreement: str
    allowed: Callable[[tuple[Any, ...]], tuple[Any, ...]]
    answer: Callable[[Any], str]


@dataclass(frozen=True)
class Outcome:
    """What a run of a program found; times in seconds, `problem` None where the answers agree."""

    program: Demo
    compiled: Any
    first_call: float
    numpy: float
    seconds: float
    result: Any
    problem: str | None


def photo_program(picture: Any) -> Demo:
    """Only exactly rounded operations: the pictures must be equal."""
    return Demo(
        "unsharp mask, tone mapping",
        programs.develop,
        (picture, programs.gaussian_weights(2.0), 0.6, 0.8),
        "bit for bit",
        lambda want: (0,),
        lambda result: f"{result.shape[1]} x {result.shape[0]} pixels",
    )


def loss_program(table: Any, labels: Any) -> Demo:
    """Sums and a matrix product: compared relative to the loss."""
    random = np.random.default_rng(9)
    weights = random.normal(0.0, 0.5, (table.shape[1], data.CLASSES))
    bias = random.normal(0.0, 0.1, data.CLASSES)
    return Demo(
        "logistic-regression loss",
        programs.logistic_loss,
        (table, labels, weights, bias, 1e-3),
        "to 1e-12 (order of sums)",
        lambda want: (1e-12 * abs(want[0]),),
        lambda result: f"loss {result:.6f}",
    )


def centroid_program(table: Any, labels: Any) -> Demo:
    """A sum of n squares has a relative error below n epsilon in any order; labels are equal."""
    centroids = np.stack([table[labels == k].mean(axis=0) for k in range(data.CLASSES)])
    bound = table.shape[1] * EPSILON
    return Demo(
        "nearest centroid",
        programs.nearest_centroid,
        (table, centroids),
        f"to {bound:.0e} (order of sums)",
        lambda want: (0, bound * want[1]),
        lambda result: f"{np.mean(result[0] == labels):.1%} recognised",
    )


def option_program(count: int) -> Demo:
    """Prices are differences of terms as large as spot and strike, each right to a few ulp.

    The error of a price is that of `spot * N(d1)` and `strike * N(d2)`: a few epsilon for N, and at
    most 0.25 epsilon for each epsilon in d, since |d| times the normal density stays below 0.25.
    """
    market = programs.option_market(count)
    bound = 16 * EPSILON * (market[0] + market[1])
    return Demo(
        "Black-Scholes",
        programs.black_scholes,
        market,
        "to 16 eps of spot + strike (ulp)",
        lambda want: (bound, bound),
        lambda result: f"{count:,} options, mean call {result[0].mean():.4f}",
    )


def disagreement(program: Demo, want: Any, got: Any) -> str | None:
    """What differs between NumPy's results and the compiled ones: kind, shape, dtype or value."""
    wants = want if isinstance(want, tuple) else (want,)
    gots = got if isinstance(got, tuple) else (got,)
    if len(wants) != len(gots):
        return f"{len(gots)} results instead of {len(wants)}"
    for i, (a, b, allowed) in enumerate(zip(wants, gots, program.allowed(wants), strict=True)):
        if type(a) is not type(b) or a.dtype != b.dtype or a.shape != b.shape:
            return f"result {i} is {b!r}, not {type(a).__name__} {a.dtype}{list(a.shape)}"
        excess = np.abs(a.astype(np.float64) - b) - allowed
        if not np.all(excess <= 0):
            return f"result {i} is off by {np.nanmax(excess + allowed):.3g}"
    return None


def run(program: Demo, rounds: int) -> Outcome:
    """Time a program and its compiled form in turns; the figures are medians."""

    def timed(function: Callable[..., Any]) -> tuple[float, Any]:
        start = time.perf_counter()
        result = function(*program.arguments)
        return time.perf_counter() - start, result

    compiled = tracejit.jit(program.function)
    first_call, got = timed(compiled)
    _, want = timed(program.function)
    times: tuple[list[float], list[float]] = ([], [])
    for i in bar(range(rounds), name=program.name):
        for j in (0, 1) if i % 2 else (1, 0):
            times[j].append(timed((program.function, compiled)[j])[0])
    numpy_time, compiled_time = (statistics.median(each) for each in times)
    problem = disagreement(program, want, got)
    return Outcome(program, compiled, first_call, numpy_time, compiled_time, got, problem)


def table(outcomes: Sequence[Outcome]) -> str:
    """Times and speed-ups as aligned text."""
    heads = ("program", "NumPy", "tracejit", "speed-up", "first call", "agrees", "answer")
    rows = [
        (
            o.program.name,
            f"{o.numpy * 1e3:.2f} ms",
            f"{o.seconds * 1e3:.2f} ms",
            f"{o.numpy / o.seconds:.1f} x",
            f"{o.first_call * 1e3:.0f} ms",
            "NO" if o.problem else o.program.agreement,
            o.program.answer(o.result),
        )
        for o in outcomes
    ]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = []
    for row in (heads, *rows):
        cells = [
            cell.rjust(width) if 1 <= i <= 4 else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def write(out: Path, picture: Any, outcomes: Sequence[Outcome]) -> Path:
    """Write the pictures, the page of the first program's code, and the page with all; its path."""
    out.mkdir(parents=True, exist_ok=True)
    photo = outcomes[0]
    difference = np.abs(photo.result.astype(np.int16) - picture).astype(np.uint8)
    pictures = (("before", picture), ("after", photo.result), ("difference", difference))
    for name, pixels in pictures:
        data.write_png(out / f"{name}.png", pixels)
    # A process that was answered from disk has no compile to show.
    photo.compiled.view(*photo.program.arguments).save(out / "code.html")
    files = [(name, out / f"{name}.png") for name, _ in pictures]
    times = [(o.program.name, o.numpy, o.seconds) for o in outcomes]
    found = out / "demo.html"
    found.write_text(page(files, times, "code.html"), encoding="utf-8")
    return found


def add_options(parser: argparse.ArgumentParser) -> None:
    """What the demo takes."""
    parser.add_argument(
        "--out", type=Path, default=Path("tracejit-demo"), help="for the page and the pictures"
    )
    parser.add_argument("--rounds", type=int, default=9, help="timed turns (default: 9)")
    parser.add_argument("--quick", action="store_true", help="three turns, fewer options")
    parser.add_argument("--no-open", action="store_true", help="do not show the page in a browser")
    parser.add_argument("--report", action="store_true", help="what the compiler says of each")


def main(options: argparse.Namespace) -> int:
    """Run the demo; 0 where all answers agree, else 1."""
    rounds = min(options.rounds, 3) if options.quick else options.rounds

    picture, picture_source = data.photo()
    rows, labels, table_source = data.digits()
    print(f"data: {picture_source}; {table_source}; options from a seeded generator")
    if "generated" in picture_source + table_source:
        print(f"The real photo and table come with the extra: {data.EXTRA}")
    shown = [
        photo_program(picture),
        loss_program(rows, labels),
        centroid_program(rows, labels),
        option_program(50_000 if options.quick else 1_000_000),
    ]
    outcomes = [run(program, rounds) for program in bar(shown, name="programs")]
    print(f"\n{table(outcomes)}\nmedians of {rounds} turns, NumPy and compiled alternating\n")
    if options.report:
        for outcome in outcomes:
            print(f"{outcome.program.name}\n{outcome.compiled.report()}\n")

    problems = [(o.program.name, o.problem) for o in outcomes if o.problem]
    for name, problem in problems:
        print(f"DISAGREES: {name}: {problem}", file=sys.stderr)
    if problems:
        return 1
    found = write(options.out, picture, outcomes)
    print(f"wrote {found}, with before.png, after.png, difference.png and code.html beside it")
    if sys.stdout.isatty() and not options.no_open:
        webbrowser.open(found.resolve().as_uri())
    return 0
