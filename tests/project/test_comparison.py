"""The tables of the page that compares are made of what was measured."""

from __future__ import annotations

from benchmarks.comparison import PAGE, tables, written

FOUND = {
    "machine": {
        "cpu": "A processor",
        "threads": 1,
        "versions": {"numpy": "2", "numba": "0", "jax": "1", "python": "3"},
    },
    "tables": [
        {
            "title": "no loop, size M: times faster than NumPy, CPU time, one thread",
            "rows": [
                {"": "gemm", "numpy ms": 2.0, "tracejit": 1.5, "numba": "-", "jax": 1.25},
                {"": "geometric mean", "numpy ms": "", "tracejit": 1.5, "numba": 2.0, "jax": 1.25},
                {"": "programs", "numpy ms": "", "tracejit": 1, "numba": 0, "jax": 1},
            ],
        },
        {"title": "first calls", "rows": []},
    ],
}


def test_tables() -> None:
    lines = tables(FOUND).splitlines()
    assert lines[0].startswith("A processor, 1 thread, numpy 2, numba 0, jax 1, python 3.")
    assert lines[-2:] == [
        "| gemm | 2 | 1.5 | - | 1.25 |",
        "| **geometric mean** |  | **1.5** | **2** | **1.25** |",
    ]


def test_the_page_has_room_for_them() -> None:
    page = PAGE.read_text(encoding="utf-8")
    filled = written(page, tables(FOUND))
    assert "| gemm | 2 |" in filled and filled.count("<!--") == 2
    assert written(filled, "x") == written(page, "x")
