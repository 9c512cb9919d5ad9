"""JAX: compiled functions of NumPy inside its programs, with their derivatives and batches.

    f = tracejit.interop.jax.function(simulate)     # plain NumPy, with its loops and branches
    jax.jit(jax.grad(lambda p: f(p, data).sum()))(parameters)

A call is one of the host (`jax.pure_callback`), the backward pass another one, and a batch one for
all its elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.api import jit, vmap
from tracejit.interop.needed import needed
from tracejit.interop.programs import floats, of_leaves, transposed

jax = needed("jax", "JAX")

__all__ = ["Function", "function"]

#: Shapes of arguments whose results are remembered.
_MOST_KNOWN = 1024


def function(f: Callable[..., Any], result: Any = None) -> Function:
    """A function of JAX's arrays that is computed by compiled NumPy, for `jit`, `grad` and `vmap`.

    `f` takes and gives arrays and numbers in trees of JAX's; what is no array of JAX is passed on
    as it is. As JAX may call it any number of times, or not at all, it is to have no effects; what
    it stores into an argument is a ValueError. Arrays of the result get the dtypes that JAX has:
    without `jax_enable_x64`, float32. Reverse mode may be nested; forward mode has no rule, and is
    an error of JAX.

    Where JAX traces a call, the shapes of the result are those of another one with random numbers
    between 0.5 and 1.5, and zeros for integers. Where that does not do, `result(*args, **kwargs)`
    gives a tree of `jax.ShapeDtypeStruct` for arguments that are such themselves.
    """
    return Function(f, result)


class Function:
    """What `function` gives."""

    def __init__(self, f: Callable[..., Any], result: Any = None) -> None:
        self._function, self._result = f, result
        self.plain = jit(f)
        self._batched: dict[Any, Any] = {}
        self._pulls: dict[tuple[int, ...], Function] = {}
        self._known: dict[Any, Any] = {}
        self.__name__ = getattr(f, "__name__", type(f).__name__)
        self.__doc__ = getattr(f, "__doc__", None)

    def report(self) -> list[Any]:
        """The reports of what is compiled: the function, its batches, its pullbacks."""
        pulls = [r for p in self._pulls.values() for r in p.report()]
        return [x.report() for x in (self.plain, *self._batched.values())] + pulls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _Call(self, args, kwargs).value()

    def shapes(self, call: _Call) -> Any:
        """What such a call gives, as a tree of shapes and dtypes."""
        key = call.key()
        if key is not None and key in self._known:
            return self._known[key]
        if self._result is None:
            rng = np.random.default_rng(0)
            args, kwargs = call.arguments([_sample(x, rng) for x in call.arrays])
            found = self.plain(*args, **kwargs)
        else:
            args, kwargs = call.arguments(list(map(_struct, call.arrays)))
            found = self._result(*args, **kwargs)
        shapes = jax.tree.map(_struct, found)
        if key is not None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[key] = shapes
        return shapes

    def batched(self, places: tuple[int, ...], axes: Sequence[tuple[int | None, ...]]) -> Any:
        """The function of these leaves of the arguments with axes in front, outermost first."""
        key = places, tuple(axes)
        if key not in self._batched:
            made: Any = of_leaves(self._function, places)
            for some in reversed(axes):
                made = vmap(made, in_axes=(some, None, None))
            self._batched[key] = made
        return self._batched[key]

    def pull(self, places: tuple[int, ...]) -> Function:
        """The function of (args, kwargs, cotangents) that gives those of arguments."""
        if places not in self._pulls:
            self._pulls[places] = Function(transposed(self._function, places))
        return self._pulls[places]


class _Call:
    """A call, with values that JAX may trace: they are its arrays."""

    def __init__(self, function: Function, args: Any, kwargs: Any, result: Any = None) -> None:
        self._function, self._result = function, result
        self._leaves, self._tree = jax.tree.flatten((args, kwargs))
        self._at = [k for k, x in enumerate(self._leaves) if isinstance(x, jax.Array)]
        self.arrays = [self._leaves[k] for k in self._at]

    def key(self) -> Any:
        """What the shapes of the result rest on; None where that may change."""
        keys = tuple(map(_key, self._leaves))
        return None if None in keys else (self._tree, keys)

    def arguments(self, arrays: Sequence[Any]) -> Any:
        """The arguments with these in the place of the arrays."""
        leaves = list(self._leaves)
        for k, x in zip(self._at, arrays, strict=True):
            leaves[k] = x
        return self._tree.unflatten(leaves)

    def value(self) -> Any:
        """The result, for which JAX knows the derivative if it traces the call."""
        if not any(isinstance(x, jax.core.Tracer) for x in self.arrays):
            return jax.tree.map(jax.numpy.array, self._run(list(map(np.asarray, self.arrays))))
        shapes = self._function.shapes(self) if self._result is None else self._result
        ranks = [x.ndim for x in self.arrays]

        def host(*given: Any) -> Any:
            arrays = list(map(np.asarray, given))
            depth = arrays[0].ndim - ranks[0] if arrays else 0
            found = self._run(arrays) if depth == 0 else self._batch(arrays, depth)
            return jax.tree.map(lambda s, x: np.asarray(x, s.dtype), shapes, found)

        def primal(*arrays: Any) -> Any:
            return jax.pure_callback(host, shapes, *arrays, vmap_method="expand_dims")

        apply = jax.custom_vjp(primal)

        def forward(*arrays: Any) -> Any:
            return apply(*arrays), arrays

        def backward(arrays: Any, cotangents: Any) -> Any:
            given = jax.tree.leaves(cotangents)
            kinds = [s.dtype.kind for s in jax.tree.leaves(shapes)]
            some = [c for c, kind in zip(given, kinds, strict=True) if kind in "fc"]
            return self._pulled(arrays, some)

        apply.defvjp(forward, backward)
        return apply(*self.arrays)

    def _run(self, arrays: Sequence[Any]) -> Any:
        # A value without axes is a scalar in NumPy.
        args, kwargs = self.arguments([x[()] for x in arrays])
        return self._function.plain(*args, **kwargs)

    def _batch(self, arrays: Sequence[Any], depth: int) -> Any:
        """A call with axes in front, each of size 1 where an array has none."""
        sizes = [max(x.shape[k] for x in arrays) for k in range(depth)]
        axes = [
            tuple([0 if x.shape[k] == n else None for x in arrays]) for k, n in enumerate(sizes)
        ]
        rows = [[slice(None) if a[j] == 0 else 0 for a in axes] for j in range(len(arrays))]
        chosen = tuple([x[tuple(row)] for x, row in zip(arrays, rows, strict=True)])
        args, kwargs, places = self._places(tree.leaves)
        return self._function.batched(places, axes)(chosen, args, kwargs)

    def _places(self, leaves_of: Callable[[Any], list[Any]]) -> tuple[Any, Any, tuple[int, ...]]:
        """The arguments with empty arrays, and where these are among leaves. Raises TypeError."""
        empty = [np.empty(x.shape, x.dtype) for x in self.arrays]
        args, kwargs = self.arguments(empty)
        at = {id(x): k for k, x in enumerate(leaves_of((args, kwargs)))}
        chosen = [x for x in empty if leaves_of is not floats or x.dtype.kind in "fc"]
        if any(id(x) not in at for x in chosen):
            raise TypeError("an array of JAX in an object: pass it in a list, tuple or dict")
        return args, kwargs, tuple([at[id(x)] for x in chosen])

    def _pulled(self, arrays: Sequence[Any], cotangents: Sequence[Any]) -> tuple[Any, ...]:
        """The cotangents of the arrays; None for those that have none."""
        _, _, places = self._places(floats)
        is_float = [x.dtype.kind in "fc" for x in arrays]
        result = [_struct(x) for x, found in zip(arrays, is_float, strict=True) if found]
        given = (*self.arguments(arrays), list(cotangents))
        out = iter(_Call(self._function.pull(places), given, {}, result).value())
        return tuple([next(out) if found else None for found in is_float])


def _struct(x: Any) -> Any:
    dtype = x.dtype if hasattr(x, "dtype") else np.result_type(x)
    return jax.ShapeDtypeStruct(np.shape(x), jax.dtypes.canonicalize_dtype(dtype))


def _sample(x: Any, rng: Any) -> Any:
    """Numbers of NumPy in the place of an array."""
    is_float = x.dtype.kind in "fc"
    sample = (
        rng.uniform(0.5, 1.5, x.shape).astype(x.dtype) if is_float else np.zeros(x.shape, x.dtype)
    )
    sample.flags.writeable = False
    return sample[()]


def _key(x: Any) -> Any:
    if isinstance(x, jax.Array):
        return x.shape, x.dtype
    return (type(x), x) if type(x) in (bool, int, float, complex, str, bytes) else None
