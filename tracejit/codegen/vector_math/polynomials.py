"""Coefficients of `vector_math`: a polynomial for each function and format, lowest degree first.

Printed by `python -m benchmarks.vector_math.coefficients`, which says what each approximates and on
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
        "cbrt": _hex(  # error 2^-17.9
            "0x1.5554673667980p-2 0x1.c97944eb7a852p-3 0x1.65639e54e5784p-3"
        ),
        "cos": _hex(  # error 2^-64.0
            "0x1.555555555554bp-5 -0x1.6c16c16c14fcap-10 0x1.a01a019c81b32p-16 "
            "-0x1.27e4f7e40c1b1p-22 0x1.1ee9d05997d64p-29 -0x1.8f9f8a8f4d5b5p-37"
        ),
        "cos_turn": _hex(  # error 2^-63.4
            "0x1.000000p+0 -0x1.de9e64df22ef3p-1 0x1.472be122434bfp-2 "
            "-0x1.d4fcd83117bc0p-5 0x1.9f05cb00bb9f8p-8 -0x1.f309e813ec337p-12 "
            "0x1.b2683aadf97c8p-16 -0x1.1e604ad776d3cp-20 0x1.20d7bb17b3cffp-25"
        ),
        "cosh": _hex(  # error 2^-66.1
            "0x1.0000000000004p-1 0x1.55555554820c6p-5 0x1.6c18419068af7p-10"
        ),
        "cot": _hex(  # error 2^-58.3
            "0x1.555555555558fp-2 0x1.6c16c16c0b952p-6 0x1.1566abc682811p-9 "
            "0x1.bbd775662ba38p-13 0x1.66a9996c93e40p-16 0x1.226eda17502ffp-19 "
            "0x1.d923f457bdaf9p-23 0x1.66b6f4f0d835cp-26 0x1.b18ea3494fa05p-29"
        ),
        "erf": _hex(  # error 2^-55.9
            "0x1.06eba8214db68p-3 -0x1.812746b03799cp-2 0x1.ce2f21a03f791p-4 "
            "-0x1.b82ce311a331cp-6 0x1.565bcceddf441p-8 -0x1.c02dae8c270e1p-11 "
            "0x1.f9a2925058c76p-14 -0x1.f4c7e6f8bb63dp-17 0x1.b9686e89e2ae1p-20 "
            "-0x1.5b7a01b85b37ap-23 0x1.d35b5b51d59fcp-27 -0x1.a0b36a22f0a11p-31"
        ),
        "erfc": _hex(  # error 2^-56.5
            "0x1.b5d8780f956b2p-2 -0x1.17c4e3f17bfb9p-2 0x1.3c27283c2cd47p-3 "
            "-0x1.44837f87ad83dp-4 0x1.33cad0c7c201ep-5 -0x1.10fcef00e7173p-6 "
            "0x1.c8cb57bc062b9p-8 -0x1.6af07ae62b080p-9 0x1.1347625e236d4p-10 "
            "-0x1.9023d941e67b5p-12 0x1.171b7626e36f4p-13 -0x1.7494d4a424c5ep-15 "
            "0x1.d69ea006824f5p-17 -0x1.12fa8ac74c6d4p-18 0x1.1f5fdba83c0b2p-20 "
            "-0x1.01700b227f617p-22 0x1.7893742e4268bp-25 -0x1.a8bc02cafa147p-28 "
            "0x1.564a77d942340p-31 -0x1.5bc853023ee42p-35 0x1.4ca949560f72ep-40"
        ),
        "erfcx": _hex(  # error 2^-54.2
            "0x1.3ba5916e9fd7fp+0 -0x1.1df1ad154a28dp-3 0x1.f7f5df66fdb5ap-7 "
            "0x1.16ecefcfa5208p-4 -0x1.9ddb23c3eac1ap-4 0x1.7fee004e16317p-4 "
            "-0x1.0fb06dfe2140fp-4 0x1.3079edf5f0043p-5 -0x1.0962388c9d60bp-6 "
            "0x1.49c672b78ce46p-8 -0x1.8d4a933f059c1p-11 -0x1.a1df4e92f381dp-13 "
            "0x1.3bdfc74ca4d67p-13 -0x1.9953bb621f14dp-16 -0x1.786f84699075ap-17 "
            "0x1.7eea34def07edp-18 0x1.34a30c7fdef84p-22 -0x1.b77ce3b1058c3p-21 "
            "0x1.60b433ca04b09p-24 0x1.b8582beedfa18p-24 -0x1.89a1e846c341dp-26 "
            "-0x1.42e8783ea1d39p-27 0x1.c3846af487512p-29"
        ),
        "erfinv": _hex(  # error 2^-55.0
            "0x1.a755e7c99ae86p+0 0x1.ebd80d9b13dfap-3 -0x1.8b6c33114ea9ep-8 "
            "-0x1.84576948358f3p-11 0x1.879c2a20b2f70p-13 -0x1.d1d1f7ca0983ap-17 "
            "-0x1.6e8a53cbc4335p-20 0x1.c6b4f88817614p-22 -0x1.f36cedd0a5cedp-26 "
            "-0x1.1a9eb04693910p-28 0x1.20f53b5b58c65p-30 -0x1.dc3f374fb9a3dp-35 "
            "-0x1.c8a4ee72ae413p-37 0x1.72367ae37aafep-39 -0x1.6bbdac55b2143p-44 "
            "-0x1.68753da399103p-45 0x1.d67786bc387e1p-48 -0x1.6ca3a04cb0c83p-55 "
            "-0x1.1b943b7db2cfep-53 0x1.1e4c773d77cafp-56 0x1.87c66ed4d3bd7p-61 "
            "-0x1.9a88b2c8ffc2ap-62 0x1.5034d303756e7p-66 0x1.e3b4af9626b26p-69 "
            "-0x1.8516fc3f03b40p-72"
        ),
        "erfinv_far": _hex(  # error 2^-55.1
            "0x1.fa99e1837ded0p-1 -0x1.56e0573ff7f94p-3 -0x1.722444fce4587p-2 "
            "0x1.ada7a1973df8dp+0 -0x1.19af751f37401p+2 0x1.18597526ce362p+4 "
            "-0x1.6e11230e9822ap+6 0x1.0cfbb27656c58p+9 -0x1.ae1cb2fa0a50ep+11 "
            "0x1.6ec61bcf8f5c2p+14 -0x1.4875af1103d96p+17 0x1.32bdc859ea470p+20 "
            "-0x1.2725875e2a739p+23 0x1.149c1e273910dp+26 -0x1.0f77a3d816ff7p+29 "
            "0x1.90ce788d681b4p+32 -0x1.c895c407f4280p+35 -0x1.f78d8091ae1ccp+37 "
            "0x1.a81f20c9c5198p+41 0x1.34016e1b4851dp+47 -0x1.7ef870290703ep+50 "
            "-0x1.feb30d39bc96dp+53 0x1.3bd54e3ebe204p+57 0x1.4ed3521ebc688p+60 "
            "-0x1.8b5edfbb22666p+63"
        ),
        "erfinv_near_tail": _hex(  # error 2^-56.4
            "0x1.e5d3060902083p-1 0x1.1d7ba772d552cp-6 -0x1.018b50d42fa89p-8 "
            "0x1.dec516b76dc9ap-12 0x1.01bf2ce031a97p-13 -0x1.bd2364c31e858p-14 "
            "0x1.5040a1fdf981cp-15 -0x1.db1f98537c668p-18 -0x1.15d8f3d096644p-19 "
            "0x1.2760aec6752f6p-19 -0x1.b84e306f1dd50p-21 0x1.097d3ba40f8a3p-24 "
            "0x1.bb8272b13448cp-24 -0x1.0875b94dd7f6cp-24 0x1.cdbd3be76d654p-27 "
            "0x1.0c87070ea8657p-28 -0x1.0ed3485b2f205p-28 0x1.916e0d16e2cf4p-31 "
            "0x1.aa233be52758ep-33"
        ),
        "erfinv_tail": _hex(  # error 2^-54.3
            "0x1.f1223756e9c3bp-1 0x1.f672bfc9c191ep-8 -0x1.93077b23f3ef2p-10 "
            "0x1.15be7fff7c06ep-12 -0x1.47abfeaf4b65bp-15 0x1.2657215043483p-18 "
            "-0x1.0fafe08585e74p-23 -0x1.1376c03e00de5p-23 0x1.dd2b9d534c505p-25 "
            "-0x1.1e82d51ad3707p-26 0x1.289ca328ae77ep-28 -0x1.17981e4f6e259p-30 "
            "0x1.dfec68dd52568p-33 -0x1.5c38ee4ad681ap-35 0x1.42b00c496a514p-38 "
            "0x1.e5775485bb48ep-42 -0x1.ccc7019f80705p-41 0x1.2798669604571p-41 "
            "-0x1.256fac8bab383p-43"
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
        "gamma": _hex(  # error 2^-55.6
            "0x1.b0ee6072093cep-2 0x1.a5b978b96bec2p-2 0x1.4e2399846506cp-4 "
            "0x1.301fbb0f24e60p-4 -0x1.17f3740e01b50p-12 0x1.6d7eeacb9585ap-7 "
            "-0x1.75e6e90f99664p-9 0x1.13c448f40449dp-9 -0x1.e21f1861ee9f6p-11 "
            "0x1.011b0be5a466ap-11 -0x1.f94b570e198d7p-13 0x1.fe445125c7826p-14 "
            "-0x1.fdd9b03b3a2d7p-15 0x1.004f88467539ap-15 -0x1.00d26aeaa9a24p-16 "
            "0x1.e76280f68e401p-18 -0x1.e1286bbcdd2a5p-19 0x1.5aef585f7e09ep-19 "
            "-0x1.665670b2326d2p-20"
        ),
        "gamma_far": _hex(  # error 2^-56.0
            "0x1.5555555555228p-4 0x1.c71c71cd8b6a9p-9 -0x1.5f726b2b21df0p-9 "
            "-0x1.e136c9f02efcep-13 0x1.9aea8137ae41dp-11 0x1.35aaca1e2175fp-14 "
            "-0x1.49967bd7bb2fep-11 0x1.1aaebd435b154p-13 0x1.9dbb94c92e99dp-12"
        ),
        "gammaln": _hex(  # error 2^-55.9
            "0x1.b0ee6072093cep-2 0x1.4a34cc4a60fa7p-2 -0x1.13e001a55760cp-4 "
            "0x1.51322ac7d7fc5p-6 -0x1.e404fc218c971p-8 0x1.7add6eae5cf50p-9 "
            "-0x1.38ac5c2e03661p-10 0x1.0b36af3398ab2p-11 -0x1.d3fd4aef38fdep-13 "
            "0x1.a127dd5d72375p-14 -0x1.78deb073c73c3p-15 0x1.5806d094a3dbbp-16 "
            "-0x1.3cb1700c30b4ep-17 0x1.26411c9a956b7p-18 -0x1.129b66cf395b1p-19 "
            "0x1.edea9d5dfaf35p-21 -0x1.cba8b5cc2df12p-22 0x1.2b5ba5d75da39p-22 "
            "-0x1.245ca8aecc8c4p-23"
        ),
        "gammaln_far": _hex(  # error 2^-57.6
            "0x1.5555555555555p-4 -0x1.6c16c16c0b9c8p-9 0x1.a01a0126298bbp-11 "
            "-0x1.38130343f41d5p-11 0x1.b91305594c6fcp-11 -0x1.ee5cf35bd6234p-10 "
            "0x1.59115963cd3d9p-8 -0x1.1dad0033a83aep-7"
        ),
        "i0": _hex(  # error 2^-65.5
            "0x1.000000p+0 0x1.000000p-2 0x1.c71c71c71c71cp-6 "
            "0x1.c71c71c71c739p-10 0x1.23456789aba0ep-14 0x1.02e85c089d860p-19 "
            "0x1.522a43f5b1dcap-25 0x1.522a4404a77a4p-31 0x1.0b3131a8fd7fdp-37 "
            "0x1.56019c0a5bc63p-44 0x1.69c95e4801956p-51 0x1.41a63f918d285p-58 "
            "0x1.e630a93787219p-66 0x1.43b4360f251a7p-73 0x1.3f79dc360b391p-81 "
            "0x1.1277cd2eb7290p-88"
        ),
        "i0_far": _hex(  # error 2^-55.1
            "0x1.9bd428ad249a5p-2 0x1.b87969bb93b9bp-8 0x1.1daa72b5e26b1p-11 "
            "0x1.75e5ee711d81ap-14 0x1.8e513a79f475ap-16 0x1.3f49a96899402p-17 "
            "0x1.7d0f098c5f002p-18 0x1.51cdd47881a07p-18 0x1.7234faf78088cp-18 "
            "0x1.03a4c2fc5ad44p-18 -0x1.cfea2480809b0p-18 -0x1.cd019e2798589p-16 "
            "-0x1.728bf0920ac8cp-16 0x1.04420cf74106ep-14 0x1.fc63e221cf18fp-14 "
            "-0x1.e72a84e8e4acdp-14 -0x1.95580b02939e8p-12 0x1.ae02a51bd24e8p-13 "
            "0x1.eb94c0f65e139p-11 -0x1.4bb8870f5b22ap-12 -0x1.b139eec7f5f45p-10 "
            "0x1.6c95ddc291dcap-12 0x1.e45dbd2bfedd4p-10 -0x1.8d02f2d8233edp-13 "
            "-0x1.fb5ea6fbdf86ep-11"
        ),
        "i1": _hex(  # error 2^-63.6
            "0x1.000000p-1 0x1.5555555555555p-4 0x1.c71c71c71c735p-8 "
            "0x1.6c16c16c1695fp-12 0x1.845c8a0cea2f0p-17 0x1.27e4fb772c30ep-22 "
            "0x1.522a43ff2c03bp-28 0x1.2c975848079c1p-34 0x1.ab81f7f2f6f7ap-41 "
            "0x1.f175b4bb64de8p-48 0x1.e26e30569fefep-55 0x1.8b72f820d39c0p-62 "
            "0x1.1873ee8f68466p-69 0x1.43de05d04762ap-77 0x1.a7193e21765c4p-85 "
            "0x1.232af9a75c694p-93"
        ),
        "i1_far": _hex(  # error 2^-56.7
            "0x1.8ebe783a84030p-2 -0x1.3f796198ee631p-6 -0x1.cbc54df1e8ecep-11 "
            "-0x1.f89c2305a37e1p-14 -0x1.ec8e1075a7d18p-16 -0x1.761380ff5cb57p-17 "
            "-0x1.ad8d48f0f753ep-18 -0x1.7279783357a41p-18 -0x1.91918ab72481ap-18 "
            "-0x1.21a3e5e95a76ep-18 0x1.cefb5c63423acp-18 0x1.e27c0a4485352p-16 "
            "0x1.99c9abad555b4p-16 -0x1.07532dbb06b5cp-14 -0x1.0e09f6e36701cp-13 "
            "0x1.dc15cf824a12dp-14 0x1.a99073f4ec7ddp-12 -0x1.976401e9e3e5cp-13 "
            "-0x1.00ebba422126bp-10 0x1.3448ac128038cp-12 0x1.c44a78781eb74p-10 "
            "-0x1.503706645d029p-12 -0x1.f9c484a13daa4p-10 0x1.6dab9a8d0e909p-13 "
            "0x1.0919387304acep-10"
        ),
        "j0": _hex(  # error 2^-57.1
            "-0x1.6b2948e843e2bp-4 0x1.08d902d0bf621p-7 -0x1.17057235d9c2bp-12 "
            "0x1.33fa04134ecf5p-18 -0x1.a4b2380ccc074p-25 0x1.87a4ac4550924p-32 "
            "-0x1.08c6212648563p-39 0x1.0fff198f7df2fp-47 -0x1.b72e5ecbd0dc5p-56 "
            "0x1.1e438a59f31a1p-64 -0x1.33486fd7c8b72p-73"
        ),
        "j0_middle": _hex(  # error 2^-56.7
            "-0x1.e47e7aee6b4b9p-4 -0x1.f727637cf1426p-7 0x1.5aaae8badd075p-7 "
            "0x1.a1bf2c3c9d602p-11 -0x1.613873d4bddbcp-12 -0x1.25c1ce315804cp-16 "
            "0x1.7a13b139aec19p-18 0x1.db62ab392ac6ep-23 -0x1.f73a51931edacp-25 "
            "-0x1.f9f5b2c632496p-30 0x1.ca78bca6c9139p-32 0x1.7edc430aa7935p-37 "
            "-0x1.3069535d191a3p-39 -0x1.b1849aaa1e861p-45 0x1.33a8016f7d07ep-47 "
            "0x1.6d1757fdb4eebp-53 -0x1.d407a17485985p-56"
        ),
        "j0_p": _hex(  # error 2^-58.1
            "0x1.000000p+0 -0x1.1fffffffff2aap-4 0x1.cb5ffff0b3733p-4 "
            "-0x1.251edbad9988ap-1 0x1.84b811595169dp+2 -0x1.b7741f093bee6p+6 "
            "0x1.7572fe0071f7ap+11 -0x1.a2c4734ecfebdp+16 0x1.041a52c5562d7p+22 "
            "-0x1.2803c0438037dp+27 0x1.04408db169e47p+32 -0x1.2821de49ccffdp+36 "
            "0x1.3daf112c556d8p+39"
        ),
        "j0_q": _hex(  # error 2^-55.0
            "-0x1.ffffffffffffep-4 0x1.2bfffffff4ab1p-4 -0x1.d11dffaab1b1cp-3 "
            "0x1.ba4c19f9990b6p+0 -0x1.860a337dd1801p+4 0x1.12ed303b39040p+9 "
            "-0x1.15c4da311e7c7p+14 0x1.60c97c69b069dp+19 -0x1.d92b8676a5347p+24 "
            "0x1.187c6aad43f65p+30 -0x1.f6da7b60eeedep+34 0x1.20469b27409eep+39 "
            "-0x1.35a1503a61f06p+42"
        ),
        "j1": _hex(  # error 2^-59.4
            "-0x1.5aeded077f525p-6 0x1.5910c675e079ap-10 -0x1.13333a854ed90p-15 "
            "0x1.e84c1e7be010cp-22 -0x1.16aa83736c782p-28 0x1.bd76179bf6091p-36 "
            "-0x1.07cd7fb3903ddp-43 0x1.e22493c443a66p-52 -0x1.5e83fcc3ebc7fp-60 "
            "0x1.9f8788c864122p-69 -0x1.9901a34f1fd98p-78"
        ),
        "j1_middle": _hex(  # error 2^-56.4
            "0x1.0152b042403aep-3 -0x1.82575a3f05836p-6 -0x1.2437e5d903d31p-7 "
            "0x1.825e975842d64p-10 0x1.0023b7cf15f53p-12 -0x1.322433162e114p-15 "
            "-0x1.eb42fd2fe0889p-19 0x1.0d056aca1d292p-21 0x1.2c4be2715c1a0p-25 "
            "-0x1.301063ca1db24p-28 -0x1.ff20acd59de18p-33 0x1.e19f2ccd7a471p-36 "
            "0x1.40e08e7ee9f40p-40 -0x1.1a8b0cf8a107cp-43 -0x1.356fdbf7268c6p-48 "
            "0x1.e9212cb90d115p-52 0x1.c4f80fb3d409ep-57"
        ),
        "j1_p": _hex(  # error 2^-58.0
            "0x1.000000p+0 0x1.dfffffffff1e4p-4 -0x1.274ffff7e8aabp-3 "
            "0x1.5a6a4af866f49p-1 -0x1.b88cba3766a77p+2 0x1.e5bde38defaabp+6 "
            "-0x1.961e270c9ad3bp+11 0x1.c2a3f522f695ep+16 -0x1.162630aba1facp+22 "
            "0x1.3b6fbb107d8cfp+27 -0x1.14c5f8b5a47bap+32 0x1.3a8e5b93a3b65p+36 "
            "-0x1.5131648fd3da7p+39"
        ),
        "j1_q": _hex(  # error 2^-54.9
            "0x1.800000p-2 -0x1.a3fffffff8554p-4 0x1.1c3cffdca905ep-2 "
            "-0x1.fe57df4a7c07cp+0 0x1.b3ef6f86b11ebp+4 -0x1.2d32d669e0eb1p+9 "
            "0x1.2c9909331fb6ep+14 -0x1.7be7a20734711p+19 0x1.fe7b9028e4ff4p+24 "
            "-0x1.308e600f691adp+30 0x1.136b4c979bd58p+35 -0x1.3ee822d745c9bp+39 "
            "0x1.5a0a103a42fddp+42"
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
        "log_power": _hex(  # error 2^-73.3
            "-0x1.000000p-2 0x1.9999999999993p-3 -0x1.5555555555475p-3 "
            "0x1.24924924a6145p-3 -0x1.000000019e239p-3 0x1.c71c6fd89425cp-4 "
            "-0x1.999974b36ff02p-4 0x1.746607639d373p-4 -0x1.56058d4a33c71p-4 "
            "0x1.2d7d080566ddcp-4"
        ),
        "psi": _hex(  # error 2^-56.6
            "0x1.b763ca67112a0p-1 -0x1.4e15b17372db1p-2 0x1.41c830a3206cfp-3 "
            "-0x1.510ab0e5492fep-4 0x1.6effaf57e8f36p-5 -0x1.97cc6e0fbb11bp-6 "
            "0x1.ca49471fc611bp-7 -0x1.0335d28d6c233p-7 0x1.2660218d8de2cp-8 "
            "-0x1.4f1c17d56dd76p-9 0x1.7e0a9a94c687dp-10 -0x1.b3f55314ac405p-11 "
            "0x1.f1c3fa327c6cep-12 -0x1.1c07250e16542p-12 0x1.4453abf491051p-13 "
            "-0x1.776d3cd0d4d47p-14 0x1.af06d3f90b341p-15 -0x1.aebb73c53dd49p-16 "
            "0x1.dcea1fa519016p-17 -0x1.ec9183dca1177p-17 0x1.25b6ef3769c76p-17"
        ),
        "psi_far": _hex(  # error 2^-57.6
            "-0x1.5555555555555p-4 0x1.111111110db25p-7 -0x1.041040eda96f5p-8 "
            "0x1.1110f48af0beap-8 -0x1.f06a1571bddd2p-8 0x1.5800986c88836p-6 "
            "-0x1.40c6bc457badfp-4 0x1.2b9b0fbe28607p-2 -0x1.01159b6fc3cd4p-1"
        ),
        "sin": _hex(  # error 2^-57.8
            "-0x1.5555555555547p-3 0x1.111111110f578p-7 -0x1.a01a019badb11p-13 "
            "0x1.71de351e602f0p-19 -0x1.ae5e1e6f924a5p-26 0x1.5d7db82e1cfb9p-33"
        ),
        "sin_turn": _hex(  # error 2^-52.8
            "0x1.921fb54442d18p+1 -0x1.4abbce625bdf9p+2 0x1.466bc67756005p+1 "
            "-0x1.32d2cce32aec5p-1 0x1.5078329981107p-4 -0x1.e305eab9e15cbp-8 "
            "0x1.e85cac68dfe1ap-12 -0x1.4a354bad32ab1p-16 -0x1.0a694d075b256p-18 "
            "0x1.1abe7ee103d71p-18"
        ),
        "sinh": _hex(  # error 2^-64.0
            "0x1.5555555555552p-3 0x1.1111111119a91p-7 0x1.a019fff441fc8p-13 0x1.71fea0824bcccp-19"
        ),
        "y0": _hex(  # error 2^-57.5
            "0x1.e0812c72a76a9p-4 -0x1.9178b1dd77779p-7 0x1.ce0346eae9d0ap-12 "
            "-0x1.10142463ff9c1p-17 0x1.871f595a9c5e2p-24 -0x1.7bb0a113fb4dap-31 "
            "0x1.09f291e55d5d8p-38 -0x1.19b141701efa2p-46 0x1.d33b6c327a230p-55 "
            "-0x1.37b937fa690b8p-63 0x1.55ee9ece80342p-72 -0x1.39defdd31ed6ap-81 "
            "0x1.e93a3c5c8a8fcp-91"
        ),
        "y0_middle": _hex(  # error 2^-56.6
            "0x1.1c38036545cfbp-3 -0x1.8f8bc8df612a0p-7 -0x1.7aab9a1131597p-7 "
            "0x1.ec6357fe02512p-11 0x1.5fd3a0a497260p-12 -0x1.8acc8eaf475b2p-16 "
            "-0x1.6de9d9f5a7171p-18 0x1.79af46cf72268p-22 0x1.ba800cfb65ad5p-25 "
            "-0x1.6bacc0d837ca9p-29 -0x1.e1cc8b67ccd1dp-32 0x1.09ecec21b40f9p-35 "
            "-0x1.446e38958c36fp-45 0x1.10ac20e9c3829p-42 -0x1.2412e42ca35a3p-44 "
            "0x1.740c0a1bfa8d2p-47 -0x1.b4cb13d928846p-50 0x1.1ec57ac343245p-52 "
            "-0x1.5d689a24d8c4bp-54 0x1.15b0a5b9932a4p-56 0x1.e653301c94357p-61 "
            "-0x1.3855b23444ce3p-62 -0x1.83fcc9e7ec804p-63 0x1.2f57e4fd3570bp-65"
        ),
        "y1": _hex(  # error 2^-56.1
            "0x1.6ce10ff04b241p-3 0x1.59d8a8087f3b8p-8 -0x1.f8181f9e5869ap-11 "
            "0x1.06d8b4bfe5c35p-15 -0x1.0dbdd4352f150p-21 0x1.53b245a3461bbp-28 "
            "-0x1.24463417e7ba4p-35 0x1.6f132e311c123p-43 -0x1.601ec9d6a59d9p-51 "
            "0x1.0ac5b7296400dp-59 -0x1.479a62a9559f6p-68 0x1.4ce18038e0e04p-77 "
            "-0x1.1c86ba2c2a5cdp-86"
        ),
        "y1_middle": _hex(  # error 2^-56.0
            "0x1.befe038407c64p-4 0x1.7616c13ef86f3p-6 -0x1.1f9bd924bd0b9p-7 "
            "-0x1.53fc323b17de2p-10 0x1.13b94eb0bfe9dp-12 0x1.06eb4aa73dc97p-15 "
            "-0x1.277aefd485b5ep-18 -0x1.acd6acb5a5c9fp-22 0x1.67d3ed097c181p-25 "
            "0x1.169e7ff10d4dfp-28 -0x1.ba66740e9d265p-32 -0x1.85436d45af9bep-38 "
            "-0x1.81151f67e6c6ep-40 0x1.6c0130804a65fp-41 -0x1.eb9a9c02492bdp-44 "
            "0x1.5201dd36ce264p-46 -0x1.9bd753da50517p-49 0x1.10989bca512e1p-51 "
            "-0x1.b58231aa1a48dp-53 0x1.76fd897c0b46fp-55 0x1.09b2b14ccec5cp-58 "
            "-0x1.340490e617aa8p-60 -0x1.1d1d2df6e2406p-61 0x1.d27c9c63cc15cp-64"
        ),
    },
    "f32": {
        "arcsin": _hex(  # error 2^-27.6
            "0x1.5555cap-3 0x1.330164p-4 0x1.748b2cp-5 0x1.8ba81cp-6 0x1.59da04p-5"
        ),
        "arctan": _hex(  # error 2^-30.2
            "-0x1.55554ap-2 0x1.9993b2p-3 -0x1.240e1cp-3 0x1.bc4cd6p-4 -0x1.390300p-4 0x1.176daep-5"
        ),
        "artanh": _hex(  # error 2^-30.1
            "0x1.555540p-2 0x1.99ad92p-3 0x1.21b1fep-3 0x1.0c89c0p-3"
        ),
        "cbrt": _hex(  # error 2^-17.9
            "0x1.555468p-2 0x1.c97944p-3 0x1.65639ep-3"
        ),
        "cos": _hex(  # error 2^-33.1
            "0x1.55554ap-5 -0x1.6c0c1ap-10 0x1.99e0f8p-16"
        ),
        "cosh": _hex(  # error 2^-29.2
            "0x1.00022ap-1"
        ),
        "cot": _hex(  # error 2^-29.4
            "0x1.55552ep-2 0x1.6c32b4p-6 0x1.120444p-9 0x1.08d156p-12"
        ),
        "erf": _hex(  # error 2^-29.6
            "0x1.06eba8p-3 -0x1.812740p-2 0x1.ce2d50p-4 "
            "-0x1.b7fe90p-6 0x1.542e0ep-8 -0x1.a50ae8p-11 "
            "0x1.4c339cp-14"
        ),
        "erfc": _hex(  # error 2^-28.6
            "0x1.b5d878p-2 -0x1.17c4b6p-2 0x1.3c1db4p-3 "
            "-0x1.43dcbcp-4 0x1.2e5f80p-5 -0x1.f0ae50p-7 "
            "0x1.44191ap-8 -0x1.185e22p-10 0x1.c7b458p-14"
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
        "expm1": _hex(  # error 2^-27.7
            "0x1.fffff8p-2 0x1.555552p-3 0x1.558e3ap-5 0x1.113b60p-7"
        ),
        "log": _hex(  # error 2^-29.0
            "-0x1.fffffep-2 0x1.5555e6p-2 -0x1.003654p-2 0x1.933f56p-3"
        ),
        "log1p": _hex(  # error 2^-29.8
            "0x1.55554ep-2 -0x1.ffff3ep-3 0x1.999fe6p-3 "
            "-0x1.558bf0p-3 0x1.23da2ap-3 -0x1.f5875ap-4 "
            "0x1.d47e0ap-4 -0x1.0159a2p-3 0x1.73e666p-4"
        ),
        "log2_power": _hex(  # error 2^-35.6
            "0x1.ec709cp-2 -0x1.7154b4p-2 0x1.279ed4p-2 -0x1.e7cda8p-3"
        ),
        "octave": _hex(  # error 2^-31.6
            "-0x1.000000p-1 0x1.5555a0p-2 -0x1.000ca8p-2 0x1.9058fcp-3"
        ),
        "octave10": _hex(  # error 2^-26.8
            "-0x1.8be6b0p-27 -0x1.bcb7fep-3 0x1.2887a6p-3 -0x1.b31008p-4"
        ),
        "octave2": _hex(  # error 2^-26.8
            "0x1.f3c4d0p-27 -0x1.7154b6p-1 0x1.ec8684p-2 -0x1.694fccp-2"
        ),
        "sin": _hex(  # error 2^-27.9
            "-0x1.555544p-3 0x1.1106bcp-7 -0x1.9916aap-13"
        ),
        "sinh": _hex(  # error 2^-34.6
            "0x1.555552p-3 0x1.113892p-7"
        ),
    },
}
