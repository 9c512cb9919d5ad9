"""Objects that die when the interpreter ends: the names of modules are None by then."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.written import written
from tracejit.frontend.interpreter import functions
from tracejit.frontend.rewrite import eager_calls
from tracejit.frontend.tracing import pytree
from tracejit.link import watch
from tracejit.ops.control import templates


class Held:
    """Takes weak references."""


def _function() -> Any:
    return written("def f(x):\n    return x + 1\n", "<ends>")


#: What keeps a weak reference, to what, and the tables that its callback changes.
CASES: dict[str, tuple[Any, tuple[str, ...], Callable[[], Any], Callable[[Any], Any]]] = {
    "identity": (pytree, ("_IDENTITIES",), Held, pytree._identity),
    "number": (templates, ("_NUMBERS", "_OBJECTS"), Held, templates.refer),
    "rewritten": (functions, ("_REWRITTEN",), _function, functions.rewritten_code),
    "rewritten for parts": (eager_calls, ("_REWRITTEN",), _function, eager_calls._rewritten_code),
    "watched": (watch, ("_WATCHED",), Held, watch.watch),
}


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_asked_of_a_module_that_is_gone(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, tables, make, keep = CASES[name]
    held = make()
    kept = keep(held)
    before = {table: len(getattr(module, table)) for table in tables}
    full = {table: getattr(module, table) for table in tables}
    for table in tables:
        monkeypatch.setattr(module, table, None)
    del held, kept
    gc.collect()  # What a callback raises fails the test.
    assert all(len(full[table]) < before[table] for table in tables)
