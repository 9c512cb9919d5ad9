"""Codes, messages, explanations, and fallbacks under `strict`."""

from __future__ import annotations

import contextlib
import io
import linecache
import sys
import time
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_same
from tracejit.cli.explanations import EXPLANATIONS
from tracejit.errors import CODES, FallbackError, TraceError, Where, describe

# Codes and their explanations --------------------------------------------------------------------


def test_codes_are_numbered_without_gaps_and_explained() -> None:
    assert list(CODES) == [f"TJ{k:03}" for k in range(1, len(CODES) + 1)]
    assert list(EXPLANATIONS) == list(CODES)
    for code, (what, advice) in CODES.items():
        assert what and advice and not what.endswith(".") and not advice.endswith(".")
        assert EXPLANATIONS[code].meaning.endswith(".")
        assert bool(EXPLANATIONS[code].causes) == bool(EXPLANATIONS[code].instead)
    assert "TJ003" in tracejit.explain("TJ003")


def run_program(source: str, name: str, folder: Path, *, strict: bool = False) -> Any:
    """The function `f` of an example after it has been called as the example does."""
    file = folder / f"{name}.py"
    strictly = "\njit = jit(strict=True)" if strict else ""
    file.write_text(f"import numpy as np\nfrom tracejit import jit{strictly}\n{source}")
    module = types.ModuleType(name)
    module.__file__ = str(file)
    sys.modules[name] = module
    try:
        linecache.checkcache(str(file))
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(file.read_text(), str(file), "exec"), module.__dict__)
        return module.f
    finally:
        del sys.modules[name]


EXAMPLES = [code for code, explanation in EXPLANATIONS.items() if explanation.causes]


@pytest.mark.compiles
@pytest.mark.parametrize("code", EXAMPLES)
def test_the_example_of_a_code_causes_it(code: str, tmp_path: Path) -> None:
    f = run_program(EXPLANATIONS[code].causes, f"causes_{code}", tmp_path)
    assert [x.code for x in f.report().fallbacks] == [code]
    with pytest.raises(FallbackError) as caught:
        run_program(EXPLANATIONS[code].causes, f"strictly_{code}", tmp_path, strict=True)
    assert caught.value.code == code


@pytest.mark.parametrize("code", EXAMPLES)
def test_what_an_explanation_advises_compiles(code: str, tmp_path: Path) -> None:
    f = run_program(EXPLANATIONS[code].instead, f"instead_{code}", tmp_path, strict=True)
    assert f.report().compiles and not f.report().bailouts


# Messages ----------------------------------------------------------------------------------------


def at(tmp_path: Path, line: str, start: str, end: str) -> str:
    """The excerpt of a line, where what is meant begins with `start` and ends before `end`."""
    file = tmp_path / "program.py"
    file.write_text(f"first\n{line}\n", encoding="utf-8")
    linecache.checkcache(str(file))
    column, stop = (len(line[: line.index(x)].encode()) for x in (start, end))
    return Where(str(file), 2, "f", column, stop).excerpt()


def test_carets_stand_under_what_is_meant(tmp_path: Path) -> None:
    assert at(tmp_path, "    y = g(x) + 1", "g(", " +") == "y = g(x) + 1\n    ^^^^"
    # Columns are counted in bytes; a tab before the place is a tab before the caret.
    assert at(tmp_path, "  é = 'ü' + g(x)!", "g(", "!") == "é = 'ü' + g(x)!\n          ^^^^"
    assert at(tmp_path, "a\t= g(x)!", "g(", "!") == "a\t= g(x)!\n \t  ^^^^"


def test_an_unknown_column_or_line(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text("    y = 1\n")
    assert Where(str(file), 1, "f").excerpt() == "y = 1\n^"
    assert Where(str(file), 1, "f", 99).excerpt() == "y = 1\n^"
    assert Where(str(file), 7, "f").excerpt() == ""
    text = describe("TJ001", "why", Where("nowhere.py", 3, "f"))
    assert text.splitlines()[1] == '  File "nowhere.py", line 3, in f'
    assert len(text.splitlines()) == 3


def test_an_error_finds_its_columns_on_the_stack() -> None:
    def fails(flag: bool) -> Any:
        if flag:
            return 0, Where(__file__, sys._getframe().f_lineno, "fails"), raises(sys._getframe())
        return None

    def raises(frame: Any) -> Any:
        raise TraceError("TJ001", "", Where(__file__, frame.f_lineno, "fails"))

    with pytest.raises(TraceError) as caught:
        fails(True)
    where = caught.value.where
    assert where is not None and where.column is not None
    shown = where.excerpt().splitlines()
    assert shown[0][shown[1].index("^") :][: shown[1].count("^")] == "raises(sys._getframe())"


def test_a_fallback_shows_the_line_and_what_to_do() -> None:
    @tracejit.jit(strict=True)
    def f(x: Any) -> Any:
        y = x + 1
        return y + time.time()

    with pytest.raises(FallbackError) as caught:
        f(np.ones(3))
    text = str(caught.value).splitlines()
    assert text[0].startswith("TJ002: a function was called that the compiler does not know: ")
    assert text[1].startswith(f'  File "{__file__}", line ') and text[1].endswith(", in f")
    assert text[2] == "    return y + time.time()"
    assert text[3].lstrip(" ^") == "" and text[3].index("^") == 4 + len("return y + ")
    assert text[4].startswith("  What to do: ") and "tracejit explain TJ002" in text[4]
    assert len(text) == 5


# Under `strict` ----------------------------------------------------------------------------------

X = np.arange(1.0, 5.0)


def stores_then_fails(x: Any, how: Any) -> Any:
    x[0] = 9.0
    return how(x)


def unknown(x: Any) -> Any:
    return x + time.time()


def fine(x: Any) -> Any:
    return x * 2


def test_a_fallback_leaves_arguments_and_later_calls_alone() -> None:
    f = tracejit.jit(stores_then_fails, strict=True)
    for _ in range(2):
        x = X.copy()
        with pytest.raises(FallbackError, match="TJ002"):
            f(x, unknown)
        assert_same(x, X)
    expected = X.copy()
    assert_same(f(x, fine), stores_then_fails(expected, fine))
    assert_same(x, expected)
    assert len(f.report().compiles) == 1 and len(f.report().fallbacks) == 1


def test_arguments_that_no_graph_holds() -> None:
    f = tracejit.jit(fine, strict=True)
    for odd in (X.astype(object), X.astype(">f8"), 2**70, X.view(np.matrix)):
        for _ in range(2):
            with pytest.raises(FallbackError, match="TJ003"):
                f(odd)
        assert_same(f(X), X * 2)
    assert len(f.report().compiles) == 1


def test_other_error_handling() -> None:
    f = tracejit.jit(fine, strict=True)
    for _ in range(2):
        with np.errstate(divide="raise"), pytest.raises(FallbackError, match="TJ009"):
            f(X)
        assert_same(f(X), X * 2)
    assert len(f.report().fallbacks) == 1


def test_an_argument_that_overlaps_another() -> None:
    def shifted(x: Any, y: Any) -> Any:
        x[1:] = y[:-1]

    f = tracejit.jit(shifted, strict=True)
    for _ in range(2):
        x = X.copy()
        with pytest.raises(FallbackError, match="TJ019"):
            f(x, x)
        assert_same(x, X)
        f(x, X)
        assert_same(x, np.array([1.0, 1.0, 2.0, 3.0]))


def test_an_argument_that_cannot_be_written_to() -> None:
    def first(x: Any, flag: bool) -> Any:
        x[0] = 9.0

    f = tracejit.jit(first, strict=True)
    locked = X.copy()
    locked.flags.writeable = False
    for _ in range(2):
        with pytest.raises(ValueError, match="read-only"):
            f(locked, True)
        shared = np.lib.stride_tricks.as_strided(X.copy(), (4,), (0,))
        with pytest.raises(FallbackError, match="TJ030"):
            f(shared, True)
        assert_same(shared.copy(), np.ones(4))
        x = X.copy()
        f(x, True)
        assert x[0] == 9.0


@pytest.mark.compiles
def test_a_call_that_is_repeated_without_an_exception() -> None:
    """Ints beyond 64 bits: the exact answer is Python's, but it is not compiled code's."""

    def grown(x: Any, n: int) -> Any:
        x[0] = 0.0
        return n * n

    f, strict = tracejit.jit(grown), tracejit.jit(grown, strict=True)
    for n in (3, 5, 2**40, 7, 2**41):
        x = X.copy()
        assert_same(f(x, n), n * n)
        assert x[0] == 0.0
        y = X.copy()
        if n < 2**32:
            assert_same(strict(y, n), n * n)
            assert y[0] == 0.0
        else:
            with pytest.raises(FallbackError, match="TJ010"):
                strict(y, n)
            assert_same(y, X)
    assert f.report().bailouts == strict.report().bailouts == 2
    assert f.report().repeats == {"without an exception": 2}


def test_exceptions_of_the_function_itself_come_out() -> None:
    def reciprocal(x: Any, n: int) -> Any:
        x[0] = 1 // n
        return x

    f = tracejit.jit(reciprocal, strict=True)
    for n in (2, 3, 0, 4, 0):
        x, y = X.copy(), X.copy()
        if n:
            assert_same(f(x, n), reciprocal(y, n))
        else:
            with pytest.raises(ZeroDivisionError):
                f(x, n)
            assert_same(x, y)
    assert f.report().fallbacks == []


@pytest.mark.compiler_fault("what the report and strict mode make of a defect")
def test_a_defect_of_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    from tracejit.runtime.compile import specialize

    def broken(*_: Any) -> Any:
        raise AssertionError("broken")

    def store(x: Any) -> Any:
        x[0] = 9.0
        return x + 1

    x = X.copy()
    f = tracejit.jit(store, strict=True)
    with monkeypatch.context() as patch:
        patch.setattr(specialize, "compile_and_publish", broken)
        for _ in range(2):
            with pytest.raises(FallbackError, match="TJ013"):
                f(x)
            assert_same(x, X)
    lenient = tracejit.jit(store)
    with monkeypatch.context() as patch:
        patch.setattr(specialize, "compile_and_publish", broken)
        assert_same(lenient(x), store(X.copy()))
    assert [y.code for y in lenient.report().fallbacks] == ["TJ013"]
