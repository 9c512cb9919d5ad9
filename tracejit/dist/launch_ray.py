"""Starts a program as processes of a Ray cluster, and ends them all together."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from tracejit.dist.children import die_with_parent
from tracejit.dist.transport.ray import BOX, Mailboxes, import_ray
from tracejit.dist.world import LATE, VARIABLE

__all__ = ["launch_by_ray"]


def launch_by_ray(
    command: Sequence[str], count: int, env: dict[str, str], restarts: int, whole: int
) -> int:
    """Run `count` processes on the cluster of RAY_ADDRESS, or one that is started here.

    As `launch`; one process takes the place of another, but for those before number `whole`. Ray
    shows what they print.
    """
    ray = import_ray()
    namespace = f"tracejit-{secrets.token_hex(8)}"
    ray.init(namespace=namespace, include_dashboard=False, logging_level="error")
    left = [restarts]
    try:
        attempt = -1
        while True:
            attempt += 1
            # Who is cut off from an earlier one takes no part in this.
            own = f"{namespace}-{attempt}"
            code = _run_all(ray, command, count, env, own, left, whole)
            if code == 0 or not left[0]:
                return code
            left[0] -= 1
            print(f"tracejit: exit code {code}; all begin anew", file=sys.stderr)
    except KeyboardInterrupt:
        return 130
    finally:
        ray.shutdown()


def _run_all(
    ray: Any,
    command: Sequence[str],
    count: int,
    env: dict[str, str],
    namespace: str,
    left: list[int],
    whole: int,
) -> int:
    # Where this process is: who cannot reach it is lost.
    here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
        ray.get_runtime_context().get_node_id(), soft=False
    )
    actor = ray.remote(Mailboxes).options(
        name=BOX,
        namespace=namespace,
        max_concurrency=1000,
        num_cpus=0,
        scheduling_strategy=here,
    )
    box = actor.remote(count)
    address = ray.get_runtime_context().gcs_address
    # They wait for each other: none may wait for a processor.
    task = ray.remote(_process).options(num_cpus=0, max_retries=0, scheduling_strategy="SPREAD")

    def start(rank: int, **more: str) -> Any:
        own = {VARIABLE: f"ray:{rank}:{count}:{namespace}", "RAY_ADDRESS": address, **more}
        return task.remote(box, rank, list(command), {**env, **own})

    running = {start(rank): rank for rank in range(count)}
    over, lives = False, [0] * count
    try:
        while running:
            done, others = ray.wait(list(running), timeout=1.0)
            # A machine may be cut off: its processes are lost long before Ray ends their tasks.
            cut = {node["NodeID"] for node in ray.nodes() if not node["Alive"]}
            places = ray.get(box.places.remote()) if cut else {}
            lost = [found for found in others if places.get(running[found]) in cut]
            for found in (*done, *lost):
                rank = running.pop(found)
                code = 1 if found in lost else _code(ray, found)
                ray.get(box.set_lost.remote(rank, True))
                over = over or (rank == 0 and code == 0)
                if code and rank >= whole and (over or left[0]):
                    if not over:
                        left[0] -= 1
                        lives[rank] += 1
                        text = f"process {rank} ended with exit code {code}; started again"
                        print(f"tracejit: {text}", file=sys.stderr)
                        ray.get(box.set_lost.remote(rank, False))
                        running[start(rank, **{LATE: str(lives[rank])})] = rank
                elif code:
                    print(f"tracejit: process {rank} ended with exit code {code}", file=sys.stderr)
                    return code
        return 0
    finally:
        for found in running:
            ray.cancel(found, force=True)
        ray.kill(box)


def _code(ray: Any, found: Any) -> int:
    try:
        code: int = ray.get(found)
    except Exception:
        return 1
    return 128 - code if code < 0 else code


def _process(box: Any, rank: int, command: Sequence[str], env: dict[str, str]) -> int:
    """In a task of Ray: run a process, and print what it prints with its number."""
    box.runs_on.remote(rank, import_ray().get_runtime_context().get_node_id())
    process = subprocess.Popen(
        command,
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        preexec_fn=die_with_parent if sys.platform == "linux" else None,
    )
    assert process.stdout is not None
    for line in process.stdout:
        print(f"[{rank}] {line}", end="", flush=True)
    return process.wait()
