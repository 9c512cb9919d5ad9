"""tanh of float32 in 32 pieces, as printed by `python -m benchmarks.vector_math.tanh_pieces`.

Nothing here was taken from another library.
"""

from __future__ import annotations

__all__ = ["FIRST", "LAST", "TANH"]


def _hex(words: str) -> tuple[float, ...]:
    return tuple(map(float.fromhex, words.split()))


#: The pieces are numbered by their encodings without the low 21 bits; the first begins at 0.
FIRST = 489
#: Of this and of what is beyond the result is 1.
LAST = 9.03125
#: Error 2^-25.6: centres, constants, coefficients by degree.
TANH = (
    _hex(
        "0x0.0p+0 0x1.a00548p-5 0x1.dfff48p-5 0x1.200c32p-4 "
        "0x1.5ff334p-4 0x1.9ffde6p-4 0x1.e00434p-4 0x1.1ff20ep-3 "
        "0x1.6006a0p-3 0x1.a009b8p-3 0x1.dff0bcp-3 0x1.1ff652p-2 "
        "0x1.600068p-2 0x1.a0044cp-2 0x1.dff4c6p-2 0x1.1ff3a2p-1 "
        "0x1.5ffc7cp-1 0x1.a004f0p-1 0x1.dff95ap-1 0x1.2008dep+0 "
        "0x1.600640p+0 0x1.9fff10p+0 0x1.e00076p+0 0x1.1ff226p+1 "
        "0x1.600afcp+1 0x1.a00e1ep+1 0x1.e0081cp+1 0x1.2004d2p+2 "
        "0x1.6005f2p+2 0x1.9ff060p+2 0x1.e00fa0p+2 0x1.108fa0p+3"
    ),
    _hex(
        "0x0.0p+0 0x1.9fa9d2p-5 0x1.df72dap-5 0x1.1f92e0p-4 "
        "0x1.5f161ep-4 0x1.9e9142p-4 0x1.ddd4b8p-4 0x1.1e1024p-3 "
        "0x1.5c9976p-3 0x1.9a6870p-3 0x1.d757e8p-3 0x1.189aa6p-2 "
        "0x1.52c322p-2 0x1.8a8b8ap-2 0x1.bfa556p-2 0x1.04ff48p-1 "
        "0x1.31559cp-1 0x1.578bb6p-1 0x1.77d528p-1 0x1.9e62d4p-1 "
        "0x1.c27b78p-1 0x1.d9c6b6p-1 0x1.e878b4p-1 0x1.f4bd6ep-1 "
        "0x1.fbd5c0p-1 0x1.fe76d0p-1 0x1.ff6f2ap-1 0x1.ffdfacp-1 "
        "0x1.fffba0p-1 0x1.ffff68p-1 0x1.ffffecp-1 0x1.fffffep-1"
    ),
    _hex(
        "-0x1.da1eb2p-39 0x1.feae8cp-1 0x1.fe3f08p-1 0x1.fd79eap-1 "
        "0x1.fc3d04p-1 0x1.fac14cp-1 0x1.f9083cp-1 0x1.f602c0p-1 "
        "0x1.f12a74p-1 0x1.eb706ap-1 0x1.e4e15cp-1 0x1.d98daap-1 "
        "0x1.c7f704p-1 0x1.b3fdc6p-1 0x1.9e27a6p-1 0x1.7af43cp-1 "
        "0x1.49e972p-1 0x1.197c2ap-1 0x1.d83dd4p-2 0x1.613c34p-2 "
        "0x1.ce9364p-3 0x1.266032p-3 0x1.6fce64p-4 0x1.645bf0p-5 "
        "0x1.097a76p-6 0x1.889940p-8 0x1.218310p-9 0x1.0299cep-11 "
        "0x1.17eb30p-14 0x1.2ff1b2p-17 0x1.487f76p-20 0x1.5c238ep-23"
    ),
    _hex(
        "0x1.caf0cep-29 -0x1.9e976ep-5 -0x1.ddce26p-5 -0x1.1e27f8p-4 "
        "-0x1.5c81aep-4 -0x1.9a51f6p-4 -0x1.d753e6p-4 -0x1.187b60p-3 "
        "-0x1.527fdep-3 -0x1.89ed4ap-3 -0x1.be6092p-3 -0x1.038880p-2 "
        "-0x1.2dafd6p-2 -0x1.4ff91cp-2 -0x1.6a195ap-2 -0x1.8259ecp-2 "
        "-0x1.897d70p-2 -0x1.79befep-2 -0x1.5aa5e6p-2 -0x1.1de460p-2 "
        "-0x1.96ffb2p-3 -0x1.106658p-3 -0x1.5ee776p-4 -0x1.5c8316p-5 "
        "-0x1.074dbcp-6 -0x1.876d8ap-8 -0x1.212bbep-9 -0x1.0236bcp-11 "
        "-0x1.17839cp-14 -0x1.2edbd2p-17 -0x1.c4b13ap-20 -0x1.9e4688p-21"
    ),
    _hex(
        "-0x1.555578p-2 -0x1.51d18ep-2 -0x1.50aa2cp-2 -0x1.4ea0bap-2 "
        "-0x1.4b5b10p-2 -0x1.4773e0p-2 -0x1.42f0d8p-2 -0x1.3b15dap-2 "
        "-0x1.2ea2a6p-2 -0x1.2027f6p-2 -0x1.0fe324p-2 -0x1.e92a94p-3 "
        "-0x1.98581cp-3 -0x1.426c28p-3 -0x1.d73dfep-4 -0x1.bd72a2p-5 "
        "0x1.d6fd7ap-7 0x1.073972p-4 0x1.842752p-4 0x1.c69104p-4 "
        "0x1.97d04ep-4 0x1.33e0e4p-4 0x1.a859dcp-5 0x1.bc2638p-6 "
        "0x1.5959b4p-7 0x1.031a94p-8 0x1.80b4b0p-10 0x1.58147ap-12 "
        "0x1.7692d0p-15 0x1.9560f4p-18 0x1.a2e772p-21 0x1.36ef7ap-24"
    ),
    _hex(
        "0x1.cb8c78p-16 0x1.479b2ap-6 0x1.e9ac16p-6 0x1.78560ep-5 "
        "0x1.be2f1ep-5 0x1.065c06p-4 0x1.2dd090p-4 0x1.6b65c2p-4 "
        "0x1.afa7ecp-4 0x1.ee70ecp-4 0x1.12145ap-3 0x1.32deeap-3 "
        "0x1.4fff46p-3 0x1.5c115ep-3 0x1.583ad6p-3 0x1.3a040cp-3 "
        "0x1.e9495ep-4 0x1.473c08p-4 0x1.632330p-5 0x1.de1972p-9 "
        "-0x1.5a0106p-6 -0x1.9bb40cp-6 -0x1.55a7f6p-6 -0x1.961f4ap-7 "
        "-0x1.5121b2p-8 -0x1.01f7aep-9 -0x1.836148p-11 -0x1.68649cp-13 "
        "-0x1.8951d8p-16 -0x1.b48234p-19 0x1.82818ap-20 0x1.2d7b72p-19"
    ),
    _hex(
        "0x1.100d30p-3 -0x1.e9a9f6p-3 -0x1.61520ap-4 0x1.f63eecp-4 "
        "0x1.9a00c6p-4 0x1.9514cep-4 0x1.9b8988p-4 0x1.ce651ep-4 "
        "0x1.a5abe2p-4 0x1.7accc8p-4 0x1.44bbd8p-4 0x1.e4d4eep-5 "
        "0x1.076358p-5 0x1.8a8b5ap-8 -0x1.151122p-6 -0x1.7437d6p-5 "
        "-0x1.f800dap-5 -0x1.00b938p-4 -0x1.ab87fcp-5 -0x1.070f54p-5 "
        "-0x1.38f718p-7 0x1.6a22bap-10 0x1.2f994cp-8 0x1.049fc6p-8 "
        "0x1.f658b8p-10 0x1.b3c6b6p-11 0x1.332c90p-12 0x1.1fb4d8p-14 "
        "0x1.270536p-17 0x1.4b8eaep-20 0x1.29e9d8p-22 0x1.476096p-23"
    ),
)
