"""Every public function of NumPy, compiled and plain, over layouts and edge arguments.

`names` takes the surface from NumPy itself, `recipes` says how each name is called, `cases` makes
calls of the recipes, `check` compares: value, dtype, type, strides, flags, sharing and identity.
`python -m tests.frontend.numpy.surface` runs all calls; pytest runs a slice of them.
"""
