"""Greatest common divisors and least common multiples, in lanes: without a division."""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.codegen.llvm.lanes import Lanes, bits, is_signed

__all__ = ["gcd", "lcm"]


def _magnitude(s: Lanes, x: str, r: str) -> str:
    """The absolute value, an unsigned number."""
    return s.intrinsic("abs", r, x, tail="i1 false") if is_signed(r) else x


def _trailing_zeros(s: Lanes, x: str, r: str) -> str:
    """How many low bits are zero; of 0 all but one."""
    highest = -(1 << (bits(r) - 1)) if is_signed(r) else 1 << (bits(r) - 1)
    return s.intrinsic("cttz", r, s.op("or", r, x, s.const(highest, r)), tail="i1 true")


def gcd(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    """Stein's algorithm on magnitudes, which are unsigned: differences of odd numbers are even.

    There is no division, which vectors lack. gcd(0, 0) is 0.
    """

    def build(s: Lanes, a: list[str]) -> str:
        fb, kind, zero = s.fb, s.type(r), s.const(0, r)
        x, y = (_magnitude(s, v, r) for v in a)
        twos = _trailing_zeros(s, s.op("or", r, x, y), r)
        start = s.select(s.compare("eq", r, x, zero), r, y, x)
        start = s.op("lshr", r, start, _trailing_zeros(s, start, r))
        head, step, done = (fb.fresh_label(h) for h in ("loop", "step", "after"))
        before = fb.label
        fb.br(head)
        fb.block(head)
        u, v = fb.fresh("u"), fb.fresh("v")
        phis = fb.insertion_point()
        fb.cond_br(s.any(s.compare("ne", r, v, zero)), step, done)
        fb.block(step)
        odd = s.op("lshr", r, v, _trailing_zeros(s, v, r))
        less = s.compare("ult", r, u, odd)
        difference = s.select(less, r, s.op("sub", r, odd, u), s.op("sub", r, u, odd))
        # Where v is 0 already u stays.
        more = s.compare("ne", r, v, zero)
        next_u = s.select(s.op("and", "b1", more, s.compare("ult", r, odd, u)), r, odd, u)
        next_v = s.select(more, r, difference, zero)
        for name, first, following in ((u, start, next_u), (v, y, next_v)):
            phis.lines.append(
                f"  {name} = phi {kind} [ {first}, %{before} ], [ {following}, %{step} ]"
            )
        fb.br(head)
        fb.block(done)
        return s.op("shl", r, u, twos)

    return s.helper(f"gcd.{r}", r, t, a, build)


def lcm(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    """x / gcd * y: what divides x is multiplied by its inverse modulo a power of two."""
    divisor = gcd(s, a, t, r)
    none = s.compare("eq", r, divisor, s.const(0, r))
    x, y = (_magnitude(s, v, r) for v in a)
    twos = _trailing_zeros(s, divisor, r)
    odd = s.op("lshr", r, divisor, twos)
    # (3 d) xor 2 is right in five bits, and each step in twice as many (Newton; Montgomery).
    inverse = s.op("xor", r, s.op("mul", r, odd, s.const(3, r)), s.const(2, r))
    right = 5
    while right < bits(r):
        rest = s.op("sub", r, s.const(2, r), s.op("mul", r, odd, inverse))
        inverse = s.op("mul", r, inverse, rest)
        right *= 2
    part = s.op("mul", r, s.op("lshr", r, x, twos), inverse)
    return s.select(none, r, s.const(0, r), s.op("mul", r, part, y))
