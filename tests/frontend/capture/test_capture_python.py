"""Python at trace time: what tracing follows gives what Python gives, line by line and in order."""

from __future__ import annotations

import dataclasses
import linecache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.frontend.capture import capture_classes as classes
from tests.frontend.capture import capture_python as python
from tests.frontend.capture import capture_refused as refusals
from tests.frontend.capture import capture_samples as samples
from tests.support.capturing import Compiled, follows, refused
from tracejit.errors import TraceError
from tracejit.frontend.interpreter.functions import rewritten_code
from tracejit.frontend.rewrite.constructs import HOOKS

X = np.array([0.5, -1.5, 2.25])


FOLLOWED: dict[str, tuple[Any, ...]] = {
    "unrolled": (X,),
    "comprehensions": (X,),
    "unpacking": (X,),
    "swaps_with_key": (X,),
    "containers": (X,),
    "local_store": (X,),
    "chained": (X,),
    "order_of_evaluation": (X,),
    "functions_inside": (X, X, 1.0),
    "recursive": (X,),
    "mapped": (X,),
    "sizes": (X,),
    "conversions": (X, np.array([3, -4]), np.array([1.5], np.float32)),
    "builds_objects": (X,),
    "calls_numpy_on_constants": (X,),
    "asserts_and_raises": (X,),
    "slices": (X,),
    "walrus": (X,),
    "tuple_result": (X,),
    "formats_shape": (X,),
    "formats_shape_tuple": (X,),
    "internal_attribute": (X,),
    "identity_of_none": (X,),
    "reads_inner": (X,),
    "reads_static_method": (X,),
    "reads_private": (X,),
}


CLASSES = """
class_contents special_methods equal_objects dataclasses_inside frozen_from_outside namespace
cyclic_list ufunc_forms numpy_forms compiled_callee compiled_methods decorated_inside
array_by_scalar_type explicit_branch explicit_loop several_kinds_of_functions generators text
sets iterators displays comparisons annotations power_operators
""".split()
REFUSED = {
    "object_as_condition": "TJ008",
    "now": "TJ002",
    "ordered_dict": "TJ002",
    "copied": "TJ002",
    "returns_builtin": "TJ003",
    "identity_of_arrays": "TJ001",
    "math_of_array_element": "TJ002",
    "bound_append": "TJ002",
    "bound_count": "TJ002",
}


@pytest.mark.parametrize("name", FOLLOWED)
@pytest.mark.parametrize("symbolic", [True, False])
def test_followed(name: str, symbolic: bool) -> None:
    f = next(getattr(m, name) for m in (python, samples, refusals) if hasattr(m, name))
    follows(f, *FOLLOWED[name], compiled=Compiled(f, symbolic))


@pytest.mark.parametrize("name", CLASSES)
def test_classes_and_calls(name: str) -> None:
    follows(getattr(classes, name), X)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    assert refused(getattr(classes, name), X) == REFUSED[name]


def test_objects_from_inside_and_outside() -> None:
    new = Compiled(classes.returns_new_object)(X)
    assert type(new) is classes.Special and vars(new).keys() == vars(classes.Special(X)).keys()
    replaced, plain = Compiled(classes.returns_replaced)(X), classes.returns_replaced(X)
    assert type(replaced) is type(plain)
    for field in dataclasses.fields(plain):
        assert getattr(replaced, field.name) is getattr(plain, field.name)
    assert Compiled(classes.returns_class_list)(X) is classes.Special.shared
    Compiled(classes.appends_to_class)(X)
    assert classes.Special.shared.pop() == 1
    Compiled(classes.patched_method)(X)
    assert vars(classes.SPECIAL).pop("activation") is np.sin


def test_keyword_arguments() -> None:
    compiled = follows(classes.keyword_arguments, X, X, 2.0, a=X, b=1.0)
    follows(classes.keyword_arguments, X, X, 2.0, b=X, a=1.0, compiled=compiled)
    follows(classes.keyword_arguments, X, compiled=compiled)


def test_sizes_stay_symbolic() -> None:
    compiled = follows(samples.reads_number, X)
    follows(samples.reads_number, np.arange(7.0), compiled=compiled)
    follows(samples.reads_number, np.arange(90.0), compiled=compiled)
    assert compiled.traces == 1
    compiled = follows(python.sizes, X)
    follows(python.sizes, np.arange(7.0), compiled=compiled)


def test_trees_of_arguments() -> None:
    def tree(k: float) -> dict[str, Any]:
        return {
            "pair": (X * k, [X, X + k]),
            "config": samples.Config(0.5, X - k),
            "point": samples.Point(X * k, 2.0),
        }

    compiled = follows(python.takes_tree, tree(1.0), "a")
    follows(python.takes_tree, tree(2.0), "a", compiled=compiled)
    assert compiled.traces == 1
    follows(python.takes_tree, tree(2.0), "b", compiled=compiled)
    changed = tree(2.0)
    changed["config"].name = "other"
    follows(python.takes_tree, changed, "b", compiled=compiled)
    assert compiled.traces == 3


def test_objects_as_arguments() -> None:
    compiled = Compiled(samples.Model.__call__)
    follows(samples.Model.__call__, samples.MODEL, X, compiled=compiled)


# Source ------------------------------------------------------------------------------------------


def test_lambdas_on_one_line() -> None:
    for f in (*python.two, *python.same_line, *python.several.values(), python.other):
        follows(f, X)


def load(path: Path, text: str) -> ModuleType:
    path.write_text(text)
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    exec(compile(text, str(path), "exec"), vars(module))
    return module


def test_a_file_changed_since_is_not_the_source(tmp_path: Path) -> None:
    path = tmp_path / "changed.py"
    module = load(path, "def f(x):\n    return x + 1\n")
    follows(module.f, X)
    path.write_text("def f(x):\n    return x + 20\n")
    linecache.checkcache(str(path))
    other = load(tmp_path / "other.py", "def f(x):\n    return x + 3\n")
    follows(other.f, X)
    fresh = ModuleType("changed")
    exec(compile("def f(x):\n    return x + 1\n", str(path), "exec"), vars(fresh))
    assert refused(fresh.f, X) == "TJ007"
    (tmp_path / "other.py").unlink()
    gone = ModuleType("gone")
    exec(compile("def g(x):\n    return x\n", str(tmp_path / "no.py"), "exec"), vars(gone))
    assert refused(gone.g, X) == "TJ007"


def test_every_construct_is_decided(tmp_path: Path) -> None:
    """A construct outside the table is refused on its line."""
    for k, (line, text) in enumerate(
        (
            (2, "def f(x):\n    del (x, )\n"),
            (3, "def f(x):\n    y = x\n    async def g():\n        pass\n    return y\n"),
            (2, "def f(x):\n    return [(yield x)]\n"),
            (2, "def f(x):\n    return [0 for x[0] in x]\n"),
            (2, "def f(x):\n    return [1 < v < (y := 3) for v in x]\n"),
            (2, "def f(x):\n    return lambda v: v and (y := 3)\n"),
            (4, "def f(x):\n    return x\n    if x:\n        del (x, )\n"),
            (
                3,
                "def f(x):\n    def g():\n        nonlocal y\n        y = 1\n    return (y := x)\n",
            ),
        )
    ):
        module = load(tmp_path / f"construct{k}.py", text)
        with pytest.raises(TraceError) as caught:
            rewritten_code(module.f)
        own = {"async": "TJ026", "yield": "TJ023"}
        assert caught.value.code == next((own[w] for w in own if w in text), "TJ008")
        assert caught.value.where is not None
        assert caught.value.where.line in (line, 1)
    assert all(isinstance(rule, str) for rule in HOOKS.values())


def test_errors_show_the_users_lines(tmp_path: Path) -> None:
    text = "def g(x):\n    return (\n        x\n        / undefined\n    )\n\n\n"
    text += "def f(x):\n    return g(x)\n"
    module = load(tmp_path / "lines.py", text)
    with pytest.raises(NameError) as caught:
        Compiled(module.f)(X)
    own = [e for e in caught.traceback if str(e.path) == str(tmp_path / "lines.py")]
    assert [(e.name, e.lineno + 1) for e in own] == [("f", 9), ("g", 4)]


def test_rewritten_code_is_made_once_for_each_code_object() -> None:
    first = rewritten_code(samples.reads_array)
    assert rewritten_code(samples.reads_array) is first
    assert first.co_filename == samples.__file__
    assert first.co_freevars == ("__tracejit__",)
