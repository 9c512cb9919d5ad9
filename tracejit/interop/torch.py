"""PyTorch: compiled functions in its graphs of derivatives, and networks as its modules.

    layer = tracejit.interop.torch.function(f)     # f: plain NumPy
    loss = layer(x, w).sum()                       # tensors; loss.backward() is compiled, too

    model = tracejit.interop.torch.Module(net)     # parameters share memory with the net's arrays
    optimiser = torch.optim.AdamW(model.parameters())

A call that PyTorch records gives its result as any call does. Where that is one real number, the
gradients are computed with it; otherwise the backward pass runs the function again, on the
arguments as they were.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from types import MethodType
from typing import Any

import numpy as np

from tracejit import nn, tree
from tracejit.api import jit
from tracejit.interop.needed import needed
from tracejit.interop.programs import arrays, called, floats, pullback, with_gradient
from tracejit.runtime.exchange.calls import Exchange
from tracejit.runtime.exchange.libraries import Torch

torch = needed("torch", "PyTorch")

__all__ = ["Function", "Module", "function", "load", "state_dict"]

#: Elements of a result that are compared with those of a repeated run.
_COMPARED = 4096


def function(f: Callable[..., Any]) -> Function:
    """A function of tensors on the host whose values and derivatives are compiled.

    Tensors are found in lists, tuples, dicts and objects among the arguments, and are NumPy's
    arrays inside; arrays in the result are tensors. Where PyTorch records, arguments that require
    gradients have them, to any order. There, storing into a tensor that is given is a ValueError,
    and storing another array into an object that holds tensors a TypeError. What `f` changes
    outside its arguments is changed again by the backward pass, which raises RuntimeError where
    `f` then gives another result.
    """
    return Function(f)


class Function:
    """What `function` gives."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self._function = f
        self._plain: Any = f if hasattr(f, "__tracejit__") else jit(f)
        self._forwards: dict[tuple[int, ...], Any] = {}
        self._pullbacks: dict[tuple[int, ...], Function] = {}
        #: Kinds of arguments for which the result is one number.
        self._numbers: set[Any] = set()
        self.__name__ = getattr(f, "__name__", type(f).__name__)
        self.__doc__ = getattr(f, "__doc__", None)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def report(self) -> list[Any]:
        """The reports of what is compiled: the function, with its gradients, its pullbacks."""
        pullbacks = [r for p in self._pullbacks.values() for r in p.report()]
        return [x.report() for x in (self._plain, *self._forwards.values())] + pullbacks

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(args, kwargs)

    def call(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], known: Mapping[int, Any] | None = None
    ) -> Any:
        """The result of a call; `known` are tensors that arrays in it stand for, by their ids."""
        values = (*args, *kwargs.values())
        if not torch.is_grad_enabled():
            return Exchange(Torch(None), values).given(self._plain(*args, **kwargs))
        exchange = Exchange(_READ, values)
        tensors = {id(v): exchange.original(v) for v in exchange.views} | dict(known or {})
        given = tuple([exchange.taken(x) for x in args])
        named = {name: exchange.taken(x) for name, x in kwargs.items()}
        if not any(x.requires_grad for x in tensors.values()):
            return Exchange(_READ, values).given(self._plain(*args, **kwargs))
        try:
            result, found = self.recorded(given, named, tensors)
        except BaseException:
            exchange.put_back()
            raise
        if arrays(exchange.stored()):
            raise TypeError(
                f"{self.__name__} stores an array into an object with tensors, where its "
                "derivative would end: return it"
            )
        exchange.put_back()
        for array, tensor in found:
            exchange.stands_for(array, tensor)
        return exchange.given(result)

    def recorded(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: Mapping[int, Any]
    ) -> tuple[Any, list[tuple[Any, Any]]]:
        """The result of a call with NumPy's arrays, some of which stand for tensors, by their ids;
        and the tensors for the arrays of floats in it."""
        leaves = floats((args, kwargs))
        owners = [tensors.get(id(x)) for x in leaves]
        places = tuple([k for k, x in enumerate(owners) if x is not None and x.requires_grad])
        reached = {id(leaves[k]) for k in places}
        if any(x.requires_grad and k not in reached for k, x in tensors.items()):
            raise TypeError("a tensor that requires grad is where no derivative is taken by")
        call = _Call(self, places)
        call.arrays = [x for x, owner in zip(leaves, owners, strict=True) if owner is not None]
        kind = places, tuple([(np.ndim(x), getattr(x, "dtype", type(x))) for x in leaves])
        # Of what is no tensor, the backward pass needs what is there now.
        call.given = (args, kwargs) if kind in self._numbers else call.copied((args, kwargs))
        if places not in self._forwards:
            self._forwards[places] = jit(with_gradient(self._function, places))

        def run() -> list[Any]:
            call.result, call.gradients = self._forwards[places](args, kwargs)
            if call.gradients is not None:
                self._numbers.add(kind)
            call.outputs = arrays(call.result)
            call.compared = [_some(x) for x in call.outputs]
            return call.outputs

        kept = [x for x in owners if x is not None]
        out = _Recorded.apply(call, run, kept, *[owners[k] for k in places])
        found = list(zip(call.outputs, out, strict=True))
        result, call.result, call.outputs = call.result, None, []
        return result, found

    def pull(self, places: tuple[int, ...]) -> Function:
        """The function of (args, kwargs, cotangents) that gives the cotangents of the arguments."""
        if places not in self._pullbacks:
            self._pullbacks[places] = Function(pullback(self._function, places))
        return self._pullbacks[places]


class _Reading(Torch):
    """Tensors whose memory is only read, and which may require gradients."""

    def view(self, x: Any) -> np.ndarray[Any, Any]:
        view = super().view(x.detach())
        view.flags.writeable = False
        return view


_READ = _Reading(None)


class _Call:
    """One recorded call, and what its backward pass needs of it besides tensors."""

    #: Arrays that stand for tensors, and the arguments with these in their places.
    arrays: list[Any]
    given: Any
    #: The result, its arrays of floats, some elements of these, and the gradients if it has them.
    result: Any = None
    outputs: list[Any]
    compared: list[Any]
    gradients: Any = None

    def __init__(self, function: Function, places: tuple[int, ...]) -> None:
        self.function, self.places = function, places

    def copied(self, given: Any) -> Any:
        """A copy of arguments, but for arrays of tensors."""
        return copy.deepcopy(given, {id(x): x for x in self.arrays})

    def pulled(self, tensors: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """The cotangents of the arguments, for those of the results. Raises RuntimeError."""
        given = [_READ.view(x) for x in cotangents]
        known = dict(zip(map(id, (*self.arrays, *given)), (*tensors, *cotangents), strict=True))
        args, kwargs = self.copied(self.given)
        pull = self.function.pull(self.places)
        if torch.is_grad_enabled() and any(x.requires_grad for x in known.values()):
            (gradients, values), found = pull.recorded((args, kwargs, given), {}, known)
            made = {id(x): tensor for x, tensor in found}
        else:
            gradients, values = pull._plain(args, kwargs, given)
            made = {id(x): _READ.array(x) for x in gradients}
        if not all(map(_alike, self.compared, map(_some, values))):
            raise RuntimeError(
                f"{self.function.__name__} gave another result when it was run again for its "
                "derivative: it draws random numbers, or reads what has changed, outside its "
                "arguments"
            )
        return [made[id(x)] for x in gradients]


class _Recorded(torch.autograd.Function):  # type: ignore[misc, name-defined]
    """A node of PyTorch's graph."""

    @staticmethod
    def forward(ctx: Any, call: _Call, run: Any, tensors: Any, *inputs: Any) -> Any:
        outputs = run()
        ctx.call = call
        ctx.save_for_backward(*tensors)
        return tuple([_READ.array(x) for x in outputs])

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        call, tensors = ctx.call, ctx.saved_tensors
        if call.gradients is not None and not torch.is_grad_enabled():
            gradients = [_READ.array(x) * cotangents[0] for x in call.gradients]
        else:
            gradients = call.pulled(tensors, [x.contiguous() for x in cotangents])
        return None, None, None, *gradients


def _some(x: Any) -> Any:
    """A copy of some elements of an array."""
    return x.flat[:: max(1, x.size // _COMPARED)] if isinstance(x, np.ndarray) else np.array([x])


def _alike(a: Any, b: Any) -> bool:
    near = np.finfo(a.dtype).eps ** 0.5
    finite = np.abs(a[np.isfinite(a)])
    return a.shape == b.shape and np.allclose(
        a, b, rtol=near, atol=near * finite.max(initial=0), equal_nan=True
    )


class Module(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A network with NumPy's arrays as a module of PyTorch, called by `function`.

    Its parameters and buffers are tensors that share memory with the arrays of the net, under the
    same names as in the net's `state_dict()`: an optimiser of PyTorch changes the net where it
    lies. `forward(net, *args)` is what a call does, without it that of the net. `train()` and
    `eval()` are the net's as well.

    Raises TypeError for arrays that PyTorch has no dtype for, and for moves to a device or dtype.
    """

    def __init__(self, net: Any, forward: Callable[..., Any] = called) -> None:
        super().__init__()
        self._of_net = net, Function(forward), forward
        tensors: dict[int, Any] = {}
        trained = {id(x) for x in nn.parameters(net).values()}
        self._shared: list[_Shared] = []
        for keys, array in tree.entries(net, buffers=True):
            if id(array) not in tensors:
                made = _tensor(array, keys)
                is_trained = id(array) in trained
                tensors[id(array)] = torch.nn.Parameter(made) if is_trained else made
            tensor = tensors[id(array)]
            held = _registered(self, keys, tensor)
            self._shared.append(_Shared(net, keys, array, held, tensor.data_ptr()))
        super().train(getattr(net, "training", True))

    @property
    def net(self) -> Any:
        """The network."""
        return self._of_net[0]

    def report(self) -> list[Any]:
        """The reports of what is compiled."""
        reports: list[Any] = self._of_net[1].report()
        return reports

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """A call of the network."""
        net, call, _ = self._of_net
        known = {id(x.array): x.tensor() for x in self._shared}
        try:
            return call.call((net, *args), kwargs, known)
        finally:
            for x in self._shared:
                x.settle()

    def train(self, mode: bool = True) -> Any:
        """Set the mode of the network, and of this."""
        nn.set_training(self.net, mode)
        return super().train(mode)

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        for x in (*self.parameters(), *self.buffers()):
            moved = fn(x.detach()[:0] if x.ndim else x.detach())
            if moved.dtype is not x.dtype or moved.device != x.device:
                raise TypeError(
                    "the arrays of a network stay where they are, with their dtype: make the "
                    "network with another dtype"
                )
        return self

    def __reduce__(self) -> Any:
        return Module, (self.net, self._of_net[2])


def _tensor(array: Any, keys: Sequence[Any]) -> Any:
    tensor = Torch(None).array(array)
    if not torch.is_tensor(tensor) or tensor.data_ptr() != array.ctypes.data:
        name = ".".join(map(str, keys))
        raise TypeError(f"no tensor can share the memory of {name}, {array.dtype}{array.shape}")
    return tensor


class _Shared:
    """An array of a network, and the parameter or buffer with its memory."""

    def __init__(
        self, net: Any, keys: Sequence[Any], array: Any, held: dict[str, Any], address: int
    ) -> None:
        self._net, self._keys, self.array, self._held = net, keys, array, held
        self._address = address

    def tensor(self) -> Any:
        """The tensor; what it has got other memory for is copied to the array's.

        So PyTorch's own functions do that assign to `.data`, or load with `assign=True`.
        """
        tensor = self._held[str(self._keys[-1])]
        if tensor.data_ptr() != self._address and self.array.size:
            if tensor.dtype is not Torch(None).array(self.array).dtype:
                raise TypeError(f"{self._keys} has another dtype than the array of the network")
            with torch.no_grad():
                self.array[...] = tensor.detach().cpu().numpy()
                tensor.data = _tensor(self.array, self._keys)
        return tensor

    def settle(self) -> None:
        """Copy an array that the network has got in the place of this one, and put it back."""
        *path, last = self._keys
        owner = self._net
        for key in path:
            owner = _part(owner, key)
        now = _part(owner, last)
        if now is not self.array:
            if np.shape(now) != self.array.shape:
                raise ValueError(f"{self._keys} of the network has got another shape")
            self.array[...] = now
            if isinstance(owner, (list, dict)):
                owner[last] = self.array
            else:
                setattr(owner, last, self.array)


def _part(x: Any, key: Any) -> Any:
    return x[key] if isinstance(x, (list, tuple, dict)) else getattr(x, key)


def _registered(module: Any, keys: Sequence[Any], tensor: Any) -> dict[str, Any]:
    """Give a module a parameter or buffer, at the end of a path through others; where it is."""
    for key in map(str, keys[:-1]):
        if key not in module._modules:
            module.add_module(key, torch.nn.Module())
        module = module._modules[key]
    if isinstance(tensor, torch.nn.Parameter):
        module.register_parameter(str(keys[-1]), tensor)
        held: dict[str, Any] = module._parameters
    else:
        module.register_buffer(str(keys[-1]), tensor)
        held = module._buffers
    return held


def state_dict(net: Any) -> dict[str, Any]:
    """The state of a network as tensors that share its memory, for `module.load_state_dict`."""
    return {name: _tensor(x, [name]) for name, x in nn.state_dict(net).items()}


def load(net: Any, source: Any, strict: bool = True) -> Any:
    """Copy the state of a module of PyTorch, or a state dict of one, into a network. Gives the net.

    Tensors on devices are fetched, bfloat16 becomes float32. Counts of batches, which only
    PyTorch keeps, are left out. Raises as `nn.load_state_dict`.
    """
    state = source if isinstance(source, Mapping) else source.state_dict()
    own = nn.state_dict(net)
    found = {}
    for name, x in state.items():
        if name.rpartition(".")[2] == "num_batches_tracked" and name not in own:
            continue
        x = x.detach().cpu() if torch.is_tensor(x) else x
        found[name] = x.float() if getattr(x, "dtype", None) is torch.bfloat16 else x
    return nn.load_state_dict(net, found, strict)
