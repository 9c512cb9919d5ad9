"""Every class of access paths and guards: read, emitted, recorded, found, and changed."""

from __future__ import annotations

import importlib.util
from pathlib import Path as File
from types import ModuleType
from typing import Any

import pytest

from tests.frontend.capture.path_samples import SAMPLES
from tests.runtime.cache.processes import observe
from tests.support.sampling import sampled
from tracejit.frontend.capture.guards import Guard
from tracejit.frontend.capture.paths import Path, Positional, Reread
from tracejit.runtime import native
from tracejit.runtime.compile import worth

#: Those that calls begin at, which no capture has.
OF_CALLS = {Positional, Reread}
#: What changes nothing that shows, and what the same code is for.
SAME = {"global dtype", "random numbers"}
INPUTS = {"global array", "array of a class", "numbers in a list", "random numbers"}
INPUTS |= {"container of an argument"}
#: What runs eagerly when it has changed.
EAGER = {"two objects"}


def loaded(folder: File, name: str, copy: str = "") -> Any:
    """A module of a sample."""
    file = folder / f"{name.replace(' ', '_')}{copy}.py"
    file.write_text(SAMPLES[name].module, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def results(module: ModuleType, f: Any) -> list[Any]:
    """What is found before and after the change, twice each."""
    found = [repr(call(f)) for call in module.calls * 2]
    module.change()
    return found + [repr(call(f)) for call in module.calls * 2]


@pytest.mark.compiles
@pytest.mark.sampled(8, kind=lambda name, **_: name)
@pytest.mark.parametrize("way", ["machine code", "Python"])
@pytest.mark.parametrize("name", SAMPLES)
def test_changes_are_seen(tmp_path: File, monkeypatch: Any, name: str, way: str) -> None:
    monkeypatch.setattr(worth, "_OPERATION", float("inf"))
    if way == "Python":
        monkeypatch.setattr(native, "available", lambda: False)
    module, other = loaded(tmp_path, name), loaded(tmp_path, name, "_plain")
    found, expected = results(module, module.f), results(other, other.f.__tracejit__)
    assert found == expected
    assert name in SAME or found[1] != found[2], name
    assert bool(module.f.report().fallbacks) is (name in EAGER), module.f.report()


def of_trace(module: Any) -> set[type]:
    """The classes of paths and guards that a call's traces have."""
    for call in module.calls:
        call(module.f)
    variants = [v for s in module.f._state.structures.values() for v in s.variants]
    steps = [step for variant in variants for step in variant.traced.capture.steps]
    return {type(x) for step in steps for x in (step.path, *step.guards)}


def kinds(cls: type) -> set[type]:
    """The classes below one."""
    return {x for below in cls.__subclasses__() for x in (below, *kinds(below))}


def test_there_is_a_sample_of_each_class(tmp_path: File, monkeypatch: Any) -> None:
    monkeypatch.setattr(worth, "_OPERATION", float("inf"))
    monkeypatch.setenv("TRACEJIT_CACHE", "off")
    found = set[type]().union(*(of_trace(loaded(tmp_path, name)) for name in SAMPLES))
    assert (kinds(Path) | kinds(Guard)) - OF_CALLS <= found


def test_other_processes_find_the_same(tmp_path: File) -> None:
    names = {name: name.replace(" ", "_").replace("'", "") for name in sampled(sorted(SAMPLES), 8)}
    for name, stem in names.items():
        (tmp_path / f"{stem}.py").write_text(SAMPLES[name].module, encoding="utf-8")
    stems = list(names.values())
    seen = [
        observe(tmp_path, *stems, **({"CHANGED": "1"} if changed else {}))["modules"]
        for changed in (False, True, False, True)
    ]
    for name, stem in names.items():
        told = [modules[stem] for modules in seen]
        assert all("error" not in x and x["got"] == x["plain"] for x in told), (name, told)
        assert [x["warm"] for x in told] == [False, name in INPUTS, True, True], (name, told)
        assert name in SAME or told[0]["got"] != told[1]["got"]
