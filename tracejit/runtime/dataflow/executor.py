"""Runs a dataflow graph: each node fires when its tokens have arrived, as in TensorFlow.

Values are never changed in place, so nodes fire in any order, and several at a time. Errors and
texts are still those of the program's order: every firing has a place in it, the error with the
first place wins, after everything before it has run, and texts are written in order, up to that
place, when the run ends.
"""

from __future__ import annotations

import heapq
import queue
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from tracejit.base.late import shown
from tracejit.base.lazy_dataclass import dataclass
from tracejit.errors import Bailout, GraphError
from tracejit.ir.dataflow import DataflowGraph
from tracejit.ir.evaluate import bind_inputs, bind_sizes, run_node
from tracejit.ir.graph import Node, Value
from tracejit.ops.control.effects import PrintText, RaiseError
from tracejit.runtime.dataflow.plan import ExecutionPlan
from tracejit.runtime.dataflow.tokens import Position, Ready, Tag, Tokens

__all__ = ["Firing", "Run", "run_dataflow"]


class Firing(NamedTuple):
    """One firing of a node on live tokens: what it took, and in which iteration of which frame."""

    node: Node
    seconds: float
    frame: str
    iteration: Tag


@dataclass
class Run:
    """The record of a run: the outputs asked for, and every firing in the order of their ends."""

    outputs: tuple[Any, ...]
    times: list[Firing]

    @property
    def fired(self) -> Counter[Node]:
        """How often each node has fired on live tokens."""
        return Counter(firing.node for firing in self.times)

    def _repr_html_(self) -> str:
        return shown(self)


def run_dataflow(
    graph: DataflowGraph,
    inputs: Sequence[Any],
    sizes: Mapping[str, int] | None = None,
    *,
    outputs: Sequence[int] | None = None,
    workers: int | None = None,
    seed: int | None = None,
    parallel_iterations: int = 32,
) -> Run:
    """Run `graph` on concrete values, as `tracejit.ir.evaluate.evaluate` takes them.

    `outputs` are the numbers of the outputs that are computed (None: all of them). Only what they
    need fires: what their values depend on, the checks and exceptions that can stop the nodes among
    it, and explicit exceptions anywhere; with all outputs also every other effect. With `workers`,
    that many threads evaluate nodes; otherwise one node fires after another, the first in the
    program's order of those that can, or a random one if there is a `seed`. Not more than
    `parallel_iterations` iterations of a loop are under way at a time.

    Raises what a node raises, Bailout where a compiled run would bail out, GraphError where the
    inputs do not fit, ValueError for options without meaning.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"a run needs a worker, not {workers}")
    if parallel_iterations < 1:
        raise ValueError(f"a loop needs an iteration at a time, not {parallel_iterations}")
    wanted = range(len(graph.outputs)) if outputs is None else outputs
    for k in wanted:
        if not 0 <= k < len(graph.outputs):
            raise ValueError(f"there is no output {k} among {len(graph.outputs)}")
    known = dict(bind_sizes(graph, inputs) if sizes is None else sizes)
    given = bind_inputs(graph, inputs, known)
    plan = ExecutionPlan(graph, [graph.outputs[k] for k in wanted], effects=outputs is None)
    chance = None if seed is None else random.Random(seed)
    with nullcontext() if workers is None else ThreadPoolExecutor(workers) as pool:
        run = _Run(plan, known, parallel_iterations, chance, pool, workers or 0)
        run.run(given)
    for v in plan.wanted:
        if v not in run.tokens.results:
            raise GraphError(f"{graph.name}: no token arrives at {v!r}")
    found = tuple(run.tokens.results[graph.outputs[k]] for k in wanted)
    return Run(found, run.times)


class _Run:
    """Chooses what fires next, evaluates it, and keeps the program's order of errors and texts."""

    def __init__(
        self,
        plan: ExecutionPlan,
        sizes: dict[str, int],
        parallel_iterations: int,
        chance: random.Random | None,
        pool: ThreadPoolExecutor | None,
        workers: int,
    ) -> None:
        self.plan, self.sizes, self.chance = plan, sizes, chance
        self.pool, self.workers = pool, workers
        self.tokens = Tokens(plan, parallel_iterations, self.schedule)
        self.ready: list[Ready] = []
        self.times: list[Firing] = []
        self.texts: list[Ready] = []
        self.error: tuple[Position, BaseException] | None = None
        self.running = 0
        self.done: queue.SimpleQueue[tuple[Ready, _Outcome]] = queue.SimpleQueue()

    def run(self, given: Mapping[Value, Any]) -> None:
        """Fire until nothing is left to fire. Raises the first error in the program's order."""
        self.tokens.start(given)
        while self.ready or self.running:
            if self.running and (not self.ready or self.running == self.workers):
                item, outcome = self.done.get()
                self.running -= 1
                self.evaluated(item, outcome)
                continue
            item = self.take()
            if self.error is None or item.place < self.error[0]:
                self.fire(item)
        self.write_texts()
        if self.error is not None:
            raise self.error[1]
        self.tokens.finish()

    def schedule(self, item: Ready) -> None:
        if self.chance is None:
            heapq.heappush(self.ready, item)
        else:
            self.ready.append(item)

    def take(self) -> Ready:
        if self.chance is None:
            return heapq.heappop(self.ready)
        k = self.chance.randrange(len(self.ready))
        self.ready[k], self.ready[-1] = self.ready[-1], self.ready[k]
        return self.ready.pop()

    def fire(self, item: Ready) -> None:
        op = item.node.op
        if op.kind == "dataflow":
            try:
                self.tokens.move(item)
            except Bailout as error:
                self.failed(item, error)
                return
        elif item.dead:
            self.tokens.give_dead(item)
        elif isinstance(op, PrintText):
            self.texts.append(item)
            self.tokens.give(item, item.operands[:1], {})
        else:
            self.evaluate(item)
            return
        if not item.dead:
            self.record(item, 0.0)

    def record(self, item: Ready, seconds: float) -> None:
        frame = self.plan.section[item.node].frame.name
        self.times.append(Firing(item.node, seconds, frame, item.tag))

    def failed(self, item: Ready, error: BaseException) -> None:
        if self.error is None or item.place < self.error[0]:
            self.error = (item.place, error)

    def evaluate(self, item: Ready) -> None:
        operands, sizes = self.operands(item)
        if self.pool is None:
            self.evaluated(item, _evaluate(item.node, operands, sizes))
            return
        self.running += 1

        def done(future: Future[_Outcome]) -> None:
            error = future.exception()
            self.done.put((item, future.result() if error is None else _Outcome(0.0, error=error)))

        self.pool.submit(_evaluate, item.node, operands, sizes).add_done_callback(done)

    def operands(self, item: Ready) -> tuple[Sequence[Any], dict[str, int]]:
        """The values of the inputs, and of all sizes that the node may read."""
        given = item.operands[self.plan.slots[item.node] :]
        sizes = dict(zip(self.plan.sizes[item.node], given, strict=True))
        return item.operands[: len(item.node.inputs)], {**self.sizes, **sizes}

    def evaluated(self, item: Ready, outcome: _Outcome) -> None:
        if outcome.error is not None:
            self.failed(item, outcome.error)
            return
        self.record(item, outcome.seconds)
        self.tokens.give(item, outcome.results, outcome.sizes)

    def write_texts(self) -> None:
        """Write the texts that come before the first error. One that fails is itself an error."""
        for item in sorted(self.texts):
            if self.error is not None and item.place >= self.error[0]:
                return
            outcome = _evaluate(item.node, *self.operands(item))
            if outcome.error is not None:
                self.failed(item, outcome.error)


@dataclass
class _Outcome:
    """What evaluating a node gave: results and the sizes it binds, or an error."""

    seconds: float
    results: tuple[Any, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    error: BaseException | None = None


def _evaluate(node: Node, operands: Sequence[Any], sizes: dict[str, int]) -> _Outcome:
    start = time.perf_counter()
    try:
        with np.errstate(all="ignore"):
            results = run_node(node, operands, sizes)
    except BaseException as error:
        # Ctrl-C ends the run at once, unless it is the program that raises it.
        if not isinstance(error, Exception) and not isinstance(node.op, RaiseError):
            raise
        return _Outcome(time.perf_counter() - start, error=error)
    return _Outcome(time.perf_counter() - start, results, sizes)
