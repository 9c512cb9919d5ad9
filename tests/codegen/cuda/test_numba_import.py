"""Numba-CUDA is imported beside any NumPy, and leaves NumPy as it was."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from tracejit.codegen.cuda import numba_import

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

COMPILES = """
import threading
import numpy as np
before = dict(vars(np))
{first}
from tracejit.codegen.cuda.compile import compile_ptx
from tracejit.codegen.cuda.numba_target import numba_namespace

def compiles():
    source = "def k(x, n):\\n    if cuda.grid(1) < n: x[0] = 1.5\\n"
    ptx = compile_ptx(source, "k", ("f64*", "i64"), (9, 0), numba_namespace())
    assert ".visible .entry k(" in ptx
    done.append(1)

done = []
threads = [threading.Thread(target=compiles) for _ in range(3)]
[t.start() for t in threads]
[t.join() for t in threads]
assert len(done) == 3
assert hasattr(np, "row_stack") == ("row_stack" in before)
"""
FAILS = "try: import numba.cuda.cudaimpl\nexcept (AttributeError, DeprecationWarning): pass"


@pytest.mark.parametrize("first", ["", FAILS], ids=["nothing", "an import that may fail"])
def test_threads_compile_where_warnings_are_errors(first: str) -> None:
    """NumPy 2.5 warns while Numba-CUDA is imported, and lacks a name that it asks for."""
    program = [sys.executable, "-W", "error", "-c", COMPILES.format(first=first)]
    done = subprocess.run(program, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("error", [None, ImportError, KeyboardInterrupt])
def test_names_are_lent_for_the_import(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException] | None
) -> None:
    def importing(name: str) -> Any:
        assert np.lost_name is np.vstack and np.vstack is not np.hstack  # type: ignore[attr-defined]
        if error is not None:
            raise error
        return name

    lent = {"lost_name": np.vstack, "vstack": np.hstack}
    monkeypatch.setattr(numba_import, "_REMOVED_FROM_NUMPY", lent)
    monkeypatch.setattr(numba_import, "imported", importing)
    importing_anew = numba_import.import_numba.__wrapped__  # type: ignore[attr-defined]
    if error is None:
        assert importing_anew() == "numba.cuda"
    else:
        with pytest.raises(error):
            importing_anew()
    assert not hasattr(np, "lost_name") and np.vstack is not np.hstack
