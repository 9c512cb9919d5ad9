"""Print what differs between the prelude and NumPy, without the compiler: all forms.

python -m tests.frontend.prelude [module ...]
"""

from __future__ import annotations

import collections
import sys

from tests.frontend.prelude.plain import all_cases, functions_of, wrong


def main() -> int:
    """Run the modules named, or all; returns 1 if a case differed."""
    found = 0
    for module in sys.argv[1:] or functions_of():
        ways: collections.Counter[str] = collections.Counter()
        for case in all_cases(module):
            for text in wrong(case, ways):
                print(text, flush=True)
                found += 1
        print(f"{module}: {dict(ways)}")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
