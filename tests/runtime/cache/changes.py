"""Changes in a process before or after its first call, each in a child of its own.

    python changes.py FOLDER CHANGE ...

The folder holds `program.py`, which has been compiled before; its cache is a layer below that of
each child. What is printed is JSON, a line for each change: what `observed.py` says of the first
calls and of those after the change.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import Any

#: By name: what is done before the first call, what after it, and whether the first call is warm.
CHANGES: dict[str, tuple[str, str, bool]] = {
    "nothing": ("", "", True),
    "version of NumPy": ("np.__version__ = '2.9.9'", "", False),
    "version of SciPy": ("import scipy; scipy.__version__ = '9.9'", "", False),
    "processor": (
        "import tracejit.runtime.cache.environment as e; e._processor = lambda: ('z',)",
        "",
        False,
    ),
    "np.sin": ("np.sin = lambda x: x + 100", "", False),
    "np.sin is np.tanh": ("np.sin = np.tanh", "", False),
    "np.sin later": ("", "np.sin = lambda x: x + 100", True),
    "math.sqrt": ("import math; math.sqrt = lambda x: x + 100", "", False),
    "math.sqrt later": ("", "import math; math.sqrt = lambda x: x + 100", True),
    "abs": ("import builtins; builtins.abs = lambda x: x + 100", "", False),
    "abs later": ("", "import builtins; builtins.abs = lambda x: x + 100", True),
    "norm": ("np.linalg.norm = lambda x: 100.0", "", False),
    "norm later": ("", "np.linalg.norm = lambda x: 100.0", True),
    "erf": ("import scipy.special as s; s.erf = lambda x: x + 100.0", "", False),
    "erf later": ("", "import scipy.special as s; s.erf = lambda x: x + 100.0", True),
    "np": ("program.np = types.SimpleNamespace(sin=np.cos, linalg=np.linalg)", "", False),
    "np later": ("", "program.np = types.SimpleNamespace(sin=np.cos, linalg=np.linalg)", True),
    "helper": ("program.h = lambda x: x + 7", "", False),
    "helper later": ("", "program.h = lambda x: x + 7", True),
    "helper's code later": ("", "program.h.__code__ = (lambda x: x + 7).__code__", True),
    "helper's defaults later": ("", "program.h.__defaults__ = (9,)", True),
    "code": ("program.f.__code__ = (lambda x: x + 7).__code__", "", False),
    "code later": ("", "program.f.__code__ = (lambda x: x + 7).__code__", True),
    "class attribute": ("program.P.a = 9", "", False),
    "class attribute later": ("", "program.P.a = 9", True),
    "method": ("program.P.m = lambda s, x: x + 9", "", False),
    "method later": ("", "program.P.m = lambda s, x: x + 9", True),
    "bases": ("program.P.__bases__ = (program.Other,)", "", False),
    "bases later": ("", "program.P.__bases__ = (program.Other,)", True),
    "class of the object": ("program.p.__class__ = program.Q", "", False),
    "class of the object later": ("", "program.p.__class__ = program.Q", True),
    "object's own method": ("program.p.m = lambda x: x + 9", "", False),
    "object's own method later": ("", "program.p.m = lambda x: x + 9", True),
    "attribute": ("program.p.k = 77.0", "", False),
    "attribute's kind later": ("", "program.p.k = np.float32(3)", True),
    "number": ("program.K = 77.0", "", False),
    "number later": ("", "program.K = 77.0", True),
    "list later": ("", "program.L.append(5)", True),
    "array": ("program.A[0] = 77.0", "", True),
    "array's kind later": ("", "program.A = np.ones(3, np.float32)", True),
    "enum": ("program.E.A._value_ = 99", "", False),
    "errors are raised": ("np.seterr(all='raise')", "", False),
    "errors are raised later": ("", "np.seterr(all='raise')", True),
    "shown numbers later": ("", "np.set_printoptions(precision=2)", True),
}


def _child(before: str, after: str) -> Any:
    import types

    import numpy as np
    import program
    from observed import COMPILER, observed

    names = {"np": np, "program": program, "types": types}
    exec(before, names)
    first = observed(program)
    compiler = any(m.startswith(COMPILER) for m in sys.modules)
    exec(after, names)
    return {"first": first, "compiler": compiler, "second": observed(program)}


def main(folder: str, *names: str) -> None:
    sys.path.insert(0, folder)
    __import__("program")
    for name in names:
        before, after, _ = CHANGES[name]
        sys.stdout.flush()
        if os.fork() == 0:
            os.environ["TRACEJIT_CACHE"] = os.path.join(folder, "own", name.replace(" ", "-"))
            try:
                told = _child(before, after)
            except BaseException:
                told = traceback.format_exc()
            print(json.dumps([name, told]), flush=True)
            os._exit(0)
        assert os.wait()[1] == 0, name


if __name__ == "__main__":
    main(*sys.argv[1:])
