"""Whether and how a loop runs in lanes: from its body's dtypes and accesses to a width.

The width is the register's, divided by the widest element that a varying value has. Positions left
over run masked where the host masks every access of the body, else one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.affine import Offsets, split_linear
from tracejit.codegen.llvm.engine import HostTarget
from tracejit.codegen.llvm.lanes import bits
from tracejit.codegen.scalar.math import MATH
from tracejit.ir.dims import Dim, free_symbols
from tracejit.ir.kernel import (
    Call,
    Expr,
    For,
    IndexValue,
    Let,
    Load,
    Reduce,
    ScanLoop,
    Stmt,
    Store,
    Target,
    Var,
)

__all__ = [
    "VectorPlan",
    "counted_truths",
    "is_short",
    "only_short_reductions",
    "plan_loop",
]

#: Reductions over no more positions are written out: a colour's channels, a point's coordinates.
_SHORT = 8

#: Accesses that go lane by lane are written out for each lane: no more than this many.
_MOST_SEPARATE_LANES = 16
_MOST_LANES = 64

#: Scalar functions that are loops themselves.
_LOOPS = frozenset({"gcd", "lcm"})
#: Loops over no more elements read what is at hand already, and end before a line could come.
_NEAR = 1024
#: Buffers of no more bytes in all are in the caches that are at hand anyway.
_CACHED = 128 * 1024


def is_short(reduce: Reduce) -> bool:
    """Whether a reduction is written out position by position instead of run as a loop."""
    return isinstance(reduce.size, int) and 0 < reduce.size <= min(_SHORT, reduce.block)


def counted_truths(reduce: Reduce) -> tuple[tuple[Stmt, ...], Expr] | None:
    """The body and what is counted, where a reduction is a sum of truths in i64 and no more."""
    (*others, target) = reduce.targets
    expr, body = target.expr, reduce.body
    if others or (target.combine, target.dtype) != ("sum", "i64") or target.identity is not None:
        return None
    if body and isinstance(last := body[-1], Let) and expr == Var(last.name, "i64"):
        expr, body = last.expr, body[:-1]
    if not isinstance(expr, Call) or expr.fn != "cast" or expr.args[0].dtype != "b1":
        return None
    return body, expr.args[0]


def _carried(reduce: Reduce, target: Target) -> str:
    """The dtype that the lanes of a reduction in lanes carry: positions only beside others."""
    if target.combine in ("argmin", "argmax"):
        return target.expr.dtype if reduce.finds_extreme else "i64"
    return target.dtype


def only_short_reductions(body: Sequence[Stmt]) -> bool:
    """Whether a body has short reductions and no other loop: its own loop may run in lanes."""
    loops = [stmt for stmt in body if not isinstance(stmt, (Let, Store))]
    return bool(loops) and all(
        isinstance(loop, Reduce)
        and is_short(loop)
        and all(isinstance(stmt, (Let, Store)) for stmt in loop.body)
        for loop in loops
    )


@dataclass(frozen=True)
class VectorPlan:
    """How a loop runs in lanes.

    `streams` vectors advance in one iteration. A reduction holds `register_slots` accumulators in
    registers at a time, or `streams` if those are more; an order-free one has at most `free_slots`.
    """

    width: int
    streams: int
    masked: bool
    register_slots: int
    free_slots: int
    #: Whether to ask for lines ahead of their loads, which the processor does too late.
    fetch_ahead: bool = False
    #: Whether elements are accessed lane by lane.
    apart: bool = False
    #: Whether truths are counted as bits.
    counting: bool = False


def plan_loop(
    loop: For | Reduce, offsets: Offsets, target: HostTarget, varying: frozenset[str] = frozenset()
) -> VectorPlan | None:
    """The plan of a loop marked `vector`, or None if it must run one position at a time.

    `varying` names what else differs from position to position.
    """
    survey = _Survey(loop.var, offsets)
    survey.varying.update(varying)
    if isinstance(loop, Reduce):
        survey.varying.update(name for name, _ in loop.quotients)
    counted = counted_truths(loop) if isinstance(loop, Reduce) else None
    if counted is not None:
        survey.statements(counted[0])
        survey.expression(counted[1])
    # Bits of many lanes at once are counted sooner than lanes of i64 are added up.
    counting = counted is not None and survey.widest <= 16
    if not counting:
        survey.statements(loop.body)
    if isinstance(loop, Reduce):
        for t in loop.targets if not counting else ():
            survey.expression(t.expr)
            survey.note(_carried(loop, t))
    if not survey.possible or isinstance(loop, For) and survey.moves_pairs:
        return None
    width = target.vector_bits // survey.widest
    if width < 2:
        return None
    width = min(_vector_bits(loop, survey, target) // survey.widest, _MOST_LANES)
    if survey.separate:
        width = min(width, _MOST_SEPARATE_LANES)
    if isinstance(loop, Reduce):
        width = min(width, loop.lanes)
        if width < 2:
            return None
    elif isinstance(loop.size, int):
        # A short loop fills what lanes it has: nothing is left over, or less.
        while width > 2 and loop.size <= width // 2:
            width //= 2
    return VectorPlan(
        width=width,
        streams=_streams(loop, survey, width),
        masked=_masks_all(survey, target) and not _may_be_short(loop, survey),
        register_slots=_register_slots(loop, survey),
        free_slots=4,
        fetch_ahead=_fetches_ahead(loop, survey),
        apart=survey.apart,
        counting=counting,
    )


def _streams(loop: For | Reduce, survey: _Survey, width: int) -> int:
    """Adjacent vectors share a loop's control: its own if it is light, or that of an inner one.

    The columns of an inner loop share its cache lines, too.
    """
    streaming = _is_light(loop, survey) and not isinstance(loop, Reduce) and not survey.separate
    if survey.weight > 8 if survey.has_inner_loop else not streaming:
        return 1
    streams = 4
    while streams > 1 and isinstance(loop.size, int) and loop.size < streams * width:
        streams //= 2
    return streams


def _is_light(loop: For | Reduce, survey: _Survey) -> bool:
    """Whether a loop mostly waits for memory."""
    return survey.weight <= (8 if isinstance(loop, Reduce) else 2) and not survey.calls


def _register_slots(loop: For | Reduce, survey: _Survey) -> int:
    # Sixteen registers can add what they load without one more, but compute nothing beside.
    if isinstance(loop, Reduce) and len(loop.targets) == 1 and survey.weight == 0:
        return 16
    return 8 if survey.weight <= 8 else 0


def _fetches_ahead(loop: For | Reduce, survey: _Survey) -> bool:
    if survey.has_inner_loop or (isinstance(loop.size, int) and loop.size <= _NEAR):
        return False
    if survey.footprint is not None and survey.footprint <= _CACHED:
        return False
    return isinstance(loop, Reduce) or survey.weight > 2 or survey.calls


def _vector_bits(loop: For | Reduce, survey: _Survey, target: HostTarget) -> int:
    """The bits of one vector: two registers where arithmetic is to overlap, in calls too.

    Loops that mostly wait for memory do best with accesses of 256 bits: NumPy's arrays begin 16
    bytes beyond a cache line, so that every wider access would touch two lines. Of operands of
    several sizes it is the smallest that fills them. Comparisons of more than one register need
    masks of their own kind, which AVX2 lacks.
    """
    bits = target.vector_bits
    if survey.has_inner_loop:
        return bits
    light = _is_light(loop, survey)
    most = 4 * bits if bits == 512 or not survey.truths else bits
    if light and not isinstance(loop, Reduce):
        least = bits if survey.separate and target.gathers else 256
        wide = 256 * survey.widest // min(survey.runs, default=survey.widest)
        return min(max(wide, least), most)
    return bits if light else min(2 * bits, most)


def _masks_all(survey: _Survey, target: HostTarget) -> bool:
    if {"avx512f", "avx512vl", "avx512bw"} <= target.features:
        return all(size >= 32 for size in survey.separate)
    if "avx2" in target.features:
        return not survey.separate and all(size >= 32 for size in survey.runs)
    return False


def _may_be_short(loop: For | Reduce, survey: _Survey) -> bool:
    """Whether what is left over is cheaper one by one: arithmetic on elements that lie apart.

    Masked, each such access takes as long for one lane as for all, and in an inner loop of a few
    iterations there is nothing else.
    """
    known = isinstance(loop, Reduce) or isinstance(loop.size, int)
    return bool(survey.separate) and not known and not survey.calls


class _Survey:
    """What a loop's body does: the widest varying element, its accesses, how much work it is."""

    def __init__(self, var: str, offsets: Offsets) -> None:
        self._var = var
        self._offsets = offsets
        self.footprint = offsets.footprint
        self.varying = {var}
        self._seen: dict[int, bool] = {}
        self.widest = 8
        self.possible = True
        self.weight = 0
        self.calls = False
        self.truths = False
        self.has_inner_loop = False
        #: Element sizes in bits of the accesses to neighbours, and of those lane by lane.
        self.runs: set[int] = set()
        self.separate: set[int] = set()
        #: Whether some of those are no few elements apart, which shuffles collect.
        self.apart = False
        self._places: set[tuple[str, Dim]] = set()

    @property
    def moves_pairs(self) -> bool:
        """Whether all that is done is to move both parts of complex numbers that lie apart: one
        load of both, and one store, is better than lanes of either.
        """
        if self.weight or not self.apart or self.has_inner_loop:
            return False
        places = self._places
        return all((b, at + 1) in places or (b, at - 1) in places for b, at in places)

    def note(self, dtype: str) -> None:
        """A register of this dtype varies."""
        size = 32 if dtype == "f16" else bits(dtype)
        self.widest = max(self.widest, size)

    def _depends(self, d: Dim) -> bool:
        return not self.varying.isdisjoint(free_symbols(d))

    def statements(self, body: Sequence[Stmt]) -> None:
        """Survey statements in order."""
        for stmt in body:
            match stmt:
                case Let(name, _, expr):
                    if self.expression(expr):
                        self.varying.add(name)
                case Store():
                    self.expression(stmt.expr)
                    # All lanes at one element would need an order.
                    self.possible &= self._access(stmt, stmt.expr.dtype)
                case For():
                    self._inner(stmt.size, stmt.body)
                case Reduce():
                    if is_short(stmt):
                        self.statements(stmt.body)
                    else:
                        self._inner(stmt.size, stmt.body)
                    for t in stmt.targets:
                        self.expression(t.expr)
                        self.note("i64" if t.combine.startswith("arg") else t.dtype)
                        self.varying.add(t.name)
                case ScanLoop():
                    for c in stmt.carries:
                        self.expression(c.init)
                        self.note(c.dtype)
                        self.varying.add(c.name)
                    self._inner(stmt.size, stmt.body)
                    for c in stmt.carries:
                        self.expression(c.next)

    def _inner(self, size: Dim, body: Sequence[Stmt]) -> None:
        # Lanes of different trip counts would need masks throughout.
        self.possible &= not self._depends(size)
        self.has_inner_loop = True
        self.statements(body)

    def _access(self, access: Load | Store, dtype: str) -> bool:
        """Note a load or store; whether its place varies."""
        offset = self._offsets(access)
        if not self._depends(offset):
            return False
        self.note(dtype)
        split = split_linear(offset, self._var)
        if split is not None and not self._depends(split[1]) and split[0] in (1, -1):
            self.runs.add(bits(dtype))
        else:
            self.separate.add(bits(dtype))
            self._places.add((access.buffer, offset))
            self.apart |= split is None or split[0] not in (2, 3, 4)
            if split is None or self._depends(split[1]):
                self.note("i64")
        return True

    def expression(self, expr: Expr) -> bool:
        """Survey an expression; whether it varies."""
        known = self._seen.get(id(expr))
        if known is None:
            known = self._seen[id(expr)] = self._expression(expr)
        return known

    def _expression(self, expr: Expr) -> bool:
        match expr:
            case Var(name):
                varies = name in self.varying
            case Load():
                return self._access(expr, expr.dtype)
            case IndexValue(dim):
                varies = self._depends(dim)
            case Call(fn, args):
                varies = False
                for argument in args:
                    varies |= self.expression(argument)
                heavy = fn in MATH or fn in _LOOPS
                self.calls |= heavy
                self.weight += 12 if heavy else 1
            case _:
                varies = False
        if varies:
            self.note(expr.dtype)
            self.truths |= expr.dtype == "b1"
        return varies
