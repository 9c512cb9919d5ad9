"""One definition, two emitters: what NumPy computes of it has the bits of the native code."""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

from tests.ops.op_parity import tolerance
from tests.support.compare import assert_same
from tests.support.native_kernels import (
    TARGETS,
    Array,
    N,
    NativeKernel,
    P,
    kernel,
    load,
    output,
    same_bits,
)
from tracejit.codegen.llvm.engine import HostTarget
from tracejit.codegen.reference import run_kernel
from tracejit.codegen.vector_math.define import ARITY, PARTS, define
from tracejit.codegen.vector_math.evaluate import evaluate
from tracejit.ir.kernel import Call, For, Kernel, Param, Store
from tracejit.ir.op import OPS
from tracejit.ir.types import DTYPES

pytestmark = pytest.mark.sampled(6)

FLOATS = ("f64", "f32", "f16")
#: Those that the parts of complex results have are of float64 alone.
EVERY = ARITY | PARTS
CASES = [(n, d) for n in sorted(EVERY) for d in FLOATS if n in ARITY or d == "f64"]
HOST = TARGETS["host"]
NO_AVX512 = frozenset(f for f in HOST.features if not f.startswith("avx512"))
HOSTS: dict[str, HostTarget] = {
    "host": HOST,
    "plain": replace(HOST, has_fma=False),
    "256": replace(HOST, vector_bits=256, features=NO_AVX512),
    "128": replace(HOST, vector_bits=128, features=frozenset()),
    "scalar": replace(HOST, vector_bits=8, features=NO_AVX512, has_fma=False),
}
COUNT = 400


def awkward(kind: Any) -> Array:
    """Both zeros, both ends of the normal and of the subnormal numbers, infinities, NaN."""
    info = np.finfo(kind)
    sizes = [0, info.smallest_subnormal, 3 * info.smallest_subnormal, info.tiny, info.eps, info.max]
    sizes += [np.nextafter(info.tiny, kind(0)), 0.25, 0.5, 1, 1.5, 2, 3, 6.5, 172, np.inf, np.nan]
    return np.array([*sizes, *(-s for s in sizes)], kind)


@functools.cache
def points(dtype: str, arity: int) -> tuple[Array, ...]:
    """Every pair of awkward numbers, all bit patterns alike, all magnitudes, and usual ones."""
    kind = DTYPES[dtype].type
    draw = np.random.default_rng([3, arity])
    pattern = np.dtype(f"u{kind().itemsize}")
    columns = []
    every = itertools.product(awkward(kind), repeat=arity)
    # Of four numbers there are a million combinations.
    pairs = zip(
        *itertools.islice(every, 0, None, max(1, len(awkward(kind)) ** arity // 5000)), strict=True
    )
    for special in pairs:
        size = np.finfo(kind).maxexp / 8
        parts = [
            np.array(special, kind),
            draw.integers(0, np.iinfo(pattern).max, COUNT, pattern, endpoint=True).view(kind),
            draw.choice([-1, 1], COUNT) * np.exp2(draw.uniform(-size, size, COUNT)),
            draw.uniform(-1, 1, COUNT),
            draw.uniform(-9, 9, COUNT),
            draw.uniform(-180, 180, COUNT),
            draw.integers(-40, 180, COUNT),
            1 + draw.choice([-1, 1], COUNT) * np.exp2(draw.uniform(-size, 0, COUNT)),
        ]
        columns.append(np.concatenate([part.astype(kind) for part in parts]))
    return tuple(columns)


def elementwise(name: str, dtype: str) -> Kernel:
    names = "abcd"[: EVERY[name]]
    expr = Call(name, tuple(load(column, P, dtype=dtype) for column in names), dtype)
    params = [*(Param(column, dtype, (N,)) for column in names), output(dtype)]
    return kernel(params, For("i", N, (Store("out", (P,), expr),), True))


def native(name: str, dtype: str, host: str, columns: tuple[Array, ...]) -> Array:
    out = np.zeros_like(columns[0])
    buffers = dict(zip("abcd", columns, strict=False)) | {"out": out}
    assert (
        NativeKernel(elementwise(name, dtype), HOSTS[host])(buffers, {"n": out.size, "m": 0}) == 0
    )
    return out


@pytest.mark.sampled(180, kind=lambda name, **_: name)
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_bits_of_native_code(name: str, dtype: str, host: str) -> None:
    """With fused multiply-add and without, in lanes of every width and one by one."""
    columns, target = points(dtype, EVERY[name]), HOSTS[host]
    want = evaluate(name, *columns, fma=target.has_fma, permutes=target.permutes)
    got = native(name, dtype, host, columns)
    bad = [i for i in range(got.size) if not same_bits(got[i : i + 1], want[i : i + 1])]
    shown = [([float(c[i]) for c in columns], got[i], want[i]) for i in bad[:5]]
    assert not bad, f"{len(bad)} of {got.size}: {shown}"


@pytest.mark.sampled(32, kind=lambda name, **_: name)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", sorted(ARITY))
def test_a_fused_result_is_in_the_class_of_the_op(name: str, dtype: str) -> None:
    columns = points(dtype, ARITY[name])
    plain, fused = (evaluate(name, *columns, fma=fma) for fma in (False, True))
    assert_same(plain, fused, **tolerance(OPS[name], columns, {}))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", ("f64", "f32"))
@pytest.mark.parametrize("name", sorted(ARITY))
def test_any_nan_is_a_nan(name: str, dtype: str) -> None:
    """Whatever its low bits; in a branch that another lane takes no table is left."""
    kind = DTYPES[dtype].type
    first = int(np.array(np.inf, kind).view(f"u{kind().itemsize}"))
    low = [1, 172, 173, 255, 2**20 + 200, 2**23 - 1]
    nans = np.array([first + bits for bits in low], f"u{kind().itemsize}").view(kind)
    for other in (-3.5, 0.0, 5.0, 1e30, np.inf):
        x = np.append(np.append(nans, -nans), kind(other))
        for fma in (False, True):
            y = evaluate(name, *(x,) * ARITY[name], fma=fma)
            assert np.isnan(y[:-1]).all()


@pytest.mark.parametrize("name", ["exp", "sin", "power", "gamma"])
def test_numbers_by_themselves(name: str) -> None:
    """A number's result is the one that it has in an array, and an array keeps its shape."""
    for dtype in FLOATS:
        columns = tuple(c[:1200] for c in points(dtype, ARITY[name]))
        want = evaluate(name, *columns)
        assert evaluate(name, *(c.reshape(30, 40) for c in columns)).shape == (30, 40)
        for k in range(0, 1200, 7):
            got = evaluate(name, *(c[k] for c in columns))
            assert type(got) is DTYPES[dtype].type
            assert same_bits(np.asarray(got), want[k])


@pytest.mark.parametrize("host", HOSTS)
def test_the_reference_runs_the_definitions(host: str) -> None:
    for name in ("exp", "tanh", "power", "gammaln"):
        for dtype in FLOATS:
            columns = tuple(c[-200::9].copy() for c in points(dtype, ARITY[name]))
            target, out = HOSTS[host], np.zeros_like(columns[0])
            buffers = dict(zip("ab", columns, strict=False)) | {"out": out}
            run_kernel(elementwise(name, dtype), buffers, {"n": out.size, "m": 0}, target=target)
            assert same_bits(out, native(name, dtype, host, columns))


@pytest.mark.sampled(16)
@pytest.mark.parametrize(("name", "dtype"), [case for case in CASES if case[1] != "f16"])
def test_the_text_of_one_lane_is_code_for_gpus(name: str, dtype: str) -> None:
    """It calls nothing, rounds as it is written and keeps subnormal numbers."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple = "nvptx64-nvidia-cuda"
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu="sm_80", opt=2)
    definition = define(name, dtype, 1)
    text = "\n".join([*definition.all_declarations(), *definition.everything().values()])
    module = llvm.parse_assembly(text.replace("define internal", "define"))
    module.triple = triple
    code = machine.emit_assembly(module)
    assert ".visible .func" in code and "fma.rn.f" in code
    assert not [word for word in (".extern", ".approx", ".ftz") if word in code]
