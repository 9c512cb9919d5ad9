"""Fresh processes that call one compiled function; what each has imported is printed as JSON.

`python -m tests.project.started_programs PROGRAM` is one.
"""

import json
import sys

import numpy as np

KNOWN = set(sys.modules)

import tracejit  # noqa: E402 - what NumPy imports is no part of it


def one_liner(x, y):
    return np.sin(x) * y + 1


def loss(x, y):
    return (np.sin(x) * y + 1).sum()


def main(program: str) -> None:
    """Run a program, and print the modules with the numbers of their lines."""
    f = tracejit.grad(loss) if program == "gradient" else tracejit.jit(one_liner)
    if program != "decoration":
        x = np.linspace(0.0, 1.0, 5)
        f(x, x + 1)
    imported = {}
    for name in sorted(set(sys.modules) - KNOWN):
        file = getattr(sys.modules[name], "__file__", None) or ""
        lines = 0
        if name.partition(".")[0] == "tracejit" and file.endswith(".py"):
            with open(file, encoding="utf-8") as text:
                lines = sum(1 for _ in text)
        imported[name] = lines
    print(json.dumps(imported))


if __name__ == "__main__":
    main(sys.argv[1])
