"""The front end: from a Python function that uses NumPy to a graph.

Importing the package gives tracers their operators and fills the table of NumPy functions.
"""

import importlib
import pkgutil

from tracejit.frontend import numpy as _numpy

for _found in pkgutil.walk_packages(_numpy.__path__, f"{_numpy.__name__}."):
    importlib.import_module(_found.name)
