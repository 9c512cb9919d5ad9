"""Calls in contexts that are eager, or handle floating-point errors as the default does not."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import inspect
import platform
import sys
import sysconfig
import threading
import warnings
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.runtime.native.native_entries import F8, Jitted, unary
from tracejit import config
from tracejit.errors import FallbackError
from tracejit.link.cpython.reflect import LayoutError
from tracejit.runtime import native
from tracejit.runtime.call.entry_spec import ArrayLeaf, OutObject, ScalarLeaf
from tracejit.runtime.native import gate

natively = pytest.mark.skipif(not native.available(), reason=native.why_not())

ZEROS = np.zeros(3)
KINDS = ("divide", "over", "under", "invalid")
MODES = ("ignore", "warn", "raise", "call", "print", "log")


def reciprocal(x: Any) -> Any:
    return 1 / x


def path(f: Callable[[Any], Any]) -> str:
    """How a compiled `reciprocal` ran: compiled code does not warn; warnings are errors here."""
    try:
        result = f(ZEROS)
    except RuntimeWarning:
        return "eager"
    except FloatingPointError:
        return "raised"
    assert np.array_equal(result, np.full(3, np.inf))
    return "compiled"


def in_thread(call: Callable[..., Any], *args: Any) -> Any:
    """The result of a call in a new thread, which starts with an empty context."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(call, *args).result()


def published() -> Any:
    """An object with an entry that answers "native" for arrays; otherwise it says "slow"."""
    function = Jitted(lambda *args, **kwargs: "slow", lambda *args: "bail")
    unary(ArrayLeaf(F8, ("n",)), OutObject("native")).publish(function)
    return function


def test_the_fast_path_is_on_where_it_should_be() -> None:
    supported = (
        sys.implementation.name == "cpython"
        and not sysconfig.get_config_var("Py_GIL_DISABLED")
        and platform.machine().lower() in {"x86_64", "amd64", "aarch64", "arm64"}
    )
    assert native.available() == supported, native.why_not()


# Eager blocks ------------------------------------------------------------------------------------


def test_eager_blocks_nest_and_end_with_exceptions() -> None:
    f = tracejit.jit(reciprocal)
    assert path(f) == "compiled"
    with tracejit.eager():
        assert path(f) == "eager"
        with pytest.raises(KeyError), tracejit.eager():
            assert path(f) == "eager"
            raise KeyError
        with pytest.raises(RuntimeWarning), tracejit.eager():
            f(ZEROS)
        assert path(f) == "eager"
        with pytest.raises(ZeroDivisionError), contextlib.ExitStack() as blocks:
            for _ in range(5):
                blocks.enter_context(tracejit.eager())
            assert path(f) == "eager"
            raise ZeroDivisionError
        assert path(f) == "eager"
    assert path(f) == "compiled"
    with pytest.raises(StopIteration), tracejit.eager():
        raise StopIteration
    assert path(f) == "compiled"
    assert len(f.report().compiles) == 1
    assert f.report().fallbacks == []


def test_a_function_first_called_in_a_block_compiles_after_it() -> None:
    f = tracejit.jit(reciprocal, strict=True)
    with tracejit.eager():
        assert path(f) == "eager"
        assert f.report().compiles == []
    assert path(f) == "compiled"
    with tracejit.eager():
        assert path(f) == "eager"


def test_a_block_concerns_its_own_thread_only() -> None:
    f = tracejit.jit(reciprocal)
    assert path(f) == "compiled"
    with tracejit.eager():
        assert in_thread(path, f) == "compiled"
        assert path(f) == "eager"

    found: list[str] = []

    def inside() -> None:
        with tracejit.eager():
            opened.set()
            assert closing.wait(60)
            found.append(path(f))

    opened, closing = threading.Event(), threading.Event()
    thread = threading.Thread(target=inside)
    thread.start()
    assert opened.wait(60)
    assert path(f) == "compiled"
    closing.set()
    thread.join()
    assert found == ["eager"]


def test_a_context_copied_inside_a_block_stays_eager() -> None:
    f = tracejit.jit(reciprocal)
    assert path(f) == "compiled"
    with tracejit.eager():
        context = copy_context()
    assert path(f) == "compiled"
    assert context.run(path, f) == "eager"
    assert Context().run(path, f) == "compiled"


def test_tasks_are_eager_each_for_itself() -> None:
    f = tracejit.jit(reciprocal)

    async def work(is_eager: bool, turns: int) -> list[str]:
        found = []
        for _ in range(turns):
            with tracejit.eager() if is_eager else contextlib.nullcontext():
                await asyncio.sleep(0)
                found.append(path(f))
                await asyncio.sleep(0)
            found.append(path(f))
        return found

    async def together() -> list[list[str]]:
        return await asyncio.gather(*(work(k % 2 == 0, 5) for k in range(6)))

    for k, found in enumerate(asyncio.run(together())):
        assert found == ["eager" if k % 2 == 0 else "compiled", "compiled"] * 5


@natively
def test_entries_answer_unless_the_context_is_eager() -> None:
    f = published()
    assert f(ZEROS) == "native"
    with tracejit.eager():
        assert config.eager_opened[0] == 1
        assert f(ZEROS) == f(x=1) == f() == "slow"
        assert in_thread(f, ZEROS) == "native"
        assert Context().run(f, ZEROS) == "native"
        inside = copy_context()
    assert f(ZEROS) == "native"
    assert inside.run(f, ZEROS) == "slow"
    assert f(1.0) == "slow"


# Floating-point errors ---------------------------------------------------------------------------


def test_errors_are_raised_inside_errstate_and_nowhere_else() -> None:
    f = tracejit.jit(reciprocal)
    for _ in range(3):
        assert path(f) == "compiled"
        with np.errstate(divide="raise"):
            assert path(f) == "raised"
            with np.errstate(divide="warn"):
                assert path(f) == "compiled"
            with tracejit.eager():
                assert path(f) == "raised"
            assert path(f) == "raised"
    (fallback,) = f.report().fallbacks
    assert fallback.code == "TJ009"
    assert fallback.line == reciprocal.__code__.co_firstlineno
    assert str(f.report()).count("TJ009") == 1
    assert len(f.report().compiles) == 1


@pytest.mark.compiles
def test_a_function_first_called_in_errstate_compiles_after_it() -> None:
    f = tracejit.jit(reciprocal)
    with np.errstate(all="raise"):
        assert path(f) == "raised"
        assert np.array_equal(f(ZEROS + 2), ZEROS + 0.5)
    assert f.report().compiles == []
    assert path(f) == "compiled"
    assert len(f.report().compiles) == 1


def test_strict_functions_refuse_other_error_handling() -> None:
    f = tracejit.jit(reciprocal, strict=True)
    for _ in range(2):
        with np.errstate(under="log"), pytest.raises(FallbackError, match="TJ009"):
            f(ZEROS)
        with np.errstate(divide="ignore"):
            assert path(f) == "compiled"
        assert path(f) == "compiled"


def test_a_function_that_is_first_called_where_errors_are_ignored_is_compiled() -> None:
    """Compiled code gives no floating-point warnings, whoever asks for them or for none."""
    for modes in ({"all": "ignore"}, {"all": "warn"}, {"divide": "ignore", "under": "warn"}):
        f, g = tracejit.jit(reciprocal, strict=True), tracejit.grad(lambda x: (1 / x).sum())

        def calls(f: Any = f, g: Any = g) -> None:
            for _ in range(2):
                assert path(f) == "compiled"
                assert np.array_equal(g(np.ones(3)), -np.ones(3))

        with np.errstate(**modes):
            calls()
        calls()
        for x in (f, g):
            assert len(x.report().compiles) == 1 and x.report().fallbacks == []


def test_seterr_of_a_whole_script_loses_no_compile() -> None:
    f = tracejit.jit(reciprocal, strict=True)

    def script() -> None:
        np.seterr(all="ignore")
        assert path(f) == "compiled"
        np.seterr(over="raise")
        with pytest.raises(FallbackError, match="TJ009"):
            f(ZEROS)

    Context().run(script)
    assert in_thread(path, f) == path(f) == "compiled"


def test_filters_that_make_errors_of_warnings_refuse_nothing() -> None:
    """Compiled code gives no warning that could be one: the filters are asked by eager runs."""
    f, g = tracejit.jit(reciprocal, strict=True), tracejit.grad(lambda x: (1 / x).sum())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            assert path(f) == "compiled"
            assert np.array_equal(g(ZEROS), np.full(3, -np.inf))
        with tracejit.eager(), pytest.raises(RuntimeWarning):
            f(ZEROS)
    assert g.report().fallbacks == []


def test_an_error_that_leaves_errstate_leaves_nothing_behind() -> None:
    f = tracejit.jit(reciprocal)
    assert path(f) == "compiled"
    for _ in range(3):
        with pytest.raises(FloatingPointError), np.errstate(all="raise"):
            f(ZEROS)
        assert path(f) == "compiled"
    with pytest.raises(RuntimeWarning), np.errstate(under="raise"):
        f(ZEROS)
    assert path(f) == "compiled"


def test_callbacks_are_called() -> None:
    f = tracejit.jit(reciprocal)
    calls: list[str] = []
    assert path(f) == "compiled"

    def body() -> None:
        np.seterrcall(lambda kind, flag: calls.append(kind))
        # A callback that no mode refers to is not in use.
        assert path(f) == "compiled"
        with np.errstate(divide="call"):
            f(ZEROS)
        assert calls == ["divide by zero"]
        with np.errstate(divide="call", call=lambda kind, flag: calls.append(f"other {kind}")):
            f(ZEROS)
        assert calls == ["divide by zero", "other divide by zero"]

    copy_context().run(body)
    assert path(f) == "compiled"
    assert len(calls) == 2


def test_seterr_holds_until_it_is_reset() -> None:
    f = tracejit.jit(reciprocal)
    assert path(f) == "compiled"
    before = np.seterr(divide="raise")
    try:
        assert path(f) == "raised"
        assert in_thread(path, f) == "compiled"
        with np.errstate(divide="warn"):
            assert path(f) == "compiled"
        assert path(f) == "raised"
    finally:
        np.seterr(**before)
    assert path(f) == "compiled"
    assert {x.code for x in f.report().fallbacks} == {"TJ009"}


@pytest.mark.compiles
def test_threads_do_not_see_each_others_contexts() -> None:
    """Threads that raise, that are eager and that run compiled code, on one function."""
    f = tracejit.jit(reciprocal)
    gate = threading.Barrier(6)

    def work(k: int) -> list[str]:
        found = []
        gate.wait()
        for _ in range(300):
            if k % 3 == 0:
                found.append(path(f))
            elif k % 3 == 1:
                with np.errstate(divide="raise"):
                    found.append(path(f))
            else:
                with tracejit.eager():
                    found.append(path(f))
        return found

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        results = list(pool.map(work, range(6)))
    for k, found in enumerate(results):
        assert set(found) == {("compiled", "raised", "eager")[k % 3]}
    assert len(f.report().compiles) == 1
    assert [x.code for x in f.report().fallbacks] == ["TJ009"]


@natively
@pytest.mark.parametrize("kind", KINDS)
def test_entries_answer_just_in_quiet_modes(kind: str) -> None:
    f = published()
    default: Any = Context().run(np.geterr)
    modes: Any
    for mode in MODES:
        modes = {kind: mode}
        with np.errstate(**modes, call=print):
            expected = "native" if mode in ("ignore", "warn") else "slow"
            assert f(ZEROS) == expected
            for others in MODES:
                with np.errstate(**{"all": others, kind: mode}):
                    is_quiet = {mode, others} <= {"ignore", "warn"}
                    assert f(ZEROS) == ("native" if is_quiet else "slow")
            with np.errstate(**default):
                assert f(ZEROS) == "native"
            assert f(ZEROS) == expected
        assert f(ZEROS) == "native"


@natively
def test_entries_do_not_mind_new_settings_with_quiet_modes() -> None:
    f = published()

    def body() -> None:
        for change in (
            lambda: np.seterr(**np.geterr()),
            lambda: np.seterrcall(print),
            lambda: np.setbufsize(16 * 1024),
            lambda: np.seterr(all="raise"),
            lambda: np.seterr(all="warn", under="ignore"),
        ):
            change()
            assert f(ZEROS) == ("slow" if np.geterr()["over"] == "raise" else "native")

    Context().run(body)
    for k in range(40):
        # More variables move NumPy's own around in the context.
        variable: ContextVar[int] = ContextVar(f"variable{k}")
        variable.set(k)
        assert f(ZEROS) == "native"
        with np.errstate(over="raise"):
            assert f(ZEROS) == "slow"
    assert f(ZEROS) == "native"


# The gate ----------------------------------------------------------------------------------------


@natively
def test_one_gate_stands_before_all_entries() -> None:
    f = published()
    unary(ScalarLeaf("int"), OutObject("int")).publish(f)
    unary(ScalarLeaf("float"), OutObject("float")).publish(f)
    arguments = (ZEROS, 1, 1.0, "text")
    assert [f(x) for x in arguments] == ["native", "int", "float", "slow"]
    with tracejit.eager():
        assert [f(x) for x in arguments] == ["slow"] * 4
    with np.errstate(over="raise"):
        assert [f(x) for x in arguments] == ["slow"] * 4
    assert [f(x) for x in arguments] == ["native", "int", "float", "slow"]


@natively
def test_arguments_results_and_errors_pass_the_gate() -> None:
    f = published()
    f._slow = lambda *args, **kwargs: (args, kwargs)
    with tracejit.eager():
        assert f(ZEROS, 2, key=3) == ((ZEROS, 2), {"key": 3})
        assert f() == ((), {})

    def fails(*args: Any) -> None:
        raise LookupError("slow")

    f._slow = fails
    with np.errstate(all="raise"), pytest.raises(LookupError, match="slow"):
        f(ZEROS)
    assert f(ZEROS) == "native"


@natively
def test_a_slow_path_may_call_the_entry_in_any_context() -> None:
    linked = unary(ArrayLeaf(F8, ("n",)), OutObject("native"))
    function = Jitted(linked.native)
    linked.publish(function)
    for context in (tracejit.eager(), np.errstate(all="raise")):
        with context:
            assert linked.both(ZEROS) == function(ZEROS) == "native"
            assert linked.both(1) is function(1) is native.MISS


@natively
def test_the_gate_keeps_reference_counts() -> None:
    f = published()
    variable = gate.reflect_error_state().variable

    def growth(*objects: Any) -> int:
        """By how much the counts of what a gate looks at grow at most in many calls."""
        watched = [*objects, variable, config.eager_variable, f, ZEROS, False, True]
        before = [sys.getrefcount(x) for x in watched]
        for _ in range(2_000):
            f(ZEROS)
        return max(sys.getrefcount(x) - n for x, n in zip(watched, before, strict=True))

    def body() -> None:
        assert growth(variable.get()) < 100
        with tracejit.eager():
            assert growth(variable.get()) < 100
        assert growth(variable.get()) < 100
        with np.errstate(over="raise"):
            assert growth(variable.get()) < 100
        with np.errstate(over="warn"):
            assert growth(variable.get()) < 100

    Context().run(body)


@natively
def test_an_unknown_error_state_turns_the_fast_path_off(monkeypatch: pytest.MonkeyPatch) -> None:
    umath = sys.modules["numpy._core.umath"]
    known = gate.reflect_error_state()
    assert known.loud & gate._modes(known.default, known.name) == 0
    capsule = sys.modules["numpy._core._multiarray_umath"]._ARRAY_API
    for variable, reason in (
        (None, "elsewhere"),
        (ContextVar("empty"), "not in a capsule"),
        (ContextVar("a number", default=521), "not in a capsule"),
        (ContextVar("another capsule", default=capsule), "elsewhere"),
    ):
        monkeypatch.setattr(umath, "_extobj_contextvar", variable)
        with pytest.raises(LayoutError, match=reason):
            gate.reflect_error_state()
        assert inspect.unwrap(native._environment)() == str(_reason())
    monkeypatch.delattr(umath, "_extobj_contextvar")
    with pytest.raises(LayoutError, match="elsewhere"):
        gate.reflect_error_state()


def _reason() -> LayoutError:
    with pytest.raises(LayoutError) as caught:
        gate.reflect_error_state()
    return caught.value


@natively
def test_modes_that_are_not_where_they_should_be_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = gate._modes
    for wrong in (lambda *_: 521, lambda *a: read(*a) & ~7, lambda *a: read(*a) & 7):
        monkeypatch.setattr(gate, "_modes", wrong)
        with pytest.raises(LayoutError, match="the modes"):
            gate.reflect_error_state()
