"""Addresses of the C functions that native entries call: CPython's and NumPy's public C APIs."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.link.cpython.reflect import LayoutError
from tracejit.link.finding import numpy_address, numpy_table, python_address

__all__ = ["PROTOTYPES", "function_addresses"]

#: LLVM prototypes of the CPython functions: result, then parameters.
_PYTHON = {
    "PyBool_FromLong": ("ptr", "i64"),
    "PyCapsule_GetPointer": ("ptr", "ptr, ptr"),
    "PyCell_Set": ("i32", "ptr, ptr"),
    "PyComplex_FromDoubles": ("ptr", "double, double"),
    "PyContextVar_Get": ("i32", "ptr, ptr, ptr"),
    "PyDict_New": ("ptr", ""),
    "PyDict_Next": ("i32", "ptr, ptr, ptr, ptr"),
    "PyDict_Size": ("i64", "ptr"),
    "PyDict_GetItemWithError": ("ptr", "ptr, ptr"),
    "PyDict_DelItem": ("i32", "ptr, ptr"),
    "PyDict_SetItem": ("i32", "ptr, ptr, ptr"),
    "PyErr_BadInternalCall": ("void", ""),
    "PyErr_Clear": ("void", ""),
    "PyErr_ExceptionMatches": ("i32", "ptr"),
    "PyErr_Occurred": ("ptr", ""),
    "PyEval_RestoreThread": ("void", "ptr"),
    "PyEval_SaveThread": ("ptr", ""),
    "PyGILState_Ensure": ("i32", ""),
    "PyGILState_Release": ("void", "i32"),
    "PyFloat_FromDouble": ("ptr", "double"),
    "PyList_GetItem": ("ptr", "ptr, i64"),
    "PyList_New": ("ptr", "i64"),
    "PyList_SetItem": ("i32", "ptr, i64, ptr"),
    "PyList_SetSlice": ("i32", "ptr, i64, i64, ptr"),
    "PyLong_AsLongLongAndOverflow": ("i64", "ptr, ptr"),
    "PyLong_FromLongLong": ("ptr", "i64"),
    "PyObject_CallNoArgs": ("ptr", "ptr"),
    "PyObject_CallOneArg": ("ptr", "ptr, ptr"),
    "PyObject_GenericGetDict": ("ptr", "ptr, ptr"),
    "PyObject_GenericSetAttr": ("i32", "ptr, ptr, ptr"),
    "PyObject_GetAttr": ("ptr", "ptr, ptr"),
    "PyObject_SetAttr": ("i32", "ptr, ptr, ptr"),
    "PyObject_RichCompareBool": ("i32", "ptr, ptr, i32"),
    "PyObject_Vectorcall": ("ptr", "ptr, ptr, i64, ptr"),
    "PySequence_List": ("ptr", "ptr"),
    "PyThreadState_Get": ("ptr", ""),
    "PyTuple_New": ("ptr", "i64"),
    "PyType_GenericAlloc": ("ptr", "ptr, i64"),
    "Py_DecRef": ("void", "ptr"),
    "Py_IncRef": ("void", "ptr"),
}
#: NumPy's functions by their slot in the `_ARRAY_API` table, which its ABI fixes.
_NUMPY = {
    "PyArray_SetBaseObject": (282, "i32", "ptr, ptr"),
    "PyArray_Scalar": (60, "ptr", "ptr, ptr, ptr"),
    "PyArray_Zeros": (183, "ptr", "i32, ptr, ptr, i32"),
    "PyArray_NewFromDescr": (94, "ptr", "ptr, ptr, i32, ptr, ptr, ptr, i32, ptr"),
    "PyDataMem_SetHandler": (304, "ptr", "ptr"),
}

#: name -> (result, parameters) of everything in `function_addresses()`, and of what entries
#: call of `runtime/native/result_memory.py`.
PROTOTYPES: dict[str, tuple[str, str]] = {
    **_PYTHON,
    **{name: (result, parameters) for name, (_, result, parameters) in _NUMPY.items()},
    "tj_new_array": _NUMPY["PyArray_NewFromDescr"][1:],
    "tj_new_view": ("ptr", "ptr, ptr, i32, ptr, ptr, i64, i32, i32"),
}


def function_addresses() -> dict[str, int]:
    """The address of every function in `PROTOTYPES`.

    Raises LayoutError if NumPy's table is not the one of ABI 2 or a function is missing.
    """
    if numpy_table() is None:
        raise LayoutError("NumPy's C API table is not that of ABI 2")
    found: dict[str, int] = {name: numpy_address(index) for name, (index, *_) in _NUMPY.items()}
    for name in _PYTHON:
        try:
            found[name] = python_address(name)
        except KeyError:
            raise LayoutError(f"CPython does not export {name}") from None
    _check_allocation(found)
    return found


def _check_allocation(addresses: dict[str, int]) -> None:
    """Allocate an array and a scalar as an entry does. Raises LayoutError on a wrong result."""
    dtype = np.dtype(np.complex64)
    dims, strides = (ctypes.c_int64 * 2)(2, 3), (ctypes.c_int64 * 2)(8, 16)
    pointer, obj = ctypes.c_void_p, ctypes.py_object
    new = ctypes.PYFUNCTYPE(
        obj, obj, pointer, ctypes.c_int, pointer, pointer, pointer, ctypes.c_int, pointer
    )(addresses["PyArray_NewFromDescr"])
    ctypes.pythonapi.Py_IncRef(obj(dtype))  # NewFromDescr steals a reference to the dtype.
    array = new(np.ndarray, id(dtype), 2, dims, strides, None, 0, None)
    if (type(array), array.dtype, array.shape) != (np.ndarray, dtype, (2, 3)) or not (
        array.flags.f_contiguous and array.flags.owndata and array.flags.writeable
    ):
        raise LayoutError("PyArray_NewFromDescr made something else")
    zeros = ctypes.PYFUNCTYPE(obj, ctypes.c_int, pointer, pointer, ctypes.c_int)(
        addresses["PyArray_Zeros"]
    )
    ctypes.pythonapi.Py_IncRef(obj(dtype))  # So does Zeros.
    array = zeros(2, dims, id(dtype), 1)
    if (type(array), array.dtype, array.shape) != (np.ndarray, dtype, (2, 3)) or not (
        array.flags.f_contiguous and array.flags.owndata and not array.any()
    ):
        raise LayoutError("PyArray_Zeros made something else")
    _check_view(array, new, addresses)
    scalar = ctypes.PYFUNCTYPE(obj, pointer, obj, pointer)(addresses["PyArray_Scalar"])
    value = ctypes.c_int64(-5)
    made = scalar(ctypes.byref(value), np.dtype(np.int64), None)
    if type(made) is not np.int64 or made != -5:
        raise LayoutError("PyArray_Scalar made something else")


def _check_view(array: Any, new: Callable[..., Any], addresses: dict[str, int]) -> None:
    """Make a view of an array of complex64 as an entry does. Raises LayoutError for another."""
    dtype = np.dtype(np.float32)
    dims, strides = (ctypes.c_int64 * 1)(2), (ctypes.c_int64 * 1)(-8)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(dtype))
    place = array.ctypes.data + 8
    view = new(np.ndarray, id(dtype), 1, dims, strides, place, 0, None)
    set_base = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.py_object)(
        addresses["PyArray_SetBaseObject"]
    )
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(array))  # The view takes this reference.
    if set_base(view, array) or view.base is not array or view.flags.writeable:
        raise LayoutError("PyArray_SetBaseObject did something else")
    if (view.ctypes.data, view.shape, view.strides) != (place, (2,), (-8,)):
        raise LayoutError("PyArray_NewFromDescr made another view")
