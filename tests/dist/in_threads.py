"""The ends of local links, each in a thread of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tracejit.dist.transport.group import Group
from tracejit.dist.transport.local import LocalLink

__all__ = ["on_groups", "on_links"]


def on_links(size: int, do: Callable[[LocalLink], Any]) -> list[Any]:
    """What `do` gives for each end, in a thread for each."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(size) as pool:

        def run(rank: int) -> Any:
            link = LocalLink(rank, size, folder, b"secret", timeout=20)
            try:
                return do(link)
            finally:
                link.close()

        return [f.result(timeout=60) for f in [pool.submit(run, r) for r in range(size)]]


def on_groups(size: int, do: Callable[[Group], Any]) -> list[Any]:
    """What `do` gives for each process's group. All end together."""

    def run(link: LocalLink) -> Any:
        group = Group(link)
        try:
            return do(group)
        finally:
            group.barrier()

    return on_links(size, run)
