"""Arrays on a GPU: found, read and made, with libraries and a driver that have none."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.codegen.cuda.fake_driver import FakeLibrary
from tests.runtime.device import fake_libraries as fake
from tracejit.codegen.cuda.driver import CudaDriver
from tracejit.errors import DeviceError
from tracejit.runtime.device import arrays, interfaces, libraries, torch_arrays
from tracejit.runtime.device.arrays import common_library, find, wait_for_others
from tracejit.runtime.device.interfaces import DeviceBuffer

ORDERS = [(0, 1, 2), (2, 1, 0), (1, 0, 2), (2, 0, 1)]


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeLibrary]:
    """The libraries, and a driver of one device."""
    made = FakeLibrary()
    known = CudaDriver(made)
    monkeypatch.setattr(libraries, "driver", lambda: known)
    caches = (
        libraries.cupy_library,
        libraries.numba_library,
        torch_arrays.torch_library,
        interfaces._library,
    )
    for name in ("cupy", "torch"):
        monkeypatch.delitem(sys.modules, name, raising=False)
        monkeypatch.setitem(sys.modules, name, getattr(fake, name)())
    monkeypatch.setattr(arrays, "_READERS", {})
    monkeypatch.setattr(fake, "STREAMS", {})
    for cached in caches:
        cached.cache_clear()
    yield made
    gc.collect(1)
    for cached in caches:
        cached.cache_clear()


class Exported:
    """An array with the interface, on memory of the driver's."""

    def __init__(self, x: np.ndarray[Any, Any], cuda: FakeLibrary, **more: Any) -> None:
        self.x = x
        base: Any = x if x.base is None else x.base
        cuda.memory[base.ctypes.data] = base.reshape(-1, order="A").view(np.uint8)
        self.described = {
            "version": 3,
            "shape": x.shape,
            "strides": x.strides,
            "typestr": x.dtype.str,
            "data": (x.ctypes.data, False),
            **more,
        }

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.described


def owned(*shape: int, dtype: Any = np.float64) -> np.ndarray[Any, Any]:
    return np.array(np.arange(np.prod(shape)).reshape(shape), dtype)


# What is no array on a device -------------------------------------------------------------------


def test_other_objects() -> None:
    class Plain:
        pass

    class Asked:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(name)

    for x in (
        None,
        1,
        1.5,
        "a",
        np.ones(3),
        np.float64(1),
        [1],
        Plain(),
        Asked(),
        Plain,
        DeviceBuffer,
    ):
        assert find(x) is None
        assert arrays._READERS[type(x)] is None


def test_arrays_on_the_host() -> None:
    host = fake.tensor([1.0])
    host.is_cuda = False
    assert find(host) is None

    class OnHost:
        @property
        def __cuda_array_interface__(self) -> Any:
            raise AttributeError("on the host")

        def __dlpack__(self, **options: Any) -> Any:
            raise AssertionError

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    assert find(OnHost()) is None


def test_nothing_is_imported() -> None:
    program = (
        "import sys, tracejit, tracejit.runtime.device.arrays as a; a.find(object())\n"
        "tracejit.jit(lambda x: x)([tracejit.interop])\n"
        "names = 'cupy', 'torch', 'numba', 'jax', 'cuda', 'sklearn'\n"
        "print([m for m in names if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_classes_are_not_remembered_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "_MOST_READERS", 8)
    for k in range(50):
        assert find(type(f"C{k}", (), {})()) is None
    assert len(arrays._READERS) <= 8


# CuPy -------------------------------------------------------------------------------------------


def test_cupy_arrays() -> None:
    x = fake.cupy_array(owned(3, 4).T, 1)
    a = find(x)
    assert a is not None and a.owner is x and a.ordinal == 1 and not a.read_only
    assert (a.shape, a.strides, a.dtype) == ((4, 3), (8, 32), np.dtype(np.float64))
    assert a.pointer == x.x.ctypes.data and a.library.name == "CuPy" and a.library.ordinal == 1
    fake.STREAMS[1] = 77
    assert a.library.stream() == 77 and find(fake.cupy_array([1.0])).library.stream() == 0  # type: ignore[union-attr]
    assert a.library.describe(x) == (a.pointer, a.shape, a.strides, a.dtype, False)


def test_classes_that_derive_from_a_librarys() -> None:
    class Own(fake.CupyArray):
        pass

    found = find(Own((2,), np.float32))
    assert found is not None and found.library.name == "CuPy"


@pytest.mark.parametrize("make", [fake.cupy_array, fake.tensor])
@pytest.mark.parametrize("order", ORDERS)
def test_new_arrays_and_copies(make: Any, order: tuple[int, ...]) -> None:
    library = find(make(np.ones(1), 1)).library
    x = owned(2, 3, 4).transpose(np.argsort(order))
    made = library.empty(x.shape, x.dtype, order)
    a = find(made)
    assert a is not None and a.shape == x.shape and a.ordinal == 1 and a.library is library
    assert a.strides == libraries.dense_strides(x.shape, order, 8)
    library.put(made, x)
    np.testing.assert_array_equal(library.get(made), x)
    there = library.from_host(x)
    assert find(there).strides == x.strides  # type: ignore[union-attr]
    np.testing.assert_array_equal(library.to_host(there), x)


@pytest.mark.parametrize("make", [fake.cupy_array, fake.tensor])
def test_views(make: Any) -> None:
    x = owned(4, 6)
    there = make(x)
    a = find(there)
    assert a is not None
    view = a.library.view(there, a.pointer + 8, (4, 3), (48, 16), x.dtype)
    np.testing.assert_array_equal(a.library.get(view), x[:, 1::2])
    assert find(view).pointer == a.pointer + 8  # type: ignore[union-attr]
    back = a.library.view(there, a.pointer + 3 * 48, (4, 6), (-48, 8), x.dtype)
    np.testing.assert_array_equal(a.library.get(back), x[::-1])
    none = a.library.view(there, 1 << 60, (0, 3), (24, 8), x.dtype)
    assert a.library.get(none).shape == (0, 3)


def test_dtypes_that_cupy_has_not() -> None:
    library = libraries.cupy_library(0)
    for dtype in ("M8[s]", "U3", np.longdouble, np.clongdouble, object):
        with pytest.raises(TypeError, match="CuPy has no arrays of dtype"):
            library.empty((1,), dtype, (0,))
    for dtype in (bool, np.complex128, np.float16):
        library.empty((1,), dtype, (0,))


def test_libraries_for_other_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    sys.modules["cupy"].cuda.runtime.is_hip = True
    monkeypatch.setattr(sys.modules["torch"].version, "hip", "6.0")
    assert find(fake.cupy_array([1.0])) is None
    assert find(fake.tensor([1.0])) is None


# PyTorch ----------------------------------------------------------------------------------------


def test_tensors() -> None:
    x = fake.tensor(owned(3, 4, dtype=np.float32), 1)
    a = find(x)
    assert a is not None and a.owner is x and (a.ordinal, a.read_only) == (1, False)
    assert (a.pointer, a.shape, a.strides) == (x.data_ptr(), (3, 4), (16, 4))
    assert a.dtype == np.float32 and a.library.name == "PyTorch"
    fake.STREAMS[1] = 5
    assert a.library.stream() == 5


@pytest.mark.parametrize(
    ("attribute", "value", "said"),
    [
        ("requires_grad", True, r"x\.detach\(\)"),
        ("layout", "torch.sparse_coo", r"torch\.sparse_coo: pass x\.to_dense\(\)"),
        ("conj", True, r"x\.resolve_conj\(\)"),
        ("neg", True, r"x\.resolve_neg\(\)"),
        ("dtype", fake.TorchType("torch.bfloat16"), r"torch\.bfloat16, which NumPy has not"),
        ("dtype", fake.TorchType("torch.float8_e4m3fn"), r"torch\.float8_e4m3fn, which NumPy"),
    ],
)
def test_tensors_that_are_refused(attribute: str, value: Any, said: str) -> None:
    x = fake.tensor([1.0])
    setattr(x, attribute, value)
    with pytest.raises(TypeError, match=said):
        find(x)


def test_dtypes_that_pytorch_has_not() -> None:
    library = torch_arrays.torch_library(0)
    for dtype in (np.uint16, np.longdouble, "M8[s]"):
        with pytest.raises(TypeError, match="PyTorch has no tensors of dtype"):
            library.empty((1,), dtype, (0,))


def test_views_that_tensors_cannot_be() -> None:
    x = fake.tensor(owned(8))
    a = find(x)
    assert a is not None
    with pytest.raises(TypeError, match="multiples of their size"):
        a.library.view(x, a.pointer + 4, (2,), (8,), x.x.dtype)


# Interfaces -------------------------------------------------------------------------------------


def test_the_interface(library: FakeLibrary) -> None:
    x = Exported(owned(3, 4), library)
    a = find(x)
    assert a is not None and a.owner is x and (a.ordinal, a.read_only, a.stream) == (0, False, None)
    assert (a.pointer, a.shape, a.strides) == (x.x.ctypes.data, (3, 4), (32, 8))
    assert a.library.stream() == 0
    assert find(Exported(owned(3, 4), library, strides=None)).strides == (32, 8)  # type: ignore[union-attr]
    assert find(Exported(owned(3), library, data=(64, True))).read_only  # type: ignore[union-attr]


@pytest.mark.parametrize(("named", "handle"), [(None, None), (1, 0), (2, 2), (1234, 1234)])
def test_the_stream_of_an_interface(library: FakeLibrary, named: Any, handle: Any) -> None:
    a = find(Exported(owned(3), library, stream=named))
    assert a is not None and a.stream == handle and a.library.stream() == (handle or 0)


def test_what_the_interface_cannot_be(library: FakeLibrary) -> None:
    with pytest.raises(ValueError, match="stream 0"):
        find(Exported(owned(3), library, stream=0))
    with pytest.raises(TypeError, match="mask"):
        find(Exported(owned(3), library, mask=object()))
    with pytest.raises(TypeError, match="of dtype '<V2'"):
        find(Exported(owned(3), library, typestr="<V2"))


def test_arrays_of_jax_are_read_only(library: FakeLibrary) -> None:
    cls = type("ArrayImpl", (Exported,), {"__module__": "jaxlib._jax"})
    a = find(cls(owned(3), library))
    assert a is not None and a.read_only
    with pytest.raises(ValueError, match="read-only"):
        a.library.put(a.owner, np.ones(3))


def test_without_a_driver_nobody_knows_the_device(
    library: FakeLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> Any:
        raise DeviceError("no driver")

    monkeypatch.setattr(libraries, "driver", missing)
    assert find(Exported(owned(3), library)).ordinal is None  # type: ignore[union-attr]


@pytest.mark.parametrize("view", ["x", "x.T", "x[::-1, ::2]", "x[:, 1]", "x[1:1]", "x[0, 0, None]"])
def test_copies_of_interface_arrays(library: FakeLibrary, view: str) -> None:
    whole = owned(3, 4)
    x = eval(view, {"x": whole, "None": None})
    x = x if isinstance(x, np.ndarray) else whole[0, :1]
    there = Exported(x, library)
    a = find(there)
    assert a is not None
    copy = a.library.to_host(there)
    np.testing.assert_array_equal(copy, x)
    assert not np.shares_memory(copy, whole)
    expected = whole.copy()
    eval(view, {"x": expected})[...] += 100
    a.library.put(there, copy + 100)
    np.testing.assert_array_equal(whole, expected)


@pytest.mark.parametrize("order", ORDERS)
def test_buffers(library: FakeLibrary, order: tuple[int, ...]) -> None:
    # Arrays of the tests before have gone, and so has the memory of theirs.
    before = len(library.memory)
    a = find(Exported(owned(3), library, stream=9))
    assert a is not None
    x = owned(2, 3, 4).transpose(np.argsort(order))
    made = a.library.from_host(x)
    assert isinstance(made, DeviceBuffer) and made.ndim == 3
    assert library.named("cuMemAllocAsync")[0][1:] == (192, 9)
    np.testing.assert_array_equal(made.copy_to_host(), x)
    found = find(made)
    assert found is not None and found.stream == 9 and found.strides == x.strides
    view = a.library.view(made, found.pointer, (2,), (8,), x.dtype)
    count = len(library.memory)
    del made, found
    gc.collect()
    assert len(library.memory) == count > before
    assert view.copy_to_host().shape == (2,) and "DeviceBuffer(array(" in repr(view)
    del view
    gc.collect()
    assert len(library.memory) == count - 1


def test_the_current_device_is_put_back(library: FakeLibrary) -> None:
    there = Exported(owned(3), library)
    a = find(there)
    assert a is not None
    library.current = 0x1234
    a.library.get(there)
    assert library.current == 0x1234
    assert (0x5000 + 40,) in library.named("cuCtxSetCurrent")


def test_arrays_without_elements_and_axes(library: FakeLibrary) -> None:
    a = find(Exported(owned(3), library))
    assert a is not None
    for shape in ((), (0,), (2, 0)):
        made = a.library.from_host(np.ones(shape))
        assert made.copy_to_host().shape == shape
    assert a.library.from_host(np.ones(())).copy_to_host() == 1


# DLPack -----------------------------------------------------------------------------------------

_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)


class Packed:
    """An array that has DLPack alone."""

    def __init__(self, x: np.ndarray[Any, Any], kind: int = 2, **more: Any) -> None:
        self.x, self.kind, self.more = x, kind, more
        self.asked: list[Any] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, 0

    def __dlpack__(self, **options: Any) -> Any:
        self.asked.append(options)
        if "max_version" in options and not self.more.get("flags"):
            raise TypeError("no max_version")
        x = self.x
        self.shape = (ctypes.c_int64 * x.ndim)(*x.shape)
        self.strides = (ctypes.c_int64 * x.ndim)(*(s // x.itemsize for s in x.strides))
        code = self.more.get("code", "iuf?cb".index(x.dtype.kind) if x.dtype.kind != "c" else 5)
        code = 6 if x.dtype.kind == "b" else code
        self.made = interfaces._Versioned(major=self.more.get("major", 1))
        self.made.flags = self.more.get("flags", 0)
        t = self.made.tensor
        t.data, t.byte_offset = x.ctypes.data - 16, 16
        t.device_type, t.device_id, t.ndim = self.kind, 0, x.ndim
        t.code, t.bits, t.lanes = code, 8 * x.itemsize, self.more.get("lanes", 1)
        t.shape = self.shape
        if not self.more.get("dense"):
            t.strides = self.strides
        if self.more.get("flags"):
            return _new(ctypes.addressof(self.made), b"dltensor_versioned", None)
        at = ctypes.addressof(self.made) + interfaces._Versioned.tensor.offset
        return _new(at, b"dltensor", None)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "u1", "c8", "?"])
@pytest.mark.parametrize("kind", [2, 13])
def test_dlpack(dtype: str, kind: int) -> None:
    x = Packed(owned(3, 4, dtype=dtype).T, kind)
    a = find(x)
    assert a is not None and a.owner is x and (a.ordinal, a.read_only, a.stream) == (0, False, None)
    assert (a.pointer, a.shape, a.strides) == (x.x.ctypes.data, x.x.shape, x.x.strides)
    assert a.dtype == x.x.dtype and a.kept is not None
    # It is asked again where it knows no versions; on the default stream.
    assert [o["stream"] for o in x.asked] == [1, 1]


def test_dlpack_with_flags_and_without_strides() -> None:
    a = find(Packed(owned(3, 4), flags=1))
    assert a is not None and a.read_only
    a = find(Packed(owned(3, 4), flags=2))
    assert a is not None and not a.read_only
    a = find(Packed(owned(3, 4), dense=True))
    assert a is not None and a.strides == (32, 8)


def test_what_dlpack_cannot_be() -> None:
    assert find(Packed(owned(3), kind=1)) is None
    assert find(Packed(owned(3), kind=10)) is None
    with pytest.raises(TypeError, match="DLPack's code 4, 16 bits, 1 lanes"):
        find(Packed(owned(3, dtype=np.float16), code=4))
    with pytest.raises(TypeError, match="4 lanes"):
        find(Packed(owned(3), lanes=4))
    with pytest.raises(TypeError, match="version 2 of DLPack"):
        find(Packed(owned(3), flags=1, major=2))


# Numba ------------------------------------------------------------------------------------------


def test_numba_arrays(library: FakeLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def device_array(shape: Any, dtype: Any, strides: Any) -> Any:
        asked.append((shape, dtype, strides))
        return Exported(np.empty(shape, dtype), library)

    class Device:
        def __enter__(self) -> None:
            asked.append("device")

        def __exit__(self, *error: object) -> None:
            pass

    module: Any = SimpleNamespace(
        device_array=device_array,
        gpus={0: Device()},
        from_cuda_array_interface=lambda described, owner, sync: (described, owner, sync),
    )
    monkeypatch.setattr(libraries, "imported", lambda name: module)
    base = type("DeviceNDArrayBase", (Exported,), {"__module__": "numba.cuda.cudadrv.devicearray"})
    cls = type("DeviceNDArray", (base,), {})
    x = cls(owned(2, 3, 4), library, stream=6)
    x.gpu_data = SimpleNamespace(context=SimpleNamespace(device=SimpleNamespace(id=0)))
    a = find(x)
    assert a is not None and a.library.name == "Numba" and (a.ordinal, a.stream) == (0, 6)
    assert a.library.stream() == 0 and a.library.ready_on(a) == 6
    a.library.empty((2, 3, 4), np.dtype("f8"), (1, 0, 2))
    assert asked == ["device", ((2, 3, 4), np.dtype("f8"), (32, 64, 8))]
    described, owner, sync = a.library.view(x, a.pointer, (3,), (8,), a.dtype)
    assert owner is x and not sync and described["data"] == (a.pointer, False)
    np.testing.assert_array_equal(a.library.get(x), x.x)


def test_numbas_own_classes() -> None:
    devicearray = pytest.importorskip("numba.cuda.cudadrv.devicearray")
    assert arrays._reader(devicearray.DeviceNDArray).__self__.name == "Numba"  # type: ignore[union-attr]
    # The host reaches these as any array of NumPy.
    assert arrays._reader(devicearray.MappedNDArray) is None
    assert arrays._reader(devicearray.ManagedNDArray) is None


# Several ----------------------------------------------------------------------------------------


def test_the_first_library_makes_the_results(library: FakeLibrary) -> None:
    found = [find(x) for x in (fake.tensor([1.0]), fake.cupy_array([1.0]))]
    given = [a for a in found if a is not None]
    assert common_library(given).name == "PyTorch" and common_library(given[::-1]).name == "CuPy"
    other = find(fake.tensor([1.0], 1))
    assert other is not None
    with pytest.raises(DeviceError, match="arrays on GPUs 0 and 1"):
        common_library([*given, other])


def test_other_streams_are_waited_for(library: FakeLibrary) -> None:
    fake.STREAMS[0] = 4
    given = [find(fake.tensor([1.0])), find(fake.cupy_array([1.0]))]
    given += [find(Exported(owned(3), library, stream=s)) for s in (None, 8, 8, 1)]
    known = [a for a in given if a is not None]
    wait_for_others(known, 4)
    assert sorted(library.named("cuStreamSynchronize")) == [(0,), (8,)]
    assert library.current  # this thread had worked on no device
