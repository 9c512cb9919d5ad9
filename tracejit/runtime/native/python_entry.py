"""An entry in Python: the definition of what native entries do, one rule at a time.

Slower than the machine code by a factor of a hundred, it runs where that is not available, and
tests hold the two against each other.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.frontend.capture.guards import Guard
from tracejit.frontend.capture.paths import MISSING, Address, Packed, Path, is_argument
from tracejit.frontend.tracing.boxed import boxed
from tracejit.frontend.tracing.pytree import build_dataclass
from tracejit.ir.dims import evaluate
from tracejit.ops.host.exchange import forget_run
from tracejit.runtime.call.aliasing import collision
from tracejit.runtime.call.entry_spec import (
    AddressLeaf,
    ArrayLeaf,
    Choice,
    Container,
    EntrySpec,
    Leaf,
    NpScalarLeaf,
    OutArray,
    OutConstants,
    OutLeaf,
    OutList,
    OutMade,
    OutNpScalar,
    OutObject,
    Output,
    OutPyScalar,
    OutView,
    ScalarLeaf,
    SizeGuard,
    k_order,
)
from tracejit.runtime.call.stores import store_value
from tracejit.runtime.entries.answers import BAIL, MISS

__all__ = ["Memory", "PythonEntry"]


_WORD = 8
_I64 = range(-(2**63), 2**63)
_PROGRAM = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
_RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
}


class _Miss(Exception):
    """A check failed."""


def _require(condition: bool) -> None:
    if not condition:
        raise _Miss


class PythonEntry:
    """A callable of a spec's arguments: a result, `MISS` or `BAIL`.

    It is what the machine code of an entry means, and stands for it where there is none.
    """

    def __init__(self, spec: EntrySpec, program: int) -> None:
        self.spec = spec
        self._program = _PROGRAM(program)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        spec = self.spec
        memory = bytearray(_WORD * max(spec.in_count, 1))
        try:
            _require(len(args) == spec.nargs and tuple(kwargs) == spec.keywords)
            args += tuple(kwargs.values())
            sizes: dict[str, int] = {}
            for path, leaf in spec.leaves:
                if is_argument(path):
                    _check(path, leaf, _Objects(_Call(args)), sizes)
            sizes.clear()
            found = _Objects(_Call(args, self._reread()))
            objects = []
            for (path, leaf), slot in zip(spec.leaves, spec.leaf_slots, strict=False):
                objects.append(found.get(path))
                value = _check(path, leaf, found, sizes)
                memory[_WORD * slot : _WORD * slot + len(value)] = value
            for paths in spec.distinct:
                _require(len({id(found[path]) for path in paths}) == len(paths))
            arrays = [
                (x, leaf.writeable)
                for x, (_, leaf) in zip(objects, spec.leaves, strict=True)
                if isinstance(leaf, ArrayLeaf)
            ]
            _require(collision([x for x, _ in arrays], [w for _, w in arrays]) is None)
            for guard in spec.guards:
                _require(_holds(guard, sizes))
        except _Miss:
            return MISS
        values = [sizes[name] for name in spec.sizes]
        struct.pack_into(f"={len(values)}q", memory, _WORD * spec.size_slot, *values)
        shapes = [
            tuple(evaluate(dim, sizes) for dim in output.shape)
            for output in spec.outputs
            if isinstance(output, OutArray)
        ]
        early = [o for o in spec.outputs if isinstance(o, OutView) and not o.sizes]
        seen = [tuple(evaluate(dim, sizes) for dim in view.shape) for view in early]
        if any(not 0 <= size < 2**63 for shape in shapes + seen for size in shape):
            return BAIL
        return self._run(memory, objects, shapes, sizes)

    def _reread(self) -> tuple[Any, ...]:
        try:
            values = () if self.spec.reread is None else self.spec.reread()
        except Exception:
            raise _Miss from None
        if values is None:
            raise _Miss
        return tuple(values)

    def _run(
        self,
        memory: bytearray,
        objects: Sequence[Any],
        shapes: list[tuple[int, ...]],
        sizes: dict[str, int],
    ) -> Any:
        spec = self.spec
        out = (ctypes.c_uint64 * max(spec.out_count, 1))()
        arrays: dict[int, np.ndarray[Any, Any]] = {}
        for k, output in enumerate(spec.outputs):
            if isinstance(output, OutArray):
                try:
                    arrays[k] = _allocate(output, shapes[len(arrays)])
                except (ValueError, MemoryError):
                    return BAIL
                out[spec.out_slots[k]] = arrays[k].ctypes.data
        # The caller's frame and `objects` keep every input alive: ctypes releases the GIL.
        given = (ctypes.c_char * len(memory)).from_buffer(memory)
        if spec.exchanges:
            forget_run()
        status = self._program(ctypes.addressof(given), ctypes.addressof(out))
        for k, output in enumerate(spec.outputs):
            if isinstance(output, OutMade) and out[spec.out_slots[k]]:
                arrays[k] = _taken(out[spec.out_slots[k]])
        if status:
            return BAIL
        if spec.exchanges:
            forget_run()
        slots = bytes(out)
        arrays = {k: _with_strides(x, spec.outputs[k], sizes) for k, x in arrays.items()}
        results: list[Any] = [
            arrays[k] if k in arrays else _box(output, slots[_WORD * spec.out_slots[k] :], objects)
            for k, output in enumerate(spec.outputs)
        ]
        return self._made(results, sizes)

    def _made(self, results: list[Any], sizes: dict[str, int]) -> Any:
        """What the entry returns for the values of its outputs."""
        spec = self.spec
        chosen = spec.made
        while isinstance(chosen, Choice):
            chosen = chosen.first if results[chosen.flag] else chosen.second
        for k in _numbers(chosen):
            output = spec.outputs[k]
            if isinstance(output, OutView):
                results[k] = _view(output, results, sizes)
                if results[k] is None:
                    return BAIL
            elif isinstance(output, OutList):
                results[k] = boxed(output.form, [results[at] for at in output.columns])
        made = _make(chosen, results, {})
        if not spec.stores:
            return made if spec.finish is None else spec.finish(made)
        values, owners = made[1 : 1 + len(spec.stores)], made[1 + len(spec.stores) :]
        for (kind, key), owner, value in zip(spec.stores, owners, values, strict=True):
            store_value(owner, kind, key, value)
        return made[0]


class _Call(NamedTuple):
    """What the paths of an entry begin at."""

    given: Sequence[Any]
    values: Sequence[Any] = ()


class _Objects:
    """Objects of one call by their paths. What may run code of the program is read once."""

    def __init__(self, call: _Call) -> None:
        self._call = call
        self._known: dict[Any, Any] = {}

    def __getitem__(self, path: Path) -> Any:
        """What is at a path now. Raises _Miss where nothing is."""
        found = self.get(path)
        _require(found is not MISSING)
        return found

    def get(self, path: Path) -> Any:
        """What is at a path now, `MISSING` where that can be noted. Raises _Miss."""
        key = (path.parent, path.column) if isinstance(path, Packed) else path
        if key in self._known:
            return self._known[key]
        parent: Any = self._call if path.parent is None else self[path.parent]
        try:
            found = path.read(parent)
        except path.absence:
            found = MISSING
        except Exception:
            raise _Miss from None
        if path.runs_program or isinstance(path, Packed):
            self._known[key] = found
        return found


def _check(path: Path, leaf: Leaf, found: _Objects, sizes: dict[str, int]) -> bytes:
    """The bytes of the leaf's in-slots. Raises _Miss."""
    if isinstance(leaf, Guard):
        _require(leaf.holds(found.get(path), found))
        return b""
    obj = found[path]
    match leaf:
        case ArrayLeaf():
            return _check_array(obj, leaf, sizes)
        case NpScalarLeaf(dtype):
            _require(type(obj) is dtype.type)
            return bytes(obj.tobytes())
        case ScalarLeaf("int"):
            _require(type(obj) is int and obj in _I64)
            assert isinstance(leaf, ScalarLeaf)
            if leaf.size is not None:
                _require(obj >= 2)
                _bind(obj, leaf.size, sizes)
            return struct.pack("=q", obj)
        case ScalarLeaf("bool"):
            _require(type(obj) is bool)
            return struct.pack("=q", obj)
        case ScalarLeaf("float"):
            _require(type(obj) is float)
            return struct.pack("=d", obj)
        case ScalarLeaf("complex"):
            _require(type(obj) is complex)
            return struct.pack("=dd", obj.real, obj.imag)
        case AddressLeaf():
            # What the path of an address reads is the address.
            return struct.pack("=Q", obj if isinstance(path, Address) else id(obj))
    raise AssertionError(leaf)


def _check_array(obj: Any, leaf: ArrayLeaf, sizes: dict[str, int]) -> bytes:
    _require(type(obj) is np.ndarray and obj.ndim == len(leaf.dims))
    dtype, flags = obj.dtype, obj.flags
    _require(dtype.num == leaf.dtype.num and dtype.isnative and not dtype.metadata)
    _require(flags.aligned and (flags.writeable or not leaf.writeable))
    _require(leaf.layout != "C" or flags.c_contiguous)
    _require(leaf.layout != "F" or flags.f_contiguous)
    for size, dim in zip(obj.shape, leaf.dims, strict=True):
        if isinstance(dim, str) and dim not in sizes:
            _require(size >= 2)
        _bind(size, dim, sizes)
    if leaf.layout == "A":
        _check_strides(obj, leaf, sizes)
    return struct.pack("=Q", obj.ctypes.data)


def _check_strides(obj: Any, leaf: ArrayLeaf, sizes: dict[str, int]) -> None:
    for size, step, stride in zip(leaf.dims, obj.strides, leaf.strides, strict=True):
        if size == 1 and isinstance(stride, int):
            continue
        _require(step % obj.itemsize == 0)
        _bind(step // obj.itemsize, stride, sizes)
        _require(size == 1 or stride == 0 or step != 0)
    # Axes without an opinion on the order are the same at every call: only the others can move.
    firm = [k for k, step in enumerate(obj.strides) if leaf.dims[k] != 1 and step != 0]
    steps = [obj.strides[k] for k in firm]
    order = [firm[k] for k in k_order([2] * len(firm), steps)]
    _require(order == [k for k in leaf.order if k in firm])


def _bind(value: int, name: int | str, sizes: dict[str, int]) -> None:
    expected = sizes.setdefault(name, value) if isinstance(name, str) else name
    _require(value == expected)


def _holds(guard: SizeGuard, sizes: dict[str, int]) -> bool:
    try:
        left, right = evaluate(guard.left, sizes), evaluate(guard.right, sizes)
    except ZeroDivisionError:
        return False  # The compiled entry misses, too, where a divisor is not positive.
    return _RELATIONS[guard.relation](left, right)


def _allocate(output: OutArray, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    # Axis number `axis` of the result is the memory's axis number `order.index(axis)`.
    make = np.zeros if output.zeroed else np.empty
    memory = make(tuple(shape[axis] for axis in output.order), output.dtype)
    return memory.transpose(np.argsort(output.order)) if shape else memory


def _with_strides(array: np.ndarray[Any, Any], output: Output, sizes: dict[str, int]) -> Any:
    """A new array with the strides noted for it along axes where they reach no element."""
    assert isinstance(output, (OutArray, OutMade))
    strides = list(array.strides)
    for axis, stride in output.noted:
        if array.shape[axis] < 2 or strides[axis] == 0:
            strides[axis] = evaluate(stride, sizes)
    if tuple(strides) == array.strides:
        return array
    return np.lib.stride_tricks.as_strided(array, strides=strides)


def _taken(address: int) -> np.ndarray[Any, Any]:
    """The array whose reference a program has left in a slot."""
    array = ctypes.cast(ctypes.c_void_p(address), ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(array))
    assert isinstance(array, np.ndarray)
    return array


class Memory:
    """Elements of an array, as NumPy looks at them through any object; it keeps the array alive."""

    def __init__(self, base: np.ndarray[Any, Any], **fields: Any) -> None:
        self.base, self.__array_interface__ = base, {"version": 3, **fields}


def _view(view: OutView, results: Sequence[Any], sizes: dict[str, int]) -> Any:
    """The view, or None where an index is outside."""
    base = results[view.base]
    sizes = sizes | {name: int(results[k]) for name, k in view.sizes}
    sizes |= {name: base.strides[axis] // base.itemsize for name, axis in view.base_strides}
    start = base.ctypes.data + evaluate(view.offset, sizes)
    for k, size, stride in view.picks:
        index, length = int(results[k]), evaluate(size, sizes)
        if not -length <= index < length:
            return None
        start += index % length * evaluate(stride, sizes)
    writeable = bool(base.flags._writeable_no_warn) and view.writeable is not False
    fields: dict[str, Any] = {"data": (start, not writeable)}
    for name, values in ("shape", view.shape), ("strides", view.strides):
        fields[name] = tuple(evaluate(d, sizes) for d in values)
    out = np.asarray(Memory(base, typestr=(view.dtype or base.dtype).str, **fields))
    if writeable and view.writeable is None:
        out.flags._warn_on_write = True  # type: ignore[attr-defined]
    return out


def _numbers(made: int | Container) -> set[int]:
    """The outputs in a result."""
    return {made} if isinstance(made, int) else set[int]().union(*map(_numbers, made.items))


def _make(made: int | Container, results: Sequence[Any], done: dict[int, Any]) -> Any:
    if isinstance(made, int):
        return results[made]
    if id(made) not in done:
        items = [_make(item, results, done) for item in made.items]
        new: Any = items
        if made.cls is dict:
            new = dict(zip(made.keys, items, strict=True))
        elif issubclass(made.cls, tuple):
            new = tuple.__new__(made.cls, items)
        elif made.cls is not list:
            new = build_dataclass(made.cls, dict(zip(made.keys, items, strict=True)))
        done[id(made)] = new
    return done[id(made)]


def _box(output: Output, slots: bytes, objects: Sequence[Any]) -> Any:
    match output:
        case OutView() | OutList():
            return None
        case OutLeaf(index):
            return objects[index]
        case OutConstants(values):
            return list(values)
        case OutObject(value):
            return value
        case OutNpScalar(dtype):
            return np.frombuffer(slots[: dtype.itemsize], dtype)[0]
        case OutPyScalar("int"):
            return struct.unpack_from("=q", slots)[0]
        case OutPyScalar("bool"):
            return struct.unpack_from("=q", slots)[0] != 0
        case OutPyScalar("float"):
            return struct.unpack_from("=d", slots)[0]
        case OutPyScalar("complex"):
            return complex(*struct.unpack_from("=dd", slots))
    raise AssertionError(output)
