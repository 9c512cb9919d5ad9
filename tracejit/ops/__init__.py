"""The ops. Importing the package fills the registry `tracejit.ir.op.OPS`."""

import importlib
import pkgutil

for _found in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(_found.name)
