"""One of two processes that send each other messages; see `messages.py`. Prints JSON."""

import argparse
import json
import mmap
import time
from typing import Any

import numpy as np

from tracejit.data.shared import created
from tracejit.dist.world import world

SIZE = 10_000_000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    link = world().link
    large = np.random.default_rng(0).integers(0, 255, SIZE).astype(np.uint8)
    shared = np.frombuffer(mmap.mmap(created(SIZE), SIZE), np.uint8)
    if link.rank:
        for _ in range(3 * (rounds + 10)):
            value = link.receive(0, "there")
            # Nobody has it any more when the next one is sent.
            del value
            link.send(0, "back", None)
        return
    found: dict[str, list[float]] = {}

    def there_and_back(value: Any) -> tuple[float, float]:
        """The seconds of the exchange, and the processor's of sending."""
        start, busy = time.perf_counter(), time.thread_time()
        link.send(1, "there", value)
        busy = time.thread_time() - busy
        link.receive(1, "back")
        return time.perf_counter() - start, busy

    for k in range(rounds + 10):
        start, busy = time.perf_counter(), time.thread_time()
        shared[:] = large
        busy = time.thread_time() - busy
        seconds = {"copy": time.perf_counter() - start, "copy busy": busy}
        seconds["small"], _ = there_and_back(7)
        seconds["large"], seconds["large busy"] = there_and_back(large)
        there_and_back(7)
        for name, value in seconds.items():
            if k >= 10:
                found.setdefault(name, []).append(value)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
