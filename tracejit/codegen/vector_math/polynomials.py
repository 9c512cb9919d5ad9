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
        "arcsin": _hex(  # error 2^-59.8
            "0x1.5555555555578p-3 0x1.333333332df15p-4 0x1.6db6db722b7c1p-5 "
            "0x1.f1c71a8b915ddp-6 0x1.6e8bdfe7f6c7ap-6 0x1.1c49dde858dabp-6 "
            "0x1.ca21469b51acbp-7 0x1.75777b26d5104p-7 0x1.618b18135c104p-7 "
            "0x1.e1563ff111b5ep-9 0x1.65035c10f5a2dp-6 -0x1.59f82e0cdc36bp-6 "
            "0x1.0be4d752b3983p-5"
        ),
        "arctan": _hex(  # error 2^-58.9
            "-0x1.5555555555539p-2 0x1.9999999995ddep-3 -0x1.24924923321b7p-3 "
            "0x1.c71c7144366d2p-4 -0x1.745d08e3a6d1dp-4 0x1.3b12ac423cc12p-4 "
            "-0x1.1104807cd57bfp-4 0x1.e108d9e598cc9p-5 -0x1.a9f0e58b33a01p-5 "
            "0x1.6f182ea48e1b7p-5 -0x1.1bcaf1f5b0778p-5 0x1.4d940354e3305p-6 "
            "-0x1.a52010179f649p-8"
        ),
        "artanh": _hex(  # error 2^-62.4
            "0x1.555555555554ep-2 0x1.999999999c6eep-3 0x1.2492492194859p-3 "
            "0x1.c71c74d45868bp-4 0x1.745c3b2fc3bdcp-4 0x1.3b37b5b9e9a43p-4 "
            "0x1.0dab52c928a74p-4 0x1.1c581c061f7eep-4"
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
        "exp16": _hex(  # error 2^-56.2
            "0x1.0000000000005p-1 0x1.555555548ec71p-3 0x1.55555554684a1p-5 "
            "0x1.11123b3fb6011p-7 0x1.6c1850512b82ep-10"
        ),
        "exp2": _hex(  # error 2^-60.2
            "0x1.62e42fefa39efp-1 0x1.ebfbdff82c594p-3 0x1.c6b08d704a0c4p-5 "
            "0x1.3b2ab6fb09b57p-7 0x1.5d87fe78042ffp-10 0x1.430a495ed4732p-13 "
            "0x1.ffcdd3630f72bp-17"
        ),
        "exp2_singles": _hex(  # error 2^-37.6
            "0x1.62e42fee46408p-1 0x1.ebfbdff60dceep-3 0x1.c6b348653ff80p-5 0x1.3b2c77916b19dp-7"
        ),
        "log": _hex(  # error 2^-63.6
            "-0x1.000000p-1 0x1.5555555555551p-2 -0x1.ffffffffffefap-3 "
            "0x1.99999999b0b4dp-3 -0x1.55555557381ffp-3 0x1.24924803e8bdep-3 "
            "-0x1.ffffd4f8560dcp-4 0x1.c726e14583dc1p-4 -0x1.9a67262075b70p-4 "
            "0x1.647dfce9038c5p-4"
        ),
        "log10": _hex(  # error 2^-60.5
            "-0x1.bcb7b1526e50ep-3 0x1.287a7636f435bp-3 -0x1.bcb7b1526e42bp-4 "
            "0x1.63c62775391f6p-4 -0x1.287a7638978eep-4 0x1.fc3fa41f9b2ddp-5 "
            "-0x1.bcb78bf258cc8p-5 0x1.8b57036204dd5p-5 -0x1.6478b111024f1p-5 "
            "0x1.35a527d0e947ep-5"
        ),
        "log2": _hex(  # error 2^-61.2
            "-0x1.71547652b82fep-1 0x1.ec709dc3a03f8p-2 -0x1.71547652b8241p-2 "
            "0x1.2776c50f0a6adp-2 -0x1.ec709dc658c53p-3 0x1.a61761073a4edp-3 "
            "-0x1.7154574899013p-3 0x1.48529aeb0dd16p-3 -0x1.280b0abeba1bcp-3 "
            "0x1.01279bd40eff0p-3"
        ),
        "log2_singles": _hex(  # error 2^-42.2
            "0x1.71547652b86f8p+0 -0x1.71547652fdc86p-1 0x1.ec709d7f731a6p-2 "
            "-0x1.715468ed52716p-2 0x1.27795b14ff2ecp-2 -0x1.ed252798618ccp-3 "
            "0x1.9a03b2acc6bffp-3"
        ),
        "log_power": _hex(  # error 2^-73.3
            "-0x1.000000p-2 0x1.9999999999993p-3 -0x1.5555555555475p-3 "
            "0x1.24924924a6145p-3 -0x1.000000019e239p-3 0x1.c71c6fd89425cp-4 "
            "-0x1.999974b36ff02p-4 0x1.746607639d373p-4 -0x1.56058d4a33c71p-4 "
            "0x1.2d7d080566ddcp-4"
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
        "arcsin": _hex(  # error 2^-27.6
            "0x1.5555cap-3 0x1.330164p-4 0x1.748b2cp-5 0x1.8ba81cp-6 0x1.59da04p-5"
        ),
        "arctan": _hex(  # error 2^-30.2
            "-0x1.55554ap-2 0x1.9993b2p-3 -0x1.240e1cp-3 0x1.bc4cd6p-4 -0x1.390300p-4 0x1.176daep-5"
        ),
        "artanh": _hex(  # error 2^-28.3
            "0x1.5555b8p-2 0x1.992788p-3 0x1.372f74p-3"
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
        "exp16": _hex(  # error 2^-29.2
            "0x1.000220p-1 0x1.555738p-3"
        ),
        "exp2": _hex(  # error 2^-33.7
            "0x1.62e430p-1 0x1.ebfbe0p-3 0x1.c6b348p-5 0x1.3b2c78p-7"
        ),
        "log": _hex(  # error 2^-29.0
            "-0x1.fffffep-2 0x1.5555e6p-2 -0x1.003654p-2 0x1.933f56p-3"
        ),
        "log10": _hex(  # error 2^-28.7
            "-0x1.bcb7b0p-3 0x1.287af4p-3 -0x1.bd1612p-4 0x1.5e4198p-4"
        ),
        "log2": _hex(  # error 2^-28.7
            "-0x1.715474p-1 0x1.ec716ep-2 -0x1.71a2d8p-2 0x1.22e1aap-2"
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
