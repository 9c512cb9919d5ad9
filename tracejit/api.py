"""The public interface: `jit`, and functions made of functions: derivatives and batches."""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, cast, overload

from tracejit import config
from tracejit.base.late import imported
from tracejit.base.placing import device_name

if TYPE_CHECKING:
    from tracejit.transforms.api.custom import CustomJvp, CustomVjp
    from tracejit.typing import Compiled, Decorator, First, Gradient, ValueAndGradient

__all__ = [
    "custom_jvp",
    "custom_vjp",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jit",
    "jvp",
    "remat",
    "stop_gradient",
    "value_and_grad",
    "vjp",
    "vmap",
]

P = ParamSpec("P")
Q = ParamSpec("Q")
A = TypeVar("A")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])


@overload
def jit(  # type: ignore[overload-overlap]
    function: staticmethod[P, R],
    /,
    *,
    strict: bool = False,
    bounds_check: bool = True,
    num_threads: int | None = None,
    device: str | None = None,
    devices: Sequence[str] = (),
) -> staticmethod[P, R]: ...


@overload
def jit(
    function: classmethod[A, P, R],
    /,
    *,
    strict: bool = False,
    bounds_check: bool = True,
    num_threads: int | None = None,
    device: str | None = None,
    devices: Sequence[str] = (),
) -> classmethod[A, P, R]: ...


@overload
def jit(
    function: Callable[P, R],
    /,
    *,
    strict: bool = False,
    bounds_check: bool = True,
    num_threads: int | None = None,
    device: str | None = None,
    devices: Sequence[str] = (),
) -> Compiled[P, R]: ...


@overload
def jit(
    *,
    strict: bool = False,
    bounds_check: bool = True,
    num_threads: int | None = None,
    device: str | None = None,
    devices: Sequence[str] = (),
) -> Decorator: ...


def jit(
    function: Any = None,
    /,
    *,
    strict: bool = False,
    bounds_check: bool = True,
    num_threads: int | None = None,
    device: str | None = None,
    devices: Sequence[str] = (),
) -> Any:
    """Compile a function of NumPy arrays when it is called.

    The result answers calls as the function itself would: same values, dtypes, shapes, result types
    and exceptions. What cannot be compiled runs eagerly, is listed in `.report()` and told by a
    `tracejit.FallbackWarning`, once for each line; with `strict=True` it raises
    `tracejit.errors.FallbackError` instead.

    With `bounds_check=False` the code relies on every index that it computes to lie inside its
    axis, in the functions that this one calls too; negative ones count from the end, as always.
    What happens for an index outside is not defined: other memory is read, or written over.

    `num_threads` share each kernel, product or contraction that takes long, in the functions that
    this one calls too; without it as many do as `tracejit.config.num_threads()` says. The results
    do not depend on it. Raises ValueError where it is not positive.

    Arrays on a GPU (CuPy's, PyTorch's, Numba's, and any with `__cuda_array_interface__`) are
    computed there, and give arrays of the same library. With `device="cuda"` NumPy's arrays are
    moved to the GPU for each call, and what was stored and the results are moved back; "cuda-sim"
    is a simulated one, for machines without a GPU, and slow. Without `device` it is that of the
    environment variable TRACEJIT_DEVICE, or else "cpu".

    `devices` are processes, "worker:0", "worker:1" and so on, that share the work with the one that
    calls, where that costs less than to do it here; see `tracejit.device` for parts of a function
    that are to run on one of them, and `tracejit.dist.workers` for the processes. What they cannot
    finish is repeated here as plain Python.

    `function` is anything that is called: a function, a method, a `functools.partial`, an object
    with `__call__`, a function of NumPy or Python; what is not written in Python may run eagerly,
    such as a call of a `functools.lru_cache`, which stays that. A staticmethod, classmethod or
    partialmethod gives one of the compiled function. Raises TypeError for a class, whose methods
    may be decorated, and for what is not called, such as a property.
    """
    from tracejit.runtime.jitted import Jitted, jitted
    from tracejit.runtime.options import Options

    names = tuple(map(device_name, devices))
    options = Options(strict, bounds_check, num_threads, config.device(device), names)
    again = functools.partial(
        cast("Callable[..., Any]", jit),
        strict=strict,
        bounds_check=bounds_check,
        num_threads=num_threads,
        device=device,
        devices=devices,
    )
    if function is None:
        return again
    if isinstance(function, Jitted):
        found = function._options.again(options, moves=device is not None)
        return function if found == function._options else jitted(function.__tracejit__, found)
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(again(function.__func__))
    if isinstance(function, functools.partialmethod):
        return type(function)(again(function.func), *function.args, **function.keywords)
    if isinstance(function, type):
        raise TypeError(
            f"jit takes a function, not the class {function.__name__}: put it above "
            "the methods that are to be compiled"
        )
    if not callable(function):
        kind = type(function).__name__
        below = f": put it below @{kind}" if hasattr(function, "__get__") else ""
        raise TypeError(f"jit takes a function, not {kind}{below}")
    return jitted(function, options)


def _makes(make: F) -> F:
    """Decorator: a traced program may call `make`, which gives a function."""

    def traced(interpreter: Any, *args: Any, **kwargs: Any) -> Any:
        made = make(*args, **kwargs)
        made = inner = getattr(made, "__tracejit__", made)
        while hasattr(inner, "traced_call") and not interpreter.capture.is_outside(inner):
            inner = interpreter.allocate(inner).function
        return made

    make.__tracejit_traced__ = traced  # type: ignore[attr-defined]
    return make


@overload
def grad(
    function: First[P, A, Q, Any],
    argnums: Literal[0] | None = None,
    argnames: None = None,
    has_aux: Literal[False] = False,
    sparse_rows: Literal[False] = False,
) -> Gradient[P, A, Q]: ...


@overload
def grad(
    function: Callable[P, Any],
    argnums: int | Sequence[int] | None = None,
    argnames: str | Sequence[str] | None = None,
    has_aux: bool = False,
    sparse_rows: bool | int | str | Sequence[int | str] = False,
) -> Compiled[P, Any]: ...


@_makes
def grad(
    function: Callable[..., Any],
    argnums: int | Sequence[int] | None = None,
    argnames: str | Sequence[str] | None = None,
    has_aux: bool = False,
    sparse_rows: bool | int | str | Sequence[int | str] = False,
) -> Any:
    """The gradient of a function that gives one real number.

    The result takes the arguments of `function` and gives the derivative by the argument `argnums`
    (the first by default), of its structure, shapes and dtypes; a tuple of them where `argnums` is
    a sequence, or names are given. These arguments are floats, complex numbers, arrays of them, or
    containers and objects that hold some; what else these hold is carried along. With `has_aux` the
    function gives a pair (value, auxiliary), and the result a pair (gradient, auxiliary).

    It is compiled when it is called, like a function under `jit`, through branches, loops and
    stores; under `eager()` it runs operation by operation on real values. Of a function of complex
    z = x + iy the gradient is du/dx - i du/dy, as in JAX. At kinks: `abs` and `norm` at 0 give 0,
    `maximum` of equal operands half to each, `sqrt` at 0 infinity. Of functions that read one
    triangle of a matrix A (`cholesky`, `eigh`, `eigvalsh` and their kind) it is, as in JAX, that of
    the function of (A + A^H) / 2: along a change of A that is not Hermitian it is not the limit of
    differences.

    With `sparse_rows`, True or the numbers and names of some of the chosen arguments, the gradient
    by these is kept as a `RowGradient`: the rows that `function` has read, as `table[idx]`, and
    their gradients; no array of the shape of the table is made. They are arrays, or containers of
    arrays, of which nothing but whole rows is read, outside loops and branches. A name may go on
    to a part of its argument, `"net.words"`, or `"net.layers.0.weight"`: attributes, keys and
    places in lists.

    Raises TypeError for a result that is not one real floating-point number, for chosen arguments
    without floats or with some that cannot be seen (the error names them, `p[0].w`), and where the
    derivative of an operation is not known.
    """
    return _transformed(
        "gradient", "Gradient", "grad", function, argnums, argnames, has_aux, False, sparse_rows
    )


@overload
def value_and_grad(
    function: First[P, A, Q, R],
    argnums: Literal[0] | None = None,
    argnames: None = None,
    has_aux: Literal[False] = False,
    sparse_rows: Literal[False] = False,
) -> ValueAndGradient[P, A, Q, R]: ...


@overload
def value_and_grad(
    function: Callable[P, Any],
    argnums: int | Sequence[int] | None = None,
    argnames: str | Sequence[str] | None = None,
    has_aux: bool = False,
    sparse_rows: bool | int | str | Sequence[int | str] = False,
) -> Compiled[P, Any]: ...


@_makes
def value_and_grad(
    function: Callable[..., Any],
    argnums: int | Sequence[int] | None = None,
    argnames: str | Sequence[str] | None = None,
    has_aux: bool = False,
    sparse_rows: bool | int | str | Sequence[int | str] = False,
) -> Any:
    """As `grad`; the result gives a pair (value, gradient), the value being what `function` gives.

    Raises as `grad`.
    """
    given = function, argnums, argnames, has_aux, True, sparse_rows
    return _transformed("gradient", "Gradient", "value_and_grad", *given)


def jvp(
    function: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
) -> Any:
    """(result, tangent): `function(*primals)`, and its derivative along `tangents`.

    Each tangent has the structure, shapes and dtypes of its argument; None stands for zero, as for
    arguments that are no floats. With `has_aux` the function gives a pair (result, auxiliary), and
    a third value is the auxiliary one. Compiled as by `jit`, once for each function.

    Raises TypeError for tangents that do not fit, for a result with texts or functions beside its
    floats in containers, and where a derivative is not known.
    """
    return _compiled_jvp(function, has_aux)(tuple(primals), tuple(tangents))


def vjp(function: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """(result, pullback): `function(*primals)`, and the function that takes a cotangent of the
    result to a tuple of those of the arguments (None for arguments that are no floats).

    A cotangent has the structure, shapes and dtypes of the result. The pullback may be called any
    number of times; what is done to the arguments after `vjp` does not change what it gives. With
    `has_aux` the function gives a pair (result, auxiliary), and a third value is the auxiliary one.

    Inside a compiled function all of it is compiled, calls of the pullback in its branches, loops
    and batches too. A call from plain Python runs the function operation by operation. Raises
    TypeError as `jvp`.
    """
    found = imported("tracejit.transforms.api.products")
    return found.Vjp(function, has_aux)(*primals)


@_makes
def _traced_jvp(
    interpreter: Any, function: Any, primals: Any, tangents: Any, has_aux: bool = False
) -> Any:
    from tracejit.transforms.api.products import Jvp

    return interpreter.call(interpreter.allocate(Jvp(function, has_aux)), primals, tangents)


def _traced_vjp(interpreter: Any, function: Any, *primals: Any, has_aux: bool = False) -> Any:
    from tracejit.transforms.api.products import Vjp

    return interpreter.call(interpreter.allocate(Vjp(function, has_aux)), *primals)


jvp.__tracejit_traced__ = _traced_jvp  # type: ignore[attr-defined]
vjp.__tracejit_traced__ = _traced_vjp  # type: ignore[attr-defined]


@_makes
def jacobian(
    function: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    mode: str = "reverse",
    holomorphic: bool = False,
    has_aux: bool = False,
) -> Compiled[P, Any]:
    """The derivative of each element of the result by each element of an argument.

    For a result of shape R and an argument of shape A it has the shape (*R, *A); containers and
    objects of results hold those of arguments. The function is called once. `mode` is "reverse" (a
    backward pass for each element of the result) or "forward" (a forward pass for each element of
    the argument). Complex numbers are taken only with `holomorphic=True`.

    Raises TypeError for arguments and results that have no derivative, ValueError for another mode.
    """
    if mode not in ("forward", "reverse"):
        raise ValueError(f"jacobian: mode is 'forward' or 'reverse', not {mode!r}")
    made: Compiled[P, Any] = _transformed(
        "jacobian", "Jacobian", "jacobian", function, argnums, mode, holomorphic, has_aux
    )
    return made


@_makes
def hessian(
    function: Callable[P, Any], argnums: int | Sequence[int] = 0, holomorphic: bool = False
) -> Compiled[P, Any]:
    """The second derivatives of a function of one real result: forward over reverse mode.

    For an argument of shape A it has the shape (*A, *A). Raises as `jacobian`.
    """
    made: Compiled[P, Any] = _transformed(
        "jacobian", "hessian", "hessian", function, argnums, holomorphic
    )
    return made


@_makes
def hvp(function: Callable[..., Any], argnums: int = 0) -> Compiled[..., Any]:
    """The Hessian of a function of one real result times a direction.

    `hvp(f)(x, v)` is `hessian(f)(x)` times v, without the matrix: the arguments of `function`, then
    the direction, of the structure and shapes of the argument `argnums`. Raises as `grad`.
    """
    made: Compiled[..., Any] = _transformed("jacobian", "HessianProduct", "hvp", function, argnums)
    return made


@_makes
def vmap(function: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Compiled[..., Any]:
    """The function of batches that gives, stacked, what `function` gives for each element.

    `in_axes` is the axis of the arguments that is mapped over, or None for those that are the same
    for all; or a tuple of such, one for each positional argument, which may be containers that
    follow those of the argument, and for an object a dict of its attributes or an object like it.
    `out_axes` says in the same way where the new axis of the results is; None for results that do
    not differ. A row of a vector is a NumPy scalar. Arguments given by name are mapped over axis 0;
    texts, functions and constants among them are the same for all, and so is what objects and dicts
    hold that is no array.

    The result is that of a Python loop over the elements, effects in that order; it is vectorised
    where every element takes the same branches, and a compiled loop where not.

    Raises TypeError for axes that do not fit, for numbers and objects that have none, for changes
    of what is mapped over other than in arrays, and for results that are not alike; ValueError for
    unlike sizes.
    """
    axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    made: Compiled[..., Any] = _transformed("vmap", "Vmap", "vmap", function, axes, out_axes)
    return made


def stop_gradient(x: Any) -> Any:
    """`x`, for derivatives a constant.

    `x` is a number, an array, or a list, tuple, dict or dataclass of such; integers pass through.
    Outside derivatives and compiled functions it is `x` itself; inside, containers are new ones,
    and the arrays are to be read only. Raises TypeError there for an object of another kind.
    """
    if "tracejit.transforms" not in sys.modules:
        return x
    from tracejit.transforms.api.stop_gradient import stopped

    return stopped(x)


def _traced_stop(interpreter: Any, x: Any) -> Any:
    from tracejit.transforms.api.stop_gradient import stopped

    return stopped(x, interpreter.allocate)


stop_gradient.__tracejit_traced__ = _traced_stop  # type: ignore[attr-defined]


@_makes
def remat(function: F) -> F:
    """`function`, whose intermediate values a backward pass computes again instead of keeping them.

    A backward pass keeps what each call reads, and no more than that; when it comes to the call, it
    runs `function` once more, and goes back through that. So memory is saved for the time of a
    second forward pass: a loop of T steps whose body is under it keeps the state before each
    step alone, and one of sqrt(T) such loops of sqrt(T) steps keeps O(sqrt(T)) states.

    Values are the same with it and without it. Where a call prints, raises, draws random numbers or
    changes a container of the caller's, its values are kept; the report says so. Of a gradient
    that runs under `eager()` all values are kept. A plain call is a call of `function`.
    """
    from tracejit.transforms.api.remat import Rematerialised

    return Rematerialised(function)  # type: ignore[return-value]


@_makes
def custom_vjp(function: Callable[..., Any]) -> CustomVjp:
    """`function` with a derivative of its own, said for reverse mode; usable as a decorator.

    After `f.defvjp(forward, backward)` gradients go by that rule, whatever `function` computes:
    `forward(*args)` gives the pair (result, residuals), where the result is that of `function`, and
    `backward(residuals, cotangent)` the tuple of the cotangents of the arguments, of their shapes
    and dtypes; None stands for zero, and for arguments that are no floats. Residuals are arrays and
    numbers in lists, tuples, dicts and dataclasses, and so is the result; the cotangent has the
    structure of the result, with 0 for what is no float.

    The function and its rules change nothing and print nothing, and derivatives by values that they
    read without being given them as arguments are refused. A plain call is a call of `function`.
    Derivatives of derivatives differentiate the rule; of a rule that calls the function itself,
    compiled code has three orders. Forward mode (and so `hessian`) is the transpose of the backward
    rule, which is linear in the cotangent. Raises AttributeError for a call before a rule is given,
    TypeError for rules whose results do not fit, and for forward mode of one that is not linear.
    """
    from tracejit.transforms.api.custom import CustomVjp

    return CustomVjp(function)


@_makes
def custom_jvp(function: Callable[..., Any]) -> CustomJvp:
    """`function` with a derivative of its own, for both modes; usable as a decorator.

    After `f.defjvp(rule)` derivatives go by that rule, whatever `function` computes:
    `rule(primals, tangents)`, of two tuples with an entry for each argument, gives the pair
    (result, tangent). The tangents of arguments that are no floats are 0. The tangent that is given
    is linear in those that are taken: reverse mode is the transpose.

    In all else as `custom_vjp`.
    """
    from tracejit.transforms.api.custom import CustomJvp

    return CustomJvp(function)


def _transformed(module: str, cls: str, name: str, *args: Any) -> Any:
    """A compiled function that a class of `tracejit.transforms` makes, called after `name`."""
    from tracejit.runtime.jitted import Jitted, Transform

    function, *given = args
    transform = Transform(module, cls, args, name)
    if callable(function) and all(map(_is_plain, given)):
        return Jitted.of_transform(transform)
    # What is wrong with the arguments is said at once.
    return Jitted(transform.made())


def _is_plain(x: Any) -> bool:
    if type(x) is tuple:
        return all(map(_is_plain, x))
    return x is None or type(x) in (bool, int) or type(x) is str


def _compiled_jvp(function: Callable[..., Any], has_aux: bool) -> Callable[..., Any]:
    """The compiled `jvp` of a function, the same one for the same function."""
    from tracejit.runtime.jitted import Jitted

    if not isinstance(function, (FunctionType, Jitted)) and not hasattr(function, "traced_call"):
        # A dict may be shared, as that of a bound method is, or be looked at, as an object's.
        return functools.partial(_jvp_of_any(has_aux), function)
    # Kept by the function itself: the two are collected together. `functools.wraps` copies dicts.
    owner, made = vars(function).get("__tracejit_jvp__", (None, {}))
    if owner is None or owner() is not function:
        made = {}
        vars(function)["__tracejit_jvp__"] = weakref.ref(function), made
    if has_aux not in made:
        made[has_aux] = _transformed("products", "Jvp", "jvp", function, has_aux)
    compiled: Callable[..., Any] = made[has_aux]
    return compiled


@functools.cache
def _jvp_of_any(has_aux: bool) -> Any:
    from tracejit.runtime.jitted import Jitted, Transform

    return Jitted(Transform("products", "JvpOfAny", (has_aux,), "jvp").made())
