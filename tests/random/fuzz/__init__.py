"""Random whole programs: generated, run plain and compiled, compared, and shrunk when they differ.

`inputs` makes arguments, `productions` is the table of statements that can be drawn, `generate`
draws programs, `noise` derives from each program how far rounding may move its results, `check`
compares the two runs, `shrink` minimises a failing case and `script` prints it.

Run ``python -m tests.random.fuzz --seconds 60 --seed 0`` for a longer search.
"""
