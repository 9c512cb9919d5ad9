"""Names of libraries that are replaced while a process runs: what was loaded notices, too."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import tracejit
from tests.runtime.cache.processes import python
from tracejit import config
from tracejit.link.loader import supported

pytestmark = pytest.mark.skipif(not supported(), reason="machine code is not loaded from files")

#: Each function is called before, while, and after the name is replaced, or bound first, in a
#: thread that is as it is, traced as by coverage, profiled, and with errors that raise.
PROGRAM = """
import builtins, collections, contextlib, json, math, sys
from unittest import mock
import numpy as np, scipy.special
import tracejit

def ufunc(x): return np.tanh(x) + 1
def function(x): return np.sort(x)[::-1] * 2
def inner(x): return np.linalg.norm(x) + x
def scalar(x): return x * math.sqrt(2.0)
def builtin(x): return x * abs(-3)
def special(x): return scipy.special.erf(x)
def constant(x): return x * np.pi
def asked(x): return x * 3 if hasattr(np, "my_patch") else x * 4
def got(x): return x * getattr(np, "my_patch", 5.0)
def counted(x): return x * collections.Counter("hello").total()
def inherited(x): return x * len(list(collections.Counter("hello").keys()))

CASES = [
    (ufunc, "numpy.tanh", np.cos),
    (function, "numpy.sort", np.flip),
    (inner, "numpy.linalg.norm", lambda x: 7.0),
    (scalar, "math.sqrt", math.exp),
    (builtin, "builtins.abs", lambda x: x),
    (special, "scipy.special.erf", scipy.special.erfc),
    (constant, "numpy.pi", 3.0),
    (asked, "numpy.my_patch", 1.0),
    (got, "numpy.my_patch", 2.0),
    (counted, "collections.Counter.total", lambda c: 7),
    (inherited, "collections.Counter.keys", lambda c: [1, 2]),
]

@contextlib.contextmanager
def hooked(how):
    given = getattr(sys, "set" + how, lambda hook: None)
    given(lambda *_: None)
    try:
        yield
    finally:
        given(None)

x, found = np.array([0.5, 0.25, 1.5]), []
for f, name, other in CASES:
    j = tracejit.jit(f)
    for how in ("call", "trace", "profile"):
        for patched in map(int, sys.argv[1]):
            with mock.patch(name, other, create=True) if patched else contextlib.nullcontext():
                expected = f(x)
                with hooked(how):
                    got = j(x)
            if not np.allclose(got, expected, rtol=1e-12):
                found.append((f.__name__, how, patched, repr(got), repr(expected)))
    with hooked("trace"), np.errstate(all="raise"):
        j(x)
print(json.dumps(found))
"""


@pytest.mark.parametrize("orders", [("010", "010"), ("10", "01")])
def test_in_two_processes(tmp_path: Path, orders: tuple[str, str]) -> None:
    """Calls with a name replaced, 1, and as it is, 0, one after another."""
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    for order in orders:
        text = python("program.py", order, cache=tmp_path / "cache", cwd=tmp_path)
        assert json.loads(text) == []


#: Names are replaced before a function is decorated, by what has the name of the original.
NAMESAKES = """
import builtins, functools, math, sys, types
import numpy as np
import tracejit
import scipy.special

def replace(module, name, scale):
    original = getattr(module, name)
    def other(*args):
        return original(*args) * scale
    setattr(module, name, functools.wraps(original)(other))

class SimpleNamespace:
    __module__, __qualname__ = "types", "SimpleNamespace"
    def __init__(self, **named):
        self.x = named["x"] + 1

if scale := int(sys.argv[1]):
    for module, name in [(np, "sort"), (np, "tanh"), (np, "where"), (np.linalg, "norm"),
                         (np.fft, "fft"), (math, "sqrt"), (builtins, "abs"),
                         (scipy.special, "erf")]:
        replace(module, name, float(scale))
    types.SimpleNamespace = SimpleNamespace

def function(x): return np.sort(x) + 1
def ufunc(x): return np.tanh(x) + 1
def chosen(x): return np.where(x > 0.5, x, 2.0) + 1
def inner(x): return np.linalg.norm(x) + x
def scalar(x): return math.sqrt(x[2]) + x
def builtin(x): return abs(x) + 1
def special(x): return scipy.special.erf(x) + 1
def transform(x): return np.abs(np.fft.fft(x)) + 1
def made(x): return types.SimpleNamespace(x=x).x * 2

x = np.linspace(0.0, 1.0, 30_000)
for f in (function, ufunc, chosen, inner, scalar, builtin, special, transform, made):
    if not np.allclose(tracejit.jit(f)(x), f(x), rtol=1e-12):
        print(f.__name__)
"""


def test_under_the_name_of_the_original(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(NAMESAKES, encoding="utf-8")
    for scale in "0230":
        assert python("program.py", scale, cache=tmp_path / "cache", cwd=tmp_path) == ""
    # The package may also come after that.
    late = NAMESAKES.replace("import tracejit\n", "").replace(
        "def function", "import tracejit\ndef function"
    )
    (tmp_path / "late.py").write_text(late, encoding="utf-8")
    assert python("late.py", "2", cache=tmp_path / "cache", cwd=tmp_path) == ""


def tangent(x: Any) -> Any:
    return np.tanh(x) + 1


def divided(x: Any) -> Any:
    return 1.0 / x


@pytest.fixture(params=["compiled", "loaded"])
def compiled(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Any:
    """Compiles a function and calls it, or loads what was compiled of it."""
    monkeypatch.setenv("TRACEJIT_CACHE", str(tmp_path / "cache"))

    def made(function: Any, x: Any) -> Any:
        for _ in range(1 if request.param == "compiled" else 2):
            f = tracejit.jit(function)
            f(x)
        assert (f._state is None) is (request.param == "loaded")
        return f

    return made


@pytest.mark.plain_calls
def test_calls_that_are_answered_plainly(compiled: Any) -> None:
    f, x = compiled(tangent, np.zeros(2)), np.zeros(2)
    for _ in range(5):
        for y in (x, np.zeros((2, 1))):
            np.testing.assert_array_equal(f(y), tangent(y))
            with mock.patch("numpy.tanh", np.cos):
                np.testing.assert_array_equal(f(y), tangent(y))


@pytest.mark.parametrize("is_asked", [False, True])
def test_names_that_are_added(compiled: Any, is_asked: bool) -> None:
    """What has been loaded goes on answering when a module of NumPy is imported, for instance."""
    x = np.linspace(0.0, 1.0, 30_000)
    f = compiled(tangent, x)
    for _ in range(2):
        with mock.patch("numpy.added", 1.0, create=True):
            if is_asked:
                f.report()
            np.testing.assert_array_equal(f(x), f(x))
    assert len(f.report().compiles) == 1


@pytest.mark.parametrize("hook", ["settrace", "setprofile"])
def test_threads_that_are_watched(compiled: Any, hook: str) -> None:
    """Entries look at no context: what calls them past the gate does."""
    f, g = compiled(tangent, np.zeros(2)), compiled(divided, np.ones(2))
    before = getattr(sys, hook.replace("set", "get"))()
    getattr(sys, hook)(lambda *_: None)
    try:
        with mock.patch("numpy.tanh", np.cos):
            patched = f(np.zeros(2))
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            g(np.zeros(2))
        with config.eager(), mock.patch.object(f, "_shown") as entries:
            f(np.zeros(2))
    finally:
        getattr(sys, hook)(before)
    assert not entries.run.called
    np.testing.assert_array_equal(patched, [2.0, 2.0])
    np.testing.assert_array_equal(f(np.zeros(2)), [1.0, 1.0])
