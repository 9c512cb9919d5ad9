"""The ops. Importing the package fills the registry `tracejit.ir.op.OPS`."""

import importlib
import pkgutil
from collections.abc import Iterable


def _import_all(path: Iterable[str], prefix: str) -> None:
    for found in pkgutil.iter_modules(path, prefix):
        if found.name == f"{__name__}.host.derivatives":
            continue  # Rules, no ops: the first derivative of a host call asks for them.
        module = importlib.import_module(found.name)
        if found.ispkg:
            _import_all(module.__path__, f"{found.name}.")


_import_all(__path__, f"{__name__}.")
