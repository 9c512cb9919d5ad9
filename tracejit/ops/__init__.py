"""The ops. Importing the package announces them to the registry `tracejit.ir.op.OPS`.

The module of an op is imported when the op is looked up, by the table in `index.py`.
"""

import pkgutil
from collections.abc import Iterable

from tracejit.base.late import imported
from tracejit.ir.op import OPS
from tracejit.ops.index import OPS_OF


def _import_all(path: Iterable[str] = __path__, prefix: str = f"{__name__}.") -> None:
    for found in pkgutil.iter_modules(path, prefix):
        if found.name == f"{__name__}.host.derivatives":
            continue  # Rules, no ops: the first derivative of a host call asks for them.
        module = imported(found.name)
        if found.ispkg:
            _import_all(module.__path__, f"{found.name}.")


for _module, _names in OPS_OF.items():
    OPS.later(_names, f"{__name__}.{_module}")
# A new op is found before the table knows it.
OPS.otherwise(_import_all)
