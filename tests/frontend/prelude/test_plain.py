"""Functions of the prelude give what NumPy's give: class, dtype, bits, strides, sharing, errors."""

from __future__ import annotations

import ast
import collections
import importlib
from pathlib import Path

import pytest

from tests.frontend.numpy.surface.recipes import mentioned, recipes
from tests.frontend.numpy.test_surface import KNOWN
from tests.frontend.prelude.plain import all_cases, functions_of, names_of, wrong
from tracejit.frontend import prelude

#: Methods of classes have tests of their own.
MODULES = [module for module, fs in functions_of().items() if any(map(names_of, fs))]
FILES = sorted(Path(prelude.__path__[0]).glob("*.py"))


def test_each_function_has_a_recipe() -> None:
    called = {name for text in recipes() for name in mentioned(text)}
    functions = [f for fs in functions_of().values() for f in fs if names_of(f)]
    assert [f.__name__ for f in functions if not called & names_of(f)] == []


def test_each_function_is_in_one_module() -> None:
    tables = [importlib.import_module(f"{prelude.__name__}.{file.stem}") for file in FILES]
    keys = [key for table in tables for key in getattr(table, "FUNCTIONS", ())]
    assert [key for key in keys if keys.count(key) > 1] == []


@pytest.mark.parametrize("module", MODULES)
def test_results_are_those_of_numpy(module: str) -> None:
    ways: collections.Counter[str] = collections.Counter()
    cases = [case for case in all_cases(module) if case.text not in KNOWN]
    assert [text for case in cases for text in wrong(case, ways)] == []
    assert ways["covered"] > 0.8 * ways.total(), "most forms are covered"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_prelude_imports_numpy_and_nothing_of_the_compiler(file: Path) -> None:
    tree = ast.parse(file.read_text())
    imported = {
        name
        for node in ast.walk(tree)
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [a.name for a in node.names]
            if isinstance(node, ast.Import)
            else []
        )
    }
    own = {name for name in imported if name.startswith("tracejit")}
    assert all(name.startswith("tracejit.frontend.prelude") for name in own)
    assert {name.partition(".")[0] for name in imported - own} <= {
        *("__future__", "collections", "functools", "math", "numpy", "typing", "operator"),
    }
