"""Derivatives of host calls, by the function that is called.

Importing the package fills the table `registry.RULES`.
"""

import pkgutil

from tracejit.base.late import imported

for _found in pkgutil.iter_modules(__path__, f"{__name__}."):
    imported(_found.name)
