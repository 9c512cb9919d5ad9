"""Programs see the same with a decorator above their functions as without it, call after call."""

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import tracejit
from tests.runtime import decorated_programs


def loaded(name, jit):
    """The programs' module once more, with `jit` in it from the start."""
    path = Path(decorated_programs.__file__)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    module.jit = jit
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def shown(x):
    """What can be seen of a value, as something that can be compared."""
    if isinstance(x, np.ndarray):
        return "array", x.dtype.str, x.shape, x.tolist()
    if isinstance(x, (list, tuple)):
        return type(x).__name__, [shown(v) for v in x]
    if isinstance(x, dict):
        return type(x).__name__, [(k, shown(v)) for k, v in x.items()]
    number = isinstance(x, (bool, int, float, complex, str, np.generic, type(None)))
    return type(x).__name__, repr(x) if number else ""


def seen(program):
    out = []
    for x in program():
        try:
            out.append(shown(x() if callable(x) else x))
        except Exception as e:
            # Since Python 3.13 some texts name the module of a class.
            out.append((type(e).__name__, re.sub(r"decorated_\w+\.", "", str(e))))
    return out


@pytest.mark.sampled(11)
@pytest.mark.parametrize("program", [f.__name__ for f in decorated_programs.PROGRAMS])
def test_a_decorated_program_sees_what_the_plain_one_sees(program):
    made = []

    def jit(f):
        made.append(tracejit.jit(f))
        return made[-1]

    plain, compiled = loaded("decorated_plain", lambda f: f), loaded("decorated_compiled", jit)
    expected, found = seen(getattr(plain, program)), seen(getattr(compiled, program))
    for k, (x, y) in enumerate(zip(found, expected, strict=True)):
        assert x == y, f"value {k} of {program}"
    codes = {x.code for f in made if hasattr(f, "report") for x in f.report().fallbacks}
    assert "TJ013" not in codes
