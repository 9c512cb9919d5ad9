"""Runs a dataflow graph: each node fires when its tokens have arrived, as in TensorFlow.

A token is a value together with a tag, the iterations of the loops around it: () outside all loops,
(3, 0) in the first iteration of an inner loop in the fourth of an outer one. What `switch` sends to
the side that is not taken is dead, and so is what any node makes of a dead token; a `merge` gives
the one live token, or a dead one where all are. A dead `enter` starts a loop whose only iteration
is dead, and its exits are dead; the dead tokens that reach the exits of a running loop are dropped.

Values are never changed in place, so nodes fire in any order, and several at a time. Errors and
texts are still those of the program's order: every firing has a place in it (`_Run.place`), the
error with the first place wins, after everything before it has run, and texts are written in order,
up to that place, when the run ends.
"""

from __future__ import annotations

import heapq
import queue
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from tracejit.errors import Bailout, GraphError
from tracejit.ir.dataflow import DataflowGraph
from tracejit.ir.evaluate import bind_inputs, bind_sizes, run_node
from tracejit.ir.graph import Node, Value
from tracejit.runtime.dataflow_plan import Plan

__all__ = ["Firing", "Run", "run_dataflow"]

#: The iterations of the loops around a token, from the outermost in.
Tag: TypeAlias = "tuple[int, ...]"
Place: TypeAlias = "tuple[int, ...]"


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
    plan = Plan(graph, [graph.outputs[k] for k in wanted], effects=outputs is None)
    run = _Run(plan, known, parallel_iterations, None if seed is None else random.Random(seed))
    if workers is None:
        run.start(given)
        run.finish()
    else:
        with ThreadPoolExecutor(workers) as pool:
            run.pool, run.workers = pool, workers
            run.start(given)
            run.finish()
    found = {v: run.results[v] for v in plan.wanted if v in run.results}
    missing = [v for v in plan.wanted if v not in found]
    if missing:
        raise GraphError(f"{graph.name}: no token arrives at {missing[0]!r}")
    return Run(tuple(found[graph.outputs[k]] for k in wanted), run.times)


class _Dead:
    def __repr__(self) -> str:
        return "DEAD"


DEAD: Final = _Dead()


class _Waiting:
    """A node of one iteration whose tokens are arriving."""

    __slots__ = ("dead", "missing", "operands")

    def __init__(self, count: int) -> None:
        self.operands: list[Any] = [_NOTHING] * count
        self.missing = count
        self.dead = False


_NOTHING: Final = object()


class _Ready(NamedTuple):
    place: Place
    node: Node
    tag: Tag
    operands: Sequence[Any]
    dead: bool


@dataclass
class _Loop:
    """One run of a loop, in one iteration of what is around it."""

    #: Iterations that have begun.
    begun: int = 0
    dead: bool = False
    #: What every iteration gets.
    constants: list[tuple[Value, Any]] = field(default_factory=list)
    #: By iteration: how many of what the loop carries have not arrived.
    lacking: dict[int, int] = field(default_factory=dict)
    #: Iterations before this one have all that the loop carries.
    complete: int = 0
    #: Tokens for iterations that may not begin yet.
    held: dict[int, list[tuple[Value, Any]]] = field(default_factory=dict)
    #: The last iteration, once that is known.
    last: int | None = None
    #: How many values have entered and left.
    entered: int = 0
    left: int = 0


class _Run:
    def __init__(
        self,
        plan: Plan,
        sizes: dict[str, int],
        parallel_iterations: int,
        chance: random.Random | None,
    ) -> None:
        self.plan, self.known, self.window, self.chance = plan, sizes, parallel_iterations, chance
        self.pool: ThreadPoolExecutor | None = None
        self.workers = 0
        self.ready: list[_Ready] = []
        self.waiting: dict[tuple[Node, Tag], _Waiting] = {}
        self.sizes: dict[tuple[str, Tag], Any] = {}
        self.readers: dict[tuple[str, Tag], list[tuple[Node, Tag, int]]] = {}
        self.loops: dict[tuple[str, Tag], _Loop] = {}
        self.results: dict[Value, Any] = {}
        self.times: list[Firing] = []
        self.texts: list[_Ready] = []
        self.error: tuple[Place, BaseException] | None = None
        self.done: queue.SimpleQueue[tuple[_Ready, _Outcome]] = queue.SimpleQueue()
        self.running = 0

    # Scheduling -----------------------------------------------------------------------------------

    def start(self, given: Mapping[Value, Any]) -> None:
        """Send the inputs, and fire what needs none."""
        for v, x in given.items():
            self.send(v, (), x)
        for node in self.plan.unprompted:
            self.wait(node, ())

    def finish(self) -> None:
        """Fire until nothing is left to fire. Raises the first error in the program's order."""
        while self.ready or self.running:
            if self.running and (not self.ready or self.running >= self.workers):
                self.collect()
                continue
            item = self.take()
            if self.error is not None and item.place >= self.error[0]:
                continue
            self.fire(item)
        self.write_texts()
        if self.error is not None:
            raise self.error[1]

    def take(self) -> _Ready:
        if self.chance is None:
            return heapq.heappop(self.ready)
        k = self.chance.randrange(len(self.ready))
        self.ready[k], self.ready[-1] = self.ready[-1], self.ready[k]
        return self.ready.pop()

    def schedule(self, node: Node, tag: Tag, operands: Sequence[Any], dead: bool) -> None:
        item = _Ready(self.place(node, tag), node, tag, operands, dead)
        if self.chance is None:
            heapq.heappush(self.ready, item)
        else:
            self.ready.append(item)

    def place(self, node: Node, tag: Tag) -> Place:
        """Where in the program's order the node fires: places compare as firings follow."""
        starts = self.plan.starts[self.plan.section[node].frame.name]
        out: list[int] = []
        for start, iteration in zip(starts, tag, strict=True):
            out += (start, iteration)
        return (*out, self.plan.order[node])

    def failed(self, place: Place, error: BaseException) -> None:
        if self.error is None or place < self.error[0]:
            self.error = (place, error)

    def collect(self) -> None:
        item, outcome = self.done.get()
        self.running -= 1
        self.evaluated(item, outcome)

    def write_texts(self) -> None:
        """Write the texts that come before the first error. One that fails is itself an error."""
        for item in sorted(self.texts):
            if self.error is not None and item.place >= self.error[0]:
                return
            outcome = _evaluate(*self.operands(item))
            if outcome.error is not None:
                self.failed(item.place, outcome.error)

    # Tokens ---------------------------------------------------------------------------------------

    def send(self, value: Value, tag: Tag, x: Any) -> None:
        """A token arrives at all that read it."""
        if value in self.plan.wanted and not tag and x is not DEAD:
            self.results[value] = x
        for node, slot in self.plan.readers.get(value, ()):
            self.arrive(node, tag, slot, x)

    def send_size(self, size: str, tag: Tag, x: Any) -> None:
        self.sizes[size, tag] = x
        for node, at, slot in self.readers.pop((size, tag), ()):
            self.arrive(node, at, slot, x)

    def wait(self, node: Node, tag: Tag) -> _Waiting:
        """The record of a node of which something has arrived; sizes may be there already."""
        sizes = self.plan.sizes[node]
        slots = self.plan.slots[node]
        found = self.waiting[node, tag] = _Waiting(slots + len(sizes))
        if not found.missing:
            self.complete(node, tag, found)
        for k, size in enumerate(sizes, slots):
            key = (size, tag[: self.plan.depth[size]])
            if key in self.sizes:
                self.arrive(node, tag, k, self.sizes[key])
            else:
                self.readers.setdefault(key, []).append((node, tag, k))
        return found

    def arrive(self, node: Node, tag: Tag, slot: int, x: Any) -> None:
        if node.op.name == "merge":
            self.arrive_at_merge(node, tag, x)
            return
        if node.op.name == "exit":
            loop = self.loops.get((self.plan.left[node], tag[:-1]))
            if x is not DEAD or (loop is not None and loop.dead):
                self.schedule(node, tag[:-1], (x,), x is DEAD)
            return
        found = self.waiting.get((node, tag)) or self.wait(node, tag)
        if found.operands[slot] is not _NOTHING:
            raise GraphError(f"two tokens arrive at {node!r} in iteration {tag}")
        found.operands[slot] = x
        found.missing -= 1
        found.dead = found.dead or x is DEAD
        if not found.missing:
            self.complete(node, tag, found)

    def complete(self, node: Node, tag: Tag, found: _Waiting) -> None:
        del self.waiting[node, tag]
        self.schedule(node, tag, found.operands, found.dead)

    def arrive_at_merge(self, node: Node, tag: Tag, x: Any) -> None:
        """A loop's merge takes what comes; a branch's the live one of two."""
        if self.plan.section[node].kind == "head":
            self.schedule(node, tag, (x,), x is DEAD)
            return
        found = self.waiting.get((node, tag))
        if found is None:
            found = self.waiting[node, tag] = _Waiting(len(node.inputs))
            found.dead = True
        found.missing -= 1
        if x is not DEAD:
            if not found.dead:
                raise GraphError(f"both sides arrive at {node!r}")
            found.dead = False
            self.schedule(node, tag, (x,), dead=False)
        if not found.missing:
            del self.waiting[node, tag]
            if found.dead:
                self.schedule(node, tag, (DEAD,), dead=True)

    # Firing ---------------------------------------------------------------------------------------

    def fire(self, item: _Ready) -> None:
        primitive = _PRIMITIVES.get(item.node.op.name)
        if primitive is not None:
            primitive(self, item)
            if not item.dead:
                self.record(item, 0.0)
        elif item.dead:
            self.give(item, [DEAD] * len(item.node.outputs))
            for size in item.node.binds:
                self.send_size(size, item.tag, DEAD)
        elif item.node.op.name == "print_text":
            self.texts.append(item)
            self.give(item, item.operands[:1])
            self.record(item, 0.0)
        else:
            self.evaluate(item)

    def record(self, item: _Ready, seconds: float) -> None:
        frame = self.plan.section[item.node].frame.name
        self.times.append(Firing(item.node, seconds, frame, item.tag))

    def give(self, item: _Ready, values: Sequence[Any]) -> None:
        for v, x in zip(item.node.outputs, values, strict=True):
            self.send(v, item.tag, x)

    def evaluate(self, item: _Ready) -> None:
        node, operands, sizes = self.operands(item)
        if self.pool is None:
            self.evaluated(item, _evaluate(node, operands, sizes))
            return
        self.running += 1

        def done(future: Future[_Outcome]) -> None:
            self.done.put((item, future.result()))

        self.pool.submit(_evaluate, node, operands, sizes).add_done_callback(done)

    def operands(self, item: _Ready) -> tuple[Node, Sequence[Any], dict[str, int]]:
        """The node with its operands and sizes: what has arrived is inputs or pivot, then sizes."""
        node = item.node
        names = self.plan.sizes[node]
        given = item.operands[self.plan.slots[node] :]
        sizes = {**self.known, **dict(zip(names, given, strict=True))}
        return node, item.operands[: len(node.inputs)], sizes

    def evaluated(self, item: _Ready, outcome: _Outcome) -> None:
        if outcome.error is not None:
            self.failed(item.place, outcome.error)
            return
        self.record(item, outcome.seconds)
        self.give(item, outcome.results)
        for size in item.node.binds:
            self.send_size(size, item.tag, outcome.sizes[size])

    # The primitives -------------------------------------------------------------------------------

    def fire_switch(self, item: _Ready) -> None:
        x, predicate = item.operands
        if item.dead:
            self.give(item, (DEAD, DEAD))
        else:
            self.give(item, (DEAD, x) if predicate else (x, DEAD))

    def fire_merge(self, item: _Ready) -> None:
        node, tag = item.node, item.tag
        (x,) = item.operands
        for size in node.binds:
            self.send_size(size, tag, x)
        self.give(item, (x,))
        section = self.plan.section[node]
        if section.kind == "head" and not item.dead:
            self.carried(section.frame.name, tag)

    def fire_loop_cond(self, item: _Ready) -> None:
        (go,) = item.operands
        if not item.dead and not go:
            *outer, k = item.tag
            frame = self.plan.section[item.node].frame.name
            self.loops[frame, tuple(outer)].last = k
            self.forget(frame, tuple(outer))
        self.give(item, (go,))

    def fire_enter(self, item: _Ready) -> None:
        """Into iteration 0 of a loop, or with `constant` into each one."""
        node, tag = item.node, item.tag
        (x,) = item.operands
        (v,) = node.outputs
        loop = self.loops.setdefault((node.attrs["frame"], tag), _Loop())
        loop.entered += 1
        if item.dead:
            loop.dead = True
            self.send(v, (*tag, 0), DEAD)
        elif node.attrs["constant"]:
            loop.constants.append((v, x))
            for k in range(loop.begun):
                self.send(v, (*tag, k), x)
        else:
            self.begin(loop, tag, 0)
            self.send(v, (*tag, 0), x)
        self.forget(node.attrs["frame"], tag)

    def fire_next_iteration(self, item: _Ready) -> None:
        """A dead token ends here: the last iteration has no next one."""
        if item.dead:
            return
        *outer, k = item.tag
        (v,), (x,) = item.node.outputs, item.operands
        frame = self.plan.section[item.node].frame.name
        loop = self.loops[frame, tuple(outer)]
        if k + 1 >= loop.complete + self.window:
            loop.held.setdefault(k + 1, []).append((v, x))
            return
        self.begin(loop, tuple(outer), k + 1)
        self.send(v, (*outer, k + 1), x)

    def fire_exit(self, item: _Ready) -> None:
        """Out of a loop: what its last iteration sends, or a dead token where it never ran."""
        (x,) = item.operands
        for size in item.node.binds:
            if not item.dead and x < 0:
                self.failed(item.place, Bailout(f"the size {size} is negative"))
                return
            self.send_size(size, item.tag, x)
        self.give(item, (x,))
        if item.dead:
            frame = self.plan.left[item.node]
            self.loops[frame, item.tag].left += 1
            self.forget(frame, item.tag)

    def begin(self, loop: _Loop, outer: Tag, k: int) -> None:
        """Iteration `k` gets what is the same in all of them, once."""
        if k < loop.begun:
            return
        loop.begun = k + 1
        for v, x in loop.constants:
            self.send(v, (*outer, k), x)

    def carried(self, frame: str, tag: Tag) -> None:
        """One of what a loop carries has arrived; when all have, a later iteration may begin."""
        *outer, k = tag
        loop = self.loops[frame, tuple(outer)]
        loop.lacking[k] = loop.lacking.get(k, self.plan.carried[frame]) - 1
        while loop.lacking.get(loop.complete) == 0:
            del loop.lacking[loop.complete]
            loop.complete += 1
            start = loop.complete + self.window - 1
            for v, x in loop.held.pop(start, ()):
                self.begin(loop, tuple(outer), start)
                self.send(v, (*outer, start), x)
        self.forget(frame, tuple(outer))

    def forget(self, frame: str, outer: Tag) -> None:
        """Drop the record of a loop of which nothing more can enter or go round."""
        loop = self.loops[frame, outer]
        if loop.dead:
            over = loop.left == self.plan.exits[frame]
        else:
            over = loop.last is not None and loop.complete > loop.last
        if over and loop.entered == self.plan.enters[frame]:
            del self.loops[frame, outer]


_PRIMITIVES: Final[Mapping[str, Callable[[_Run, _Ready], None]]] = {
    "switch": _Run.fire_switch,
    "merge": _Run.fire_merge,
    "enter": _Run.fire_enter,
    "exit": _Run.fire_exit,
    "next_iteration": _Run.fire_next_iteration,
    "loop_cond": _Run.fire_loop_cond,
}


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
    except Exception as error:
        return _Outcome(time.perf_counter() - start, error=error)
    return _Outcome(time.perf_counter() - start, results, sizes)
