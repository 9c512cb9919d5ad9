"""The programs of the benchmarks: compiled whole, they leave what plain NumPy leaves."""

from __future__ import annotations

import collections
import copy
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from benchmarks import programs
from benchmarks.programs import PRESETS, PROGRAMS, Difference, Program, check

pytestmark = pytest.mark.usefixtures("never_eager")

EACH = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
SMALL = pytest.mark.parametrize("size", ["S", "T"])


@pytest.mark.sampled(54, kind=lambda program, **_: program.name)
@EACH
@SMALL
def test_compiled(program: Program, size: str) -> None:
    check(program, size, tracejit.jit)


@pytest.mark.sampled(27)
@EACH
def test_one_compiled_function_takes_both_sizes(program: Program) -> None:
    jitted = tracejit.jit(program.kernel)
    for size in ("S", "T", "S"):
        check(program, size, lambda kernel: jitted)


@EACH
@SMALL
def test_plain(program: Program, size: str) -> None:
    """A program agrees with itself, without warnings: its arguments are the same each time."""
    check(program, size, lambda kernel: kernel)


@EACH
@SMALL
def test_doing_nothing_fails(program: Program, size: str) -> None:
    with pytest.raises(Difference, match=f"^{program.name}, size {size}:\n"):
        check(program, size, lambda kernel: lambda *args: None)


@EACH
def test_changes_undone_fail(program: Program) -> None:
    """The right result alone is not enough where the program changes an argument."""

    def on_copies(*args: Any) -> Any:
        return program.kernel(*(x.copy() if isinstance(x, np.ndarray) else x for x in args))

    given, after = program.arguments("S"), program.arguments("S")
    program.kernel(*after.values())
    names = [x for x in given if not np.array_equal(given[x], after[x], equal_nan=True)]
    if not names:
        check(program, "S", lambda kernel: on_copies)
        return
    with pytest.raises(Difference, match=f"argument {names[0]} afterwards"):
        check(program, "S", lambda kernel: on_copies)


@EACH
def test_other_values_fail(program: Program) -> None:
    """One number of each argument off: the outcome is another one."""

    def off(*args: Any) -> Any:
        for x in args:
            if isinstance(x, np.ndarray) and x.dtype.kind in "fc":
                x.flat[0] += 1e-2
            elif isinstance(x, np.ndarray) and x.dtype.kind == "i":
                x.flat[1] = 0
        floats = [x * 1.01 if type(x) is float else x for x in args]
        return program.kernel(*floats)

    with pytest.raises(Difference):
        check(program, "S", lambda kernel: off)


@EACH
def test_sizes_differ_in_everything(program: Program) -> None:
    assert tuple(program.sizes) == PRESETS
    small, other = program.sizes["S"], program.sizes["T"]
    assert list(small) == list(other)
    assert [name for name in small if small[name] == other[name]] == []


def test_every_module_is_listed() -> None:
    folder = Path(programs.__file__).parent
    files = {path.stem for path in folder.glob("*.py")} - {"__init__", "program"}
    assert {program.name for program in PROGRAMS} == files
    assert len(PROGRAMS) == 27
    kinds = collections.Counter(program.kind for program in PROGRAMS)
    assert set(kinds) == {"no loop", "short loops", "long loops"} and min(kinds.values()) >= 3


@pytest.mark.parametrize("name", ["softmax", "spmv", "mandelbrot", "nbody", "jacobi_1d", "gemm"])
def test_eight_threads_at_once(name: str) -> None:
    """On arguments of their own, and on shared ones where the program leaves them as they are."""
    (program,) = [p for p in PROGRAMS if p.name == name]
    jitted = tracejit.jit(program.kernel)
    expected, changed = _outcome(program.kernel, program.arguments("S"))
    shared = program.arguments("S")
    own = any(changed)
    found: list[Any] = []
    barrier = threading.Barrier(8)

    def work() -> None:
        barrier.wait()
        for _ in range(5):
            given = program.arguments("S") if own else shared
            found.append((jitted(*given.values()), list(given.values())))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 40
    for result, arguments in found:
        _close(program, result, expected[0])
        _close(program, arguments, expected[1])


def _outcome(kernel: Any, given: dict[str, Any]) -> tuple[tuple[Any, list[Any]], list[bool]]:
    before = copy.deepcopy(list(given.values()))
    result = kernel(*given.values())
    after = list(given.values())
    changed = [
        isinstance(x, np.ndarray) and not np.array_equal(x, y, equal_nan=True)
        for x, y in zip(before, after, strict=True)
    ]
    return (result, after), changed


def _close(program: Program, a: Any, b: Any) -> None:
    if isinstance(a, tuple | list):
        for x, y in zip(a, b, strict=True):
            _close(program, x, y)
    elif a is not None:
        np.testing.assert_allclose(a, b, rtol=max(program.rtol, 1e-12), atol=1e-12)
