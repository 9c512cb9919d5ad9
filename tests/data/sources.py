"""Sources and functions that workers of any start method can import."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np


class Squares:
    """Samples of a matrix and a number, of which some may be bad."""

    def __init__(self, n: int, bad: dict[int, str] | None = None) -> None:
        self.n, self.bad = n, bad or {}

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> Any:
        match self.bad.get(index):
            case "raise":
                raise OSError(f"no file {index}.png")
            case "exit":
                raise SystemExit(3)
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "crash":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "hang":
                threading.Event().wait()
            case "unlike":
                return np.zeros(5, np.float32), 0
            case "slow":
                time.sleep(0.001)
        return np.full((2, 3), index, np.float32), index * index


def noisy(sample: Any, rng: np.random.Generator) -> Any:
    x, y = sample
    return x + rng.random(x.shape, np.float32), y


def halved(samples: list[Any]) -> Any:
    return {"half": np.array([y for _, y in samples]) / 2, "count": len(samples)}


def words() -> Iterator[Any]:
    for i in range(40):
        yield {"numbers": np.arange(i, i + 3), "text": f"word {i}", "nothing": None}


def breaking() -> Iterator[int]:
    yield from range(5)
    raise OSError("the line is dead")


class Counter:
    """A stream that knows where it is."""

    def __init__(self, n: int) -> None:
        self.n, self.at = n, 0

    def __iter__(self) -> Iterator[int]:
        while self.at < self.n:
            self.at += 1
            yield self.at
        self.at = 0

    def state_dict(self) -> dict[str, int]:
        return {"at": self.at}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.at = state["at"]


class Who:
    """Samples that say which process has made them."""

    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> int:
        return os.getpid()
