"""Names that are bound to something else after a compile: a library's, a module's, a class's."""

from __future__ import annotations

import builtins
import enum
import gc
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import tracejit
from tests.frontend.capture import library_name_samples as s
from tests.runtime.cache.processes import python
from tests.runtime.test_failing_calls import outcome
from tracejit.link import library_names
from tracejit.link.cpython.dict_versions import version_offset
from tracejit.runtime import native

X = np.array([0.5, 1.0, 2.0])


def mine(*args: Any, **kwargs: Any) -> float:
    return 42.0


def failing(*args: Any, **kwargs: Any) -> None:
    raise OSError("not available")


def left(cls: Any, *args: Any, _call: Any = enum.EnumType.__call__) -> Any:
    """Another member of one enum; Python itself calls others."""
    return s.Side.LEFT if cls is s.Side else _call(cls, *args)


MODULE = type("Other", (), {"solve": staticmethod(lambda a, b: b * 9)})
CASES: dict[str, tuple[Any, Any]] = {
    "numpy": (s.of_ufunc, lambda: mock.patch("numpy.sin", mine)),
    "import": (s.of_import, lambda: mock.patch.object(s, "cos", mine)),
    "math": (s.of_math, lambda: mock.patch("math.sqrt", mine)),
    "math folded": (s.of_math_constant, lambda: mock.patch("math.sqrt", mine)),
    "linalg": (s.of_solve, lambda: mock.patch("numpy.linalg.solve", lambda a, b: b * 7)),
    "module": (s.of_solve, lambda: mock.patch("numpy.linalg", MODULE)),
    "alias": (s.of_alias, lambda: mock.patch("numpy.linalg.norm", mine)),
    "global module": (s.of_ufunc, lambda: mock.patch.object(s, "np", mock.Mock(sin=mine))),
    "helper": (s.of_helper, lambda: mock.patch.object(s, "scale", mine)),
    "shadowed": (s.of_len, lambda: mock.patch.object(s, "len", mine, create=True)),
    "builtin": (s.of_sum, lambda: mock.patch.object(builtins, "sum", mine)),
    "operator": (s.of_operator, lambda: mock.patch("operator.add", mine)),
    "method": (s.of_method, lambda: mock.patch.object(s.Model, "act", lambda self, x: x * 5)),
    "constant": (s.of_constant, lambda: mock.patch("numpy.pi", 3.0)),
    "fft": (s.of_fft, lambda: mock.patch("numpy.fft.fft", mine)),
    "ufunc's method": (s.of_method_of_ufunc, lambda: mock.patch("numpy.add", np.multiply)),
    "class": (s.of_class, lambda: mock.patch("numpy.float32", np.float16)),
    "where": (s.of_two, lambda: mock.patch("numpy.where", lambda c, a, b: a)),
    "reduction": (s.of_two, lambda: mock.patch("numpy.sum", mine)),
    "absent": (s.of_hasattr, lambda: mock.patch("numpy.added_later", 1, create=True)),
    "default": (s.of_getattr, lambda: mock.patch("math.added_later", 2.0, create=True)),
    "a class's method": (s.of_counter, lambda: mock.patch("collections.Counter.total", mine)),
    "constructor": (s.of_counter, lambda: mock.patch("collections.Counter.update", failing)),
    "inherited": (s.of_inherited, lambda: mock.patch("collections.Counter.keys", lambda c: [1])),
    "iterator": (s.of_indices, lambda: mock.patch("numpy.ndindex.__next__", failing)),
    "metaclass": (s.of_enum, lambda: mock.patch("enum.EnumType.__call__", left)),
    "generator": (s.of_stream, lambda: mock.patch("numpy.random.default_rng", np.random.Generator)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_name_is_what_it_is_bound_to(name: str) -> None:
    f, patch = CASES[name]
    compiled = tracejit.jit(f)
    before = outcome(f, X)
    for _ in range(3):
        assert outcome(compiled, X) == before
    for _ in range(2):
        with patch():
            patched = outcome(f, X)
            assert patched != before
            for _ in range(3):
                assert outcome(compiled, X) == patched
        for _ in range(3):
            assert outcome(compiled, X) == before


#: In a process of its own: where a name is first noted while it is replaced, every later call of
#: whatever is compiled looks the names up.
COMPILED_WHILE_REPLACED = """
from unittest import mock
import numpy as np, tracejit
from tests.frontend.capture import library_name_samples as s
from tests.runtime.cache.processes import python

x = np.array([0.5, 1.0, 2.0])
if noted:
    tracejit.jit(s.of_constant_too)(x)
compiled = tracejit.jit(s.of_constant)
with mock.patch("numpy.pi", 3.0):
    for _ in range(3):
        assert np.array_equal(compiled(x), x * 3.0)
for _ in range(3):
    assert np.array_equal(compiled(x), x * np.pi)
"""


@pytest.mark.parametrize("noted", [False, True])
def test_a_compile_while_a_name_is_bound_to_something_else(noted: bool, tmp_path: Path) -> None:
    program = f"noted = {noted}\n{COMPILED_WHILE_REPLACED}"
    assert python("-c", program, cache=tmp_path, cwd=tmp_path) == ""


@pytest.mark.skipif(not native.available(), reason=native.why_not())
def test_other_changes_of_a_library_cost_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = tracejit.jit(s.of_ufunc)
    for _ in range(3):
        compiled(X)
    calls: list[int] = []
    slow = compiled._slow

    def counted(*args: Any) -> Any:
        calls.append(1)
        return slow(*args)

    compiled._slow = counted
    # What another test has begun may change a library once more.
    for _ in range(5):
        calls.clear()
        compiled(X)
    assert calls == []
    monkeypatch.setattr(np, "_a_name_of_nobody", 1, raising=False)
    for _ in range(5):
        compiled(X)
    assert len(calls) == 1
    gc.collect()


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="other versions keep it elsewhere")
def test_versions_of_dicts_are_found() -> None:
    assert version_offset() == 24


def test_without_versions_names_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_names, "version_offset", lambda: None)
    for name in ("numpy", "math", "builtin", "constant", "where"):
        test_a_name_is_what_it_is_bound_to(name)
