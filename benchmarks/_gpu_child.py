"""A process that does what it is told on the device: one line of JSON in, one out.

A device error that lasts, a crash or a hang ends this process and not the benchmark.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import time
from typing import Any

from . import _gpu_checks, _gpu_speed

#: Lines of an error that are kept.
LINES = 6


def answer(task: dict[str, Any]) -> dict[str, Any]:
    """What became of a task: its outcome, seconds, and lines of its error."""
    start = time.perf_counter()
    out: dict[str, Any] = {"name": task["name"], "outcome": "ok"}
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            if task["part"] == "speed":
                out |= _gpu_speed.run_case(task["name"], task["device"], task["quick"])
            elif not _gpu_checks.check(task["part"], task["name"], task["device"]):
                out["outcome"] = "none"
    except _gpu_checks.Rounding as error:
        out |= {"outcome": "rounding", "error": _lines(error)}
    except Exception as error:
        out |= {"outcome": "failed", "error": _lines(error)}
    out["seconds"] = round(time.perf_counter() - start, 3)
    return out


def _lines(error: BaseException) -> list[str]:
    text = [f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())]
    return [line[:300] for line in "\n".join(text).splitlines() if line.strip()][:LINES]


def is_well() -> bool:
    """Whether the GPU still works: an error that lasts makes every call fail."""
    from tracejit.codegen.device.cuda import cuda_device
    from tracejit.codegen.device.target import entered

    try:
        device = cuda_device()
        with entered(device):
            address = device.alloc(256)
            device.to_host(address, 256)
            device.free(address)
    except Exception:
        return False
    return True


def main() -> int:
    # Programs print: the answers go another way.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        task = json.loads(line)
        out = answer(task)
        if out["outcome"] == "failed" and task["device"] == "cuda" and not is_well():
            out["error"].append("the device does not work any more in this process")
            print(json.dumps(out), file=answers)
            return 1
        print(json.dumps(out), file=answers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
