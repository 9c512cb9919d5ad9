"""Functions and methods of public style: how many compile whole, first calls, and their speed."""

import statistics
import time
import warnings
from collections import Counter

import numpy as np

import tracejit
from tracejit.runtime.report.report import Part

from ._programs_timing import Runner, measure
from .corpus import FAMILIES, Program
from .corpus.filters import KalmanFilter, kalman, noise, simulate_pid
from .corpus.games import GameOfLife, cells
from .corpus.machine_learning import KMeans, blobs
from .corpus.networks import Adam, Dense, ReLU, Sequential, Trainer, labels, normal
from .corpus.probabilistic import HMM, LDA, DecisionTree, documents, hmm, observations
from .corpus.program import differences, outcome, standing
from .corpus.simulators import Queue
from .harness import Cell, Table


def trainer() -> Trainer:
    """A network of three layers."""
    layers = Dense(20, 64, 1), ReLU(), Dense(64, 32, 2), ReLU(), Dense(32, 3, 3)
    return Trainer(Sequential(*layers), Adam(), batch_size=32)


def gradients() -> list[tuple[np.ndarray, np.ndarray]]:
    """Parameters of a small network, with gradients."""
    shapes = (64, 64), (64,), (64, 32), (32,)
    return [(normal(*shape), normal(*shape, seed=1)) for shape in shapes]


def stepped() -> Adam:
    """An optimiser that has its moments."""
    made = Adam()
    made.step(gradients())
    return made


#: Methods and the state of objects in loops, with arguments of realistic sizes.
STATEFUL: dict[str, Program] = {
    "Kalman filter": Program(KalmanFilter.filter, (lambda: (kalman(), noise(2000)),)),
    "k-means": Program(KMeans.fit, (lambda: (KMeans(8), blobs(5000, 4, 8)[0]),)),
    "network, an epoch": Program(
        Trainer.train_epoch, (lambda: (trainer(), normal(1000, 20), labels(1000)),)
    ),
    "optimiser, a step": Program(Adam.step, (lambda: (stepped(), gradients()),)),
    "decision tree": Program(DecisionTree.fit, (lambda: (DecisionTree(), *blobs(300, 4)),)),
    "hidden Markov model": Program(HMM.baum_welch, (lambda: (hmm(), observations(2000)),)),
    "discrete events": Program(Queue.run, (lambda: (Queue(1.0, 1.2), 2000.0),)),
    "latent Dirichlet allocation": Program(LDA.fit, (lambda: (LDA(5), documents(30, 60), 12, 5),)),
    "PID controller": Program(simulate_pid, (lambda: (2.0, 0.5, 0.1, 25.0, 5000),)),
    "game of life": Program(GameOfLife.step, (lambda: (GameOfLife(cells(64, 64)),),)),
}


def measured(program: Program, rounds: int) -> tuple[dict[str, Cell], list[str]]:
    """A row of the table, and in what the compiled program is wrong."""
    make = program.inputs[0]
    jitted = tracejit.jit(program.f)
    arguments = make()
    start = time.process_time()
    outcome_of_first = outcome(jitted, arguments)
    first = (time.process_time() - start) * 1e3
    plain = make()
    wrong = [*differences(outcome(program.f, plain), outcome_of_first)]
    for other in program.inputs:
        plain, compiled = other(), other()
        wrong += [
            line
            for _ in range(2)
            for line in differences(outcome(program.f, plain), outcome(jitted, compiled))
        ]
    report = jitted.report()
    row: dict[str, Cell] = {"": program.name, "runs": standing(report), "first ms": first}
    try:
        program.f(*make())
    except Exception:
        return row, wrong  # which ends in an exception: nothing to time
    runners = {"plain": Runner(program.f, make), "compiled": Runner(jitted, make)}
    seconds = measure(runners, rounds)
    ratios = [a / b for a, b in zip(seconds["plain"], seconds["compiled"], strict=True)]
    row["plain us"] = statistics.median(seconds["plain"]) * 1e6
    row["times plain"] = statistics.median(ratios)
    row["in parts"] = ", ".join(_spelled(part) for part in report.parts if part.is_compiled)
    return row, wrong


def _spelled(part: Part) -> str:
    """A compiled part of a function that runs eagerly."""
    return f"loop at {part.line}" if part.name == "loop" else part.name


def corpus_table(rounds: int, only: str) -> Table:
    """Every program of the corpus, at the sizes that its tests have too."""
    table = Table("the corpus: how each program runs, CPU time", [])
    wrong = []
    for name, family in FAMILIES.items():
        for program in family:
            if only and program.name not in only.split(",") and name not in only.split(","):
                continue
            row, lines = measured(program, rounds)
            wrong += [f"{program.name} is wrong: {line}" for line in lines[:1]]
            table.rows.append(row)
    whole = [row for row in table.rows if row["runs"] == "whole"]
    first = [float(row["first ms"]) for row in whole]
    timed = [row for row in whole if "times plain" in row]
    table.rows.sort(key=lambda row: float(row.get("times plain", 0.0)))
    table.notes += wrong
    table.notes.append(f"{len(table.rows)} programs, {len(whole)} whole under strict=True")
    why = Counter(str(row["runs"]) for row in table.rows if row["runs"] != "whole")
    table.notes.append("not whole: " + "; ".join(f"{n} {text}" for text, n in why.most_common()))
    slow = [f"{row['']} ({row['first ms']:.0f})" for row in whole if float(row["first ms"]) > 400]
    table.notes.append("first calls above 400 ms: " + (", ".join(slow) or "none"))
    if not whole:
        return table
    table.require("share compiled whole, %", 100 * len(whole) / len(table.rows), at_least=90)
    table.require("wrong programs", len(wrong), at_most=0)
    table.require("first call, median ms", statistics.median(first), at_most=150)
    table.require("first call, longest ms", max(first), at_most=1000)
    slower = sum(float(row["times plain"]) < 1 / 1.1 for row in timed)
    table.require("compiled programs slower than Python by 10 %", slower, at_most=0)
    mean = statistics.geometric_mean(float(row["times plain"]) for row in timed)
    table.notes.append(f"geometric mean of the compiled: {mean:.3g} times as fast as plain Python")
    return table


def stateful_table(rounds: int) -> Table:
    """Objects whose methods change them, at sizes as in use."""
    table = Table("methods and state in loops: times faster than plain NumPy, CPU time", [])
    for name, program in STATEFUL.items():
        row, wrong = measured(program, rounds)
        table.rows.append({**row, "": name})
        table.notes += [f"{name} is wrong: {line}" for line in wrong[:1]]
        table.require(name, float(row["times plain"]), at_least=3.0)
    return table


def run(quick: bool, only: str = "") -> list[Table]:
    rounds = 3 if quick else 9
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        measured(FAMILIES["filters"][0], 1)  # which starts the back end
        corpus = corpus_table(rounds, only)
        return [corpus] if only else [stateful_table(rounds), corpus]
