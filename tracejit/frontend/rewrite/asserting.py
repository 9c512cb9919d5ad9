"""From a function whose assertions pytest has rewritten to the source that it was rewritten from.

pytest compiles a test module from a tree in which each `assert` collects what its operands were.
That is proved as elsewhere: the file, rewritten in the same way, gives the same code. A failing
assertion is left to that code, which says what pytest says.
"""

from __future__ import annotations

import ast
import sys
from collections import OrderedDict
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from tracejit.frontend.rewrite.quiet import without_warnings

__all__ = ["has_rewritten_asserts", "rewritten_code_of"]

#: The name that rewritten assertions call pytest by.
_MARK = "@pytest_ar"
_FILES_KEPT = 4
_MODULES: OrderedDict[tuple[str, tuple[str, ...]], CodeType] = OrderedDict()


def has_rewritten_asserts(code: CodeType) -> bool:
    """Whether there are such, in the functions inside it, too."""
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return _MARK in code.co_names or any(map(has_rewritten_asserts, inner))


def rewritten_code_of(function: FunctionType, lines: tuple[str, ...]) -> Iterator[CodeType]:
    """What pytest makes of the definition that stands in the file where that of `function` does."""
    code = function.__code__
    module = _module(function, lines)
    pending = [] if module is None else [module]
    while pending:
        found = pending.pop()
        pending += [c for c in found.co_consts if isinstance(c, CodeType)]
        place = found.co_qualname, found.co_firstlineno
        if place == (code.co_qualname, code.co_firstlineno):
            yield found


def _module(function: FunctionType, lines: tuple[str, ...]) -> CodeType | None:
    file = function.__code__.co_filename
    known = _MODULES.get((file, lines))
    pytest: Any = sys.modules.get("_pytest.assertion.rewrite")
    if known is not None or pytest is None:
        return known
    text = "".join(lines)
    config = getattr(function.__globals__.get("__loader__"), "config", None)
    try:
        with without_warnings(file):
            tree = ast.parse(text, file)
            pytest.rewrite_asserts(tree, text.encode(), file, config)
            code = compile(tree, file, "exec", dont_inherit=True)
    except Exception:
        # Another version of pytest rewrites in another way.
        return None
    _MODULES[file, lines] = code
    while len(_MODULES) > _FILES_KEPT:
        _MODULES.popitem(last=False)
    return code
