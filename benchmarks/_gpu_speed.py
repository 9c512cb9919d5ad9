"""One case of the GPU's benchmark: checked against NumPy, then timed, everybody in turns."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tracejit

from ._gpu_cases import Case, Sizes, cases
from ._gpu_libraries import Arrays, arrays_here, missing, of_library, release
from ._gpu_peers import COMPILED, forms

COPY = "copy"
#: Seconds of one turn, and turns.
BATCH, ROUNDS = 0.03, 9
MOST_CALLS = 2000


@dataclass
class Contender:
    """A way to run a case, with sets of arguments in its own library."""

    name: str
    call: Callable[..., Any]
    arrays: Arrays
    sets: list[tuple[Any, ...]] = field(default_factory=list)
    calls: int = 1
    #: Seconds of one call in each turn, by the wall clock and, where there are some, by events.
    walls: list[float] = field(default_factory=list)
    events: list[float] = field(default_factory=list)

    def turn(self, calls: int) -> tuple[float, float | None]:
        """Seconds of one call, the device being idle before and after."""
        result: Any = None
        self.arrays.wait(None)
        start = time.perf_counter()
        before = self.arrays.event()
        for k in range(calls):
            result = self.call(*self.sets[k % len(self.sets)])
        after = self.arrays.event()
        self.arrays.wait(result)
        wall = time.perf_counter() - start
        elapsed = self.arrays.elapsed(before, after)
        return wall / calls, None if elapsed is None else elapsed / calls


def names() -> list[str]:
    """Every case, after the bandwidth of a copy."""
    return [COPY, *(case.name for case in cases())]


def run_case(name: str, device: str, quick: bool) -> dict[str, Any]:
    """What one case gives: sizes, times, notes. Raises where our own results are wrong."""
    if name == COPY:
        return {"rows": [], "notes": []} if device == "cuda-sim" else copy_bandwidth()
    case = next(case for case in cases() if case.name == name)
    notes: list[str] = []
    ours = arrays_here(device)
    if ours.name == "numba.cuda":
        notes.append("tracejit: arrays of Numba")
    rng = np.random.default_rng()
    # On the simulated device sizes are tiny: one thread after the other.
    checked = case.tiny if device == "cuda-sim" else case.small
    jitted = tracejit.jit(case.compiled or case.f)
    check(case, Contender("tracejit", jitted, ours), case.make(rng, checked))
    if device == "cuda-sim":
        return {"size": case.text(checked), "rows": [], "notes": [*notes, *_placed(jitted)]}
    # What is timed has seen no other sizes.
    jitted = tracejit.jit(case.compiled or case.f)
    found = [Contender("tracejit", jitted, ours)]
    for library, label, make in forms(case.name):
        arrays = of_library(library)
        if arrays is None:
            continue
        try:
            if label != COMPILED:
                check(case, Contender(label, make(), arrays), case.make(rng, checked))
            found.append(Contender(label, make(), arrays))
        except Exception as error:
            text = str(error).splitlines() or [""]
            notes.append(f"{label}: left out: {type(error).__name__}: {text[0][:200]}")
    try:
        out = timed(case, found, case.sizes, 3 if quick else ROUNDS, notes)
    finally:
        del found
        gc.collect()
        release()
    return {"size": case.text(case.sizes), "notes": [*notes, *_placed(jitted)], **out}


def _placed(jitted: Any) -> list[str]:
    """What runs where: launches, waits and round trips, and what does not run on the device."""
    report = jitted.report()
    found = [f"tracejit: runs eagerly: {line}" for line in report.fallbacks]
    if report.bailouts:
        found.append(f"tracejit: calls repeated eagerly: {dict(report.repeats)}")
    for variant in report.variants:
        if variant.trips is not None:
            # The second line counts runs.
            head, _, *rest = variant.trips.lines()
            found += [f"tracejit: {line.strip()}" for line in (head, *rest)]
    return list(dict.fromkeys(found))


def check(case: Case, contender: Contender, args: tuple[Any, ...]) -> None:
    """A contender against plain NumPy. Raises AssertionError."""
    with np.errstate(all="ignore"):
        want = case.f(*args)
    for _ in range(2):  # What is compiled by the first call answers the second.
        got = contender.call(*contender.arrays.put(args))
        compare(case, contender.name, contender.arrays.get(got), want)


def compare(case: Case, name: str, got: Any, want: Any) -> None:
    """Results of the host. Raises AssertionError with the largest error."""
    pairs = list(zip(_flat(got), _flat(want), strict=True))
    for a, b in pairs:
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape, f"{name}: shape {a.shape} instead of {b.shape}"
        if b.dtype.kind in "iu":
            off = float(np.mean(a != b))
        else:
            largest = max(float(np.abs(b).max(initial=0)), 1e-30)
            off = float(np.abs(a - b).max(initial=0)) / largest
        assert off <= case.tolerance, f"{name}: off by {off:.2g}"


def _flat(x: Any) -> list[Any]:
    return [leaf for part in x for leaf in _flat(part)] if isinstance(x, (tuple, list)) else [x]


def timed(
    case: Case, found: Sequence[Contender], sizes: Sizes, rounds: int, notes: list[str]
) -> dict[str, Any]:
    """Rows of times. A contender whose large results differ from ours is not timed.

    Raises AssertionError where they all differ, and so ours are wrong.
    """
    rng = np.random.default_rng()
    sets = [case.make(rng, sizes) for _ in range(case.sets)]
    shared: dict[str, list[tuple[Any, ...]]] = {}
    ready: list[Contender] = []
    first: Any = None
    differing: list[str] = []
    for contender in found:
        try:
            key = contender.arrays.name
            if key not in shared:
                shared[key] = [contender.arrays.put(args) for args in sets]
            contender.sets = shared[key]
            got = contender.arrays.get(contender.call(*contender.sets[0]))
            if first is None:
                first = got
            else:
                compare(case, contender.name, got, first)
            contender.turn(2)
            seconds, calls = contender.turn(3)[0], 3
            if seconds * calls < BATCH:
                calls = min(MOST_CALLS, max(1, round(BATCH / seconds)))
                seconds = contender.turn(calls)[0]
            contender.calls = min(MOST_CALLS, max(1, round(BATCH / seconds)))
            ready.append(contender)
        except Exception as error:
            if contender is found[0]:
                raise
            text = str(error).splitlines() or [""]
            if isinstance(error, AssertionError):
                differing.append(text[0])
            notes.append(f"{contender.name}: not timed: {type(error).__name__}: {text[0][:200]}")
    if differing and len(ready) == 1:
        raise AssertionError(f"all others give something else: {'; '.join(differing)}")
    order = list(ready)
    for _ in range(rounds):
        for contender in order:
            wall, event = contender.turn(contender.calls)
            contender.walls.append(wall)
            if event is not None:
                contender.events.append(event)
        order.reverse()
    return {"rows": [_row(case, c, ready[0], sizes) for c in ready]}


def _row(case: Case, c: Contender, reference: Contender, sizes: Sizes) -> dict[str, Any]:
    seconds = statistics.median(c.walls)
    row: dict[str, Any] = {
        "contender": c.name,
        "seconds": seconds,
        "event seconds": statistics.median(c.events) if c.events else None,
        "slowest": max(c.walls),
        "fastest": min(c.walls),
        "calls": c.calls,
        # Above 1: we are faster.
        "times tracejit": statistics.median(
            a / b for a, b in zip(c.walls, reference.walls, strict=True)
        ),
    }
    if case.traffic is not None:
        row["GB/s"] = case.traffic(sizes) / seconds / 1e9
    if case.work is not None:
        row[case.work[0]] = case.work[1](sizes) / seconds / 1e9
    return row


def copy_bandwidth() -> dict[str, Any]:
    """Bytes read and written in a second by a copy of 1 GiB, of CuPy or else of PyTorch."""
    size = 1 << 30
    for library in ("cupy", "torch"):
        arrays = of_library(library)
        if arrays is None:
            continue
        source, target = arrays.put((np.zeros(size, np.uint8), np.zeros(size, np.uint8)))
        seconds = []
        for _ in range(12):
            arrays.wait(None)
            before = arrays.event()
            for _ in range(10):
                arrays.copy(target, source)
            after = arrays.event()
            arrays.wait(None)
            elapsed = arrays.elapsed(before, after)
            assert elapsed is not None
            seconds.append(elapsed / 10)
        rate = 2 * size / statistics.median(seconds[2:]) / 1e9
        return {"size": "1 GiB", "rows": [{"contender": library, "GB/s": rate}], "notes": missing()}
    return {"rows": [], "notes": [*missing(), "no bandwidth of a copy"]}
