"""What a compile for a device asks of its calls, where there are none: it is only looked at"""

from __future__ import annotations

from typing import Any, NoReturn

from tracejit.codegen.device.inspected import InspectedDevice
from tracejit.errors import DeviceError

__all__ = ["Inspection"]


class Inspection:
    """Stands for `DeviceCalls`."""

    def __init__(self) -> None:
        self.device = InspectedDevice()

    def make(self, dtype: Any, shape: Any, order: Any, scalar: bool) -> NoReturn:
        """Nothing runs."""
        raise DeviceError("a program that was made to be looked at cannot run")
