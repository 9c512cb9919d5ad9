"""The driver's functions from Python, with a library that is none of NVIDIA's."""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.codegen.cuda.fake_driver import FakeLibrary
from tracejit.codegen.cuda import driver as module
from tracejit.codegen.cuda.driver import SYMBOLS, CudaDriver, CudaError, Driver
from tracejit.errors import DeviceError


@pytest.fixture
def library() -> FakeLibrary:
    return FakeLibrary()


@pytest.fixture
def cuda(library: FakeLibrary) -> CudaDriver:
    return CudaDriver(library)


def test_symbols_are_the_addresses_of_the_functions(library: FakeLibrary, cuda: CudaDriver) -> None:
    found = cuda.symbols()
    assert tuple(found) == SYMBOLS and all(found.values()) and len(set(found.values())) == 8
    wait = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(found["cuStreamSynchronize"])
    assert wait(7) == 0
    assert library.calls[-1] == ("cuStreamSynchronize", (7,))


def test_it_is_a_driver(cuda: CudaDriver) -> None:
    known: Driver = cuda
    assert known.alloc(8)


@pytest.mark.parametrize(
    ("library", "said"),
    [
        (lambda: FakeLibrary(devices=0), "no NVIDIA GPU was found"),
        (lambda: FakeLibrary(cuInit=lambda flags: 100), "no NVIDIA GPU was found"),
        (lambda: FakeLibrary(cuInit=lambda flags: 34), "no NVIDIA driver was found"),
        (lambda: FakeLibrary(cuInit=lambda flags: 803), "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
        (lambda: FakeLibrary(lacks=("cuMemAllocAsync",)), "too old: it has no cuMemAllocAsync"),
    ],
)
def test_what_cannot_be_used_says_what_to_do(library: Any, said: str) -> None:
    with pytest.raises(DeviceError, match=re.escape(said)) as e:
        CudaDriver(library())
    assert "TRACEJIT_DEVICE=cuda-sim" in str(e.value) and "tracejit[cuda]" in str(e.value)


def test_no_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "_names", lambda: ("libno_such_cuda.so.1",))
    with pytest.raises(DeviceError, match="no NVIDIA driver was found"):
        module._load()
    broken = tmp_path / "libcuda.so.1"
    broken.write_bytes(b"no library")
    monkeypatch.setattr(module, "_names", lambda: (str(broken),))
    with pytest.raises(DeviceError, match=r"cannot be loaded: .*libcuda\.so\.1"):
        module._load()


def test_names_of_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "libcuda.so.1" in module._names() or sys.platform == "win32"
    monkeypatch.setattr(sys, "platform", "win32")
    assert module._names() == ("nvcuda.dll",)


def test_errors_have_the_drivers_name_and_text(cuda: CudaDriver) -> None:
    cuda.check(0)
    with pytest.raises(CudaError, match="^launching: CUDA_ERROR_LAUNCH_FAILED: unspecified") as e:
        cuda.check(719, "launching")
    assert (e.value.status, e.value.name) == (719, "CUDA_ERROR_LAUNCH_FAILED")
    with pytest.raises(CudaError, match="CUDA error 9999: an error that the driver does not know"):
        cuda.check(9999)
    with pytest.raises(MemoryError, match="4294967296 bytes on the GPU: .*out of memory"):
        cuda.alloc(1 << 32)


def test_the_primary_context_is_retained_once_and_set(
    library: FakeLibrary, cuda: CudaDriver
) -> None:
    assert cuda.ensure_context(0) is None
    assert library.current == 0x5000 + 40
    # The pool keeps all of its memory.
    assert library.pool == {4: 2**64 - 1}
    before = len(library.calls)
    assert cuda.ensure_context(0) is None
    assert [name for name, _ in library.calls[before:]] == ["cuCtxGetCurrent"]
    library.current = 0x1234
    assert cuda.ensure_context(0) == 0x1234
    assert library.current == 0x5000 + 40
    cuda.set_context(0x1234)
    assert library.current == 0x1234
    assert len(library.named("cuDevicePrimaryCtxRetain")) == 1


def test_a_device_without_pools_is_refused(library: FakeLibrary, cuda: CudaDriver) -> None:
    library.attributes[115] = 0
    with pytest.raises(DeviceError, match="GPU 0 has no stream-ordered memory"):
        cuda.ensure_context(0)


def test_a_device_that_is_not_there(cuda: CudaDriver) -> None:
    with pytest.raises(CudaError, match="GPU 3: CUDA_ERROR_INVALID_VALUE"):
        cuda.ensure_context(3)


def test_what_a_device_is(cuda: CudaDriver) -> None:
    assert cuda.compute_capability() == (9, 0)
    assert cuda.multiprocessors() == 132
    assert cuda.devices == 1


def test_modules(library: FakeLibrary, cuda: CudaDriver) -> None:
    found = cuda.load(b"\x7fELF\0\0")
    assert cuda.function(found, "k0") == found + 2
    with pytest.raises(CudaError, match=r"loading kernels \(line 1: bad\): CUDA_ERROR_INVALID_PTX"):
        cuda.load(b"bad ptx")


def test_memory_there_and_back(library: FakeLibrary, cuda: CudaDriver) -> None:
    x = np.arange(12.0).reshape(3, 4).T
    at = cuda.alloc(x.nbytes, 5)
    assert cuda.device_of_pointer(at + 8) == 0
    assert cuda.device_of_pointer(64) is None
    cuda.to_device(at, x, 5)
    y = np.empty_like(x)
    cuda.to_host(y, at, 5)
    np.testing.assert_array_equal(x, y)
    assert library.named("cuStreamSynchronize") == [(5,), (5,)]
    cuda.free(at, 5)
    assert not library.memory
    with pytest.raises(CudaError):
        cuda.free(at, 5)


def test_memory_with_gaps_is_refused(cuda: CudaDriver) -> None:
    with pytest.raises(ValueError, match="gaps"):
        cuda.to_device(cuda.alloc(800), np.zeros((10, 10))[:, ::2])
    x = np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2)
    at = cuda.alloc(x.nbytes)
    cuda.to_device(at, x)
    y = np.empty_like(x)
    cuda.to_host(y, at)
    np.testing.assert_array_equal(x, y)


def test_nothing_is_allocated_and_copied_too(library: FakeLibrary, cuda: CudaDriver) -> None:
    at = cuda.alloc(0)
    cuda.to_device(at, np.empty((0, 3)))
    cuda.to_host(np.empty((0, 3)), at)
    assert not library.named("cuMemcpyHtoDAsync_v2") and not library.named("cuMemcpyDtoHAsync_v2")
    cuda.trim()
    assert library.named("cuMemPoolTrimTo") == [(0x7000 + 40, 0)]
