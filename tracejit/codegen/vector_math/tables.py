"""Numbers behind `vector_math`: polynomials and split constants of both formats.

Printed by `benchmarks/vector_math/coefficients.py`, which says how they were found: minimax
polynomials by the exchange algorithm of Remez, and constants as sums of short parts. Nothing here
was taken from another library.
"""

from __future__ import annotations

from tracejit.base.lazy_dataclass import dataclass

__all__ = ["ERFC_CENTRE", "TABLES", "THIRD", "Tables"]

#: The polynomials for erfcx are in x - ERFC_CENTRE: least rounding where they count most.
ERFC_CENTRE = 1.0


@dataclass(frozen=True)
class Tables:
    """Numbers for one format; polynomials have their lowest degree first.

    A comment `error 2^k` gives the greatest error that the polynomial leaves in the function,
    relative to the function (for erfc: to 1).
    """

    #: exp: below `exp_low` the result is 0, above `exp_high` infinity.
    exp_low: float
    exp_high: float
    #: tanh and erf: from here on the result is 1.
    tanh_one: float
    erf_one: float
    #: sin, cos: greatest argument of the reduction with and without FMA. With FMA the quotient must
    #: be exact enough to leave a remainder in the polynomials' range; without FMA its products with
    #: the first three parts of pi / 2 must be exact.
    trig_limit_fused: float
    trig_limit_plain: float
    #: log 2 in two parts; the product of the first with any exponent is exact.
    ln2: tuple[float, ...]
    log2_e: tuple[float, ...]
    #: 16 / log(2), and log(2) / 16 in two parts; the product of the first of these with 16 times
    #: any exponent is exact.
    sixteenth: tuple[float, ...]
    #: exp: up to this size of the argument the result is normal, and its last place, too.
    exp_normal: float
    #: 1 / log(2) and 1 / log(10) in two parts, by the base.
    per_log: dict[int, tuple[float, ...]]
    #: log10(2) in two parts; the product of the first with any exponent is exact.
    log10_2: tuple[float, ...]
    two_over_pi: tuple[float, ...]
    #: pi / 2 in parts of full length.
    half_pi_fused: tuple[float, ...]
    #: pi / 2 in three short parts and a full one.
    half_pi_plain: tuple[float, ...]
    #: expm1: from here down the result is -1.
    expm1_low: float
    #: sinh, cosh: from here on the result is infinite, and is found to be without overflow before.
    cosh_high: float
    #: sinh, cosh: from here on exp(-x) is nothing beside exp(x), which is finite up to here.
    cosh_large: float


def _hex(words: str) -> tuple[float, ...]:
    return tuple(map(float.fromhex, words.split()))


_F64 = Tables(
    exp_low=-746.0,
    exp_high=710.0,
    tanh_one=22.0,
    erf_one=6.0,
    trig_limit_fused=2.0**40,
    trig_limit_plain=2.0**20,
    ln2=_hex("0x1.62e42fefa3800p-1 0x1.ef35793c76730p-45"),
    log2_e=_hex("0x1.71547652b82fep+0"),
    sixteenth=_hex("0x1.71547652b82fep+4 0x1.62e42fefa0000p-5 0x1.cf79abc9e3b3ap-44"),
    exp_normal=700.0,
    per_log={
        2: _hex("0x1.71547652b82fep+0 0x1.777d0ffda0d24p-56"),
        10: _hex("0x1.bcb7b1526e50ep-2 0x1.95355baaafad3p-57"),
    },
    log10_2=_hex("0x1.34413509f7800p-2 0x1.fef311f12b358p-46"),
    two_over_pi=_hex("0x1.45f306dc9c883p-1"),
    half_pi_fused=_hex("0x1.921fb54442d18p+0 0x1.1a62633145c07p-54 -0x1.f1976b7ed8fbcp-110"),
    half_pi_plain=_hex(
        "0x1.921fb54400000p+0 0x1.0b4611a600000p-34 0x1.3198a2e000000p-69 0x1.b839a252049c1p-104"
    ),
    expm1_low=-40.0,
    cosh_high=710.6,
    cosh_large=709.0,
)

_F32 = Tables(
    exp_low=-104.0,
    exp_high=89.0,
    tanh_one=10.0,
    erf_one=4.0,
    trig_limit_fused=2.0**17,
    trig_limit_plain=2.0**11,
    ln2=_hex("0x1.62e400p-1 0x1.7f7d1cp-20"),
    log2_e=_hex("0x1.715476p+0"),
    sixteenth=_hex("0x1.715476p+4 0x1.62e000p-5 0x1.0bfbe8p-19"),
    exp_normal=83.0,
    per_log={
        2: _hex("0x1.715476p+0 0x1.4ae0c0p-26"),
        10: _hex("0x1.bcb7b2p-2 -0x1.5b235ep-27"),
    },
    log10_2=_hex("0x1.344200p-2 -0x1.95ec10p-19"),
    two_over_pi=_hex("0x1.45f306p-1"),
    half_pi_fused=_hex("0x1.921fb6p+0 -0x1.777a5cp-25 -0x1.ee59dap-50"),
    half_pi_plain=_hex("0x1.922000p+0 -0x1.2af000p-18 0x1.0b4000p-34 0x1.84698ap-48"),
    expm1_low=-18.0,
    cosh_high=89.5,
    cosh_large=88.0,
)

#: 1 / 3 as a sum of two doubles.
THIRD = _hex("0x1.5555555555555p-2 0x1.5555555555555p-56")
TABLES = {"f64": _F64, "f32": _F32}
