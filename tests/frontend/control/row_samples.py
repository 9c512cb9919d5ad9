"""Programs in which one side of a branch stores into a row, and makes the list of rows longer."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.frontend.control.identity_samples import calls

NUMBERS = (0.5, 2.0), (3.25, -1.0), (9.0, 7.0), (-2.0, 1.0)


@calls(*NUMBERS)
def stored_and_appended(x: float, y: float) -> Any:
    rows = [[x, y]]
    if x > y:
        rows[0][0] += 2.0
        rows.append([1.0, 2.0])
    return rows[0][0]


@calls(*NUMBERS)
def stored_and_popped(x: float, y: float) -> Any:
    rows = [[x, y], [0.0, 1.0]]
    if x > y:
        rows[0][0] += 2.0
        rows.pop()
    return rows[0][0], len(rows)


@calls(*NUMBERS)
def stored_and_deleted(x: float, y: float) -> Any:
    rows = [[x], [y]]
    if x > y:
        rows[1][0] = 7.0
        del rows[0]
    return rows[0][0], len(rows)


@calls(*NUMBERS)
def stored_or_appended(x: float, y: float) -> Any:
    rows = [[x, y]]
    if x > y:
        rows[0][0] += 2.0
    else:
        rows.append([1.0, 2.0])
    return rows[0][0], rows[-1][1]


@calls(*NUMBERS)
def list_in_a_tuple_in_a_list(x: float, y: float) -> Any:
    rows = [(x, [y])]
    if x > y:
        rows[0][1][0] += 2.0
        rows.append((1.0, [2.0]))
    return rows[0][1][0]


@calls(*NUMBERS)
def last_row_of_those_so_far(x: float, y: float) -> Any:
    rows = [[x, y]]
    for i in range(3):
        if x > y + i:
            rows[-1][0] += 2.0
            rows.append([1.0, 2.0])
    return sum(r[0] for r in rows)


@calls(*NUMBERS)
def changed_and_left_by_an_exception(x: float, y: float) -> Any:
    rows = [[x, y], [1.0, 1.0]]
    try:
        if x > y:
            rows[0][0] = 50.0
            rows.pop()
            raise ValueError("a")
    except ValueError:
        pass
    return rows[0][0], len(rows)


@calls(*NUMBERS)
def row_of_an_array(x: float, y: float) -> Any:
    a = np.zeros(3)
    rows = [a]
    if x > y:
        a[0] = 5.0
        rows.append(np.ones(3))
    return rows[0][0], len(rows)


@calls(*NUMBERS)
def row_that_keeps_its_length(x: float, y: float) -> Any:
    rows = [[x, y]]
    if x > y:
        row = rows[0]
        row.append(2.0)
        row.pop(0)
        rows.append([1.0, 2.0])
    return rows[0][0], rows[0][1]


@calls(
    (np.array([1.0, 5.0, 2.0]), 1.5), (np.array([0.0, 5.0, 2.0]), 9.0), (np.arange(30) % 7.0, 1.5)
)
def intervals_that_are_merged(a: Any, gap: float) -> Any:
    out = [[a[0], a[0] + 1]]
    for v in a:
        last = out[-1]
        if v > last[1] + gap:
            out.append([v, v + 1])
        elif v > last[1]:
            last[1] = v
    return [o[1] for o in out]


@calls((1.0, [0]), (5.0, [0]), (0.5, [3, 4]), (8.0, [3, 4]))
def argument_bound_anew_and_stored_into(x: float, xs: Any) -> None:
    while x > 1:
        xs = [1 for v in xs]
        x = x / 2
    xs[0] = 1


@calls((1.0, [0]), (5.0, [0]), (0.5, [3, 4]), (8.0, [3, 4]))
def argument_copied_and_stored_into(x: float, xs: Any) -> None:
    while x > 1:
        xs = [xs[0]]
        x = x / 2
    xs[0] = 1


@calls((np.arange(3.0),), (np.arange(30.0),))
def row_that_holds_one_list_twice(a: Any) -> Any:
    out = []
    for v in a:
        row = [v]
        out.append((row, row))
    return out
