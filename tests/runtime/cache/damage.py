"""Functions whose files are damaged, a child for each damage.

    python damage.py FOLDER DAMAGES SEED

The folder holds `program.py` with a compiled `f` and `g`, and the cache. What is printed is JSON:
how many calls were right, and how often the compiler was needed.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import shutil
import sys
from pathlib import Path

#: What is done to a file.
KINDS = ("flip", "flip", "flip", "flip", "cut", "empty", "grow", "zeros", "swap", "noise")


def damage(path: Path, rng: random.Random, others: list[Path]) -> str:
    """Damage a file, in some way; in which."""
    kind = rng.choice(KINDS)
    data = bytearray(path.read_bytes())
    if kind == "flip":
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif kind == "cut":
        del data[rng.randrange(len(data)) :]
    elif kind == "empty":
        data.clear()
    elif kind == "grow":
        data += rng.randbytes(1 + rng.randrange(100))
    elif kind == "zeros":
        at = rng.randrange(len(data))
        # What is zero before is no damage.
        data[at : at + 64] = bytes(b ^ 255 for b in data[at : at + 64])
    elif kind == "swap":
        data = bytearray(rng.choice([p for p in others if p != path]).read_bytes())
    else:
        data = bytearray(rng.randbytes(len(data)))
    path.write_bytes(data)
    return kind


def _child(folder: Path, k: int, seed: int) -> int:
    """0 where all is right and something was compiled, 3 where nothing was, 1 where it is wrong."""
    import numpy as np
    import program

    rng = random.Random(seed * 100_000 + k)
    own = folder / f"own{k}"
    shutil.copytree(folder / "cache", own)
    os.environ["TRACEJIT_CACHE"] = str(own)
    paths = sorted(p for p in own.rglob("*") if p.is_file())
    path = rng.choice(paths)
    kind = damage(path, rng, paths)
    for _ in range(2):
        for f in (program.f, program.g):
            x = np.arange(5.0)
            if not np.array_equal(f(x), f.__tracejit__(x)):
                print(f"{path.name} {kind} seed {seed} {k}: wrong", file=sys.stderr, flush=True)
                return 1
    shutil.rmtree(own)
    return 3 if program.f._state is None and program.g._state is None else 0


def main(folder: str, damages: str, seed: str) -> None:
    sys.path.insert(0, folder)
    __import__("program")
    # Children need not import the compiler.
    for name in ("runtime.dispatch", "runtime.compile.specialize", "codegen.llvm.api"):
        importlib.import_module(f"tracejit.{name}")
    ends: dict[int, int] = {}
    for k in range(int(damages)):
        child = os.fork()
        if child == 0:
            os._exit(_child(Path(folder), k, int(seed)))
        status = os.waitpid(child, 0)[1]
        ends[status] = ends.get(status, 0) + 1
    print(json.dumps({"compiled": ends.pop(0, 0), "warm": ends.pop(3 << 8, 0), "wrong": ends}))


if __name__ == "__main__":
    main(*sys.argv[1:])
