"""Random programs of plain Python: containers, objects and iterators that share, loops with exits.

`grammar` is what there is to draw from, `draw` makes the text of a module, `check` runs it plainly
and jitted, `observe` tells what a call leaves, `reduce` makes a failing text small, `session` has
worker processes do so, `script` makes the small text a program of its own.
"""
