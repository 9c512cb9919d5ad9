"""Numbers behind `vector_math`: polynomials and split constants of both formats.

Printed by `benchmarks/vector_math_coefficients.py`, which says how they were found: minimax
polynomials by the exchange algorithm of Remez, and constants as sums of short parts. Nothing here
was taken from another library.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ERFC_CENTRE", "TABLES", "Tables"]

#: The polynomials for erfcx are in x - ERFC_CENTRE, so that their terms stay small.
ERFC_CENTRE = 2.5


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
    two_over_pi: tuple[float, ...]
    #: pi / 2 in parts of full length.
    half_pi_fused: tuple[float, ...]
    #: pi / 2 in three short parts and a full one.
    half_pi_plain: tuple[float, ...]
    #: expm1: from here down the result is -1.
    expm1_low: float
    #: sinh, cosh: from here on the result is infinite, and is found to be without overflow before.
    cosh_high: float
    #: sinh: below this the result is the argument.
    sinh_tiny: float
    #: arctan(t) = t + t^3 * arctan(t^2), |t| <= tan(pi / 8)
    arctan: tuple[float, ...]
    #: cos(r) = 1 - r^2 / 2 + r^4 * cos(r^2)
    cos: tuple[float, ...]
    #: cosh(r) = 1 + r^2 / 2 + r^4 * cosh(r^2), |r| <= log(2) / 2
    cosh: tuple[float, ...]
    #: erf(x) = x + x * erf(x^2), 0 <= x <= 1
    erf: tuple[float, ...]
    #: erf(x) = 1 - exp(-x^2) * erfc(x - ERFC_CENTRE), 1 <= x <= erf_one
    erfc: tuple[float, ...]
    #: exp(r) = 1 + r + r^2 * exp(r), |r| <= log(2) / 2
    exp: tuple[float, ...]
    #: float64: log((1 + s) / (1 - s)) = 2 * s + s^3 * log(s^2);
    #: float32: log(1 + f) = f - f^2 / 2 + f^3 * log(f); sqrt(1/2) <= 1 + f < sqrt(2)
    log: tuple[float, ...]
    #: sin(r) = r + r^3 * sin(r^2)
    sin: tuple[float, ...]
    #: sinh(r) = r + r^3 * sinh(r^2), |r| <= log(2) / 2
    sinh: tuple[float, ...]


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
    two_over_pi=_hex("0x1.45f306dc9c883p-1"),
    half_pi_fused=_hex("0x1.921fb54442d18p+0 0x1.1a62633145c07p-54 -0x1.f1976b7ed8fbcp-110"),
    half_pi_plain=_hex(
        "0x1.921fb54400000p+0 0x1.0b4611a600000p-34 0x1.3198a2e000000p-69 0x1.b839a252049c1p-104"
    ),
    expm1_low=-40.0,
    cosh_high=710.6,
    sinh_tiny=2.0**-28,
    arctan=_hex(  # error 2^-59.5
        "-0x1.555555555553dp-2 0x1.999999999589dp-3 -0x1.24924922af1e3p-3 "
        "0x1.c71c70e6d15b8p-4 -0x1.745cf8f2cffbfp-4 0x1.3b111aa6eafd4p-4 "
        "-0x1.10ebc945d7c0cp-4 0x1.df1037ca465c3p-5 -0x1.9cd6ae0e98af9p-5 "
        "0x1.37df0b9398afcp-5 -0x1.257d8ae5f1748p-6"
    ),
    cosh=_hex(  # error 2^-70.0
        "0x1.5555555555558p-5 0x1.6c16c16c14fecp-10 0x1.a01a01ad89472p-16 "
        "0x1.27e4cbf02f4f9p-22 0x1.1f8c1f3200be5p-29"
    ),
    cos=_hex(  # error 2^-64.0
        "0x1.555555555554bp-5 -0x1.6c16c16c14fcap-10 0x1.a01a019c81b32p-16 "
        "-0x1.27e4f7e40c1b1p-22 0x1.1ee9d05997d64p-29 -0x1.8f9f8a8f4d5b5p-37"
    ),
    erf=_hex(  # error 2^-55.9
        "0x1.06eba8214db68p-3 -0x1.812746b03799cp-2 0x1.ce2f21a03f791p-4 "
        "-0x1.b82ce311a331cp-6 0x1.565bcceddf441p-8 -0x1.c02dae8c270e1p-11 "
        "0x1.f9a2925058c76p-14 -0x1.f4c7e6f8bb63dp-17 0x1.b9686e89e2ae1p-20 "
        "-0x1.5b7a01b85b37ap-23 0x1.d35b5b51d59fcp-27 -0x1.a0b36a22f0a11p-31"
    ),
    erfc=_hex(  # error 2^-56.1
        "0x1.afbb3f3b733bbp-3 -0x1.3086d7f01a2cfp-4 0x1.98958a7ab591bp-6 "
        "-0x1.06320767c2eafp-7 0x1.435c04cfa693ap-9 -0x1.809ce951da270p-11 "
        "0x1.ba8a6b7aa2f09p-13 -0x1.edd3e836d519cp-15 0x1.0bcbb3f5898edp-16 "
        "-0x1.1ad4e86c98a2cp-18 0x1.2344d8f7b0ff3p-20 -0x1.24de8f2603da8p-22 "
        "0x1.2162f593a4f60p-24 -0x1.16d8625b84620p-26 0x1.f74d9a397fcb6p-29 "
        "-0x1.eb1fd4a4f7417p-31 0x1.14f91f6d609b9p-32 -0x1.32e63d7557436p-35 "
        "0x1.47786b9485459p-40 -0x1.1fcad02c04b53p-38 0x1.4a00d81f5cb4dp-40"
    ),
    exp=_hex(  # error 2^-60.9
        "0x1.000000p-1 0x1.555555555555cp-3 0x1.555555555555ep-5 "
        "0x1.111111110eaedp-7 0x1.6c16c16c1346cp-10 0x1.a01a01b408b2ep-13 "
        "0x1.a01a01b4a56d4p-16 0x1.71ddeecf4e06dp-19 0x1.27e4be92915aep-22 "
        "0x1.af6e27b1d73abp-26 0x1.1f9ed4823e868p-29"
    ),
    log=_hex(  # error 2^-58.5
        "0x1.5555555555592p-1 0x1.999999997ff14p-2 0x1.24924941e1870p-2 "
        "0x1.c71c521448d68p-3 0x1.74663ce824355p-3 0x1.39a1e9fc63508p-3 "
        "0x1.2f03a7e82bd4ap-3"
    ),
    sin=_hex(  # error 2^-57.8
        "-0x1.5555555555547p-3 0x1.111111110f578p-7 -0x1.a01a019badb11p-13 "
        "0x1.71de351e602f0p-19 -0x1.ae5e1e6f924a5p-26 0x1.5d7db82e1cfb9p-33"
    ),
    sinh=_hex(  # error 2^-65.1
        "0x1.5555555555555p-3 0x1.1111111111384p-7 0x1.a01a019ea403ep-13 "
        "0x1.71de406c47ba4p-19 0x1.ae4d40689fa9bp-26 0x1.81f4534f41933p-33"
    ),
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
    two_over_pi=_hex("0x1.45f306p-1"),
    half_pi_fused=_hex("0x1.921fb6p+0 -0x1.777a5cp-25 -0x1.ee59dap-50"),
    half_pi_plain=_hex("0x1.922000p+0 -0x1.2af000p-18 0x1.0b4000p-34 0x1.84698ap-48"),
    expm1_low=-18.0,
    cosh_high=89.5,
    sinh_tiny=2.0**-13,
    arctan=_hex(  # error 2^-30.5
        "-0x1.55554ap-2 0x1.9991e6p-3 -0x1.23ba0ap-3 0x1.b22aeep-4 -0x1.f307a2p-5"
    ),
    cosh=_hex(  # error 2^-33.2
        "0x1.5554e4p-5 0x1.6d51dap-10"
    ),
    cos=_hex(  # error 2^-33.1
        "0x1.55554ap-5 -0x1.6c0c1ap-10 0x1.99e0f8p-16"
    ),
    erf=_hex(  # error 2^-29.6
        "0x1.06eba8p-3 -0x1.812740p-2 0x1.ce2d50p-4 "
        "-0x1.b7fe90p-6 0x1.542e0ep-8 -0x1.a50ae8p-11 "
        "0x1.4c339cp-14"
    ),
    erfc=_hex(  # error 2^-28.5
        "0x1.afbbe6p-3 -0x1.30816cp-4 0x1.983394p-6 "
        "-0x1.0a7a72p-7 0x1.2dc750p-9 -0x1.5ab740p-11 "
        "0x1.1cc6f0p-11 0x1.d7dceep-13 0x1.c0176cp-14"
    ),
    exp=_hex(  # error 2^-29.7
        "0x1.000000p-1 0x1.555556p-3 0x1.55547ep-5 0x1.11107cp-7 0x1.6d9878p-10 0x1.a1b962p-13"
    ),
    log=_hex(  # error 2^-30.2
        "0x1.555546p-2 -0x1.ffffeep-3 0x1.99a544p-3 "
        "-0x1.5562e4p-3 0x1.2332d0p-3 -0x1.fb42f8p-4 "
        "0x1.e64f88p-4 -0x1.e2ea8ep-4 0x1.1b4644p-4"
    ),
    sin=_hex(  # error 2^-27.9
        "-0x1.555544p-3 0x1.1106bcp-7 -0x1.9916aap-13"
    ),
    sinh=_hex(  # error 2^-34.3
        "0x1.555556p-3 0x1.110fc0p-7 0x1.a2dd4cp-13"
    ),
)

TABLES = {"f64": _F64, "f32": _F32}
