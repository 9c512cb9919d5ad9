"""What a program is, and whether a compiled one leaves behind what plain NumPy leaves."""

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Kind = Literal["no loop", "short loops", "long loops"]
Kernel = Callable[..., Any]

#: S takes NumPy a few ms at most, T is another small size, M about 10 to 100 ms, L 0.3 to 2 s, or
#: less where the arguments would take more than 600 MB: matrix-vector products and the like.
PRESETS = ("S", "T", "M", "L")


class Difference(AssertionError):
    """A program's outcome is not what NumPy's is; the message says in what."""


@dataclass(frozen=True)
class Program:
    """A NumPy function with its arguments in several sizes.

    `initialize(**sizes[size])` returns all arguments by name, in the kernel's order, the same ones
    at every call. `kind` says where NumPy spends its time: in a few large statements ("no loop"),
    in a loop of array statements ("short loops"), or in a loop of scalars and tiny slices ("long
    loops"). A number may be off by `rtol` of its own magnitude or of its array's mean one,
    whichever is larger; 0 asks for the same bits.
    """

    name: str
    kernel: Kernel
    initialize: Callable[..., dict[str, Any]]
    sizes: Mapping[str, Mapping[str, Any]]
    kind: Kind
    rtol: float = 0.0

    def arguments(self, size: str) -> dict[str, Any]:
        """The arguments of one preset, new ones at every call."""
        return self.initialize(**self.sizes[size])


def check(program: Program, size: str, run: Callable[[Kernel], Kernel]) -> None:
    """Compare `run(program.kernel)` with the plain kernel on arguments of preset `size`.

    Both get their own copy of the arguments, by position. Compared are the result and every
    argument afterwards: types, dtypes, shapes, values, and which of them share memory. Raises
    `Difference`, also where the comparison would say nothing, since doing nothing would pass it.
    """
    given = program.arguments(size)
    plain, other = copy.deepcopy(given), copy.deepcopy(given)
    expected = program.kernel(*plain.values())
    require_an_effect(program, given, plain, expected)
    actual = run(program.kernel)(*other.values())
    found = [*differences(expected, actual, program.rtol, "result")]
    for name, before in given.items():
        changed = any(differences(before, plain[name], 0.0, name))
        rtol = program.rtol if changed else 0.0
        what = f"argument {name} afterwards" if changed else f"argument {name}, not to be changed"
        found += differences(plain[name], other[name], rtol, what)
    if not found and (want := shared(expected, plain)) != (got := shared(actual, other)):
        found.append(f"result shares memory with {got}, expected {want}")
    if found:
        raise Difference("\n".join([f"{program.name}, size {size}:", *found]))


def require_an_effect(
    program: Program, given: dict[str, Any], after: dict[str, Any], result: Any
) -> None:
    """Raise `Difference` unless the plain program's outcome is finite and more than nothing."""
    changed = {
        name: after[name]
        for name in given
        if any(differences(given[name], after[name], program.rtol, name))
    }
    results = [np.asarray(x) for x in parts(result) if x is not None]
    if not changed and not results:
        raise Difference(f"{program.name} changes no argument and returns nothing")
    for name, array in [*changed.items(), *((f"result {k}", x) for k, x in enumerate(results))]:
        if not np.isfinite(array).all():
            raise Difference(f"{program.name}: {name} is not finite")
        if not np.any(array):
            raise Difference(f"{program.name}: {name} is all zeros")


def differences(expected: Any, actual: Any, rtol: float, what: str) -> Iterator[str]:
    """What makes `actual` another value than `expected`, in lines of text."""
    if type(expected) is not type(actual):
        yield f"{what}: expected {describe(expected)}, got {describe(actual)}"
    elif isinstance(expected, tuple):
        if len(expected) != len(actual):
            yield f"{what}: expected {len(expected)} elements, got {len(actual)}"
            return
        for k, (e, a) in enumerate(zip(expected, actual, strict=True)):
            yield from differences(e, a, rtol, f"{what} {k}")
    elif expected is not None:
        e, a = np.asarray(expected), np.asarray(actual)
        if e.dtype != a.dtype or e.shape != a.shape:
            yield f"{what}: expected {describe(expected)}, got {describe(actual)}"
            return
        wrong = np.argwhere(~agree(e, a, rtol))
        if len(wrong):
            at = tuple(map(int, wrong[0]))
            yield (
                f"{what}: {len(wrong)} of {e.size} elements differ (rtol {rtol:g}), "
                f"the first at {list(at)}: expected {e[at]!r}, got {a[at]!r}"
            )


def agree(expected: np.ndarray, actual: np.ndarray, rtol: float) -> np.ndarray:
    """Which elements agree; infinities and NaNs do with their like only."""
    if expected.dtype.kind not in "fc":
        return np.asarray(expected == actual)
    if expected.dtype.kind == "c" and rtol == 0.0:
        same = agree(expected.real, actual.real, 0.0) & agree(expected.imag, actual.imag, 0.0)
        return np.asarray(same)
    same = (expected == actual) | (np.isnan(expected) & np.isnan(actual))
    if rtol == 0.0:
        signs = np.signbit(expected) == np.signbit(actual)
        return np.asarray(same & (signs | np.isnan(expected)))
    finite = np.isfinite(expected) & np.isfinite(actual)
    e, a = np.where(finite, expected, 0), np.where(finite, actual, 0)
    magnitude = np.abs(e)
    scale = np.maximum(magnitude, magnitude.mean() if magnitude.size else 0.0)
    return np.asarray(np.where(finite, np.abs(a - e) <= rtol * scale, same))


def shared(result: Any, arguments: dict[str, Any]) -> list[str]:
    """The arguments with which a part of the result shares memory."""
    arrays = [part for part in parts(result) if isinstance(part, np.ndarray)]
    return [
        f"{name} (part {k})"
        for name, argument in arguments.items()
        if isinstance(argument, np.ndarray)
        for k, array in enumerate(arrays)
        if np.may_share_memory(array, argument)
    ]


def parts(result: Any) -> tuple[Any, ...]:
    """The elements of a tuple, or the result as the only one."""
    return result if isinstance(result, tuple) else (result,)


def describe(value: Any) -> str:
    """Type, dtype and shape of a value, or its text where it is a number."""
    if isinstance(value, np.ndarray):
        return f"array of {value.dtype}{list(value.shape)}"
    return f"{type(value).__name__} {value!r}"
