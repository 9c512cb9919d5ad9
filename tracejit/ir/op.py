"""Ops: what a node does. One op is one class; adding one touches one file.

An op has a type rule (`types`; `infer` with regions or sizes that it binds), a meaning (`evaluate`,
plain NumPy) and, for code, one of `scalar` or a `formula` (elementwise), `index` (where an element
comes from), `combine` (a reduction) or a library routine. What passes and code generation must know
of it are the class attributes below, whose defaults promise nothing. Instances carry no state; the
registry is filled by `register`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias, TypeVar

from tracejit.base.late import TOOLS
from tracejit.base.late_table import LateTable
from tracejit.errors import GraphError, Underivable
from tracejit.ir.dims import Dim
from tracejit.ir.types import Type

__all__ = ["OPS", "Op", "for_each_op", "register", "require"]

# Graphs are made of nodes, nodes of ops: here their types, and those of what rules are written with
# (`graph.py`, `derivatives.py`, `batching.py`), are mere names. An op's own rules state the real
# ones.
Attrs: TypeAlias = Mapping[str, Any]
Graph: TypeAlias = Any
Node: TypeAlias = Any
Value: TypeAlias = Any
DerivativeBuilder: TypeAlias = Any
NodeAdaptor: TypeAlias = Any
BatchAdaptor: TypeAlias = Any
Into: TypeAlias = Any
NoTangent: TypeAlias = Any
Zeroed: TypeAlias = Any

OPS: LateTable[str, Op] = LateTable()
#: What is told of each op.
_TOLD: list[Callable[[Op], None]] = []


def _registered(name: str) -> Op:
    """The op of a name, whose class need not have been imported."""
    if name not in OPS:
        TOOLS["import_ops"]()
    return OPS[name]


class Op:
    """An operation. Subclasses state `name` and the rules that apply to them."""

    name: ClassVar[str]
    #: What it takes and gives, by the grammar of `tracejit.ops.signature`; the rest is `types`.
    signature: ClassVar[Any] = None
    #: exact, order, ulp(k) or host: how the result may differ from NumPy's.
    parity: ClassVar[str] = "exact"
    #: A node may be dropped when nothing reads it, merged with its twin, and run at compile time.
    pure: ClassVar[bool] = True
    #: elementwise, index, reduction, scan, library, control, call or host: who lowers it.
    kind: ClassVar[str] = "host"
    #: Whether the sizes that a node binds are its last results; else they are its last operands.
    gives_sizes: ClassVar[bool] = False
    #: The NumPy function that it means, where there is one.
    numpy: ClassVar[Any] = None
    #: How it is part of a fusion. "element": an element is made of the operands' at its place.
    #: "index": it is the operand's at another place, or the place itself. "root": its result is
    #: always written to memory. "": it is none.
    fused: ClassVar[str] = ""
    #: Elements of the one operand, in other places, some perhaps repeated or left out.
    moves: ClassVar[bool] = False
    #: The result is a view of the operand in NumPy's sense: another name of memory.
    view: ClassVar[bool] = False
    #: The results are the first operand under other names.
    renames: ClassVar[bool] = False
    #: The result is the first operand with some elements replaced; `reader` reads those.
    updates: ClassVar[bool] = False
    reader: ClassVar[str] = ""
    #: x op y has the bits of y op x, NaN payloads aside.
    commutes: ClassVar[bool] = False
    #: Of numbers it is "add", "subtract", "multiply", "divide" or "negative".
    arithmetic: ClassVar[str] = ""
    #: Of truths it is "not", "and" or "or"; "bit_and" and "bit_or" are so for booleans alone.
    logic: ClassVar[str] = ""
    #: It adds up elements of the operands, or products of them.
    sums: ClassVar[bool] = False
    #: It puts the elements along `axis` in order, or tells their places in it.
    sorts: ClassVar[bool] = False
    #: The routine of LAPACK that computes it for matrices, by the name of the helper that calls it;
    #: `stacked` if code repeats that for stacks of them.
    routine: ClassVar[str] = ""
    stacked: ClassVar[bool] = False
    #: (array package, operands, attributes) -> results: what computes it on a device.
    by_package: ClassVar[Any] = None
    #: It factors the matrices of its first operand by row interchanges.
    factors: ClassVar[bool] = False
    #: It is the operand; what is computed from it is not merged with its twin.
    opaque: ClassVar[bool] = False
    #: It exchanges values with other processes.
    exchanges: ClassVar[bool] = False
    #: The op that gives the same sums, where the result is a term of them, and costs less.
    term: ClassVar[str] = ""
    #: An index out of range bails out, unless the attribute `checked` is False.
    checks_index: ClassVar[bool] = False
    #: There may be operands for which eager execution raises an exception.
    raises: ClassVar[bool] = False
    #: Its results do not change with its operands but by jumps, or are no floats: no derivative.
    constant: ClassVar[bool] = False

    def __reduce__(self) -> Any:
        return _registered, (self.name,)

    def infer(
        self,
        inputs: Sequence[Type],
        attrs: Attrs,
        regions: tuple[Graph, ...],
        binds: tuple[str, ...],
    ) -> tuple[Type, ...]:
        """The result types. Raises GraphError for inputs that do not fit."""
        if self.signature is not None:
            found: tuple[Type, ...] | None = self.signature.results(self.name, inputs, attrs)
            if found is not None:
                return found
        return self.types(inputs, attrs)

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        """The result types of an op without regions, which defines no sizes; as `infer`."""
        raise NotImplementedError

    def check_read(self, attrs: Attrs) -> None:
        """Raise GraphError where attributes that a text has name code that is not registered."""

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        """The results for concrete inputs; sizes in `attrs` are integers. Raises Bailout."""
        raise NotImplementedError

    def loop(self, attrs: Attrs) -> str:
        """The loop of NumPy's linear algebra that computes it for stacks of matrices, or ""."""
        return ""

    def replaced(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Of an op that gives its first operand with some elements replaced by its second: where.

        A NumPy index; None for other ops. Raises Bailout.
        """
        return None

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | NoTangent | None]:
        """The tangents of the results for those of the operands; None is zero.

        Raises Underivable where there is no rule.
        """
        raise Underivable(f"{self.name} has no derivative rule")

    def pushed(self, inputs: tuple[Value, ...]) -> Sequence[Value]:
        """The operands whose tangents `jvp` reads."""
        return inputs

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | Zeroed | None]:
        """The cotangents of the operands for those of the results; None is zero.

        Only those that `at.wanted` asks for are used. Raises Underivable where there is no rule.
        """
        raise Underivable(f"{self.name} has no derivative rule")

    def vectorises(self, attrs: Attrs, inputs: Sequence[Type], batched: Sequence[bool]) -> bool:
        """Whether `batch` has a rule where these operands have a batch axis, at least one of them.

        The types and attributes are those of one lane. Without a rule, lane follows lane in a loop.
        """
        return type(self).batch is not Op.batch

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        """The results of all lanes, each with the batch axis, of size `s.size`, in front.

        At least one operand has that axis, and `vectorises` holds. Where a lane would bail out, all
        do. Raises GraphError where a lane's types do not fit.
        """
        raise NotImplementedError(f"{self.name} has no batching rule")

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        """Concrete (inputs, attrs) that feed every generic test."""
        return ()

    def may_raise(self, node: Node) -> bool:
        """Whether eager execution raises an exception for some operands of the node's types."""
        if self.checks_index:
            return bool(node.attrs.get("checked", True)) and None in node.attrs.get("at", (None,))
        return self.raises or "assume" in node.attrs

    def parity_of(self, inputs: Sequence[Type]) -> str:
        """The parity class for operands of these types."""
        return self.parity

    def cost(self, inputs: Sequence[Type], attrs: Attrs) -> float:
        """Work for one element of the result, in additions."""
        return 1.0

    def __repr__(self) -> str:
        return self.name


O = TypeVar("O", bound=Op)  # noqa: E741


def register(cls: type[O]) -> type[O]:
    """Class decorator: add the op to the registry. Raises ValueError for a name taken twice."""
    if dict.__contains__(OPS, cls.name):
        raise ValueError(f"op {cls.name} is defined twice")
    OPS[cls.name] = op = cls()
    for tell in _TOLD:
        tell(op)
    return cls


def for_each_op(tell: Callable[[Op], None]) -> None:
    """Call `tell` with each op that is registered, and with each that will be."""
    _TOLD.append(tell)
    for op in list(dict.values(OPS)):
        tell(op)


def require(condition: object, message: str) -> None:
    """Raise GraphError(message) unless `condition` holds."""
    if not condition:
        raise GraphError(message)


def dims_text(shape: Sequence[Dim]) -> str:
    """A shape for messages."""
    return f"({', '.join(map(str, shape))})"
