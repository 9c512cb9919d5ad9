"""A device that nothing runs on: programs are emitted for it to be looked at, without a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, NoReturn

import numpy as np

from tracejit.codegen.cuda.launches import Launch, Limits
from tracejit.codegen.device.driver_text import DRIVER, GRAPH_FUNCTIONS
from tracejit.errors import DeviceError

__all__ = ["InspectedDevice"]


class InspectedDevice:
    """See `target.Device`; addresses and handles are made up."""

    name = "cuda"
    limits = Limits()
    has_routines = has_graphs = True
    #: What PTX is made for.
    capability = (9, 0)

    def enter(self) -> int | None:
        self._refuse()

    def leave(self, before: int | None) -> None:
        self._refuse()

    def symbols(self) -> Mapping[str, int]:
        return dict.fromkeys((*DRIVER, *GRAPH_FUNCTIONS), 0)

    def define(self, launch: Launch) -> int:
        return 0

    def constant(self, array: np.ndarray[Any, Any]) -> tuple[int, Any]:
        return 0, array

    stream = 0

    def for_calls(self) -> InspectedDevice:
        return self

    def stream_cell(self) -> int:
        return 0

    def working(self) -> AbstractContextManager[Any]:
        self._refuse()

    def array(self, address: int, shape: Any, strides: Any, dtype: Any) -> Any:
        self._refuse()

    def failed(self, status: int, b: int = 0, c: int = 0) -> int:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise DeviceError("a program that was made to be looked at cannot run")
