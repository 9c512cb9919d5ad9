"""A driver's library without a device: C functions made of Python, each of which can be replaced.

Memory is that of the host. It knows one device, 0, unless told otherwise.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from tracejit.codegen.cuda import driver as module

_TEXTS = {
    1: (b"CUDA_ERROR_INVALID_VALUE", b"invalid argument"),
    2: (b"CUDA_ERROR_OUT_OF_MEMORY", b"out of memory"),
    218: (b"CUDA_ERROR_INVALID_PTX", b"a PTX JIT compilation failed"),
    719: (b"CUDA_ERROR_LAUNCH_FAILED", b"unspecified launch failure"),
    803: (b"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", b"system has unsupported display driver"),
}


def _put(at: int, value: int, kind: Any = ctypes.c_uint64) -> int:
    kind.from_address(at).value = value
    return 0


class FakeLibrary:
    """Has the functions as attributes; `calls` lists (name, arguments) of all calls."""

    def __init__(self, devices: int = 1, lacks: tuple[str, ...] = (), **other: Any) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.current = 0
        self.memory: dict[int, Any] = {}
        self.pool: dict[int, int] = {}
        self.attributes = {16: 132, 75: 9, 76: 0, 115: 1}
        self.devices = devices
        self._texts: list[Any] = []
        for name, types in module._FUNCTIONS.items():
            if name not in lacks:
                f = other.get(name) or getattr(self, "_" + name, lambda *args: 0)
                kind = ctypes.CFUNCTYPE(ctypes.c_int, *types)
                setattr(self, name, kind(self._told(name, f)))

    def _told(self, name: str, f: Callable[..., int]) -> Callable[..., int]:
        def call(*args: Any) -> int:
            args = tuple(0 if a is None else a for a in args)
            self.calls.append((name, args))
            return f(*args)

        return call

    def named(self, name: str) -> list[tuple[Any, ...]]:
        """The arguments of the calls of one function."""
        return [args for known, args in self.calls if known == name]

    def _text(self, status: int, at: int, which: int) -> int:
        if status not in _TEXTS:
            return 1
        text = ctypes.create_string_buffer(_TEXTS[status][which])
        self._texts.append(text)
        return _put(at, ctypes.addressof(text))

    def _cuGetErrorName(self, status: int, at: int) -> int:
        return self._text(status, at, 0)

    def _cuGetErrorString(self, status: int, at: int) -> int:
        return self._text(status, at, 1)

    def _cuDeviceGetCount(self, at: int) -> int:
        return _put(at, self.devices, ctypes.c_int)

    def _cuDeviceGet(self, at: int, ordinal: int) -> int:
        # The device of a number is not that number.
        return _put(at, ordinal + 40, ctypes.c_int) if 0 <= ordinal < self.devices else 1

    def _cuDeviceGetAttribute(self, at: int, which: int, device: int) -> int:
        return _put(at, self.attributes[which], ctypes.c_int) if device >= 40 else 1

    def _cuDeviceGetDefaultMemPool(self, at: int, device: int) -> int:
        return _put(at, 0x7000 + device)

    def _cuMemPoolSetAttribute(self, pool: int, which: int, at: int) -> int:
        self.pool[which] = ctypes.c_uint64.from_address(at).value
        return 0

    def _cuDevicePrimaryCtxRetain(self, at: int, device: int) -> int:
        return _put(at, 0x5000 + device)

    def _cuCtxGetCurrent(self, at: int) -> int:
        return _put(at, self.current)

    def _cuCtxSetCurrent(self, context: int) -> int:
        self.current = context
        return 0

    def _cuPointerGetAttribute(self, at: int, which: int, address: int) -> int:
        inside = any(a <= address < a + len(m) for a, m in self.memory.items())
        return _put(at, 0, ctypes.c_int) if inside and which == 9 else 1

    def _cuModuleLoadDataEx(self, at: int, image: int, n: int, options: int, values: int) -> int:
        text = ctypes.string_at(image)
        if text.startswith(b"bad"):
            kinds = (ctypes.c_int * n).from_address(options)
            given = dict(zip(kinds, (ctypes.c_uint64 * n).from_address(values), strict=True))
            said = b"line 1: bad"
            assert given[6] > len(said)
            ctypes.memmove(given[5], said, len(said))
            return 218
        return _put(at, 0x3000)

    def _cuModuleGetFunction(self, at: int, module: int, name: bytes) -> int:
        return _put(at, module + len(name))

    def _cuMemAllocAsync(self, at: int, size: int, stream: int) -> int:
        if size == 0:
            return 1
        if size > 1 << 30:
            return 2
        block = ctypes.create_string_buffer(size)
        self.memory[ctypes.addressof(block)] = block
        return _put(at, ctypes.addressof(block))

    def _cuMemFreeAsync(self, address: int, stream: int) -> int:
        return 0 if self.memory.pop(address, None) is not None else 1

    def _copy(self, target: int, source: int, size: int, stream: int) -> int:
        ctypes.memmove(target, source, size)
        return 0

    _cuMemcpyDtoDAsync_v2 = _cuMemcpyDtoHAsync_v2 = _cuMemcpyHtoDAsync_v2 = _copy
