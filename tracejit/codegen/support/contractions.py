"""The compiled contraction of each dtype, for programs that call it by its address."""

from __future__ import annotations

from tracejit.codegen.llvm.engine import HostTarget, Library, host_target, load_object, object_code
from tracejit.codegen.support.contraction_text import (
    PARAMETERS,
    SHARED,
    SLOTS,
    contraction_text,
    scratch_bytes,
)
from tracejit.codegen.support.threads import pool_address
from tracejit.ir.dims import Dim, prod
from tracejit.ir.graph import Node
from tracejit.ir.types import DTYPES, ArrayType, dtype_name
from tracejit.link.addresses import Address
from tracejit.link.finding import thread_word
from tracejit.link.shared import Shared, shared

__all__ = [
    "CONTRACTIONS",
    "contraction_address",
    "contraction_module",
    "contraction_name",
    "contraction_scratch",
    "is_shared",
    "loop_axes",
]

#: Of elements of one dtype, added up in it, or of singles in doubles.
_KINDS = {"f32": ("f32", False), "f64": ("f64", False), "f32wide": ("f32", True)}
#: Bytes of the widest vector, and rows from which on they had better be columns beside few.
_VECTOR, _MANY = 64, 32
#: Function name -> its parameters' types: the contraction itself, and what fills its tables.
CONTRACTIONS: dict[str, list[str]] = {
    **{f"tj_contract_{kind}": [p for p, _ in PARAMETERS] for kind in _KINDS},
    **{f"tj_contract_{kind}_shared": [p for p, _ in PARAMETERS] for kind in _KINDS},
    **{f"tj_contract_{kind}_offsets": ["ptr", "ptr"] for kind in _KINDS},
}


def contraction_module(name: str, target: HostTarget) -> str:
    """The LLVM text that defines a function of CONTRACTIONS and those beside it."""
    kind = name.split("_")[2]
    dtype, wide = _KINDS[kind]
    return contraction_text(f"tj_contract_{kind}", dtype, target, wide)


def _library(kind: str, threads: int | None) -> Shared:
    name = f"tj_contract_{kind}"

    def compiled() -> Library:
        code = object_code(contraction_module(name, host_target()))
        pool = pool_address()
        # Without a pool there is one thread, and nothing calls it.
        word = thread_word(threads)
        bound = {"tj_parallel": pool or word, "tj_threads": word}
        return load_object(code, bound, [name, f"{name}_offsets", f"{name}_shared"])

    return shared(f"{name} {threads}", compiled)


def contraction_address(name: str, threads: int | None = None) -> Address:
    """The address of a function of CONTRACTIONS, compiled once a process.

    It is shared by as many threads as are given, or as the process is set to.
    """
    return _library(name.split("_")[2], threads).address(name)


def contraction_name(node: Node) -> str:
    """The function of CONTRACTIONS that computes a node."""
    t = node.outputs[0].type
    assert isinstance(t, ArrayType)
    wide = node.attrs.get("wide", False) and t.dtype == DTYPES["f32"]
    return f"tj_contract_{dtype_name(t.dtype)}{'wide' if wide else ''}"


def is_shared(node: Node) -> bool:
    """Whether several threads may share a contraction: there is a pool, and it may take long."""
    _, _, *axes = loop_axes(node)
    sizes = (*node.attrs["shape"], *node.attrs["summed"])
    work = prod([sizes[k] for own in axes for k in own])
    return pool_address() is not None and (not isinstance(work, int) or work >= SHARED)


def loop_axes(node: Node) -> tuple[bool, list[int], list[int], list[int], list[int]]:
    """Whether the operands change places; then batches, rows, columns and summed axes."""
    shape, summed = node.attrs["shape"], node.attrs["summed"]
    moved = [
        {k for _, coefficients in places for k, c in enumerate(coefficients) if c != 0}
        for places in (node.attrs["left"], node.attrs["right"])
    ]
    wide = [k for k, n in enumerate(shape) if n != 1]
    batches = [k for k in wide if k in moved[0] and k in moved[1]]
    rest = [k for k in wide if k not in batches]
    turned = bool(rest) and rest[-1] in moved[0]
    if _is_narrow(node, [k for k in rest if (k in moved[0]) == turned]):
        others = prod([shape[k] for k in rest if (k in moved[0]) != turned])
        turned ^= not isinstance(others, int) or others >= _MANY
    rows_of = moved[1] if turned else moved[0]
    rows = [k for k in rest if k in rows_of]
    columns = [k for k in rest if k not in rows]
    return turned, batches, rows, columns, [len(shape) + k for k in range(len(summed))]


def _is_narrow(node: Node, columns: list[int]) -> bool:
    """Whether the columns fill no more than half of a vector."""
    t = node.outputs[0].type
    assert isinstance(t, ArrayType)
    count = prod([node.attrs["shape"][k] for k in columns])
    return isinstance(count, int) and 2 * count * t.dtype.itemsize <= _VECTOR


def contraction_scratch(node: Node) -> list[Dim]:
    """Bytes of the panels, and of the tables."""
    _, _, rows, columns, summed = loop_axes(node)
    sizes = (*node.attrs["shape"], *node.attrs["summed"])
    m, n, k = (prod([sizes[k] for k in axes]) for axes in (rows, columns, summed))
    t = node.outputs[0].type
    assert isinstance(t, ArrayType)
    slots = SLOTS if is_shared(node) else 1
    return [slots * scratch_bytes(m, n, k), 2 * 8 * (m + n + k)]
