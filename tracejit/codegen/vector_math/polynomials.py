"""Coefficients of `vector_math`: a polynomial for each function and format, lowest degree first.

Printed by `python -m benchmarks.vector_math_coefficients`, which says what each approximates and on
which interval, and how they were found: minimax by the exchange algorithm of Remez. A comment
`error 2^k` gives the greatest error that the polynomial leaves in the function, relative to the
function (for erfc: to 1). Nothing here was taken from another library.
"""

from __future__ import annotations

__all__ = ["POLYNOMIALS"]


def _hex(words: str) -> tuple[float, ...]:
    return tuple(map(float.fromhex, words.split()))


#: Format ("f64", "f32") -> name -> coefficients.
POLYNOMIALS: dict[str, dict[str, tuple[float, ...]]] = {
    "f64": {
        "arctan": _hex(  # error 2^-59.5
            "-0x1.555555555553dp-2 0x1.999999999589dp-3 -0x1.24924922af1e3p-3 "
            "0x1.c71c70e6d15b8p-4 -0x1.745cf8f2cffbfp-4 0x1.3b111aa6eafd4p-4 "
            "-0x1.10ebc945d7c0cp-4 0x1.df1037ca465c3p-5 -0x1.9cd6ae0e98af9p-5 "
            "0x1.37df0b9398afcp-5 -0x1.257d8ae5f1748p-6"
        ),
        "cos": _hex(  # error 2^-64.0
            "0x1.555555555554bp-5 -0x1.6c16c16c14fcap-10 0x1.a01a019c81b32p-16 "
            "-0x1.27e4f7e40c1b1p-22 0x1.1ee9d05997d64p-29 -0x1.8f9f8a8f4d5b5p-37"
        ),
        "cosh": _hex(  # error 2^-70.0
            "0x1.5555555555558p-5 0x1.6c16c16c14fecp-10 0x1.a01a01ad89472p-16 "
            "0x1.27e4cbf02f4f9p-22 0x1.1f8c1f3200be5p-29"
        ),
        "erf": _hex(  # error 2^-55.9
            "0x1.06eba8214db68p-3 -0x1.812746b03799cp-2 0x1.ce2f21a03f791p-4 "
            "-0x1.b82ce311a331cp-6 0x1.565bcceddf441p-8 -0x1.c02dae8c270e1p-11 "
            "0x1.f9a2925058c76p-14 -0x1.f4c7e6f8bb63dp-17 0x1.b9686e89e2ae1p-20 "
            "-0x1.5b7a01b85b37ap-23 0x1.d35b5b51d59fcp-27 -0x1.a0b36a22f0a11p-31"
        ),
        "erfc": _hex(  # error 2^-56.1
            "0x1.afbb3f3b733bbp-3 -0x1.3086d7f01a2cfp-4 0x1.98958a7ab591bp-6 "
            "-0x1.06320767c2eafp-7 0x1.435c04cfa693ap-9 -0x1.809ce951da270p-11 "
            "0x1.ba8a6b7aa2f09p-13 -0x1.edd3e836d519cp-15 0x1.0bcbb3f5898edp-16 "
            "-0x1.1ad4e86c98a2cp-18 0x1.2344d8f7b0ff3p-20 -0x1.24de8f2603da8p-22 "
            "0x1.2162f593a4f60p-24 -0x1.16d8625b84620p-26 0x1.f74d9a397fcb6p-29 "
            "-0x1.eb1fd4a4f7417p-31 0x1.14f91f6d609b9p-32 -0x1.32e63d7557436p-35 "
            "0x1.47786b9485459p-40 -0x1.1fcad02c04b53p-38 0x1.4a00d81f5cb4dp-40"
        ),
        "exp": _hex(  # error 2^-60.9
            "0x1.000000p-1 0x1.555555555555cp-3 0x1.555555555555ep-5 "
            "0x1.111111110eaedp-7 0x1.6c16c16c1346cp-10 0x1.a01a01b408b2ep-13 "
            "0x1.a01a01b4a56d4p-16 0x1.71ddeecf4e06dp-19 0x1.27e4be92915aep-22 "
            "0x1.af6e27b1d73abp-26 0x1.1f9ed4823e868p-29"
        ),
        "log": _hex(  # error 2^-58.5
            "0x1.5555555555592p-1 0x1.999999997ff14p-2 0x1.24924941e1870p-2 "
            "0x1.c71c521448d68p-3 0x1.74663ce824355p-3 0x1.39a1e9fc63508p-3 "
            "0x1.2f03a7e82bd4ap-3"
        ),
        "sin": _hex(  # error 2^-57.8
            "-0x1.5555555555547p-3 0x1.111111110f578p-7 -0x1.a01a019badb11p-13 "
            "0x1.71de351e602f0p-19 -0x1.ae5e1e6f924a5p-26 0x1.5d7db82e1cfb9p-33"
        ),
        "sinh": _hex(  # error 2^-65.1
            "0x1.5555555555555p-3 0x1.1111111111384p-7 0x1.a01a019ea403ep-13 "
            "0x1.71de406c47ba4p-19 0x1.ae4d40689fa9bp-26 0x1.81f4534f41933p-33"
        ),
        "tan": _hex(  # error 2^-59.3
            "0x1.5555555555562p-2 0x1.1111111110114p-3 0x1.ba1ba1bafe204p-5 "
            "0x1.664f484ffa617p-6 0x1.226e3c23029abp-7 0x1.d6d2a4cf530f9p-9 "
            "0x1.7db534bb63311p-10 0x1.349849fa539aap-11 0x1.0092c8ecac863p-12 "
            "0x1.548edfc6eb61cp-14 0x1.2bc7ba49c7e0cp-14 -0x1.039fc170ddf46p-15 "
            "0x1.bcd06280d98a4p-15 -0x1.bb5bd5f5d44e1p-16 0x1.58b770a6e337bp-17"
        ),
    },
    "f32": {
        "arctan": _hex(  # error 2^-30.5
            "-0x1.55554ap-2 0x1.9991e6p-3 -0x1.23ba0ap-3 0x1.b22aeep-4 -0x1.f307a2p-5"
        ),
        "cos": _hex(  # error 2^-33.1
            "0x1.55554ap-5 -0x1.6c0c1ap-10 0x1.99e0f8p-16"
        ),
        "cosh": _hex(  # error 2^-33.2
            "0x1.5554e4p-5 0x1.6d51dap-10"
        ),
        "erf": _hex(  # error 2^-29.6
            "0x1.06eba8p-3 -0x1.812740p-2 0x1.ce2d50p-4 "
            "-0x1.b7fe90p-6 0x1.542e0ep-8 -0x1.a50ae8p-11 "
            "0x1.4c339cp-14"
        ),
        "erfc": _hex(  # error 2^-28.5
            "0x1.afbbe6p-3 -0x1.30816cp-4 0x1.983394p-6 "
            "-0x1.0a7a72p-7 0x1.2dc750p-9 -0x1.5ab740p-11 "
            "0x1.1cc6f0p-11 0x1.d7dceep-13 0x1.c0176cp-14"
        ),
        "exp": _hex(  # error 2^-29.7
            "0x1.000000p-1 0x1.555556p-3 0x1.55547ep-5 0x1.11107cp-7 0x1.6d9878p-10 0x1.a1b962p-13"
        ),
        "log": _hex(  # error 2^-30.2
            "0x1.555546p-2 -0x1.ffffeep-3 0x1.99a544p-3 "
            "-0x1.5562e4p-3 0x1.2332d0p-3 -0x1.fb42f8p-4 "
            "0x1.e64f88p-4 -0x1.e2ea8ep-4 0x1.1b4644p-4"
        ),
        "sin": _hex(  # error 2^-27.9
            "-0x1.555544p-3 0x1.1106bcp-7 -0x1.9916aap-13"
        ),
        "sinh": _hex(  # error 2^-34.3
            "0x1.555556p-3 0x1.110fc0p-7 0x1.a2dd4cp-13"
        ),
        "tan": _hex(  # error 2^-29.1
            "0x1.555564p-2 0x1.110c98p-3 0x1.bb06b4p-5 "
            "0x1.5afad2p-6 0x1.6bd6aep-7 -0x1.03558ap-12 "
            "0x1.29a17ep-8"
        ),
    },
}
