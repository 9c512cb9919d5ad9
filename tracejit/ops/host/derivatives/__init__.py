"""Derivatives of host calls, by the function that is called.

Importing the package fills the table `registry.RULES`.
"""

import importlib
import pkgutil

for _found in pkgutil.iter_modules(__path__, f"{__name__}."):
    importlib.import_module(_found.name)
