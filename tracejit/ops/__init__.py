"""The ops. Importing the package fills the registry `tracejit.ir.op.OPS`."""

from tracejit.ops import (
    complex_parts,
    control,
    conversion,
    creation,
    dataflow,
    effects,
    elementwise,
    indexing,
    items,
    linalg,
    pybits,
    pyscalar,
    reduction,
    scan,
    shape,
    sorting,
)

__all__ = [
    "complex_parts",
    "control",
    "conversion",
    "creation",
    "dataflow",
    "effects",
    "elementwise",
    "indexing",
    "items",
    "linalg",
    "pybits",
    "pyscalar",
    "reduction",
    "scan",
    "shape",
    "sorting",
]
