"""The ops. Importing the package fills the registry `tracejit.ir.op.OPS`."""

from tracejit.ops import (
    control,
    conversion,
    creation,
    elementwise,
    indexing,
    linalg,
    pyscalar,
    reduction,
    scan,
    shape,
    sorting,
)

__all__ = [
    "control",
    "conversion",
    "creation",
    "elementwise",
    "indexing",
    "linalg",
    "pyscalar",
    "reduction",
    "scan",
    "shape",
    "sorting",
]
