"""Imports Numba-CUDA, also beside a NumPy that is newer than it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tracejit.base.late import imported
from tracejit.base.locks import once

__all__ = ["import_numba"]

#: Functions that Numba-CUDA 0.30 looks up in NumPy when it is imported; NumPy 2.5 lost them.
_REMOVED_FROM_NUMPY = {"row_stack": np.vstack}
#: A module whose import imports what a first compile would.
_IMPLEMENTATIONS = "numba.cuda.cudaimpl"


@once
def import_numba() -> Any:
    """Returns `numba.cuda` with what its compiles import. Raises ImportError where it is missing.

    NumPy has the names that it lost for the time of the import only.
    """
    namespace = vars(np)
    lent = {k: f for k, f in _REMOVED_FROM_NUMPY.items() if k not in namespace}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"numba\.cuda\b")
        namespace.update(lent)
        try:
            imported(_IMPLEMENTATIONS)
            return imported("numba.cuda")
        finally:
            for name, function in lent.items():
                if namespace.get(name) is function:
                    del namespace[name]
