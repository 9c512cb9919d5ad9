"""What a library cannot have is an error that names the line; what cannot be asked for, one too."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.export import library_programs as programs
from tests.support.libraries import NEEDS_CC
from tracejit.errors import TraceError
from tracejit.export.library.refusals import NotExported
from tracejit.export.library.signatures import SignatureError, read_signature

pytestmark = NEEDS_CC


def line_of(function: Any, text: str) -> int:
    """The number of the line of a function that has a text."""
    lines, first = inspect.getsourcelines(function)
    return first + next(k for k, line in enumerate(lines) if text in line)


@pytest.mark.parametrize(
    "function, signature, text",
    [
        (programs.prints, "f64[n]", "print("),
        (programs.raises, "f64[n]", "raise ValueError"),
        (programs.draws, "f64[3]", "np.random"),
        (programs.fft, "f64[n]", "np.fft.fft("),
        (programs.stores_outside, "float", "WEIGHTS[0, 0] = x"),
    ],
)
def test_what_needs_python_names_the_line(
    tmp_path: Path, function: Any, signature: str, text: str
) -> None:
    with pytest.raises(NotExported) as caught:
        tracejit.export(function, signature, out=tmp_path)
    where = caught.value.where
    assert where is not None
    assert (where.file, where.line) == (programs.__file__, line_of(function, text))
    assert f"line {where.line}" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_programs_on_several_devices_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotExported, match="on which devices it runs"):
        tracejit.export(programs.placed, "f64[n]", out=tmp_path)


def test_views_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotExported, match="a result is a view"):
        tracejit.export(programs.view, "f64[n]", out=tmp_path)


def test_arrays_from_outside_that_are_not_contiguous(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "WEIGHTS", np.ones((2, 6))[:, ::2])
    with pytest.raises(NotExported, match="from outside the function is not contiguous"):
        tracejit.export(programs.outside, "f64[3, n]", out=tmp_path)


def test_a_size_that_the_trace_needs(tmp_path: Path) -> None:
    with pytest.raises(NotExported, match="depends on the size n: write the number"):
        tracejit.export(programs.every, "f64[n]", out=tmp_path)
    assert tracejit.export(programs.every, "f64[4]", out=tmp_path).functions


def test_what_cannot_be_compiled(tmp_path: Path) -> None:
    def opens(x):
        return x + len(open("nowhere").read())

    with pytest.raises((TraceError, OSError)):
        tracejit.export(opens, "f64[n]", out=tmp_path)


@pytest.mark.parametrize(
    "text, why",
    [
        ("f64[n", "not a signature"),
        ("f64[n, n + 1]", "sizes are numbers or names"),
        ("float64[n]", "neither a type nor a literal"),
        ("f64[n], m", "there is no type or size m"),
        ("f64[n], bool", "give True or False"),
        ("f64[a, b, c] @ (0, 2, 1,), 1", "C order or in Fortran order"),
        ("f64[n], [1]", "is no constant"),
        ("f64[n], 1e999", "is no constant"),
        ("*x", "no stars"),
        ("f64[n]", "missing a required argument"),
    ],
)
def test_signatures_that_cannot_be(text: str, why: str) -> None:
    def f(x, k): ...

    with pytest.raises(SignatureError) as caught:
        read_signature(text, inspect.signature(f))
    assert why in str(caught.value)


def test_names_and_sizes(tmp_path: Path) -> None:
    for name in ("sin", "while", "a-b", "malloc", "numpy", "copy"):
        with pytest.raises(ValueError, match="give it another name"):
            tracejit.export(programs.even, "f64[n]", out=tmp_path, name=name)
    with pytest.raises(ValueError, match="there is no size m"):
        tracejit.export(programs.even, "f64[n]", out=tmp_path, sizes={"m": 3})
    with pytest.raises(ValueError, match="sizes from 2 on"):
        tracejit.export(programs.even, "f64[n]", out=tmp_path, sizes={"n": 1})


def test_without_a_compiler_of_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="a compiler of C links the library"):
        tracejit.export(programs.even, "f64[n]", out=tmp_path)


def test_a_compiler_of_c_that_fails(tmp_path: Path) -> None:
    """What it says is told, and nothing is left."""
    cc = tmp_path / "cc"
    cc.write_text("#!/bin/sh\necho no luck >&2\nexit 1\n")
    cc.chmod(0o755)
    with pytest.raises(OSError, match="cc failed:\nno luck"):
        tracejit.export(programs.even, "f64[n]", out=tmp_path / "out", cc=str(cc))
    assert list((tmp_path / "out").iterdir()) == []
