"""One node as a program of a device, run on operands that are moved there.

`DeviceNode` is for the simulated device; `nodes_of(device)` gives the class for any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.ops.native_nodes import NativeNode
from tracejit.codegen.device.emit import emit_device_program
from tracejit.codegen.device.simulated import simulated_device
from tracejit.codegen.device.target import entered
from tracejit.codegen.llvm.engine import host_target
from tracejit.codegen.program.emit import InputSlot, Program
from tracejit.ir.op import Op
from tracejit.ir.types import ArrayType
from tracejit.passes.control.lower import lower_control_flow
from tracejit.runtime.device.ghosts import ghost, holder_of
from tracejit.runtime.device.library import Moved

__all__ = ["LIBDEVICE_ULP", "DeviceNode", "nodes_of"]

#: The errors of libdevice's functions in ULP as NVIDIA states them, the larger of both precisions,
#: where they are not the 2 of most.
LIBDEVICE_ULP = {
    "tan": 4, "sinh": 3, "arcsin": 4, "arcsinh": 4, "arccosh": 4, "arctan2": 3, "arctanh": 3,
    "power": 8, "float_power": 8, "uniform_power": 8, "hypot": 3, "erfc": 8, "erfcx": 8,
    "erfinv": 8, "erfcinv": 8, "gamma": 16, "gammaln": 16,
}  # fmt: skip
_MOST_ULP = 2


class DeviceNode(NativeNode):
    """See `NativeNode`; every access is checked by the simulator."""

    #: Gives the device that the node runs on.
    device: Callable[[], Any] = staticmethod(simulated_device)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        with entered(self.device()):
            super().__init__(*args, **kwargs)

    def _program(self, slots: Sequence[InputSlot], sizes: Mapping[str, int]) -> Program:
        device = self.device()
        self._moved = Moved(device)
        program = emit_device_program(
            lower_control_flow(self.fused),
            slots,
            self._out_slots,
            sizes,
            "program",
            host_target(),
            device,
            self._make,
            set(),
        )
        #: What the program does besides launching.
        self.trips = program.trips
        return program

    def _make(
        self, dtype: Any, shape: Any, order: Any, scalar: bool
    ) -> tuple[np.ndarray[Any, Any], int]:
        owner = self._moved.empty(shape, dtype, order, scalar)
        address, _, strides, _, _ = self._moved.describe(owner)
        return ghost(owner, address, shape, strides, dtype), address

    def __call__(self, inputs: Sequence[Any], sizes: Mapping[str, int]) -> tuple[Any, ...]:
        device = self.device()
        self._moved = Moved(device)
        with entered(device):
            device.stream = self._moved.stream()
            return super().__call__(inputs, sizes)

    def kernel_result(self, inputs: Sequence[Any], sizes: Mapping[str, int]) -> Any:
        # The reference has the native code's elementary functions, a device its own.
        return None

    def _given(self, x: Any) -> Any:
        if not isinstance(x, np.ndarray):
            return x
        address, shape, strides, dtype, read_only = self._moved.describe(x)
        return ghost(x, address, shape, strides, dtype, read_only)

    def _result(self, x: Any) -> Any:
        holder = holder_of(x)
        assert holder is not None
        return self._moved.result(holder.owner, None)

    def _is_made_late(self, t: ArrayType) -> bool:
        return True


def nodes_of(device: Any) -> type[DeviceNode]:
    """Nodes of a device whose elementary functions are libdevice's.

    Their bounds are wider by the errors of libdevice, and there is no reference kernel for them,
    which has the host's functions. CuPy's sorts have an order of equal elements of their own.
    """

    class Node(DeviceNode):
        keeps_order = False

        def allowed(self, op: Op, bound: dict[str, Any]) -> dict[str, Any]:
            # A result of integers has no bound.
            parity = bound.get("parity")
            if parity == "ulp" or (parity == "order" and op.kind == "elementwise"):
                return {**bound, "ulp": bound["ulp"] + LIBDEVICE_ULP.get(op.name, _MOST_ULP)}
            return bound

        def kernel_result(self, inputs: Sequence[Any], sizes: Mapping[str, int]) -> Any:
            return None

    Node.device = staticmethod(lambda: device)
    return Node
