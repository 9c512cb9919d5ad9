"""Records are plain data: each class that one may hold comes back, any other has no plain form."""

from __future__ import annotations

import ast
import copy
import dataclasses
import importlib
import marshal
import pickle
from collections import OrderedDict, namedtuple
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.runtime.cache.processes import ROOT
from tracejit.codegen.analysis.buffer_plan import Copy
from tracejit.codegen.analysis.memory_use import Buffers, Temporary
from tracejit.codegen.analysis.stack_order import StackUse
from tracejit.errors import Where
from tracejit.ir.dims import maximum
from tracejit.ir.polynomials import key_of, symbol
from tracejit.link.addresses import Address, Recipe, address_of
from tracejit.link.places import Word
from tracejit.runtime.cache import files, record
from tracejit.runtime.cache.records import CLASSES, ENTRY_SCHEMA, FORM, is_valid, restored, to_plain
from tracejit.runtime.report.report import Compile, Fallback, Line

WHERE = Where("f.py", 3, "f", 4, 9, "cpu")
N = symbol("n")
LARGEST: Any = maximum(8 * N, 3 * symbol("m") + 1)
((ATOM,), _), *_ = LARGEST.terms
BUFFERS = Buffers(
    (WHERE,),
    (Copy("an array", WHERE), Copy("another", None)),
    (Temporary("an array", WHERE, 8 * N, 0), Temporary("rows", None, LARGEST, None)),
    (frozenset((8 * N, LARGEST, 64)),),
    16,
    8 * N,
    ("8*k",),
    {"n": 3},
    (StackUse("s", (24, 8 * N)),),
)
OBJECTS = {
    "Atom": ATOM,
    "Buffers": BUFFERS,
    "Compile": Compile(
        "first call", "f64[n]", 0.25, {"trace": 0.5}, (Line(WHERE, "compiled"),), ("x",), False,
        BUFFERS, False,
    ),
    "Copy": Copy("an array", WHERE),
    "Fallback": Fallback("TJ002", "why", WHERE, "f64[3]"),
    "Line": Line(WHERE, "host", "why"),
    "Poly": 8 * N + 1,
    "StackUse": StackUse("s", (24, 8 * N)),
    "Temporary": Temporary("an array", WHERE, 8 * N, 0),
    "Where": WHERE,
}  # fmt: skip


def there_and_back(x: Any) -> Any:
    return restored(marshal.loads(marshal.dumps(to_plain(x))))


def state(x: Any) -> Any:
    """What an object is made of: some classes are equal by identity."""
    if dataclasses.is_dataclass(x) and type(x).__name__ in CLASSES:
        return type(x), [state(getattr(x, name)) for name in CLASSES[type(x).__name__][1]]
    return [state(item) for item in x] if type(x) is tuple else x


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_each_class_comes_back(name: str) -> None:
    x = OBJECTS[name]
    assert type(x).__name__ == name
    found = there_and_back(x)
    assert state(found) == state(x) and str(found) == str(x)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_what_is_not_written_has_a_default(name: str) -> None:
    module, written = CLASSES[name]
    fields = dataclasses.fields(getattr(importlib.import_module(module), name))
    assert [f.name for f in fields if f.name in written] == list(written)
    left = {f.name for f in fields} - {*written}
    assert left <= {"recalled", "trips", "noted"}


def test_what_is_shared_is_written_once() -> None:
    dim: Any = N
    for _ in range(60):
        dim = maximum(dim, dim * 2 - 7)
    assert len(marshal.dumps(to_plain(dim))) < 1 << 16
    # To compare all of it would take for ever.
    assert key_of(there_and_back(dim)) == key_of(dim)


class Small(IntEnum):
    ONE = 1


@pytest.mark.parametrize(
    "x",
    [
        Small.ONE,
        address_of(None),
        np.float64(1),
        namedtuple("Pair", "a b")(1, 2),
        OrderedDict(a=1),
        np.ones(2),
        len,
        object(),
        Compile,
        type("Where", (), {})(),
        Word(),
    ],
    ids=lambda x: type(x).__name__,
)  # fmt: skip
def test_other_classes_have_no_plain_form(x: Any) -> None:
    for held in (x, (1, [x]), {"a": x}, StackUse("s", (x,))):
        with pytest.raises(TypeError, match="has no plain form"):
            to_plain(held)


@pytest.mark.parametrize(
    "plain", [(), [], ("Where", 1), ("Report",), ("eval", "1"), (1, 2), {}, ("Where", *"abcdefg")]
)
def test_what_is_no_plain_form_is_refused(plain: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        restored(plain)


def test_an_address_stays_in_its_process() -> None:
    address = Address(4711, Recipe("m", "f", ()))
    for move in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="means nothing in another process"):
            move(address)


def test_classes_that_are_made_in_their_own_way_say_how_they_are_pickled() -> None:
    """`__new__` with arguments of its own is not called with them by a pickle's default way."""
    silent = []
    for path in Path(ROOT, "tracejit").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "def __new__" in text else ():
            if isinstance(node, ast.ClassDef):
                own = {x.name for x in node.body if isinstance(x, ast.FunctionDef)}
                if "__new__" in own and own.isdisjoint(
                    ("__reduce__", "__reduce_ex__", "__getnewargs__", "__getnewargs_ex__")
                ):
                    silent.append(f"{path.name}: {node.name}")
    assert silent == []


def grows(x: Any) -> Any:
    while x.sum() < 9:
        x = x + np.sin(x)
    return x.sum()


def stores(x: Any) -> Any:
    x[1:] = x[:-1]
    return np.sort(x)[::-1] + np.outer(x, x).sum()


def slope(x: Any) -> Any:
    return tracejit.grad(grows)(x)


@pytest.mark.parametrize("f", [slope, grows, stores])
def test_reports_of_compiles_come_back(
    f: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE", str(tmp_path / "cache"))
    first, second = tracejit.jit(f), tracejit.jit(f)
    first(np.ones(3)), second(np.ones(3))
    assert second._state is None
    (made,), (found,) = first.report().variants, second.report().variants
    # What only a process knows is said in that process alone.
    lines = [line.partition(", room for")[0] for line in made.buffers.lines()]
    assert lines == list(found.buffers.lines()) and found.recalled
    for name in ("reason", "signature", "seconds", "stages", "lines", "copies", "worthwhile"):
        assert getattr(found, name) == getattr(made, name)
    assert found.buffers.peak_bytes() == made.buffers.peak_bytes()


def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, dict[str, Any]]:
    """The file of `stores`, and its record."""
    monkeypatch.setenv("TRACEJIT_CACHE", str(tmp_path / "cache"))
    tracejit.jit(stores)(np.ones(3))
    (path,) = tmp_path.rglob(f"*stores*/*{files.ENTRY}")
    found: dict[str, Any] = files.read(str(path), ENTRY_SCHEMA)
    return path, found


def is_miss() -> bool:
    f = tracejit.jit(stores)
    np.testing.assert_array_equal(f(np.arange(3.0)), stores(np.arange(3.0)))
    return f._state is not None


def test_records_have_their_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, whole = written(tmp_path, monkeypatch)
    assert is_valid(whole, ENTRY_SCHEMA)
    wrong: list[Any] = [None, [], 1, "text", {}, {**whole, "more": 1}]
    for key in whole:
        wrong.append({k: v for k, v in whole.items() if k != key})
        wrong.append({**whole, key: 1.5})
    for other in wrong:
        assert not is_valid(other, ENTRY_SCHEMA)
    for other in wrong[:8]:
        files.write(str(path), other)
        assert is_miss()
    assert not is_miss()


def test_contents_that_mean_nothing_are_a_miss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values of the right types, under a right digest, as no version of the package writes them."""
    path, whole = written(tmp_path, monkeypatch)
    empties: dict[type, Any] = {
        str: "x",
        tuple: (),
        list: [1, ("root", 99), ()],
        dict: {1: "x"},
        type(None): None,
    }
    for key in set(whole) - {
        "compile",
        "worthwhile",
        "label",
        "signature",
        "versions",
        "ranks",
        "sizes",
        "floats",
    }:
        files.write(str(path), {**whole, key: empties[type(whole[key])]})
        assert is_miss(), key
    for key in ("compile", "ranks", "sizes", "floats"):
        files.write(str(path), {**whole, key: empties[type(whole[key])]})
        is_miss()


def test_files_of_another_form_are_a_miss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, _ = written(tmp_path, monkeypatch)
    data = path.read_bytes()
    head = data.index(b"\n")
    for form in (b"1", b"%d" % (FORM - 1), b"%d" % (FORM + 1), b"10", b"", b"x"):
        path.write_bytes(data[: head - 1] + form + data[head:])
        assert files.read(str(path)) is None
        assert is_miss()
    assert not is_miss()


def test_a_report_without_a_plain_form_is_written_without_its_buffers() -> None:
    odd = dataclasses.replace(BUFFERS, saved=address_of(None))
    whole = OBJECTS["Compile"]
    found = restored(record._plain_report(dataclasses.replace(whole, buffers=odd)))
    assert found == dataclasses.replace(whole, buffers=None)
    assert record._plain_report(dataclasses.replace(whole, reason=address_of(None))) is None
