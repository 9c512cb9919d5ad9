"""Kernels compiled for real, which needs no device; skipped without Numba-CUDA."""

from __future__ import annotations

import importlib.metadata
import linecache
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tracejit.codegen.cuda import compile as module
from tracejit.codegen.cuda.compile import compile_cubin, compile_kernel, compile_ptx
from tracejit.codegen.cuda.kernel_cache import KernelCache
from tracejit.codegen.cuda.numba_import import import_numba
from tracejit.errors import DeviceError

SOURCE = """\
def k0(x, y, o, n):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < n:
        o[i] = x[i] * y + o[i]
"""
SIGNATURE = ("f32*", "f32", "f32*", "i64")
ELF = b"\x7fELF"


@pytest.fixture
def numba_cuda() -> None:
    pytest.importorskip("numba_cuda")


@pytest.mark.usefixtures("numba_cuda")
class TestForReal:
    @pytest.mark.parametrize("cc", [(8, 0), (9, 0), (12, 0)])
    def test_ptx_has_the_kernels_name_and_no_contraction(self, cc: tuple[int, int]) -> None:
        ptx = compile_ptx(SOURCE, "k0", SIGNATURE, cc, {})
        assert ".visible .entry k0(" in ptx and f".target sm_{cc[0]}{cc[1]}" in ptx
        assert "fma" not in ptx and "mul.rn.f32" in ptx and "add.rn.f32" in ptx
        cubin = compile_cubin(ptx, cc)
        assert cubin is not None and cubin[:4] == ELF and b".text.k0" in cubin

    def test_every_dtype_in_memory_and_by_value(self) -> None:
        dtypes = ("f64", "f32", "f16", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8", "b1")
        pointers = ", ".join(f"p{k}" for k in range(len(dtypes)))
        values = ", ".join(f"v{k}" for k in range(len(dtypes)))
        lines = [f"    p{k}[1] = p{k}[0]" for k in range(len(dtypes))]
        lines += [f"    if v{k} != 0: p0[2] = {k}" for k in range(len(dtypes))]
        source = f"def k({pointers}, {values}):\n" + "\n".join(lines) + "\n"
        signature = [*(f"{d}*" for d in dtypes), *dtypes]
        ptx = compile_ptx(source, "k", signature, (8, 0), {})
        params = [line.split()[1] for line in ptx.splitlines() if ".param" in line and "_" in line]
        given = [p for p in params if p.startswith(".")]
        by_value = ".f64 .f32 .f32 .u64 .u32 .u16 .u8 .u64 .u32 .u16 .u8 .u8".split()
        assert given[:24] == [".u64"] * 12 + by_value

    def test_names_of_the_namespace(self) -> None:
        import_numba()  # It warns of NumPy 2.5 where it is imported otherwise.
        from numba.cuda import types
        from numba.cuda.extending import intrinsic

        # Functions in Python, `cuda.jit` or `register_jitable`, ask for the current device.
        @intrinsic
        def twice(typing_context: Any, x: Any) -> Any:
            return x(x), lambda context, builder, signature, args: builder.fadd(*args, *args)

        source = "def k(o):\n    o[0] = float32(twice(o[1] * o[2]))\n"
        names = {"twice": twice, "float32": types.float32}
        ptx = compile_ptx(source, "k", ("f32*",), (8, 0), names)
        assert "mul.rn.f32" in ptx and "add.rn.f32" in ptx and "fma" not in ptx

    def test_errors_show_the_source(self) -> None:
        source = "def k(o):\n    o[0] = o[1] + o\n"
        with pytest.raises(Exception, match="No implementation of function") as e:
            compile_ptx(source, "k", ("f32*",), (8, 0), {})
        assert e.value.__notes__ == ["kernel k:\n1 def k(o):\n2     o[0] = o[1] + o"]

    def test_nothing_is_left_in_linecache(self) -> None:
        compile_ptx(SOURCE, "k0", SIGNATURE, (8, 0), {})
        assert not [f for f in linecache.cache if f.startswith("<tracejit kernel k0 ")]

    def test_no_parameter(self) -> None:
        for kind in ("c64*", "x", "f128"):
            with pytest.raises(ValueError, match="is no parameter of a kernel"):
                compile_ptx(SOURCE, "k0", (kind,), (8, 0), {})

    def test_a_capability_that_is_unknown_is_left_to_the_driver(self) -> None:
        ptx = compile_ptx(SOURCE, "k0", SIGNATURE, (8, 0), {})
        assert compile_cubin(ptx, (99, 0)) is None
        assert compile_cubin("no ptx", (8, 0)) is None

    def test_a_kernel_is_compiled_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = []

        def namespace() -> Mapping[str, Any]:
            asked.append(1)
            return {}

        def image(cc: tuple[int, int] = (8, 0), source: str = SOURCE) -> bytes:
            cache = KernelCache(tmp_path)
            return compile_kernel(source, "k0", SIGNATURE, cc, namespace, cache)

        first = image()
        assert first[:4] == ELF
        assert image() == first and len(asked) == 1
        assert image((9, 0)) != first and len(asked) == 2
        image(source=SOURCE.replace("+ o[i]", "- o[i]"))
        assert len(asked) == 3
        monkeypatch.setattr(module, "_versions", lambda: ("another",))
        image()
        assert len(asked) == 4

    def test_ptx_where_there_is_no_linker(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "compile_cubin", lambda ptx, cc: None)
        found = compile_kernel(SOURCE, "k0", SIGNATURE, (8, 0), dict, KernelCache(tmp_path))
        assert b".visible .entry k0(" in found

    def test_a_known_kernel_needs_no_numba(self, tmp_path: Path) -> None:
        program = (
            "import sys\n"
            "from pathlib import Path\n"
            "from tests.codegen.cuda.test_compile import SIGNATURE, SOURCE\n"
            "from tracejit.codegen.cuda.compile import compile_kernel\n"
            "from tracejit.codegen.cuda.kernel_cache import KernelCache\n"
            f"cache = KernelCache(Path({str(tmp_path)!r}))\n"
            "found = compile_kernel(SOURCE, 'k0', SIGNATURE, (8, 0), dict, cache)\n"
            "print(found[:4] == b'\\x7fELF', 'numba' in sys.modules)\n"
        )
        said = [
            subprocess.run(
                [sys.executable, "-c", program], capture_output=True, text=True, check=True
            ).stdout.split()
            for _ in range(2)
        ]
        assert said == [["True", "True"], ["True", "False"]]


def test_without_numba_cuda_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    with pytest.raises(DeviceError, match=r"pip install 'tracejit\[cuda\]'"):
        module._version()
