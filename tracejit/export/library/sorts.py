"""Sorts of one line become C: what a library has in place of NumPy's own.

The order is NumPy's, NaN last. Equal elements stay in their order, also where NumPy promises none:
there argsort may give other places than NumPy, and zeros of either sign may lie otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

__all__ = ["is_sort", "sorts"]

_C_TYPES = {
    "b1": "uint8_t",
    **{f"i{n}": f"int{n}_t" for n in (8, 16, 32, 64)},
    **{f"u{n}": f"uint{n}_t" for n in (8, 16, 32, 64)},
    "f32": "float",
    "f64": "double",
}
_NAME = re.compile(r"tj_(arg)?sort_(\w\d+)(_stable)?")

#: Sorted runs of `width` are merged from one memory into the other, until one run is all.
_MERGES = """\
static inline int {name}_less({item} a, {item} b) {{ return a < b{nan}; }}
int32_t {name}({parameters}, int64_t n, void *none) {{
    (void)none;
    if (n < 2)
        return 0;
    {moved} *room = malloc(n * sizeof({moved})), *from = {line}, *to = room, *other;
    if (!room)
        return -1;
    for (int64_t width = 1; width < n; width *= 2) {{
        for (int64_t low = 0; low < n; low += 2 * width) {{
            int64_t middle = n - low < width ? n : low + width;
            int64_t high = n - middle < width ? n : middle + width;
            int64_t i = low, j = middle;
            for (int64_t k = low; k < high; ++k)
                to[k] = i < middle && (j == high || !{name}_less({second}, {first}))
                            ? from[i++]
                            : from[j++];
        }}
        other = from, from = to, to = other;
    }}
    if (from == room)
        memcpy({line}, room, n * sizeof({moved}));
    free(room);
    return 0;
}}
"""


def is_sort(name: str) -> bool:
    """Whether a symbol of a program is one of these."""
    found = _NAME.fullmatch(name)
    return found is not None and found[2] in _C_TYPES


def sorts(names: Iterable[str]) -> Iterator[str]:
    """The functions of these names, which `link/sorts.py` describes."""
    for name in sorted(names):
        found = _NAME.fullmatch(name)
        assert found is not None
        item, places = _C_TYPES[found[2]], found[1] is not None
        keys = ("items[from[i]]", "items[from[j]]") if places else ("from[i]", "from[j]")
        yield _MERGES.format(
            name=name,
            item=item,
            nan=" || (b != b && a == a)" if found[2][0] == "f" else "",
            moved="int64_t" if places else item,
            line="places" if places else "items",
            parameters=f"{item} *items{', int64_t *places' if places else ''}",
            first=keys[0],
            second=keys[1],
        )
