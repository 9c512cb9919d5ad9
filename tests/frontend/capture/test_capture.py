"""Capture of plain Python: what is outside is followed, what cannot be followed is refused."""

from __future__ import annotations

import copy
import functools
import gc
import operator
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tests.frontend.capture import capture_refused as refusals
from tests.frontend.capture import capture_samples as samples
from tests.support.capturing import Compiled, follows, refused
from tests.support.compare import assert_same
from tracejit.errors import TraceError

X = np.array([0.5, -1.5, 2.25])


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """The module of samples as it was before the test."""
    kept = {
        name: copy.deepcopy(value)
        for name, value in vars(samples).items()
        if name.isupper() and name != "MODE"
    }
    mode = samples.MODE
    yield
    vars(samples).update(kept)
    samples.MODE = mode
    samples.bound_shift = samples.MODEL.shift
    samples.Base.factor = 3.0
    vars(samples.Model).get("factor") and delattr(samples.Model, "factor")
    samples.Model.limit = 10.0


# What is outside is read again at each call ------------------------------------------------------


def rebind(name: str, value: Any) -> Callable[[], None]:
    return lambda: setattr(samples, name, value)


def change_item(name: str, key: Any, value: Any) -> Callable[[], None]:
    def run() -> None:
        getattr(samples, name)[key] = value

    return run


def change_attribute(owner: str, name: str, value: Any) -> Callable[[], None]:
    return lambda: setattr(getattr(samples, owner), name, value)


def drop_attribute(owner: str, name: str) -> Callable[[], None]:
    return lambda: delattr(getattr(samples, owner), name)


NEW = np.array([-7.0, 8.0, 9.5])
#: (function, change, whether the change needs another trace)
CHANGES: list[tuple[str, Callable[[], None], bool]] = [
    ("reads_array", rebind("WEIGHTS", NEW), False),
    ("reads_array", change_item("WEIGHTS", 0, 77.0), False),
    ("reads_array", rebind("WEIGHTS", NEW.astype(np.float32)), True),
    ("reads_array", rebind("WEIGHTS", 4.0), True),
    ("reads_number", rebind("SCALE", 5.0), True),
    ("reads_number", rebind("SCALE", 2), True),
    ("reads_number", rebind("SCALE", np.float32(2.0)), True),
    ("reads_number", rebind("SCALE", NEW), True),
    ("reads_signed_zero", rebind("ZERO", -0.0), True),
    ("reads_text", rebind("NAME", "mean"), True),
    ("reads_dict", change_item("TABLE", "power", 3), True),
    ("reads_dict", change_item("TABLE", "bias", NEW), False),
    ("reads_dict", change_item("TABLE", "added", NEW), True),
    ("reads_dict", rebind("TABLE", {"power": 3, "bias": NEW}), True),
    ("reads_nested", lambda: samples.TABLE["nested"].update(on=False), True),
    ("reads_list", change_item("LAYERS", 1, NEW), False),
    ("reads_list", lambda: samples.LAYERS.append(NEW), True),
    ("reads_list", lambda: samples.LAYERS.pop(), True),
    ("reads_list", rebind("LAYERS", (NEW, NEW)), True),
    ("reads_function", rebind("ACTIVATION", np.sin), True),
    ("reads_function", rebind("ACTIVATION", samples.twice), True),
    ("reads_scalar", rebind("SCALAR", np.float32(-3)), False),
    ("reads_scalar", rebind("SCALAR", np.float64(-3)), True),
    ("reads_tuple", rebind("PAIR", (1.0, NEW)), False),
    ("reads_tuple", rebind("PAIR", (2.0, NEW)), True),
    ("reads_enum", rebind("MODE", samples.Mode.SLOW), True),
    ("reads_enum_value", rebind("MODE", samples.Mode.SLOW), True),
    ("reads_dataclass", change_attribute("CONFIG", "rate", 3.0), True),
    ("reads_dataclass", change_attribute("CONFIG", "weights", NEW), False),
    ("reads_dataclass", rebind("CONFIG", samples.Config(0.5, NEW)), False),
    ("reads_object", change_attribute("MODEL", "weights", NEW), False),
    ("reads_object", change_attribute("MODEL", "bias", 4.0), True),
    ("reads_object", change_attribute("MODEL", "factor", 4.0), True),
    ("reads_object", change_attribute("Model", "factor", 5.0), True),
    ("reads_object", rebind("MODEL", samples.Model(NEW, 2.0)), True),
    ("reads_object", change_attribute("MODEL", "shift", samples.twice), True),
    ("reads_property", change_attribute("MODEL", "weights", NEW), False),
    ("reads_class_attribute", change_attribute("Model", "limit", 1.0), True),
    ("reads_class_attribute", change_attribute("Base", "factor", 1.0), True),
    ("reads_object_list", change_item("LAYERS", 0, NEW), False),
    ("reads_object_list", lambda: samples.MODEL.layers.append(NEW), True),
    ("reads_object_list", lambda: samples.MODEL.options.update(square=False), True),
    ("reads_slot", change_attribute("SLOTTED", "a", NEW), False),
    ("reads_slot", change_attribute("SLOTTED", "a", 3.0), True),
    ("reads_optional", rebind("NOTHING", 3.0), True),
    ("reads_missing", change_attribute("MODEL", "extra", 4.0), True),
    ("has_extra", change_attribute("MODEL", "extra", 4.0), True),
    ("calls_helper", rebind("twice", lambda x: x * 5), True),
    ("imported_function", rebind("exponential", np.exp2), True),
    ("reads_bound_method", rebind("bound_shift", samples.Model(NEW, 1.0).shift), True),
    ("reads_bound_method", change_attribute("MODEL", "bias", 9.0), True),
    ("reads_decorated", rebind("SCALE", 7.0), True),
    (
        "reads_partial",
        rebind("partial_product", functools.partial(operator.add, 2.0)),
        True,
    ),
    ("counted", lambda: setattr(samples.counted, "offset", 6.0), True),
]


@pytest.mark.parametrize(
    ("name", "change", "again"), CHANGES, ids=[f"{k}-{c[0]}" for k, c in enumerate(CHANGES)]
)
def test_a_change_outside_is_seen(
    name: str, change: Callable[[], None], again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for own in ("twice", "exponential", "partial_product"):
        monkeypatch.setattr(samples, own, getattr(samples, own))
    monkeypatch.setattr(samples.counted, "offset", 1.0)
    f = getattr(samples, name)
    compiled = follows(f, X)
    follows(f, X, compiled=compiled)
    assert compiled.traces == 1
    change()
    try:
        follows(f, X, compiled=compiled)
    except TraceError:
        assert again
    else:
        assert compiled.traces == 1 + again
    change_back = follows(f, X * 2, compiled=compiled)
    assert change_back.traces == 1 + again


def test_removed_names_and_attributes_are_seen() -> None:
    compiled = follows(samples.reads_object, X)
    del samples.MODEL.bias
    with pytest.raises(AttributeError):
        compiled(X)
    samples.MODEL.bias = 0.5
    follows(samples.reads_object, X, compiled=compiled)
    compiled = follows(samples.reads_number, X)
    del samples.SCALE
    with pytest.raises(NameError):
        compiled(X)


def test_methods_patched_on_the_class_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = follows(samples.reads_object, X)
    monkeypatch.setattr(samples.Model, "shift", samples.Base.shift)
    follows(samples.reads_object, X, compiled=compiled)
    assert compiled.traces == 2
    monkeypatch.setattr(samples.Model, "shift", lambda self, x: x - self.bias)
    follows(samples.reads_object, X, compiled=compiled)
    assert compiled.traces == 3


def test_a_functions_code_and_defaults_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = follows(samples.calls_helper, X)
    monkeypatch.setattr(samples.twice, "__code__", samples.reads_text.__code__)
    follows(samples.calls_helper, X, compiled=compiled)
    assert compiled.traces == 2
    for f in (samples.default_list, samples.calls_default):
        compiled = follows(f, X)
        monkeypatch.setattr(samples.default_list, "__defaults__", ([3.0],))
        follows(f, X, compiled=compiled)
        samples.default_list.__defaults__[0].append(1.0)
        follows(f, X, compiled=compiled)
        assert compiled.traces == 3
        monkeypatch.undo()
    compiled = follows(samples.default_keyword, X)
    monkeypatch.setitem(samples.default_keyword.__kwdefaults__, "k", 9.0)
    follows(samples.default_keyword, X, compiled=compiled)
    follows(samples.default_keyword, X, k=4.0, compiled=compiled)


def test_default_arrays_are_inputs() -> None:
    compiled = follows(samples.default_array, X)
    samples.default_array.__defaults__[0][1] += 10
    follows(samples.default_array, X, compiled=compiled)
    follows(samples.default_array, X, w=NEW, compiled=compiled)
    assert compiled.traces == 2


def test_closures_are_read_again() -> None:
    inner, change = samples.make_closure(2.0, NEW)
    compiled = follows(inner, X)
    change(2.0, NEW + 1)
    follows(inner, X, compiled=compiled)
    assert compiled.traces == 1
    change(3.0, NEW)
    follows(inner, X, compiled=compiled)
    assert compiled.traces == 2
    follows(samples.make_nested(3.0), X)
    follows(samples.make_nested(4.0), X)


def test_two_names_of_one_array() -> None:
    compiled = follows(samples.reads_array, samples.WEIGHTS)
    samples.WEIGHTS[2] = 50.0
    follows(samples.reads_array, samples.WEIGHTS, compiled=compiled)
    assert compiled.traces == 1


def test_one_array_in_two_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "LAYERS", [samples.WEIGHTS, samples.WEIGHTS])
    compiled = follows(samples.reads_list, X)
    samples.LAYERS[1] = NEW
    follows(samples.reads_list, X, compiled=compiled)
    samples.LAYERS[0] = NEW
    follows(samples.reads_list, X, compiled=compiled)


def test_a_model_is_not_kept_alive() -> None:
    compiled = follows(samples.reads_object, X)
    model = weakref.ref(samples.MODEL)
    samples.MODEL = samples.Model(NEW, 1.0)
    samples.bound_shift = None
    gc.collect()
    assert model() is None
    follows(samples.reads_object, X, compiled=compiled)
    assert compiled.traces == 2


def test_changes_of_sizes_and_dtypes_of_captured_arrays() -> None:
    compiled = follows(samples.reads_list, X)
    samples.LAYERS[:] = [np.ones((2, 3)), np.ones(1)]
    follows(samples.reads_list, X, compiled=compiled)
    samples.LAYERS[:] = [np.ones(3, np.int64), np.float64(2)]
    follows(samples.reads_list, X, compiled=compiled)


# Nothing is frozen -------------------------------------------------------------------------------

REFUSED: dict[str, str] = {
    "reads_clock": "TJ002",
    "reads_file": "TJ002",
    "opens_file": "TJ002",
    "sets_function_text": "TJ027",
    "uses_iterator": "TJ006",
    "uses_set": "TJ006",
    "text_of_set": "TJ006",
    "percent_of_set": "TJ006",
    "length_of_set": "TJ006",
    "iterates_view": "TJ006",
    "length_of_view": "TJ006",
    "text_of_view": "TJ006",
    "tests_view": "TJ006",
    "looks_into_view": "TJ006",
    "uses_getattr_class": "TJ006",
    "uses_globals": "TJ002",
    "uses_eval": "TJ002",
    "uses_dict_attribute": "TJ006",
    "uses_vars": "TJ002",
    "identity_of_object": "TJ002",
    "contains_array": "TJ001",
    "compares_lists": "TJ001",
    "tries": "TJ024",
    "reads_text_of_numpy": "TJ024",
    "uses_with": "TJ009",
    "generates": "TJ023",
    "defines_class": "TJ008",
    "frompyfunc_with_constant": "TJ002",
    "cached": "TJ002",
    "returns_lambda": "TJ003",
    "internal_view": "TJ004",
    "rounds": "TJ004",
    "unknown_function": "TJ002",
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    f = getattr(refusals, name)
    assert refused(f, X) == REFUSED[name]
    with pytest.raises(TraceError) as caught:
        Compiled(f)(X)
    where = caught.value.where
    assert where is not None and where.file == refusals.__file__
    first = f.__code__.co_firstlineno
    assert first <= where.line or name == "cached"


def test_what_python_raises_is_raised() -> None:
    for f in (refusals.min_of_arrays, Compiled(refusals.min_of_arrays)):
        with pytest.raises(ValueError, match="ambiguous"):
            f(X)


def test_what_tracing_refused_has_not_happened() -> None:
    before = refusals.counted.__doc__
    assert refused(refusals.sets_function_text, X) == "TJ027"
    assert before == refusals.counted.__doc__


def test_what_is_stored_outside() -> None:
    compiled = Compiled(refusals.appends_to_global)
    before = len(refusals.LOG)
    for k in range(3):
        assert_same(compiled(X), X)
        assert len(refusals.LOG) == before + k + 1 and refusals.LOG[-1] is X
    compiled = Compiled(refusals.counts_calls)
    before = refusals.COUNTS["calls"]
    assert_same([compiled(X) for _ in range(3)], [X + before + k for k in (1, 2, 3)])
    assert refusals.COUNTS["calls"] == before + 3
    refusals.MODEL.bias = 3.0
    Compiled(refusals.sets_attribute)(X)
    assert refusals.MODEL.bias == 1.0
    compiled = Compiled(refusals.changes_default)
    assert_same([compiled(X), compiled(X)], [X + 1, X + 2])
    assert refusals.changes_default.__defaults__ == ([1, 1],)
    refusals.changes_default.__defaults__[0].clear()
    assert Compiled(refusals.returns_global_list)(X) is refusals.LAYERS


def test_containers_among_the_arguments() -> None:
    for f, argument in (
        (refusals.changes_argument_list, [X, X + 1]),
        (refusals.changes_argument_dict, {"x": X}),
    ):
        expected = copy.deepcopy(argument)
        assert_same(f(expected), Compiled(f)(argument))
        assert_same(expected, argument)
    given = [2.0, 1.0]
    assert Compiled(refusals.sorts_argument)(given) == 1.0
    assert given == [1.0, 2.0]
    follows(refusals.sorted_values, X)
    given = [X]
    assert Compiled(refusals.returns_argument_list)(given) is given
    assert refused(refusals.compares_identity, X, X) == "TJ001"
    follows(refusals.compares_identity, [X], [X])
    follows(refusals.compares_identity, X, None)
